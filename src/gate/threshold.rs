//! Is the mean, or the share of passing cases, on the right side of a limit? (statistics §11)
//!
//! `confident`, the default, needs an interval, and an interval needs cases: with fewer than 20 scored ones the value itself
//! decides, so that a mean below the limit of a small suite is never green.

use std::cmp::Ordering;

use super::estimate::{floor, most_trials};
use super::explain;
use super::policy::MetricPolicy;
use super::scene::{Finding, Scene, severity};
use super::settings::ModeSetting;
use super::sheet::{Measured, Sheet};
use crate::domain::{
    Bound, CaseId, CaseRecord, Direction, MetricName, MetricSpec, Reason, RuleKind, RuleVerdict, ScoreKind,
};
use crate::stats::{
    CaseMean, JudgeRates, Ratio, ThresholdMode, ThresholdState, clopper_pearson, cluster_means, mean_interval,
    rogan_gladen, threshold_state, total, wilson,
};

/// Fewer scored cases (or clusters) than this decide by the value itself.
pub(crate) const FEWEST_FOR_AN_INTERVAL: usize = 20;

/// The interval of a pass rate that is corrected for the judge's errors.
const ROGAN_GLADEN: &str = "rogan_gladen";

/// The interval of means that are no proportions.
pub(crate) const HALL: &str = "hall_t";

/// A limit and which side of it is the right one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Required {
    AtLeast(f64),
    AtMost(f64),
}

impl Required {
    pub(crate) fn limit(self) -> f64 {
        match self {
            Self::AtLeast(limit) | Self::AtMost(limit) => limit,
        }
    }

    pub(crate) fn bound(self) -> Bound {
        match self {
            Self::AtLeast(_) => Bound::AtLeast,
            Self::AtMost(_) => Bound::AtMost,
        }
    }

    /// Equal to the limit holds.
    pub(crate) fn holds(self, value: Ratio) -> bool {
        let Some(limit) = Ratio::decimal(self.limit()) else { return false };
        match self {
            Self::AtLeast(_) => value.compare(limit) != Ordering::Less,
            Self::AtMost(_) => value.compare(limit) != Ordering::Greater,
        }
    }

    /// The worst and the best score there can be.
    pub(crate) fn extremes(self, spec: &MetricSpec) -> (f64, f64) {
        let (lo, hi) = spec.kind.range();
        match self {
            Self::AtLeast(_) => (lo, hi),
            Self::AtMost(_) => (hi, lo),
        }
    }
}

/// What a limit is read on.
pub(crate) struct Sample<'s> {
    pub(crate) spec: &'s MetricSpec,
    /// Scored cases.
    pub(crate) scored: Vec<(CaseMean, Option<usize>)>,
    /// Clusters of the planned cases without a score.
    pub(crate) missing: Vec<Option<usize>>,
}

impl<'s> Sample<'s> {
    pub(crate) fn of(sheet: &Sheet<'_>, metric: usize, spec: &'s MetricSpec) -> Self {
        let mut sample = Self { spec, scored: Vec::new(), missing: Vec::new() };
        for (cell, cluster) in sheet.levels(metric).iter().zip(&sheet.clusters) {
            match cell {
                Measured::Score(mean) => sample.scored.push((*mean, *cluster)),
                Measured::Error(_) | Measured::Unusable(_) | Measured::Left => sample.missing.push(*cluster),
                Measured::NotApplicable => {}
            }
        }
        sample
    }

    /// The cases with every missing one at `score`; `None` where that is no decimal.
    pub(crate) fn filled(&self, score: f64) -> Option<Vec<(CaseMean, Option<usize>)>> {
        let filling = CaseMean::of(&[score])?;
        Some(self.scored.iter().copied().chain(self.missing.iter().map(|cluster| (filling, *cluster))).collect())
    }
}

/// How a limit was read.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    pub(crate) state: ThresholdState,
    pub(crate) mean: Ratio,
    /// In the metric's own scale, each end at level alpha; `None` where it would say more than the cases do.
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) units: usize,
    pub(crate) method: &'static str,
    /// The mean is a pass rate that is corrected for the judge's errors.
    pub(crate) corrected: bool,
}

/// How a limit is to be read.
#[derive(Clone, Copy)]
pub(crate) struct How {
    pub(crate) mode: ModeSetting,
    /// Of the judge; the scores are passes then.
    pub(crate) rates: Option<JudgeRates>,
}

