//! Cases that pass and fail without a change, by the baseline's history (statistics §12.5).

use super::Policy;
use super::must_pass::value_passes;
use crate::domain::{Baseline, FlakyCase};
use crate::stats::{Ratio, flip_rate, is_flaky};

/// Flaky cases of a pool, those that flip most first.
pub(crate) fn flaky(baseline: &Baseline, policy: &Policy) -> Vec<FlakyCase> {
    let mut found = Vec::new();
    for spec in &baseline.metrics {
        let spec = policy.metric(&spec.name).apply(spec.clone());
        for case in &baseline.cases {
            let scores = case.history(&spec.name);
            let outcomes: Vec<bool> =
                scores.filter_map(|score| Some(value_passes(Ratio::decimal(score)?, None, &spec))).collect();
            let passes = outcomes.iter().filter(|passed| **passed).count() as u64;
            let trials = outcomes.len() as u64;
            let fails = trials.saturating_sub(passes);
            if let Some(flips) = flip_rate(passes, fails).filter(|_| is_flaky(passes, fails)) {
                let (case, target, metric) = (case.id.clone(), case.target.clone(), spec.name.clone());
                found.push(FlakyCase { case, target, metric, passes, trials, flip_rate: flips });
            }
        }
    }
    found.sort_by(|left, right| {
        let key = |one: &FlakyCase| (one.metric.clone(), one.case.clone(), one.target.clone());
        right.flip_rate.total_cmp(&left.flip_rate).then_with(|| key(left).cmp(&key(right)))
    });
    found
}
