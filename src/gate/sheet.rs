//! A run as the rules read it: per target, the cases sorted by id, and each case's trials collapsed to one finding a metric.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::policy::MetricPolicy;
use super::trials::TrialsRule;
use crate::domain::{CaseRecord, Cell, FailureKind, MetricSpec, Run, SkipReason, TargetName, TrialRecord};
use crate::stats::CaseMean;

/// What a case's trials came to for one metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Measured {
    /// The mean of the valid trials.
    Score(CaseMean),
    Error(FailureKind),
    Unusable(FailureKind),
    /// Planned and not measured.
    Left,
    /// Outside the planned cells.
    NotApplicable,
}

impl Measured {
    pub(crate) fn score(self) -> Option<CaseMean> {
        match self {
            Self::Score(mean) => Some(mean),
            Self::Error(_) | Self::Unusable(_) | Self::Left | Self::NotApplicable => None,
        }
    }

    /// Counts among the planned cells.
    pub(crate) fn planned(self) -> bool {
        self != Self::NotApplicable
    }

    /// Why there is no score, in a word.
    pub(crate) fn trouble(self) -> Option<&'static str> {
        match self {
            Self::Error(kind) | Self::Unusable(kind) => Some(kind.word()),
            Self::Left => Some("skipped"),
            Self::Score(_) | Self::NotApplicable => None,
        }
    }
}

/// One target's cases.
pub(crate) struct Sheet<'r> {
    pub(crate) target: TargetName,
    /// Sorted by id, so that the order of the data set changes no number.
    pub(crate) rows: Vec<&'r CaseRecord>,
    /// Per row the index of its declared cluster.
    pub(crate) clusters: Vec<Option<usize>>,
    /// Metric → row: the means of the trials.
    pub(crate) columns: Vec<Vec<Measured>>,
    /// The same as the limits read it; `None`: the means.
    levels: Vec<Option<Vec<Measured>>>,
}

impl Sheet<'_> {
    /// Where a case stands.
    pub(crate) fn row_of(&self, id: &str) -> Option<usize> {
        self.rows.binary_search_by(|row| (*row.id).cmp(id)).ok()
    }

    /// The cases of one tag.
    pub(crate) fn of_tag(&self, tag: &str) -> Self {
        let has = |row: &&CaseRecord| row.tags.iter().any(|one| **one == *tag);
        let kept: Vec<usize> = self.rows.iter().enumerate().filter(|(_, row)| has(row)).map(|(at, _)| at).collect();
        fn pick<T: Copy>(all: &[T], kept: &[usize]) -> Vec<T> {
            kept.iter().filter_map(|at| all.get(*at).copied()).collect()
        }
        let column = |cells: &Vec<Measured>| pick(cells, &kept);
        Self {
            target: self.target.clone(),
            rows: pick(&self.rows, &kept),
            clusters: pick(&self.clusters, &kept),
            columns: self.columns.iter().map(column).collect(),
            levels: self.levels.iter().map(|levels| levels.as_ref().map(column)).collect(),
        }
    }

    /// The findings of one metric, row by row.
    pub(crate) fn column(&self, metric: usize) -> &[Measured] {
        self.columns.get(metric).map_or(&[], Vec::as_slice)
    }

    /// The same as the metric's limits read it.
    pub(crate) fn levels(&self, metric: usize) -> &[Measured] {
        match self.levels.get(metric) {
            Some(Some(levels)) => levels,
            Some(None) | None => self.column(metric),
        }
    }

    /// Takes a cell out of what the metric's limits read.
    pub(crate) fn excuse(&mut self, metric: usize, row: usize) {
        let means = self.columns.get(metric).cloned().unwrap_or_default();
        if let Some(levels) = self.levels.get_mut(metric)
            && let Some(cell) = levels.get_or_insert(means).get_mut(row)
        {
            *cell = Measured::NotApplicable;
        }
    }

    /// (measured, planned) cells of one metric.
    pub(crate) fn share(&self, metric: usize) -> (u64, u64) {
        share(self.column(metric))
    }

    /// (cases with a score in half of their trials at least, cases with a score) of one metric: one answer of three is not the evidence of
    /// three, though what is missing of a case's trials is made up for by the others (statistics §13.3).
    pub(crate) fn well_tried(&self, metric: usize, spec: &MetricSpec) -> (u64, u64) {
        let mut well = (0, 0);
        for (row, found) in self.rows.iter().zip(self.column(metric)) {
            let planned = row.trials.iter().filter_map(|trial| cell(trial, metric));
            let planned = planned.filter(|cell| *cell != Cell::Skipped(SkipReason::NotApplicable)).count();
            if found.score().is_some() {
                well.0 += u64::from(trial_scores(row, metric, spec).len().saturating_mul(2) >= planned);
                well.1 += 1;
            }
        }
        well
    }

    /// Why cells of one metric have no score: `3 timeout, 1 auth`, the most frequent first.
    pub(crate) fn troubles(&self, metric: usize) -> String {
        grouped(self.column(metric).iter().filter_map(|cell| cell.trouble()))
    }
}

