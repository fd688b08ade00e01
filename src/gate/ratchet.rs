//! "The baseline only moves up": whether accepting a run would lower what later runs are compared with.

use super::Policy;
use super::matchup::range;
use super::max_drop::drops_too_far;
use crate::domain::{Baseline, BaselineCase, MetricName, TargetName};
use crate::stats::{CaseMean, Differences, Pair, Ratio};

/// A metric that a newly accepted run would lower.
#[derive(Clone, Debug, PartialEq)]
pub struct Fallen {
    pub metric: MetricName,
    pub target: TargetName,
    /// Means over the cases on both sides.
    pub baseline: f64,
    pub current: f64,
    pub cases: u64,
}

/// A metric of the baseline that a newly accepted run cannot be compared in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incomparable {
    pub metric: MetricName,
    pub target: TargetName,
    /// The run does not measure it at all; else no case is on both sides unchanged with a score.
    pub gone: bool,
}

impl Policy {
    /// The metrics that decide, of which `earlier` has scores and `newest` has none on the same cases: whether they fell, nobody knows.
    pub fn incomparable(&self, earlier: &Baseline, newest: &Baseline) -> Vec<Incomparable> {
        let mut found = Vec::new();
        for spec in earlier.metrics.iter().filter(|spec| self.metric(&spec.name).gate) {
            let mut targets: Vec<&TargetName> =
                earlier.cases.iter().filter(|case| mean(case, &spec.name).is_some()).map(|case| &case.target).collect();
            targets.sort();
            targets.dedup();
            let gone = newest.metrics.iter().all(|other| other.name != spec.name);
            let without = targets.into_iter().filter(|target| pairs(earlier, newest, &spec.name, target).is_empty());
            found.extend(without.map(|target| Incomparable {
                metric: spec.name.clone(),
                target: target.clone(),
                gone,
            }));
        }
        found
    }

    /// The metrics of `newest` whose mean is worse than that of `earlier` by more than `tolerance` (0 to 1 scale), over the cases that both
    /// have unchanged. A metric that never gates is not among them; one that is gone altogether is no fall: [`Policy::incomparable`] names it.
    pub fn fallen(&self, earlier: &Baseline, newest: &Baseline, tolerance: f64) -> Vec<Fallen> {
        let mut fallen = Vec::new();
        for spec in &earlier.metrics {
            let rules = self.metric(&spec.name);
            let spec = rules.apply(spec.clone());
            let mut targets: Vec<&TargetName> = earlier.cases.iter().map(|case| &case.target).collect();
            targets.sort();
            targets.dedup();
            for target in targets.into_iter().filter(|_| rules.gate) {
                let pairs = pairs(earlier, newest, &spec.name, target);
                let Some((before, now)) = Differences::means(&pairs) else { continue };
                if drops_too_far(before, now, tolerance * range(&spec), spec.direction) {
                    fallen.push(Fallen {
                        metric: spec.name.clone(),
                        target: target.clone(),
                        baseline: before.value(),
                        current: Ratio::value(now),
                        cases: pairs.len() as u64,
                    });
                }
            }
        }
        fallen
    }
}

fn mean(case: &BaselineCase, metric: &str) -> Option<CaseMean> {
    CaseMean::of(&case.scores.get(metric)?.iter().flatten().copied().collect::<Vec<f64>>())
}

fn pairs(earlier: &Baseline, newest: &Baseline, metric: &str, target: &TargetName) -> Vec<Pair> {
    let pair = |case: &BaselineCase| {
        let key = (&case.id, &case.target);
        let at = newest.cases.binary_search_by(|other| (&other.id, &other.target).cmp(&key)).ok()?;
        let now = newest.cases.get(at).filter(|now| now.content == case.content)?;
        Some(Pair { candidate: mean(now, metric)?, baseline: mean(case, metric)?, cluster: None })
    };
    earlier.cases.iter().filter(|case| case.target == *target).filter_map(pair).collect()
}
