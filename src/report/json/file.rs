//! The form of `verdict.json`, version 1.

use serde::{Deserialize, Serialize};

use super::rule::RuleLine;
use crate::domain::{
    BaseRecord, BaselineRun, BaselineSource, BrokenCase, CallCounts, CaseChanges, Completion, Decision, FlakyCase,
    LooksTaken, MetricSpec, Part, Selection, SliceChange, SliceLine, Usage, Usd, Verdict, VerdictCounts,
};

/// Version of the format.
const SCHEMA: u64 = 1;

/// Why a `verdict.json` could not be read.
#[derive(Debug, thiserror::Error)]
pub enum VerdictFileError {
    #[error("not a verdict of scoregate: {0}")]
    Malformed(String),
    #[error("written in format version {found}, this scoregate reads up to {SCHEMA}; use a newer scoregate")]
    Newer { found: u64 },
}

/// A verdict as it was stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredVerdict {
    pub verdict: Verdict,
    pub calls: Option<CallCounts>,
    pub usage: Option<Usage>,
    pub cost: Option<Usd>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct VerdictFileV1 {
    schema: u64,
    verdict: Decision,
    exit_code: u8,
    rules: Vec<RuleLine>,
    /// `null`: no case was measured.
    trials: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    looks: Option<LooksTaken>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    slices: Vec<SliceChange>,
    /// The tags that `gate.slices` names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    slice_table: Vec<SliceLine>,
    cases: VerdictCounts,
    comparable: bool,
    suite: String,
    headline: String,
    partial: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    selection: Option<Selection>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shard: Option<Part>,
    notes: Vec<String>,
    changes: CaseChanges,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    flaky: Vec<FlakyCase>,
    broken: Vec<BrokenCase>,
    fixed: Vec<BrokenCase>,
    alpha: f64,
    baseline: Option<BaselineSource>,
    #[serde(default)]
    baseline_runs: Vec<BaselineRun>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    anchor: Option<BaselineSource>,
    /// What a pull request's run was judged by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base: Option<BaseRecord>,
    metrics: Vec<MetricSpec>,
    calls: Option<CallCounts>,
    usage: Option<Usage>,
    cost_usd: Option<Usd>,
    /// Share of the planned cells without a score; `null`: none was planned.
    #[serde(default)]
    unmeasured: Option<f64>,
}

impl VerdictFileV1 {
    pub(super) fn of(verdict: &Verdict, end: Option<&Completion>) -> Self {
        Self {
            schema: SCHEMA,
            verdict: verdict.decision,
            exit_code: verdict.exit_code,
            rules: verdict.rules.iter().map(RuleLine::from).collect(),
            trials: Some(verdict.trials).filter(|trials| trials.is_finite()),
            looks: verdict.looks.clone(),
            slices: verdict.slices.clone(),
            slice_table: verdict.slice_table.clone(),
            cases: verdict.cases,
            comparable: verdict.comparable,
            suite: verdict.suite.clone(),
            headline: verdict.headline.clone(),
            partial: verdict.partial,
            selection: verdict.selection.clone(),
            shard: verdict.shard,
            notes: verdict.notes.clone(),
            changes: verdict.changes.clone(),
            flaky: verdict.flaky.clone(),
            broken: verdict.broken.clone(),
            fixed: verdict.fixed.clone(),
            alpha: verdict.alpha,
            baseline: verdict.baseline.clone(),
            baseline_runs: verdict.baseline_runs.clone(),
            anchor: verdict.anchor.clone(),
            base: verdict.base.clone(),
            metrics: verdict.metrics.clone(),
            calls: end.map(|end| end.calls),
            usage: end.map(|end| end.usage),
            cost_usd: end.and_then(|end| end.cost).filter(|cost| cost.0.is_finite()),
            unmeasured: verdict.cases.unmeasured(),
        }
    }

    fn restore(self) -> StoredVerdict {
        StoredVerdict {
            verdict: Verdict {
                decision: self.verdict,
                exit_code: self.exit_code,
                headline: self.headline,
                suite: self.suite,
                rules: self.rules.into_iter().map(RuleLine::restore).collect(),
                trials: self.trials.unwrap_or_default(),
                looks: self.looks,
                slices: self.slices,
                slice_table: self.slice_table,
                cases: self.cases,
                changes: self.changes,
                flaky: self.flaky,
                broken: self.broken,
                fixed: self.fixed,
                comparable: self.comparable,
                notes: self.notes,
                baseline: self.baseline,
                baseline_runs: self.baseline_runs,
                anchor: self.anchor,
                base: self.base,
                metrics: self.metrics,
                partial: self.partial,
                selection: self.selection,
                shard: self.shard,
                alpha: self.alpha,
            },
            calls: self.calls,
            usage: self.usage,
            cost: self.cost_usd,
        }
    }
}

#[derive(Deserialize)]
struct Version {
    schema: u64,
}

/// Reads what [`render`](super::render) wrote.
///
/// # Errors
/// `Newer` for a later format; `Malformed` for everything else that is no verdict, with the place.
pub fn read_verdict(text: &str) -> Result<StoredVerdict, VerdictFileError> {
    let malformed = |error: serde_json::Error| VerdictFileError::Malformed(error.to_string());
    let Version { schema } = serde_json::from_str(text).map_err(malformed)?;
    if schema > SCHEMA {
        return Err(VerdictFileError::Newer { found: schema });
    }
    let file: VerdictFileV1 = serde_json::from_str(text).map_err(malformed)?;
    Ok(file.restore())
}
