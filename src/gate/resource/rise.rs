//! At most so much more than in the baseline, over the cases on both sides.

use super::super::comparable::Standing;
use super::super::scene::{Finding, Scene};
use super::super::settings::ModeSetting;
use super::super::sheet::Sheet;
use super::policy::ResourcePolicy;
use super::sample::{Sample, factor, numbers, one_and, within};
use super::{Asked, FEWEST_FOR_AN_INTERVAL, explain};
use crate::domain::{Comparison, Reason, RuleKind, RuleVerdict, Statistic};
use crate::stats::{CaseMean, Pair, Ratio, differences, mean_interval, sign_flip};

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
    let change = Change::of(&before, &now, scene.policy.alpha).filter(|_| is_compared(statistic));
    let enough = now.units() >= FEWEST_FOR_AN_INTERVAL;
    let interval = change.as_ref().and_then(|change| change.interval).filter(|_| enough);
    let holds = holds(old, current, most);
    let reading = Reading {
        mode: rules.mode,
        statistic,
        holds,
        interval,
        // The mean of the pairs' differences, beside what the baseline's mean allows.
        bound: before.value(Statistic::Mean).map_or(0.0, |mean| mean.value() * most),
        // A handful of many cases says nothing of them.
        few: now.measured() < FEWEST_FOR_AN_INTERVAL as u64 && now.measured() < sample.answered,
    };
    let (verdict, reason) = reading.decided();
    let mut finding = new(verdict, reason);
    finding.comparison.planned = sample.answered;
    levels(&mut finding.comparison, (&before, old), (&now, current));
    moves(&mut finding.comparison, &now, change.as_ref());
    // Of the mean difference; of a total it is as many times that as there are cases.
    let scale = if statistic == Statistic::Total { now.measured() as f64 } else { 1.0 };
    let shown = |(lower, upper): (f64, f64)| [now.shown(lower * scale), now.shown(upper * scale)];
    finding.comparison.ci = interval.map(shown);
    let method = if rules.mode == ModeSetting::Point || interval.is_none() { "point" } else { "hall_t" };
    method.clone_into(&mut finding.comparison.method);
    let by_its_value = rules.mode != ModeSetting::Point && !is_compared(statistic);
    let (old, current) = (old.value(), current.value());
    explain::rise(finding, &subject, &now, &explain::Levels { old, current, most, holds, by_its_value })
}

fn levels(comparison: &mut Comparison, (before, old): (&Sample, Ratio), (now, current): (&Sample, Ratio)) {
    comparison.baseline = Some(before.shown(old.value()));
    comparison.current = Some(now.shown(current.value()));
    comparison.delta = current.minus(old).map(|delta| now.shown(delta.value()));
}

fn moves(comparison: &mut Comparison, now: &Sample, change: Option<&Change>) {
    comparison.n = now.measured();
    comparison.p = change.map(|change| change.p);
    if let Some(change) = change {
        (comparison.up, comparison.down, comparison.same) = change.moves;
    }
}

/// Pairs of cases tell how far it moved; a percentile belongs to no pair, and has no interval in any mode.
fn is_compared(statistic: Statistic) -> bool {
    match statistic {
        Statistic::Mean | Statistic::Total => true,
        Statistic::P50 | Statistic::P95 | Statistic::CaseMax => false,
    }
}

/// Whether the level is at most so much above the old one, exactly where that can be said.
fn holds(old: Ratio, current: Ratio, most: f64) -> bool {
    match one_and(most).and_then(|share| old.times(share)) {
        allowed @ Some(_) => within(current, allowed),
        None => current.value() <= old.value() * (1.0 + most),
    }
}

/// What a rise is decided by.
struct Reading {
    mode: ModeSetting,
    statistic: Statistic,
    /// The value is within the limit.
    holds: bool,
    /// Of the mean difference, and the most that it may be.
    interval: Option<(f64, f64)>,
    bound: f64,
    few: bool,
}

impl Reading {
    fn decided(&self) -> (RuleVerdict, Reason) {
        const MET: (RuleVerdict, Reason) = (RuleVerdict::Met, Reason::ThresholdMet);
        const MISSED: (RuleVerdict, Reason) = (RuleVerdict::Violated, Reason::ThresholdMissed);
        if self.few {
            return (RuleVerdict::Inconclusive, Reason::Missing);
        }
        let by_value = if self.holds { MET } else { MISSED };
        match (self.mode, self.interval) {
            (ModeSetting::Point | ModeSetting::Exact, _) | (ModeSetting::Confident, None) => by_value,
            (ModeSetting::Confident, Some((lower, _))) if lower > self.bound => MISSED,
            (ModeSetting::Confident | ModeSetting::Strict, Some((_, upper))) if upper <= self.bound => MET,
            (ModeSetting::Confident, Some(_)) => (RuleVerdict::Inconclusive, Reason::ThresholdUncertain),
            (ModeSetting::Strict, Some(_)) => MISSED,
            // Too few cases prove nothing; of what can never be proved the value is all there is.
            (ModeSetting::Strict, None) if is_compared(self.statistic) => MISSED,
            (ModeSetting::Strict, None) => by_value,
        }
    }
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
