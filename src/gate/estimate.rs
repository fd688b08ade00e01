//! The numbers of one paired comparison (statistics §5, §6, §7, §15.3, §17).

use super::matchup::{Fill, Matchup, range};
use super::threshold::FEWEST_FOR_AN_INTERVAL;
use crate::domain::{Direction, MetricSpec};
use crate::stats::{
    BreakCount, CaseMean, Differences, Pair, Ratio, SignFlip, adjust_for_runs, break_guard, differences, mean_interval,
    run_variance, sign_flip, smallest_certifying_n, spread,
};

/// Runs that the run-effect guard needs.
const FEWEST_RUNS: usize = 5;

pub(crate) struct Estimate {
    /// Means over the pairs in the metric's own scale.
    pub(crate) baseline: Ratio,
    pub(crate) current: Ratio,
    /// Cases paired.
    pub(crate) cases: u64,
    /// Cases, or clusters: what the interval counts.
    pub(crate) units: u64,
    /// The largest number of trials of a case.
    pub(crate) trials: u32,
    pub(crate) up: u64,
    pub(crate) down: u64,
    pub(crate) same: u64,
    pub(crate) flip: SignFlip,
    /// p_mid, softened where runs differ.
    pub(crate) p: f64,
    /// Unit scale.
    pub(crate) interval: Option<(f64, f64)>,
    /// Standard deviation of the units; `None` below two.
    pub(crate) deviation: Option<f64>,
    /// All units changed by the same.
    alike: bool,
    pub(crate) run_variance: f64,
}

impl Estimate {
    /// `None` where nothing pairs, or where the trial counts are beyond exact arithmetic.
    pub(crate) fn of(matchup: &Matchup<'_>, spec: &MetricSpec, fill: Fill, alpha: f64) -> Option<Self> {
        let pairs = matchup.pairs(spec, fill);
        let (baseline, current) = Differences::means(&pairs)?;
        let found = differences(&pairs, range(spec), spec.direction == Direction::Lower)?;
        // Fewer runs say nothing about runs (statistics §15.3).
        let run_variance = if matchup.runs.len() < FEWEST_RUNS { 0.0 } else { run_variance(&matchup.run_means(spec)) };
        let flip = sign_flip(&found.integers);
        let h = variance_floor(spec, &pairs, found.units.len());
        Some(Self {
            baseline,
            current,
            cases: pairs.len() as u64,
            units: found.units.len() as u64,
            trials: pairs.iter().map(|pair| pair.candidate.trials()).max().unwrap_or(1),
            up: found.up,
            down: found.down,
            same: found.same,
            flip,
            p: adjust_for_runs(flip.p_mid, &found.units, run_variance, matchup.runs.len()),
            interval: mean_interval(&found.units, h, alpha, run_variance, (-1.0, 1.0)),
            deviation: spread(&found.units, h),
            alike: found.units.iter().all(|unit| Some(unit) == found.units.first()),
            run_variance,
        })
    }

    /// The interval, where it says something: of a few units that all changed alike, a scale without steps knows no luck at all.
    pub(crate) fn shown_interval(&self, spec: &MetricSpec) -> Option<(f64, f64)> {
        let few = self.units < FEWEST_FOR_AN_INTERVAL as u64;
        self.interval.filter(|_| !(few && self.alike && spec.kind.steps().is_none()))
    }

    /// "Not worse" may be said (statistics §9.1 row 4).
    pub(crate) fn certified(&self, margin: f64, alpha: f64) -> bool {
        let above = self.interval.is_some_and(|(lower, _)| lower > -margin);
        above && self.units >= smallest_certifying_n(margin, alpha)
    }

    /// The change on the unit scale; negative is worse.
    pub(crate) fn change(&self, spec: &MetricSpec) -> f64 {
        let own = self.current.minus(self.baseline).map_or(0.0, Ratio::value) / range(spec);
        match spec.direction {
            Direction::Higher => own,
            Direction::Lower => -own,
        }
    }
}

/// h of statistics §6.2.
fn variance_floor(spec: &MetricSpec, pairs: &[Pair], units: usize) -> f64 {
    let trials = pairs.iter().map(|pair| pair.candidate.trials()).max().unwrap_or(1);
    floor(spec.kind.steps(), trials, units, pairs.len())
}

pub(crate) fn floor(steps: Option<u64>, trials: u32, units: usize, cases: usize) -> f64 {
    let step = steps.map_or(1e-4, |steps| 1.0 / steps.max(1) as f64);
    step / f64::from(trials.max(1)) * (units as f64 / cases.max(1) as f64)
}

/// Trials of the case means, the largest.
pub(crate) fn most_trials(means: &[CaseMean]) -> u32 {
    means.iter().map(|mean| mean.trials()).max().unwrap_or(1)
}

/// The break guard over a metric, where the baseline has three runs or more (statistics §7.1).
pub(crate) fn breaks(matchup: &Matchup<'_>, spec: &MetricSpec, severity: f64) -> Option<BreakCount> {
    if matchup.runs.len() < 3 {
        return None;
    }
    let cases: Vec<(Vec<f64>, Option<usize>)> =
        matchup.first_trials(spec).into_iter().map(|(joint, scores)| (scores, joint.cluster)).collect();
    Some(break_guard(&cases, severity))
}
