//! The per-case scores of the last accepted runs: what a run is compared with.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    CaseId, CaseRecord, Cell, Digest, JudgeModels, MetricName, MetricSpec, Run, SkipReason, Taken, TargetName,
    TrialRecord, Usd,
};

/// Where a baseline came from; shown in every report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineSource {
    /// Path or address as the suite names it (redacted by the sinks).
    pub place: String,
    /// Digest of the bytes that were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
}

/// One accepted run of the pool, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineRun {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Who accepted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Trials a case.
    #[serde(default)]
    pub trials: u32,
    /// Who judged.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub judges: JudgeModels,
}

impl BaselineRun {
    /// What a run says of itself; nobody has accepted it.
    pub fn of(run: &Run) -> Self {
        let header = &run.header;
        Self {
            id: header.id.clone(),
            commit: header.commit.clone(),
            date: header.started.clone(),
            by: None,
            trials: header.trials,
            judges: run.judges.clone(),
        }
    }
}

/// One case under one target.
#[derive(Clone, Debug, PartialEq)]
pub struct BaselineCase {
    pub id: CaseId,
    pub target: TargetName,
    pub content: Option<Digest>,
    pub cluster: Option<Arc<str>>,
    pub tags: Vec<Arc<str>>,
    /// Metric → run (parallel to `Baseline::runs`) → valid trial scores in the metric's own scale; empty: none.
    pub scores: BTreeMap<MetricName, Vec<Vec<f64>>>,
    /// Metrics that do not apply to this case.
    pub not_applicable: Vec<MetricName>,
    /// False where the target failed in every run and trial.
    pub answered: bool,
    /// The newest run's answer, cut to 2,000 characters: shown beside the new one when the case breaks.
    pub answer: Option<String>,
    /// What its answers took; `None`: no run says it.
    pub taken: Option<Box<Taken>>,
    /// Scores of runs that have left the pool, oldest first: how flaky a case is takes longer to tell than how good it is (statistics
    /// §12.5).
    pub older: BTreeMap<MetricName, Vec<f64>>,
}

/// Scores of a case that are kept of runs which have left the pool.
const REMEMBERED: usize = 50;

impl BaselineCase {
    /// What one run says of a case by its first trials, without the text of an answer.
    ///
    /// **Inputs**: `metrics` of the run's header, parallel to every trial's cells; `most`: trials that count. Further attempts of a failed
    /// must-pass case are no trials: repeating only what failed would raise its mean.
    /// A metric that does not apply in one of them does not apply to the case. A value outside of its metric's range is kept: a comparison
    /// refuses it by name, where a left out one would only be missing.
    pub fn of(case: &CaseRecord, metrics: &[MetricSpec], most: usize) -> Self {
        let mut trials: Vec<&TrialRecord> = case.trials.iter().collect();
        trials.sort_by_key(|trial| trial.trial);
        trials.truncate(most);
        let mut scores = BTreeMap::new();
        let mut not_applicable = Vec::new();
        for (at, metric) in metrics.iter().enumerate() {
            let cells = || trials.iter().filter_map(|trial| trial.cells.get(at).copied().flatten());
            if cells().any(|cell| cell == Cell::Skipped(SkipReason::NotApplicable)) {
                not_applicable.push(metric.name.clone());
                continue;
            }
            let mut values: Vec<f64> = cells().filter_map(value).collect();
            values.shrink_to_fit();
            scores.insert(metric.name.clone(), vec![values]);
        }
        Self {
            id: case.id.clone(),
            target: case.target.clone(),
            content: case.content,
            cluster: case.cluster.clone(),
            tags: case.tags.clone(),
            scores,
            not_applicable,
            answered: trials.iter().any(|trial| trial.answered.is_ok()),
            answer: None,
            taken: taken(&trials),
            older: BTreeMap::new(),
        }
    }

    /// Without the oldest runs; their scores are remembered where `remember`.
    pub fn retire(&mut self, oldest: usize, remember: bool) {
        for (metric, runs) in &mut self.scores {
            let gone: Vec<f64> = runs.drain(..oldest.min(runs.len())).flatten().collect();
            if remember && !gone.is_empty() {
                let older = self.older.entry(metric.clone()).or_default();
                older.extend(gone);
                older.drain(..older.len().saturating_sub(REMEMBERED));
            }
        }
        if let Some(taken) = &mut self.taken {
            taken.forget(oldest);
        }
    }

    /// Every score of a metric that is known, oldest first.
    pub fn history(&self, metric: &str) -> impl Iterator<Item = f64> {
        let older = self.older.get(metric).into_iter().flatten();
        older.chain(self.scores.get(metric).into_iter().flatten().flatten()).copied()
    }
}

fn value(cell: Cell) -> Option<f64> {
    match cell {
        Cell::Value { value, .. } => Some(value),
        Cell::Error { .. } | Cell::Unusable { .. } | Cell::Skipped(_) => None,
    }
}

/// What the trials took, as far as it is known.
fn taken(trials: &[&TrialRecord]) -> Option<Box<Taken>> {
    let of = |number: fn(&TrialRecord) -> Option<f64>| {
        let numbers = trials.iter().filter_map(|trial| number(trial));
        vec![numbers.filter(|number| number.is_finite() && *number >= 0.0).collect()]
    };
    let taken = Taken {
        latency_ms: of(|trial| trial.latency_ms),
        tokens: of(|trial| trial.tokens.map(|tokens| tokens as f64)),
        cost_usd: of(|trial| trial.cost.map(|Usd(dollars)| dollars)),
    };
    (!taken.is_empty()).then(|| Box::new(taken))
}

/// A pool of up to ten accepted runs with the same fingerprints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Baseline {
    pub source: BaselineSource,
    pub suite: String,
    pub runs: Vec<BaselineRun>,
    pub metrics: Vec<MetricSpec>,
    /// Sorted by (id, target).
    pub cases: Vec<BaselineCase>,
}
