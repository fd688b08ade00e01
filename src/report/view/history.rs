//! How a metric's level came to be what it is: one number for each accepted run, then this one.

use crate::domain::{Baseline, Comparison, RuleKind, Severity, Verdict};
use crate::report::clean::{Clean, Cleaner};
use crate::text::number;

/// Metrics that are shown: those that do most to the build come first.
const MOST: usize = 3;
/// Characters of a metric's name.
const NAME: usize = 60;

/// A metric's levels, `0.81, 0.82, now 0.74`.
#[derive(Clone, Debug)]
pub struct Levels {
    pub metric: Clean,
    pub values: String,
}

/// Of a few metrics; of none where the baseline is of fewer than two runs, whose numbers stand in the table already.
pub(super) fn history(verdict: &Verdict, baseline: Option<&Baseline>, cleaner: &Cleaner) -> Vec<Levels> {
    let Some(baseline) = baseline.filter(|baseline| baseline.runs.len() >= 2) else { return Vec::new() };
    let compared = |rule: &&Comparison| {
        matches!(rule.rule, RuleKind::NotWorse | RuleKind::MaxDrop) && rule.slice.is_none() && rule.current.is_some()
    };
    let mut rules: Vec<&Comparison> = verdict.rules.iter().filter(compared).collect();
    rules.sort_by_key(|rule| match rule.severity {
        Severity::Fail => 0,
        Severity::Block => 1,
        Severity::Warn => 2,
        Severity::Ok => 3,
    });
    rules.iter().filter_map(|rule| of_rule(rule, baseline, cleaner)).take(MOST).collect()
}

fn of_rule(rule: &Comparison, baseline: &Baseline, cleaner: &Cleaner) -> Option<Levels> {
    let mean_of = |run: usize| {
        let (mut sum, mut cases) = (0.0, 0_u32);
        for case in baseline.cases.iter().filter(|case| case.target == rule.target) {
            let trials =
                case.scores.get(&rule.metric).and_then(|runs| runs.get(run)).filter(|trials| !trials.is_empty());
            if let Some(trials) = trials {
                sum += trials.iter().sum::<f64>() / trials.len() as f64;
                cases += 1;
            }
        }
        (cases > 0).then(|| sum / f64::from(cases))
    };
    let before: Vec<String> = (0..baseline.runs.len()).filter_map(mean_of).map(number::score).collect();
    (before.len() >= 2).then_some(())?;
    let values = format!("{}, now {}", before.join(", "), number::score(rule.current?));
    Some(Levels { metric: cleaner.line(&rule.metric, NAME), values })
}
