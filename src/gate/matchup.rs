//! One metric of one target on both sides: which cases pair, and what is missing (statistics §3, §13).

use super::comparable::{Side, Standing};
use super::sheet::{Measured, Sheet, trial_scores};
use crate::domain::{BaselineCase, Direction, MetricSpec};
use crate::stats::{CaseMean, Pair};

/// A case that both sides have and the metric applies to.
#[derive(Clone)]
pub(crate) struct Joint<'b> {
    /// Row of the sheet.
    pub(crate) row: usize,
    pub(crate) candidate: Option<CaseMean>,
    pub(crate) baseline: Option<CaseMean>,
    /// The candidate's first score.
    pub(crate) first: Option<f64>,
    /// Variance of the candidate's scores on the unit scale, where there are two.
    variance: Option<f64>,
    /// Scores of the baseline's trials, run by run (all runs of the pool).
    pub(crate) runs: &'b [Vec<f64>],
    pub(crate) cluster: Option<usize>,
}

impl Joint<'_> {
    pub(crate) fn paired(&self) -> bool {
        self.candidate.is_some() && self.baseline.is_some()
    }
}

pub(crate) struct Matchup<'b> {
    /// In the order of the ids.
    pub(crate) joints: Vec<Joint<'b>>,
    /// Baseline cases that have a score of this metric.
    pub(crate) baseline_cases: u64,
    /// Baseline cases that it applies to and that have none.
    pub(crate) unscored: u64,
    /// Of the scored ones, those that the run has with the same content.
    pub(crate) kept: u64,
    /// Positions of the runs that have scores of this metric.
    pub(crate) runs: Vec<usize>,
}

/// How missing scores are filled for the sensitivity check (statistics §13.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Left out.
    None,
    /// As bad for the candidate as can be.
    Worst,
    /// As good.
    Best,
}

impl<'b> Matchup<'b> {
    pub(crate) fn build(sheet: &Sheet<'_>, side: &Side<'b>, metric: usize, spec: &MetricSpec) -> Self {
        let mut joints = Vec::with_capacity(sheet.rows.len());
        let mut kept = 0;
        for (row, (standing, cell)) in side.standing.iter().zip(sheet.column(metric)).enumerate() {
            let Standing::Same(case) = standing else { continue };
            let runs: &'b [Vec<f64>] = case.scores.get(&spec.name).map_or(&[], Vec::as_slice);
            let baseline = pooled(runs);
            let applied = baseline.is_some() || !case.not_applicable.contains(&spec.name);
            if *cell == Measured::NotApplicable || !applied {
                continue;
            }
            kept += u64::from(baseline.is_some());
            let trials = sheet.rows.get(row).map(|record| trial_scores(record, metric, spec)).unwrap_or_default();
            let cluster = sheet.clusters.get(row).copied().flatten();
            let (first, variance) = (trials.first().copied(), variance(spec, &trials));
            joints.push(Joint { row, candidate: cell.score(), baseline, first, variance, runs, cluster });
        }
        let scored = |case: &BaselineCase| {
            case.scores.get(&spec.name).is_some_and(|runs| runs.iter().any(|run| !run.is_empty()))
        };
        let lacks = |case: &BaselineCase| !scored(case) && !case.not_applicable.contains(&spec.name);
        let baseline_cases = side.cases.iter().filter(|case| scored(case)).count() as u64;
        let unscored = side.cases.iter().filter(|case| lacks(case)).count() as u64;
        let pool = joints.iter().map(|joint| joint.runs.len()).max().unwrap_or(0);
        let has_scores =
            |run: &usize| joints.iter().any(|joint| joint.runs.get(*run).is_some_and(|run| !run.is_empty()));
        let runs = (0..pool).filter(has_scores).collect();
        Self { joints, baseline_cases, unscored, kept, runs }
    }

    /// The same for some of the cases.
    pub(crate) fn of(&self, keep: impl Fn(&Joint<'_>) -> bool) -> Self {
        let joints: Vec<Joint<'b>> = self.joints.iter().filter(|joint| keep(joint)).cloned().collect();
        let cases = joints.iter().filter(|joint| joint.baseline.is_some()).count() as u64;
        let unscored = joints.len() as u64 - cases;
        Self { joints, baseline_cases: cases, unscored, kept: cases, runs: self.runs.clone() }
    }

    /// Cases on both sides without a score on one of them.
    pub(crate) fn missing(&self) -> u64 {
        self.joints.iter().filter(|joint| !joint.paired()).count() as u64
    }

    pub(crate) fn paired(&self) -> impl Iterator<Item = &Joint<'b>> {
        self.joints.iter().filter(|joint| joint.paired())
    }

