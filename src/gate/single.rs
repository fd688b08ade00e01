//! Rules on single cases rather than on a mean: every case reaches a score; a percentile does. No interval is involved.

use std::cmp::Ordering;

use super::explain;
use super::policy::{MetricPolicy, Percentile};
use super::scene::{Finding, Scene, severity};
use super::sheet::{Measured, Sheet, share};
use super::threshold::{Asked, Required, Sample};
use crate::domain::{CaseId, MetricSpec, Reason, RuleKind, RuleVerdict};
use crate::stats::{CaseMean, Ratio, SCALE};

/// These rules of one metric on one target.
pub(crate) fn findings(scene: &Scene<'_>, sheet: &Sheet<'_>, metric: usize) -> Vec<Finding> {
    let Some((spec, rules)) = scene.metrics.get(metric) else { return Vec::new() };
    let mut findings = each(scene, sheet, metric, Asked { spec, rules, slice: None });
    if let Some(percentile) = rules.percentile {
        let bounds = [percentile.min.map(Required::AtLeast), percentile.max.map(Required::AtMost)];
        for bound in bounds.into_iter().flatten() {
            findings.push(percentile_rule(scene, sheet, metric, spec, rules, percentile, bound));
        }
    }
    findings
}

/// Limits for every case of a sheet.
pub(crate) fn each(scene: &Scene<'_>, sheet: &Sheet<'_>, metric: usize, asked: Asked<'_>) -> Vec<Finding> {
    let bounds = [asked.rules.case_min.map(Required::AtLeast), asked.rules.case_max.map(Required::AtMost)];
    bounds.into_iter().flatten().map(|bound| each_case(scene, sheet, metric, asked, bound)).collect()
}

fn new(
    scene: &Scene<'_>,
    sheet: &Sheet<'_>,
    spec: &MetricSpec,
    rules: &MetricPolicy,
    rule: RuleKind,
    found: (RuleVerdict, Reason),
    bound: Required,
) -> Finding {
    let mut finding = Finding::new(rule, &spec.name, &sheet.target, found.0, found.1).with_severity(severity(
        found.0,
        found.1,
        rules,
        scene.policy,
    ));
    finding.comparison.require(bound.limit(), bound.bound());
    "point".clone_into(&mut finding.comparison.method);
    finding
}

fn each_case(scene: &Scene<'_>, sheet: &Sheet<'_>, metric: usize, asked: Asked<'_>, bound: Required) -> Finding {
    let Asked { spec, rules, slice } = asked;
    let (scored, planned) = share(sheet.levels(metric));
    let mut failing: Vec<(CaseMean, CaseId)> = Vec::new();
    let mut worst: Option<CaseMean> = None;
    for (row, cell) in sheet.rows.iter().zip(sheet.levels(metric)) {
        let Measured::Score(mean) = cell else { continue };
        if worst.is_none_or(|worst| worse(bound, *mean, worst) == Ordering::Less) {
            worst = Some(*mean);
        }
        if !bound.holds(mean.exact()) {
            failing.push((*mean, row.id.clone()));
        }
    }
    failing.sort_by(|left, right| worse(bound, left.0, right.0).then_with(|| left.1.cmp(&right.1)));
    let found = if !failing.is_empty() {
        (RuleVerdict::Violated, Reason::ThresholdMissed)
    } else if scored == 0 {
        (RuleVerdict::NotEvaluated, Reason::NoScores)
    } else if scored < planned {
        // A case without a score may be the one that fails.
        (RuleVerdict::Inconclusive, Reason::Missing)
    } else {
        (RuleVerdict::Met, Reason::ThresholdMet)
    };
    let mut finding = new(scene, sheet, spec, rules, RuleKind::EachCase, found, bound);
    finding.comparison.slice = slice.map(str::to_owned);
    finding.comparison.current = worst.map(CaseMean::value);
    finding.comparison.n = scored;
    finding.comparison.planned = planned;
    finding.named = failing.iter().map(|(_, id)| (id.clone(), spec.name.clone())).collect();
    explain::each_case(finding, scene, bound, &failing, &sheet.troubles(metric))
}

/// The worse one first.
fn worse(bound: Required, left: CaseMean, right: CaseMean) -> Ordering {
    let order = left.exact().compare(right.exact());
    match bound {
        Required::AtLeast(_) => order,
        Required::AtMost(_) => order.reverse(),
    }
}

/// The smallest score that at least `at` per cent of the cases do not exceed (nearest rank).
fn percentile(cases: &[CaseMean], at: f64) -> Option<Ratio> {
    let mut scores: Vec<Ratio> = cases.iter().map(|mean| mean.exact()).collect();
    scores.sort_by(|left, right| left.compare(*right));
    let whole = SCALE.checked_mul(100)?;
    let rank = crate::stats::decimal(at)?.checked_mul(i128::try_from(scores.len()).ok()?)?;
    let rank = (rank + whole - 1) / whole;
    scores.get(usize::try_from(rank).ok()?.checked_sub(1)?).copied()
}

fn percentile_rule(
    scene: &Scene<'_>,
    sheet: &Sheet<'_>,
    metric: usize,
    spec: &MetricSpec,
    rules: &MetricPolicy,
    wanted: Percentile,
    bound: Required,
) -> Finding {
    let sample = Sample::of(sheet, metric, spec);
    let holds = |cases: Vec<(CaseMean, Option<usize>)>| {
        let means: Vec<CaseMean> = cases.into_iter().map(|(mean, _)| mean).collect();
        percentile(&means, wanted.at).map(|value| (value, bound.holds(value)))
    };
    let as_is = holds(sample.scored.clone());
    let (worst, best) = bound.extremes(spec);
    let filled = |score| sample.filled(score).and_then(holds).map(|(_, holds)| holds);
    let found = match (as_is, filled(worst), filled(best)) {
        (None, _, _) => (RuleVerdict::NotEvaluated, Reason::NoScores),
        (Some((_, true)), Some(true), Some(true)) => (RuleVerdict::Met, Reason::ThresholdMet),
        (Some((_, false)), Some(false), Some(false)) => (RuleVerdict::Violated, Reason::ThresholdMissed),
        _ => (RuleVerdict::Inconclusive, Reason::Missing),
    };
    let mut finding = new(scene, sheet, spec, rules, RuleKind::Percentile, found, bound);
    let (scored, planned) = sheet.share(metric);
    finding.comparison.current = as_is.map(|(value, _)| value.value());
    finding.comparison.n = scored;
    finding.comparison.planned = planned;
    explain::percentile(finding, scene, wanted.at, as_is.map(|(value, _)| value), bound, &sheet.troubles(metric))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_nearest_rank() {
        let cases: Vec<CaseMean> =
            [15.0, 20.0, 35.0, 40.0, 50.0].iter().map(|v| CaseMean::of(&[*v]).unwrap()).collect();
        for (at, want) in [(5.0, 15.0), (20.0, 15.0), (30.0, 20.0), (40.0, 20.0), (50.0, 35.0), (99.9, 50.0)] {
            assert_eq!(percentile(&cases, at).unwrap().value(), want, "{at}");
        }
        assert_eq!(percentile(&[], 50.0), None);
    }
}
