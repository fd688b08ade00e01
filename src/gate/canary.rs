//! A target whose answers are fixed: what moves its scores is the judge, not the application (F70). It is kept apart: no rule reads
//! it, and every report says whether the judge scored it as before.

use super::{BaselineState, Policy};
use crate::domain::{Baseline, Comparison, RuleKind, RuleVerdict, Run, TargetName};
use crate::text::number::{counted, exact, signed_points};

/// How a note begins that says it.
pub const JUDGE_DRIFT: &str = "judge drift: ";

/// A run and its baseline in two parts.
pub(crate) struct Apart {
    /// What the rules read.
    pub(crate) run: Run,
    pub(crate) baseline: BaselineState,
    canaries: Run,
    fixed: BaselineState,
    /// Canaries that the run does not have.
    absent: Vec<String>,
}

/// `None` where the policy names no canary.
pub(crate) fn apart(run: &Run, state: &BaselineState, policy: &Policy) -> Option<Apart> {
    if policy.canaries.is_empty() {
        return None;
    }
    let is_canary = |target: &TargetName| policy.canaries.iter().any(|name| **name == **target);
    let part = |canaries: bool| {
        let mut part = run.clone();
        part.header.targets.retain(|target| is_canary(target) == canaries);
        part.cases.retain(|case| is_canary(&case.target) == canaries);
        part
    };
    let of_state = |canaries: bool| match state {
        BaselineState::NotAsked => BaselineState::NotAsked,
        BaselineState::Absent(place) => BaselineState::Absent(place.clone()),
        BaselineState::Unreachable(why) => BaselineState::Unreachable(why.clone()),
        BaselineState::Broken(why) => BaselineState::Broken(why.clone()),
        BaselineState::Found(baseline) => {
            let cases = baseline.cases.iter().filter(|case| is_canary(&case.target) == canaries).cloned().collect();
            BaselineState::Found(Box::new(Baseline { cases, ..Baseline::clone(baseline) }))
        }
    };
    let has = |name: &String| run.cases.iter().any(|case| *case.target == **name);
    Some(Apart {
        run: part(false),
        baseline: of_state(false),
        canaries: part(true),
        fixed: of_state(true),
        absent: policy.canaries.iter().filter(|name| !has(name)).cloned().collect(),
    })
}

/// What the fixed answers say of the judge.
pub(crate) struct Said {
    pub(crate) notes: Vec<String>,
    /// The judge scores otherwise than it did.
    pub(crate) drifted: bool,
}

impl Apart {
    pub(crate) fn said(&self, policy: &Policy) -> Said {
        let mut said = Said { notes: Vec::new(), drifted: false };
        for name in &self.absent {
            said.notes.push(format!("canaries: this run has no target {name}, so drift of the judge cannot be told"));
        }
        let known = matches!(&self.fixed, BaselineState::Found(baseline) if !baseline.cases.is_empty());
        if self.canaries.cases.is_empty() {
            return said;
        }
        if !known {
            said.notes.push("canaries: the baseline has no fixed answers to compare with".to_owned());
            return said;
        }
        // The comparison alone: limits and single cases are no question of drift.
        let plain = Policy { alpha: policy.alpha, metrics: policy.scales(), ..Policy::default() };
        let verdict = super::judge(&self.canaries, &self.fixed, &plain);
        let compared = || verdict.rules.iter().filter(|rule| rule.rule == RuleKind::NotWorse && rule.delta.is_some());
        let moved: Vec<&Comparison> =
            compared().filter(|rule| rule.verdict == RuleVerdict::Violated || rule.improved).collect();
        for rule in &moved {
            let p =
                rule.p_adjusted.filter(|_| !rule.improved).map(|p| format!(", p {}", exact((p * 1e4).round() / 1e4)));
            said.notes.push(format!(
                "{JUDGE_DRIFT}the fixed answers of {} moved by {} points on {}{}: a change of that size on other targets is the judge's",
                rule.target,
                signed_points(rule.delta.unwrap_or_default()),
                rule.metric,
                p.unwrap_or_default(),
            ));
        }
        let still = compared().count();
        if moved.is_empty() && still > 0 {
            let cases = counted(self.canaries.cases.len() as u64, "fixed answer", "fixed answers");
            said.notes.push(format!("canaries: the judge scores {cases} as before"));
        } else if still == 0 {
            said.notes.push("canaries: the fixed answers could not be compared".to_owned());
        }
        said.drifted = !moved.is_empty();
        said
    }
}