/// Levels of the bounds: shown and "met"; "violated" (Bonferroni over the thresholds, statistics §11.4).
#[derive(Clone, Copy)]
pub(crate) struct Levels {
    pub(crate) alpha: f64,
    pub(crate) violated: f64,
}

/// Reads one limit on scored cases; `None` without any.
pub(crate) fn read(
    cases: &[(CaseMean, Option<usize>)],
    spec: &MetricSpec,
    bound: Required,
    how: How,
    levels: Levels,
) -> Option<Reading> {
    let mode = how.mode;
    let measured = total(cases.iter().map(|(mean, _)| mean))?;
    let at = |alpha: f64| match how.rates {
        None => {
            let (found, units, method) = interval(cases, spec, mode, alpha);
            Some((measured, found, units, method))
        }
        Some(rates) => {
            let (mean, found, units) = corrected(measured, cases, rates, alpha)?;
            Some((mean, Some(found), units, ROGAN_GLADEN))
        }
    };
    let (mean, shown, units, method) = at(levels.alpha)?;
    let holds = bound.holds(mean);
    let by_value = match mode {
        ModeSetting::Point => true,
        // Without an interval nothing is above the limit with confidence.
        ModeSetting::Strict => false,
        ModeSetting::Confident | ModeSetting::Exact => units < FEWEST_FOR_AN_INTERVAL || shown.is_none(),
    };
    let state = match (by_value, holds) {
        (true, true) => ThresholdState::Met,
        (true, false) => ThresholdState::Violated,
        (false, _) => {
            let strict = at(levels.violated)?.1;
            by_interval(mean, shown, strict, bound, mode, holds)
        }
    };
    // Of a few cases an interval is as narrow as chance has them alike; a proportion's allows for that, and so does who asks for it.
    let telling = !by_value || units >= FEWEST_FOR_AN_INTERVAL || method != HALL;
    let method = if by_value { "point" } else { method };
    let corrected = how.rates.is_some();
    Some(Reading { state, mean, interval: shown.filter(|_| telling), units, method, corrected })
}

/// A pass rate without the judge's errors, its bounds, and the number of units (statistics §18.3).
fn corrected(
    rate: Ratio,
    cases: &[(CaseMean, Option<usize>)],
    rates: JudgeRates,
    alpha: f64,
) -> Option<(Ratio, (f64, f64), usize)> {
    // Digits beyond which nothing is known of a rate that is an estimate.
    const DIGITS: f64 = 1e9;
    let shares: Vec<f64> = cases.iter().map(|(mean, _)| mean.value()).collect();
    let clusters: Vec<Option<usize>> = cases.iter().map(|(_, cluster)| *cluster).collect();
    let units = cluster_means(&shares, &clusters).len();
    let found = rogan_gladen(rate.value(), units as u64, rates, alpha)?;
    let level = Ratio::decimal((found.level * DIGITS).round() / DIGITS)?;
    Some((level, (found.lower, found.upper), units))
}

fn by_interval(
    mean: Ratio,
    shown: Option<(f64, f64)>,
    violated: Option<(f64, f64)>,
    bound: Required,
    mode: ModeSetting,
    holds: bool,
) -> ThresholdState {
    let (Some(shown), Some(violated)) = (shown, violated) else { return ThresholdState::Violated };
    let mode = match mode {
        ModeSetting::Confident | ModeSetting::Exact => ThresholdMode::Confident,
        ModeSetting::Strict => ThresholdMode::Strict,
        ModeSetting::Point => ThresholdMode::Point,
    };
    let state = match bound {
        Required::AtLeast(limit) => threshold_state(mean.value(), shown.0, violated.1, limit, mode),
        Required::AtMost(limit) => threshold_state(-mean.value(), -shown.1, -violated.0, -limit, mode),
    };
    // A bound is a float; the mean is exact. A mean on the wrong side is never "met", one on the right side is violated only
    // where the mode is strict.
    match (state, holds) {
        (ThresholdState::Met, false) => ThresholdState::Uncertain,
        (ThresholdState::Violated, true) if mode == ThresholdMode::Confident => ThresholdState::Uncertain,
        (state, _) => state,
    }
}

