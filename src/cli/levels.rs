//! Stored runs as levels: each case's mean on the unit scale (1 is best), run by run. What `power`, `drift` and `judge` reckon with.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::failure::Failed;
use crate::domain::{Baseline, CaseId, Cell, Env, MetricName, MetricSpec, Run, TargetName};
use crate::gate::{Policy, unit};
use crate::peer::{Wanted, read_runs};
use crate::store::{FileKind, StoreError, read_baseline};
use crate::suite;

/// A metric of a target.
pub(super) type Key = (MetricName, TargetName);

/// One run of one file.
#[derive(Clone, Debug)]
pub(super) struct StoredRun {
    pub(super) id: String,
    pub(super) commit: Option<String>,
    /// RFC 3339.
    pub(super) date: Option<String>,
    pub(super) specs: Vec<MetricSpec>,
    /// Trial scores of each case on the unit scale; only cases that have one.
    pub(super) scores: BTreeMap<Key, BTreeMap<CaseId, Vec<f64>>>,
}

/// The policy of a suite that may be named; the defaults without one.
///
/// # Errors
/// Every problem of the suite.
pub(super) fn policy(path: Option<&Path>, env: &Env) -> Result<Policy, Failed> {
    let suite = path.map(|path| suite::load(path, env)).transpose()?;
    let mut problems = crate::diagnostic::Diagnostics::default();
    let gate = suite.as_ref().and_then(|suite| suite.gate.as_ref());
    Policy::build(gate, &[], &mut problems).ok_or_else(|| problems.into())
}

/// The runs of a file: results of ours or of another tool, or a baseline's pool.
///
/// # Errors
/// It cannot be read.
pub(super) fn stored(path: &Path, policy: &Policy, wanted: Wanted<'_>) -> Result<Vec<StoredRun>, Failed> {
    let runs = match FileKind::of(path) {
        Ok(FileKind::Baseline) => {
            of_baseline(&read_baseline(path, &path.display().to_string())?, policy, wanted.metrics)
        }
        Ok(FileKind::Results | FileKind::Scores) | Err(StoreError::Corrupt { .. }) => {
            let runs = read_runs(path, &policy.declared(), wanted).map_err(unreadable)?;
            runs.iter().map(|run| of_run(run, policy)).collect()
        }
        Err(error) => return Err(error.into()),
    };
    let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let several = runs.len() > 1;
    let named = |(at, run): (usize, StoredRun)| match (run.id.is_empty(), several) {
        (false, _) => run,
        (true, false) => StoredRun { id: name.clone(), ..run },
        (true, true) => StoredRun { id: format!("{name} run {}", at.saturating_add(1)), ..run },
    };
    Ok(runs.into_iter().enumerate().map(named).collect())
}

/// What a file that was named holds is wrong, not missing.
fn unreadable(error: StoreError) -> Failed {
    match error {
        StoreError::Corrupt { .. } => Failed::usage("bad-results", error.to_string(), "see docs/compare.md"),
        error => error.into(),
    }
}

fn of_run(run: &Run, policy: &Policy) -> StoredRun {
    let specs: Vec<MetricSpec> =
        run.header.metrics.iter().map(|spec| policy.metric(&spec.name).apply(spec.clone())).collect();
    let mut scores: BTreeMap<Key, BTreeMap<CaseId, Vec<f64>>> = BTreeMap::new();
    for case in &run.cases {
        let mut trials: Vec<_> = case.trials.iter().collect();
        trials.sort_by_key(|trial| trial.trial);
        for (at, spec) in specs.iter().enumerate() {
            let value = |cell: Option<Cell>| match cell {
                Some(Cell::Value { value, .. }) if spec.kind.admits(value) => Some(unit(spec, value)),
                _ => None,
            };
            let values: Vec<f64> =
                trials.iter().filter_map(|trial| value(trial.cells.get(at).copied().flatten())).collect();
            if !values.is_empty() {
                let key = (Arc::clone(&spec.name), Arc::clone(&case.target));
                scores.entry(key).or_default().insert(Arc::clone(&case.id), values);
            }
        }
    }
    let header = &run.header;
    StoredRun { id: header.id.clone(), commit: header.commit.clone(), date: header.started.clone(), specs, scores }
}

fn of_baseline(baseline: &Baseline, policy: &Policy, metrics: &[String]) -> Vec<StoredRun> {
    let wanted = |spec: &&MetricSpec| metrics.is_empty() || metrics.iter().any(|metric| **metric == *spec.name);
    let specs: Vec<MetricSpec> =
        baseline.metrics.iter().filter(wanted).map(|spec| policy.metric(&spec.name).apply(spec.clone())).collect();
    let one = |(at, run): (usize, &crate::domain::BaselineRun)| {
        let mut scores: BTreeMap<Key, BTreeMap<CaseId, Vec<f64>>> = BTreeMap::new();
        for case in &baseline.cases {
            for spec in &specs {
                let values = case.scores.get(&spec.name).and_then(|runs| runs.get(at));
                let admitted = values.into_iter().flatten().filter(|value| spec.kind.admits(**value));
                let values: Vec<f64> = admitted.map(|value| unit(spec, *value)).collect();
                if !values.is_empty() {
                    let key = (Arc::clone(&spec.name), Arc::clone(&case.target));
                    scores.entry(key).or_default().insert(Arc::clone(&case.id), values);
                }
            }
        }
        let (commit, date) = (run.commit.clone(), run.date.clone());
        StoredRun { id: run.id.clone(), commit, date, specs: specs.clone(), scores }
    };
    baseline.runs.iter().enumerate().map(one).collect()
}

/// The metrics and targets of all runs, by name.
pub(super) fn keys(runs: &[StoredRun]) -> Vec<Key> {
    let all: BTreeSet<&Key> = runs.iter().flat_map(|run| run.scores.keys()).collect();
    all.into_iter().cloned().collect()
}

/// What the metric is, as the newest run that has it says.
pub(super) fn spec(runs: &[StoredRun], metric: &str) -> Option<MetricSpec> {
    runs.iter().rev().find_map(|run| run.specs.iter().find(|spec| *spec.name == *metric)).cloned()
}

/// `faithfulness`, with its target where there are several.
pub(super) fn label((metric, target): &Key, keys: &[Key]) -> String {
    let several = keys.iter().any(|(_, other)| other != target);
    if several && !target.is_empty() { format!("{metric} of {target}") } else { metric.to_string() }
}

pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Variance with n − 1; `None` below two numbers.
pub(super) fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    Some(values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (values.len() as f64 - 1.0))
}

/// σ²_w: the mean within-case variance of single scores, over all trials and runs (statistics §17.2).
pub(super) fn within(runs: &[StoredRun], key: &Key) -> Option<f64> {
    let mut cases: BTreeMap<&CaseId, Vec<f64>> = BTreeMap::new();
    for (case, scores) in runs.iter().filter_map(|run| run.scores.get(key)).flatten() {
        cases.entry(case).or_default().extend(scores);
    }
    let each: Vec<f64> = cases.values().filter_map(|scores| variance(scores)).collect();
    mean(&each)
}