/// (measured, planned) cells.
pub(crate) fn share(column: &[Measured]) -> (u64, u64) {
    let count = |keep: fn(&&Measured) -> bool| column.iter().filter(keep).count() as u64;
    (count(|cell| cell.score().is_some()), count(|cell| cell.planned()))
}

/// `3 timeout, 1 auth`.
pub(crate) fn grouped<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    let mut counts: Vec<(&str, u64)> = counts.into_iter().collect();
    counts.sort_by(|left, right| right.1.cmp(&left.1).then(left.0.cmp(right.0)));
    let texts: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    texts.join(", ")
}

/// The targets of a run: as the header lists them, then any others by name.
pub(crate) fn sheets<'r>(run: &'r Run, metrics: &[(MetricSpec, MetricPolicy)]) -> Vec<Sheet<'r>> {
    let mut targets = run.header.targets.clone();
    let known: BTreeSet<TargetName> = targets.iter().cloned().collect();
    let others: BTreeSet<TargetName> = run.cases.iter().map(|case| Arc::clone(&case.target)).collect();
    targets.extend(others.difference(&known).cloned());
    let mut rows: BTreeMap<TargetName, Vec<&CaseRecord>> = BTreeMap::new();
    for case in &run.cases {
        rows.entry(Arc::clone(&case.target)).or_default().push(case);
    }
    targets
        .into_iter()
        .map(|target| {
            let rows = rows.remove(&target).unwrap_or_default();
            sheet(target, rows, metrics)
        })
        .collect()
}

fn sheet<'r>(target: TargetName, mut rows: Vec<&'r CaseRecord>, metrics: &[(MetricSpec, MetricPolicy)]) -> Sheet<'r> {
    rows.sort_by(|left, right| left.id.cmp(&right.id));
    let names: BTreeSet<&str> = rows.iter().filter_map(|row| row.cluster.as_deref()).collect();
    let position: BTreeMap<&str, usize> = names.into_iter().enumerate().map(|(at, name)| (name, at)).collect();
    let clusters = rows.iter().map(|row| position.get(row.cluster.as_deref()?).copied()).collect();
    let column = |metric: usize, spec: &MetricSpec, rule: TrialsRule| -> Vec<Measured> {
        rows.iter().map(|row| collapse(row, metric, spec, rule)).collect()
    };
    let each = || metrics.iter().enumerate();
    let columns = each().map(|(metric, (spec, _))| column(metric, spec, TrialsRule::Mean)).collect();
    let levels = each()
        .map(|(metric, (spec, rules))| (rules.trials != TrialsRule::Mean).then(|| column(metric, spec, rules.trials)))
        .collect();
    Sheet { target, rows, clusters, columns, levels }
}

fn cell(trial: &TrialRecord, metric: usize) -> Option<Cell> {
    trial.cells.get(metric).copied().flatten()
}

/// Valid scores of a case, trial by trial.
pub(crate) fn trial_scores(row: &CaseRecord, metric: usize, spec: &MetricSpec) -> Vec<f64> {
    trials(row, metric, spec).into_iter().flatten().collect()
}

/// The scores of a case, trial by trial; `None`: there is none. A value outside the metric's range is no score (statistics §1.3).
fn trials(row: &CaseRecord, metric: usize, spec: &MetricSpec) -> Vec<Option<f64>> {
    let mut trials: Vec<&TrialRecord> = row.trials.iter().collect();
    trials.sort_by_key(|trial| trial.trial);
    let score = |trial: &TrialRecord| match cell(trial, metric) {
        Some(Cell::Value { value, .. }) if spec.kind.admits(value) => Some(value),
        _ => None,
    };
    trials.into_iter().map(score).collect()
}

fn collapse(row: &CaseRecord, metric: usize, spec: &MetricSpec, rule: TrialsRule) -> Measured {
    if let Some(score) = rule.score(&trials(row, metric, spec), spec) {
        return Measured::Score(score);
    }
    let cells: Vec<Option<Cell>> = row.trials.iter().map(|trial| cell(trial, metric)).collect();
    let error = cells.iter().flatten().find_map(|cell| match cell {
        Cell::Error { kind, .. } => Some(*kind),
        // It was not admitted.
        Cell::Value { value, .. } if !spec.kind.admits(*value) => Some(FailureKind::NotAScore),
        Cell::Value { .. } | Cell::Unusable { .. } | Cell::Skipped(_) => None,
    });
    if let Some(kind) = error {
        return Measured::Error(kind);
    }
    let unusable = cells.iter().flatten().find_map(|cell| match cell {
        Cell::Unusable { kind } => Some(*kind),
        Cell::Value { .. } | Cell::Error { .. } | Cell::Skipped(_) => None,
    });
    if let Some(kind) = unusable {
        return Measured::Unusable(kind);
    }
    // A target that failed leaves cells unsaid: they were planned.
    let applies =
        cells.is_empty() || cells.iter().any(|cell| !matches!(cell, Some(Cell::Skipped(SkipReason::NotApplicable))));
    if !applies {
        return Measured::NotApplicable;
    }
    match row.trials.iter().find_map(|trial| trial.answered.as_ref().err()) {
        Some((kind, _)) => Measured::Error(*kind),
        None => Measured::Left,
    }
}
