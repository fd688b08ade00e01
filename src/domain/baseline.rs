//! The per-case scores of the last accepted runs: what a run is compared with.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CaseId, Digest, JudgeModels, MetricName, MetricSpec, Run, Taken, TargetName};

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
