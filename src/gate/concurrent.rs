//! `baseline.mode: concurrent`: what the system of the base branch answers in this same run is the baseline (statistics §15.5). A day's drift
//! of provider or judge moves both sides, and is no regression.

use std::collections::BTreeSet;

use super::asked::BaselineMode;
use super::{BaselineState, Policy};
use crate::domain::{Baseline, BaselineCase, BaselineRun, BaselineSource, Run, TargetName};

/// A run in its two halves.
pub(crate) struct Apart {
    /// What is judged.
    pub(crate) run: Run,
    base: Run,
    name: String,
}

/// `None` where the baseline is a stored one.
pub(crate) fn apart(run: &Run, policy: &Policy) -> Option<Apart> {
    let asked = policy.baseline.as_ref().filter(|asked| asked.mode == BaselineMode::Concurrent)?;
    let name = asked.target.clone()?;
    let half = |of_base: bool| {
        let mut half = run.clone();
        half.header.targets.retain(|target| (**target == *name) == of_base);
        half.cases.retain(|case| (*case.target == *name) == of_base);
        half
    };
    Some(Apart { run: half(false), base: half(true), name })
}

impl Apart {
    /// The other half as a baseline of one run, with so many trials of a case at most.
    pub(crate) fn state(&self, trials: u32) -> BaselineState {
        if self.base.cases.is_empty() {
            return BaselineState::Absent(format!("no target {} in this run", self.name));
        }
        let mut targets: BTreeSet<TargetName> = self.run.header.targets.iter().cloned().collect();
        targets.extend(self.run.cases.iter().map(|case| case.target.clone()));
        let metrics = &self.base.header.metrics;
        let most = usize::try_from(trials).unwrap_or(usize::MAX);
        let mut cases: Vec<BaselineCase> = Vec::new();
        for target in targets {
            let of_base = self.base.cases.iter().map(|case| BaselineCase::of(case, metrics, most));
            cases.extend(of_base.map(|case| BaselineCase { target: target.clone(), ..case }));
        }
        cases.sort_by(|left, right| (&left.id, &left.target).cmp(&(&right.id, &right.target)));
        BaselineState::Found(Box::new(Baseline {
            source: BaselineSource { place: format!("target {} of this run", self.name), digest: None },
            suite: self.base.header.suite.clone(),
            runs: vec![BaselineRun { trials, ..BaselineRun::of(&self.base) }],
            metrics: self.base.header.metrics.clone(),
            cases,
        }))
    }
}
