//! At most so much more than in the baseline, over the cases on both sides.

use super::super::comparable::Standing;
use super::super::scene::{Finding, Scene};
use super::super::settings::ModeSetting;
use super::super::sheet::Sheet;
use super::policy::ResourcePolicy;
use super::sample::{Sample, factor, numbers, one_and, within};
use super::{Asked, FEWEST_FOR_AN_INTERVAL, explain};
use crate::domain::{Reason, RuleKind, RuleVerdict, Statistic};
use crate::stats::{CaseMean, Pair, differences, mean_interval, sign_flip};

pub(super) fn finding(
    scene: &Scene<'_>,
    at: usize,
    sheet: &Sheet<'_>,
    sample: &Sample,
    rules: &ResourcePolicy,
    statistic: Statistic,
    most: f64,
) -> Finding {
    let resource = sample.resource;
    let asked = Asked { rule: RuleKind::ResourceRise, resource, statistic, rules, limit: most };
    let new = |verdict, reason| asked.finding(scene.policy, sheet, verdict, reason);
    let subject = explain::subject(scene, &asked, sheet);
    let (before, now) = pairs(scene, at, sheet, sample);
    let (Some(old), Some(current)) = (before.value(statistic), now.value(statistic)) else {
        if sample.measured() == 0 {
            let mut finding = new(RuleVerdict::NotEvaluated, Reason::NoScores);
            finding.comparison.planned = sample.answered;
            return explain::nothing_known(finding, &subject, sample);
        }
        return explain::nothing_to_compare(new(RuleVerdict::NotEvaluated, Reason::NoBaseline), &subject, resource);
    };
    let allowed = one_and(most).and_then(|share| old.times(share));
    let by_value = match allowed {
        Some(_) => within(current, allowed),
        None => current.value() <= old.value() * (1.0 + most),
    };
    let change = Change::of(&before, &now, scene.policy.alpha)
        .filter(|_| statistic == Statistic::Mean || statistic == Statistic::Total);
    let enough = now.units() >= FEWEST_FOR_AN_INTERVAL;
    let interval = change.as_ref().and_then(|change| change.interval).filter(|_| enough);
    // The mean of the pairs' differences, beside what the baseline's mean allows.
    let bound = before.value(Statistic::Mean).map_or(0.0, |mean| mean.value() * most);
    // A handful of many cases says nothing of them.
    let few = now.measured() < FEWEST_FOR_AN_INTERVAL as u64 && now.measured() < sample.answered;
    let (verdict, reason) = match (rules.mode, interval) {
        _ if few => (RuleVerdict::Inconclusive, Reason::Missing),
        (ModeSetting::Confident, Some((lower, _))) if lower > bound => (RuleVerdict::Violated, Reason::ThresholdMissed),
        (ModeSetting::Confident | ModeSetting::Strict, Some((_, upper))) if upper <= bound => {
            (RuleVerdict::Met, Reason::ThresholdMet)
        }
        (ModeSetting::Confident, Some(_)) => (RuleVerdict::Inconclusive, Reason::ThresholdUncertain),
        (ModeSetting::Strict, _) => (RuleVerdict::Violated, Reason::ThresholdMissed),
        _ if by_value => (RuleVerdict::Met, Reason::ThresholdMet),
        _ => (RuleVerdict::Violated, Reason::ThresholdMissed),
    };
    let mut finding = new(verdict, reason);
    let scale = if statistic == Statistic::Total { now.measured() as f64 } else { 1.0 };
    let comparison = &mut finding.comparison;
    comparison.baseline = Some(before.shown(old.value()));
    comparison.current = Some(now.shown(current.value()));
    comparison.delta = current.minus(old).map(|delta| now.shown(delta.value()));
    comparison.ci = interval.map(|(lower, upper)| [now.shown(lower * scale), now.shown(upper * scale)]);
    comparison.p = change.as_ref().map(|change| change.p);
    comparison.n = now.measured();
    comparison.planned = sample.answered;
    if let Some(change) = &change {
        (comparison.up, comparison.down, comparison.same) = change.moves;
    }
    let method = if rules.mode == ModeSetting::Point || interval.is_none() { "point" } else { "hall_t" };
    method.clone_into(&mut comparison.method);
    explain::rise(finding, &subject, &now, old.value(), current.value(), most)
}

/// A case on both sides.
struct Both {
    row: usize,
    before: Vec<f64>,
    now: Vec<f64>,
    cluster: Option<usize>,
}

/// The same cases before and now.
fn pairs(scene: &Scene<'_>, at: usize, sheet: &Sheet<'_>, sample: &Sample) -> (Sample, Sample) {
    let resource = sample.resource;
    let standing = scene.reference.as_ref().and_then(|reference| reference.sides.get(at)).map(|side| &side.standing);
    let both = |(row, _, cluster): &(usize, CaseMean, Option<usize>)| {
        let Standing::Same(case) = standing?.get(*row)? else { return None };
        let of_runs = case.taken.as_ref()?.of(resource).iter().flatten();
        let before: Vec<f64> = of_runs.map(|number| number * factor(resource)).collect();
        let now = numbers(sheet.rows.get(*row)?, resource);
        let both = Both { row: *row, before, now, cluster: *cluster };
        (!both.before.is_empty() && !both.now.is_empty()).then_some(both)
    };
    let both: Vec<Both> = sample.cases.iter().filter_map(both).collect();
    let before = both.iter().map(|one| (one.row, one.before.clone(), one.cluster));
    let before = Sample::from(resource, before);
    (before, Sample::from(resource, both.into_iter().map(|one| (one.row, one.now, one.cluster))))
}

/// How the cases moved (statistics §5, §6).
struct Change {
    /// More is worse: small where the answers take more by more than luck.
    p: f64,
    /// Of the mean difference; positive is more.
    interval: Option<(f64, f64)>,
    /// Cases that took more, less, as much.
    moves: (u64, u64, u64),
}

impl Change {
    fn of(before: &Sample, now: &Sample, alpha: f64) -> Option<Self> {
        let sides = now.cases.iter().zip(&before.cases);
        let pairs: Vec<Pair> = sides
            .map(|((_, candidate, cluster), (_, baseline, _))| Pair {
                candidate: *candidate,
                baseline: *baseline,
                cluster: *cluster,
            })
            .collect();
        let found = differences(&pairs, 1.0, true)?;
        let flip = sign_flip(&found.integers);
        // Negative units are more; the interval is turned back.
        let interval = mean_interval(&found.units, 0.0, alpha, 0.0, (f64::MIN, f64::MAX));
        let interval = interval.map(|(lower, upper)| (-upper, -lower));
        Some(Self { p: flip.p_mid, interval, moves: (found.down, found.up, found.same) })
    }
}