/// Interval in the metric's own scale, number of units, method.
pub(crate) fn interval(
    cases: &[(CaseMean, Option<usize>)],
    spec: &MetricSpec,
    mode: ModeSetting,
    alpha: f64,
) -> (Option<(f64, f64)>, usize, &'static str) {
    let clusters: Vec<Option<usize>> = cases.iter().map(|(_, cluster)| *cluster).collect();
    let single = cases.iter().all(|(mean, _)| mean.trials() == 1);
    if spec.kind == ScoreKind::Binary && single && clusters.iter().all(Option::is_none) {
        let n = cases.len() as u64;
        let passed = cases.iter().filter(|(mean, _)| mean.value() > 0.5).count() as u64;
        return match mode {
            ModeSetting::Exact => (Some(clopper_pearson(passed, n, alpha)), cases.len(), "clopper_pearson"),
            ModeSetting::Confident | ModeSetting::Point | ModeSetting::Strict => {
                (Some(wilson(passed, n, alpha)), cases.len(), "wilson")
            }
        };
    }
    let (lo, hi) = spec.kind.range();
    let shares: Vec<f64> = cases.iter().map(|(mean, _)| (mean.value() - lo) / (hi - lo)).collect();
    let units = cluster_means(&shares, &clusters);
    let means: Vec<CaseMean> = cases.iter().map(|(mean, _)| *mean).collect();
    let h = floor(spec.kind.steps(), most_trials(&means), units.len(), cases.len());
    let found = mean_interval(&units, h, alpha, 0.0, (0.0, 1.0));
    (found.map(|(lower, upper)| (lo + lower * (hi - lo), lo + upper * (hi - lo))), units.len(), HALL)
}

/// The limits of one metric on one target.
pub(crate) fn findings(scene: &Scene<'_>, sheet: &Sheet<'_>, metric: usize, levels: Levels) -> Vec<Finding> {
    let Some((spec, rules)) = scene.metrics.get(metric) else { return Vec::new() };
    of(scene, sheet, metric, Asked { spec, rules, slice: None }, levels)
}

/// A metric with the rules that are asked of it.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) spec: &'a MetricSpec,
    pub(crate) rules: &'a MetricPolicy,
    /// The tag whose cases the sheet holds; `None`: all.
    pub(crate) slice: Option<&'a str>,
}

/// The limits of some rules on a sheet.
pub(crate) fn of(
    scene: &Scene<'_>,
    sheet: &Sheet<'_>,
    metric: usize,
    asked: Asked<'_>,
    levels: Levels,
) -> Vec<Finding> {
    let Asked { spec, rules, .. } = asked;
    let sample = Sample::of(sheet, metric, spec);
    let mut findings = Vec::new();
    for bound in [rules.min.map(Required::AtLeast), rules.max.map(Required::AtMost)].into_iter().flatten() {
        findings.push(finding(scene, sheet, metric, (asked, &sample), (bound, RuleKind::Threshold), levels));
    }
    if let Some(share) = rules.pass_rate {
        let passing = MetricSpec { kind: ScoreKind::Binary, direction: Direction::Higher, ..spec.clone() };
        let sample = passes(sheet, metric, asked, &passing);
        let rule = (Required::AtLeast(share), RuleKind::PassRate);
        findings.push(finding(scene, sheet, metric, (asked, &sample), rule, levels));
    }
    findings
}

/// Pass or fail of every scored case as a binary sample.
fn passes<'s>(sheet: &Sheet<'_>, metric: usize, asked: Asked<'_>, passing: &'s MetricSpec) -> Sample<'s> {
    let mut sample = Sample { spec: passing, scored: Vec::new(), missing: Vec::new() };
    let Asked { spec, rules, .. } = asked;
    for (row, (cell, cluster)) in sheet.levels(metric).iter().zip(&sheet.clusters).enumerate() {
        let passed =
            sheet.rows.get(row).and_then(|record| super::must_pass::case_passes(record, *cell, metric, (spec, rules)));
        match (cell, passed.and_then(|passed| CaseMean::of(&[f64::from(u8::from(passed))]))) {
            (Measured::NotApplicable, _) => {}
            (_, Some(mean)) => sample.scored.push((mean, *cluster)),
            (_, None) => sample.missing.push(*cluster),
        }
    }
    sample
}

