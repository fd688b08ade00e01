//! Metrics that nothing is required of: their level is shown all the same, so that nobody has to ask where it went.

use super::scene::{Finding, Scene};
use super::sheet::Sheet;
use super::threshold::{FEWEST_FOR_AN_INTERVAL, HALL, Sample, interval};
use crate::domain::{Reason, RuleKind, RuleVerdict};
use crate::stats::total;
use crate::text::number::{counted, score};

/// The mean of one metric on one target, with its interval. It decides nothing.
pub(crate) fn finding(scene: &Scene<'_>, sheet: &Sheet<'_>, metric: usize) -> Option<Finding> {
    let (spec, rules) = scene.metrics.get(metric)?;
    let sample = Sample::of(sheet, metric, spec);
    let new = |verdict, reason| Finding::new(RuleKind::Reported, &spec.name, &sheet.target, verdict, reason);
    let label = scene.label(&spec.name, &sheet.target);
    let planned = (sample.scored.len() + sample.missing.len()) as u64;
    let Some(mean) = total(sample.scored.iter().map(|(mean, _)| mean)) else {
        let mut finding = new(RuleVerdict::NotEvaluated, Reason::NoScores);
        finding.comparison.planned = planned;
        return Some(finding.saying(format!("{label} has no score"), format!("{label} has no score.")));
    };
    let (found, units, method) = interval(&sample.scored, spec, rules.mode, scene.policy.alpha);
    let mut finding = new(RuleVerdict::Met, Reason::Complete);
    let comparison = &mut finding.comparison;
    comparison.current = Some(mean.value());
    // From a few cases a mean's interval is as narrow as chance has them alike; a proportion's allows for that.
    let enough = units >= FEWEST_FOR_AN_INTERVAL || method != HALL;
    comparison.ci = found.filter(|_| enough).map(|(lower, upper)| [lower, upper]);
    comparison.n = sample.scored.len() as u64;
    comparison.planned = planned;
    method.clone_into(&mut comparison.method);
    let text = format!("{label} is at {} over {}", score(mean.value()), counted(comparison.n, "case", "cases"));
    Some(finding.saying(text.clone(), format!("{text}; nothing is required of it.")))
}
