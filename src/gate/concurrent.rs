//! `baseline.mode: concurrent`: what the system of the base branch answers in this same run is the baseline (statistics §15.5). A day's drift
//! of provider or judge moves both sides, and is no regression.

use std::collections::{BTreeMap, BTreeSet};

use super::asked::BaselineMode;
use super::{BaselineState, Policy};
use crate::domain::{
    Baseline, BaselineCase, BaselineRun, BaselineSource, CaseRecord, Cell, Run, SkipReason, Taken, TargetName,
    TrialRecord, Usd,
};

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
        let mut cases: Vec<BaselineCase> = Vec::new();
        for target in targets {
            cases.extend(self.base.cases.iter().map(|case| self.accepted(case, target.clone(), trials)));
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

    fn accepted(&self, case: &CaseRecord, target: TargetName, most: u32) -> BaselineCase {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut trials: Vec<&TrialRecord> = case.trials.iter().collect();
        trials.sort_by_key(|trial| trial.trial);
        trials.truncate(most);
        let mut scores = BTreeMap::new();
        let mut not_applicable = Vec::new();
        for (at, metric) in self.base.header.metrics.iter().enumerate() {
            let cells = || trials.iter().filter_map(|trial| trial.cells.get(at).copied().flatten());
            if cells().any(|cell| cell == Cell::Skipped(SkipReason::NotApplicable)) {
                not_applicable.push(metric.name.clone());
                continue;
            }
            let values = cells().filter_map(|cell| match cell {
                Cell::Value { value, .. } if metric.kind.admits(value) => Some(value),
                Cell::Value { .. } | Cell::Error { .. } | Cell::Unusable { .. } | Cell::Skipped(_) => None,
            });
            scores.insert(metric.name.clone(), vec![values.collect()]);
        }
        let took = |number: fn(&TrialRecord) -> Option<f64>| {
            vec![trials.iter().filter_map(|trial| number(trial)).filter(|number| number.is_finite()).collect()]
        };
        let taken = Taken {
            latency_ms: took(|trial| trial.latency_ms),
            tokens: took(|trial| trial.tokens.map(|tokens| tokens as f64)),
            cost_usd: took(|trial| trial.cost.map(|Usd(dollars)| dollars)),
        };
        BaselineCase {
            id: case.id.clone(),
            target,
            content: case.content,
            cluster: case.cluster.clone(),
            tags: case.tags.clone(),
            scores,
            not_applicable,
            answered: trials.iter().any(|trial| trial.answered.is_ok()),
            answer: None,
            taken: (!taken.is_empty()).then(|| Box::new(taken)),
            older: BTreeMap::new(),
        }
    }
}