fn finding(
    scene: &Scene<'_>,
    sheet: &Sheet<'_>,
    metric: usize,
    (asked, sample): (Asked<'_>, &Sample<'_>),
    (bound, rule): (Required, RuleKind),
    levels: Levels,
) -> Finding {
    let rules = asked.rules;
    let planned = (sample.scored.len() + sample.missing.len()) as u64;
    let new = |verdict, reason| {
        let mut finding = Finding::new(rule, &sample.spec.name, &sheet.target, verdict, reason)
            .with_severity(severity(verdict, reason, rules, scene.policy));
        finding.comparison.require(bound.limit(), bound.bound());
        finding.comparison.planned = planned;
        finding.comparison.slice = asked.slice.map(str::to_owned);
        finding
    };
    let rates = rules.calibration.filter(|_| rule == RuleKind::PassRate);
    let how = How { mode: rules.mode, rates };
    let as_is = read(&sample.scored, sample.spec, bound, how, levels);
    let Some(reading) = as_is else {
        let finding = new(RuleVerdict::NotEvaluated, Reason::NoScores);
        return explain::no_scores(finding, scene, &sheet.troubles(metric));
    };
    let named = if scene.reference.is_none() { wrong_side(sheet, metric, asked, rule, bound) } else { Vec::new() };
    let (worst, best) = bound.extremes(sample.spec);
    let filled = |score: f64| {
        let cases = sample.filled(score)?;
        Some(read(&cases, sample.spec, bound, how, levels)?.state)
    };
    let (worst, best) = match sample.missing.is_empty() {
        true => (Some(reading.state), Some(reading.state)),
        false => (filled(worst), filled(best)),
    };
    let (verdict, reason) = settle(reading.state, worst, best);
    let mut finding = new(verdict, reason);
    if verdict == RuleVerdict::Violated {
        finding.named = named;
    }
    let comparison = &mut finding.comparison;
    comparison.current = Some(reading.mean.value());
    comparison.ci = reading.interval.map(|(lower, upper)| [lower, upper]);
    comparison.n = reading.units as u64;
    reading.method.clone_into(&mut comparison.method);
    explain::threshold(finding, scene, sample, &reading, bound, rules.mode, &sheet.troubles(metric))
}

/// The cases that pull a mean to the wrong side of its limit, or did not pass, the worst first. Where a run is compared, the cases
/// that moved are told instead.
fn wrong_side(
    sheet: &Sheet<'_>,
    metric: usize,
    asked: Asked<'_>,
    rule: RuleKind,
    bound: Required,
) -> Vec<(CaseId, MetricName)> {
    let Asked { spec, rules, .. } = asked;
    let wrong = |row: &CaseRecord, cell: Measured| {
        let mean = cell.score()?;
        let wrong = match rule {
            RuleKind::PassRate => !super::must_pass::case_passes(row, cell, metric, (spec, rules))?,
            _ => !bound.holds(mean.exact()),
        };
        wrong.then_some(mean)
    };
    let cells = sheet.rows.iter().zip(sheet.levels(metric));
    let mut found: Vec<(CaseMean, &CaseId)> =
        cells.filter_map(|(row, cell)| Some((wrong(row, *cell)?, &row.id))).collect();
    found.sort_by(|left, right| {
        let rising = left.0.exact().compare(right.0.exact());
        let order = match (rule, bound, spec.direction) {
            (RuleKind::PassRate, _, Direction::Lower) => rising.reverse(),
            (RuleKind::PassRate, _, Direction::Higher) | (_, Required::AtLeast(_), _) => rising,
            (_, Required::AtMost(_), _) => rising.reverse(),
        };
        order.then_with(|| left.1.cmp(right.1))
    });
    found.into_iter().map(|(_, id)| (id.clone(), spec.name.clone())).collect()
}

/// A state counts where the missing scores could not have changed it (security §3).
fn settle(as_is: ThresholdState, worst: Option<ThresholdState>, best: Option<ThresholdState>) -> (RuleVerdict, Reason) {
    use ThresholdState::{Met, Uncertain, Violated};
    let missing = (RuleVerdict::Inconclusive, Reason::Missing);
    let (Some(worst), Some(best)) = (worst, best) else { return missing };
    match (as_is, worst, best) {
        (Violated, _, Violated) => (RuleVerdict::Violated, Reason::ThresholdMissed),
        (Violated, _, Met | Uncertain) | (Met | Uncertain, Violated, _) => missing,
        (Met, Met, _) => (RuleVerdict::Met, Reason::ThresholdMet),
        (Met, Uncertain, _) | (Uncertain, Met | Uncertain, _) => {
            (RuleVerdict::Inconclusive, Reason::ThresholdUncertain)
        }
    }
}