    /// The pairs under a filling; cases with a missing score are left out of `Fill::None`.
    pub(crate) fn pairs(&self, spec: &MetricSpec, fill: Fill) -> Vec<Pair> {
        let (lo, hi) = spec.kind.range();
        let (bad, good) = match spec.direction {
            Direction::Higher => (lo, hi),
            Direction::Lower => (hi, lo),
        };
        let (candidate, baseline) = match fill {
            Fill::None => (None, None),
            Fill::Worst => (CaseMean::of(&[bad]), CaseMean::of(&[good])),
            Fill::Best => (CaseMean::of(&[good]), CaseMean::of(&[bad])),
        };
        let pair = |joint: &Joint<'_>| {
            Some(Pair {
                candidate: joint.candidate.or(candidate)?,
                baseline: joint.baseline.or(baseline)?,
                cluster: joint.cluster,
            })
        };
        self.joints.iter().filter_map(pair).collect()
    }

    /// Per paired case the first scores of all runs, the candidate's last (statistics §7.2); cases without one are left out.
    pub(crate) fn first_trials(&self, spec: &MetricSpec) -> Vec<(&Joint<'b>, Vec<f64>)> {
        let scores = |joint: &Joint<'_>| {
            let of_run = |run: &usize| joint.runs.get(*run)?.first().copied();
            let baseline = self.runs.iter().map(of_run);
            let all: Option<Vec<f64>> = baseline.chain([joint.first]).collect();
            Some(all?.into_iter().map(|score| unit(spec, score)).collect())
        };
        self.paired().filter_map(|joint| Some((joint, scores(joint)?))).collect()
    }

    /// Per run the mean scores of the cases that every run has (statistics §15.3), unit scale.
    pub(crate) fn run_means(&self, spec: &MetricSpec) -> Vec<Vec<f64>> {
        let mean = |scores: &Vec<f64>| {
            let sum: f64 = scores.iter().map(|score| unit(spec, *score)).sum();
            (!scores.is_empty()).then(|| sum / scores.len() as f64)
        };
        let mut means: Vec<Vec<f64>> = vec![Vec::new(); self.runs.len()];
        for joint in self.paired() {
            let of_case: Option<Vec<f64>> = self.runs.iter().map(|run| joint.runs.get(*run).and_then(mean)).collect();
            for (run, value) in means.iter_mut().zip(of_case.into_iter().flatten()) {
                run.push(value);
            }
        }
        means
    }

    /// Mean variance of single scores within a case and the trials a case has (candidate, baseline), where some case has several.
    pub(crate) fn within(&self, spec: &MetricSpec) -> Option<(f64, f64, f64)> {
        let mean = |variances: &mut dyn Iterator<Item = f64>| {
            let (sum, count) = variances.fold((0.0, 0_u64), |(sum, count), variance| (sum + variance, count + 1));
            (count > 0).then(|| sum / count as f64)
        };
        let baseline = |joint: &Joint<'_>| {
            let scores: Vec<f64> = joint.runs.iter().flatten().copied().collect();
            variance(spec, &scores)
        };
        let variance = mean(&mut self.paired().filter_map(baseline))
            .or_else(|| mean(&mut self.paired().filter_map(|joint| joint.variance)))?;
        let trials_of = |count: fn(&Joint<'b>) -> u32| self.paired().map(count).max().unwrap_or(1).max(1);
        let of_candidate = trials_of(|joint| joint.candidate.map_or(0, CaseMean::trials));
        let of_baseline = trials_of(|joint| joint.baseline.map_or(0, CaseMean::trials));
        Some((variance, f64::from(of_candidate), f64::from(of_baseline)))
    }
}

/// The mean over all trials of all runs.
fn pooled(runs: &[Vec<f64>]) -> Option<CaseMean> {
    match runs {
        [only] => CaseMean::of(only),
        _ => CaseMean::of(&runs.concat()),
    }
}

/// Sample variance of scores on the unit scale; `None` below two.
fn variance(spec: &MetricSpec, scores: &[f64]) -> Option<f64> {
    let n = scores.len() as f64;
    if scores.len() < 2 {
        return None;
    }
    let units = || scores.iter().map(|score| unit(spec, *score));
    let mean = units().sum::<f64>() / n;
    Some(units().map(|unit| (unit - mean) * (unit - mean)).sum::<f64>() / (n - 1.0))
}

/// A score on the unit scale: 1 is best, 0 is worst (statistics §1.3).
pub(crate) fn unit(spec: &MetricSpec, score: f64) -> f64 {
    let (lo, hi) = spec.kind.range();
    // Comparisons see six places.
    let rounded = (score * 1e6).round_ties_even() / 1e6;
    let share = (rounded - lo) / (hi - lo);
    match spec.direction {
        Direction::Higher => share,
        Direction::Lower => 1.0 - share,
    }
}

/// hi − lo.
pub(crate) fn range(spec: &MetricSpec) -> f64 {
    let (lo, hi) = spec.kind.range();
    hi - lo
}
