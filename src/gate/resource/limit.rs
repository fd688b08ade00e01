//! At most so much.

use super::super::scene::{Finding, Scene, at_most};
use super::super::settings::ModeSetting;
use super::super::sheet::Sheet;
use super::policy::ResourcePolicy;
use super::sample::{Sample, within};
use super::{Asked, FEWEST_FOR_AN_INTERVAL, explain};
use crate::domain::{Reason, Resource, RuleKind, RuleVerdict, Statistic};
use crate::stats::{ThresholdMode, ThresholdState, threshold_state};

pub(super) fn finding(
    scene: &Scene<'_>,
    sheet: &Sheet<'_>,
    sample: &Sample,
    rules: &ResourcePolicy,
    statistic: Statistic,
    limit: f64,
) -> Finding {
    let asked = Asked { rule: RuleKind::Resource, resource: sample.resource, statistic, rules, limit };
    let new = |verdict, reason| asked.finding(scene.policy, sheet, verdict, reason);
    let subject = explain::subject(scene, &asked, sheet);
    let Some(value) = sample.value(statistic) else {
        let mut finding = new(RuleVerdict::NotEvaluated, Reason::NoScores);
        finding.comparison.planned = sample.answered;
        return explain::nothing_known(finding, &subject, sample);
    };
    let holds = within(value, sample.limit(limit));
    let interval = sample.interval(statistic, scene.policy.alpha).filter(|_| sample.units() >= FEWEST_FOR_AN_INTERVAL);
    let state = read(sample, statistic, interval, limit, (rules.mode, holds), value.value());
    let open = sample.lost > 0 && !sample.settled(statistic, sample.limit(limit));
    let (verdict, reason) = match (state, open || short(scene, sample, statistic)) {
        // More answers only add to these two.
        (ThresholdState::Violated, true) if matches!(statistic, Statistic::Total | Statistic::CaseMax) => {
            (RuleVerdict::Violated, Reason::ThresholdMissed)
        }
        (_, true) => (RuleVerdict::Inconclusive, Reason::Missing),
        (ThresholdState::Violated, false) => (RuleVerdict::Violated, Reason::ThresholdMissed),
        (ThresholdState::Met, false) => (RuleVerdict::Met, Reason::ThresholdMet),
        (ThresholdState::Uncertain, false) => (RuleVerdict::Inconclusive, Reason::ThresholdUncertain),
    };
    let mut finding = new(verdict, reason);
    let comparison = &mut finding.comparison;
    comparison.current = Some(sample.shown(value.value()));
    comparison.ci = interval
        .filter(|(_, upper, _)| upper.is_finite())
        .map(|(lower, upper, _)| [sample.shown(lower), sample.shown(upper)]);
    comparison.n = sample.measured();
    comparison.planned = sample.answered;
    let by_value = rules.mode == ModeSetting::Point || interval.is_none();
    let method = interval.filter(|_| !by_value).map_or("point", |(_, _, method)| method);
    method.clone_into(&mut comparison.method);
    explain::limit(finding, &subject, sample, limit, by_its_value(sample, statistic, rules.mode))
}

/// An interval was asked for, and the statistic never has one.
fn by_its_value(sample: &Sample, statistic: Statistic, mode: ModeSetting) -> bool {
    match mode {
        ModeSetting::Point | ModeSetting::Exact => false,
        ModeSetting::Confident | ModeSetting::Strict => !sample.can_have_interval(statistic),
    }
}

/// So little is known that nothing can be vouched for.
fn short(scene: &Scene<'_>, sample: &Sample, statistic: Statistic) -> bool {
    let (missing, of) = sample.unknown(statistic);
    match (missing, statistic, sample.resource) {
        (0, ..) => false,
        // Any one that is not known may be the largest, and adds to the sum.
        (_, Statistic::CaseMax | Statistic::Total, _) => true,
        // Answers from the ledger are left out on purpose; a handful of the others says nothing.
        (_, Statistic::Mean | Statistic::P50 | Statistic::P95, Resource::Latency) => {
            sample.measured() < FEWEST_FOR_AN_INTERVAL as u64
        }
        (_, Statistic::Mean | Statistic::P50 | Statistic::P95, Resource::Tokens | Resource::Cost) => {
            !at_most(missing, of, scene.policy.max_missing)
        }
    }
}

fn read(
    sample: &Sample,
    statistic: Statistic,
    interval: Option<(f64, f64, &'static str)>,
    limit: f64,
    (mode, holds): (ModeSetting, bool),
    value: f64,
) -> ThresholdState {
    let by_value = if holds { ThresholdState::Met } else { ThresholdState::Violated };
    let mode = match mode {
        ModeSetting::Point | ModeSetting::Exact => return by_value,
        ModeSetting::Confident => ThresholdMode::Confident,
        ModeSetting::Strict => ThresholdMode::Strict,
    };
    let Some((lower, upper, _)) = interval else {
        // Too few cases prove nothing; of what can never be proved the value is all there is.
        let unproved = mode == ThresholdMode::Strict && sample.can_have_interval(statistic);
        return if unproved { ThresholdState::Violated } else { by_value };
    };
    let limit = limit * super::sample::factor(sample.resource);
    let state = threshold_state(-value, -upper, -lower, -limit, mode);
    // The value is exact, the bounds are not.
    match (state, holds) {
        (ThresholdState::Met, false) => ThresholdState::Uncertain,
        (ThresholdState::Violated, true) if mode == ThresholdMode::Confident => ThresholdState::Uncertain,
        (state, _) => state,
    }
}
