//! Everything one invocation measured, as numbers. Texts stay in `results.jsonl`; memory grows by a few numbers a case.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    CallCounts, CaseId, Digest, FailureKind, Measurement, MetricName, MetricSpec, Outcome, Part, Place, Selection,
    Side, SkipReason, TargetName, Usage, Usd,
};

/// Line 1 of `results.jsonl`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// Stable for the same suite, data and start time.
    #[serde(default)]
    pub id: String,
    #[serde(default)]
    pub suite: String,
    /// Digest of the suite file as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite_digest: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset_digest: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit under review, as the host says: of a pull request what is checked out is usually its merge with the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Version of scoregate.
    #[serde(default)]
    pub tool: String,
    /// RFC 3339, UTC, whole seconds. A declared time field: the only thing that differs between two equal runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    #[serde(default)]
    pub targets: Vec<TargetName>,
    /// In the suite's order.
    #[serde(default)]
    pub metrics: Vec<MetricSpec>,
    /// Model names by their key in the suite.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub models: serde_json::Map<String, serde_json::Value>,
    /// Cases selected; of a shard, its own.
    #[serde(default)]
    pub cases: u64,
    #[serde(default)]
    pub trials: u32,
    /// Attempts of a must-pass case that failed its first trial; 0: the trials are all there is (statistics §12.1).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    /// True where `where`, `sample` or a selection left cases out: such a run cannot become a baseline.
    #[serde(default)]
    pub filtered: bool,
    /// What the command line selected; such a run is filtered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// A part of a run: nothing is judged on it alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Part>,
    /// `run.record` of the suite: experiment parameters.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub record: serde_json::Map<String, serde_json::Value>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl RunHeader {
    /// Outcomes of a complete run: cases × targets × trials.
    pub fn outcomes(&self) -> u64 {
        let each = u64::from(self.trials.max(1)).saturating_mul(self.reported_targets().len() as u64);
        self.cases.saturating_mul(each)
    }

    /// The targets as reports name them: one with an empty name where the results know none.
    pub fn reported_targets(&self) -> Vec<TargetName> {
        if self.targets.is_empty() { vec!["".into()] } else { self.targets.clone() }
    }
}

/// The last line of `results.jsonl`; without it the file is cut off.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// False after a cancellation, a spent budget or a stopped endpoint.
    pub complete: bool,
    /// Why not complete, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Outcome lines before this one.
    pub outcomes: u64,
    #[serde(default)]
    pub calls: CallCounts,
    #[serde(default)]
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Usd>,
    #[serde(default)]
    pub scores: ScoreCounts,
    /// Wall time in whole milliseconds. A declared time field.
    #[serde(default)]
    pub elapsed_ms: u64,
}

/// Scores of the outcome lines, trial by trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScoreCounts {
    /// Without those that apply to no such case.
    pub planned: u64,
    pub measured: u64,
}

impl ScoreCounts {
    /// Of one outcome.
    pub fn of(outcome: &Outcome) -> Self {
        let count = |keep: fn(&Measurement) -> bool| {
            outcome.scores.iter().filter(|score| keep(&score.measurement)).count() as u64
        };
        Self {
            planned: count(|found| !matches!(found, Measurement::Skipped(SkipReason::NotApplicable, _))),
            measured: count(|found| matches!(found, Measurement::Value(_))),
        }
    }
}

impl AddAssign for ScoreCounts {
    fn add_assign(&mut self, more: Self) {
        self.planned = self.planned.saturating_add(more.planned);
        self.measured = self.measured.saturating_add(more.measured);
    }
}

/// One measured, failed or skipped cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    Value { value: f64, passed: Option<bool> },
    Error { kind: FailureKind, side: Side },
    Unusable { kind: FailureKind },
    Skipped(SkipReason),
}

/// One trial of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialRecord {
    pub trial: u32,
    /// `Err`: the target failed (side `Target`) or could not be asked (side `Infra`).
    pub answered: Result<(), (FailureKind, Side)>,
    /// Parallel to `RunHeader::metrics`; `None`: no line spoke of this metric.
    pub cells: Vec<Option<Cell>>,
    /// `None` where it was not measured now (recorded without it, or cached).
    pub latency_ms: Option<f64>,
    pub tokens: Option<u64>,
    pub cost: Option<Usd>,
    /// Requests sent for the answer; those of judges are in the run's counts only.
    pub attempts: u32,
    /// Byte offset of its line in the results file, for the reports that need the texts.
    pub offset: u64,
}

impl TrialRecord {
    /// Something that was planned of it has no score, and nothing else of it has one.
    pub fn lost(&self) -> bool {
        let scored = |cell: &Option<Cell>| matches!(cell, Some(Cell::Value { .. }));
        let planned = |cell: &Option<Cell>| !matches!(cell, None | Some(Cell::Skipped(SkipReason::NotApplicable)));
        !self.cells.iter().any(scored) && (self.answered.is_err() || self.cells.iter().any(planned))
    }
}

/// All trials of one case under one target.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseRecord {
    pub id: CaseId,
    pub target: TargetName,
    pub content: Option<Digest>,
    pub tags: Vec<Arc<str>>,
    pub cluster: Option<Arc<str>>,
    pub place: Option<Place>,
    pub trials: Vec<TrialRecord>,
}

/// The models that judged each metric, as their services named them in the answers.
pub type JudgeModels = BTreeMap<MetricName, BTreeSet<Arc<str>>>;

/// One run. Cases are in the data set's order, a case's targets in the suite's order.
#[derive(Clone, Debug, Default)]
pub struct Run {
    pub header: RunHeader,
    pub cases: Vec<CaseRecord>,
    /// `None`: the file was cut off.
    pub completion: Option<Completion>,
    /// The file the texts are in.
    pub file: Option<std::path::PathBuf>,
    /// Who judged.
    pub judges: JudgeModels,
}

impl Run {
    /// Position of a metric in the header and in every trial's cells.
    pub fn metric_index(&self, name: &str) -> Option<usize> {
        self.header.metrics.iter().position(|metric| &*metric.name == name)
    }
}
