//! The baseline file: one header line, then one line per case and target, sorted, so that a diff shows which cases moved.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{StoreError, Texts};
use crate::domain::{
    Baseline, BaselineCase, BaselineRun, BaselineSource, Cell, Digest, MetricName, MetricSpec, Run, SkipReason,
};

/// Version of the format.
pub const BASELINE_SCHEMA: u64 = 1;
/// Characters of an answer that are kept to be shown beside a new one.
const ANSWER_LIMIT: usize = 2000;

#[derive(Serialize, Deserialize)]
struct HeaderLine {
    #[serde(rename = "type")]
    kind: String,
    schema: u64,
    suite: String,
    runs: Vec<BaselineRun>,
    metrics: Vec<MetricSpec>,
    /// Case lines that follow: a file cut at a line end is noticed.
    cases: u64,
}

#[derive(Serialize, Deserialize)]
struct CaseLine {
    case: String,
    #[serde(default)]
    target: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cluster: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    scores: BTreeMap<MetricName, Vec<Vec<f64>>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    not_applicable: Vec<MetricName>,
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    answered: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_true(flag: &bool) -> bool {
    *flag
}

/// The file's bytes.
///
/// # Errors
/// `Io` where a value cannot be written as JSON, which a checked baseline never holds.
pub fn render_baseline(baseline: &Baseline) -> Result<String, StoreError> {
    let fail = |error: serde_json::Error| StoreError::Io {
        path: baseline.source.place.clone().into(),
        source: std::io::Error::other(error),
    };
    let header = HeaderLine {
        kind: "baseline".to_owned(),
        schema: BASELINE_SCHEMA,
        suite: baseline.suite.clone(),
        runs: baseline.runs.clone(),
        metrics: baseline.metrics.clone(),
        cases: baseline.cases.len() as u64,
    };
    let mut text = serde_json::to_string(&header).map_err(fail)?;
    text.push('\n');
    for case in &baseline.cases {
        let line = CaseLine {
            case: case.id.to_string(),
            target: case.target.to_string(),
            content: case.content,
            cluster: case.cluster.as_deref().map(str::to_owned),
            tags: case.tags.iter().map(ToString::to_string).collect(),
            scores: case.scores.clone(),
            not_applicable: case.not_applicable.clone(),
            answered: case.answered,
            answer: case.answer.clone(),
        };
        text.push_str(&serde_json::to_string(&line).map_err(fail)?);
        text.push('\n');
    }
    Ok(text)
}

/// Reads and checks a baseline file: every score in range, no case twice, nothing missing.
///
/// # Errors
/// `Absent`, `Io`, `Newer`, or `Corrupt` with the line; the file is left as it is.
pub fn read_baseline(path: &Path, place: &str) -> Result<Baseline, StoreError> {
    let bytes = std::fs::read(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => StoreError::Absent { path: path.to_owned() },
        _ => StoreError::Io { path: path.to_owned(), source },
    })?;
    let corrupt =
        |line: usize, problem: String| StoreError::Corrupt { path: path.to_owned(), line: line as u64, problem };
    let text = std::str::from_utf8(&bytes).map_err(|_| corrupt(1, "the file is not UTF-8".to_owned()))?;
    let mut lines = text.lines().enumerate();
    let (_, first) = lines.next().ok_or_else(|| corrupt(1, "the file is empty".to_owned()))?;
    #[derive(Deserialize)]
    struct Version {
        schema: u64,
    }
    let version: Version = serde_json::from_str(first).map_err(|error| corrupt(1, error.to_string()))?;
    if version.schema > BASELINE_SCHEMA {
        return Err(StoreError::Newer { path: path.to_owned(), found: version.schema, known: BASELINE_SCHEMA });
    }
    let header: HeaderLine = serde_json::from_str(first).map_err(|error| corrupt(1, error.to_string()))?;
    let mut cases: Vec<BaselineCase> = Vec::new();
    for (at, line) in lines {
        let line: CaseLine = serde_json::from_str(line).map_err(|error| corrupt(at + 1, error.to_string()))?;
        let case = check(line, &header).map_err(|problem| corrupt(at + 1, problem))?;
        if cases.last().is_some_and(|last| (&last.id, &last.target) >= (&case.id, &case.target)) {
            return Err(corrupt(at + 1, format!("case `{}` is not in order, or stands twice", case.id)));
        }
        cases.push(case);
    }
    if cases.len() as u64 != header.cases {
        let problem = format!("{} cases were written, {} are there", header.cases, cases.len());
        return Err(corrupt(cases.len() + 1, problem));
    }
    let source = BaselineSource { place: place.to_owned(), digest: Some(Digest::of([&bytes])) };
    Ok(Baseline { source, suite: header.suite, runs: header.runs, metrics: header.metrics, cases })
}

fn check(line: CaseLine, header: &HeaderLine) -> Result<BaselineCase, String> {
    for (name, runs) in &line.scores {
        let metric = header.metrics.iter().find(|metric| metric.name == *name);
        let metric = metric.ok_or_else(|| format!("metric `{name}` is not in the header"))?;
        if runs.len() != header.runs.len() {
            return Err(format!(
                "metric `{name}` has scores of {} runs, the header has {}",
                runs.len(),
                header.runs.len()
            ));
        }
        if let Some(bad) = runs.iter().flatten().find(|value| !metric.kind.admits(**value)) {
            let (lo, hi) = metric.kind.range();
            return Err(format!("{bad} is no score of `{name}`: it must be from {lo} to {hi}"));
        }
    }
    Ok(BaselineCase {
        id: line.case.into(),
        target: line.target.into(),
        content: line.content,
        cluster: line.cluster.map(Into::into),
        tags: line.tags.into_iter().map(Into::into).collect(),
        scores: line.scores,
        not_applicable: line.not_applicable,
        answered: line.answered,
        answer: line.answer,
    })
}

/// A baseline of one run.
///
/// # Errors
/// Those of reading the run's texts.
pub fn accept(run: &Run, accepted: BaselineRun, texts: Option<&Texts>) -> Result<Baseline, StoreError> {
    let mut cases = Vec::with_capacity(run.cases.len());
    for case in &run.cases {
        let mut scores = BTreeMap::new();
        let mut not_applicable = Vec::new();
        for (at, metric) in run.header.metrics.iter().enumerate() {
            let cells = || case.trials.iter().filter_map(|trial| trial.cells.get(at).copied().flatten());
            if cells().any(|cell| cell == Cell::Skipped(SkipReason::NotApplicable)) {
                not_applicable.push(metric.name.clone());
                continue;
            }
            let values = cells().filter_map(|cell| match cell {
                Cell::Value { value, .. } => Some(value),
                Cell::Error { .. } | Cell::Unusable { .. } | Cell::Skipped(_) => None,
            });
            scores.insert(metric.name.clone(), vec![values.collect()]);
        }
        cases.push(BaselineCase {
            id: case.id.clone(),
            target: case.target.clone(),
            content: case.content,
            cluster: case.cluster.clone(),
            tags: case.tags.clone(),
            scores,
            not_applicable,
            answered: case.trials.iter().any(|trial| trial.answered.is_ok()),
            answer: answer_of(case.trials.first().map(|trial| trial.offset), texts)?,
        });
    }
    cases.sort_by(|left, right| (&left.id, &left.target).cmp(&(&right.id, &right.target)));
    Ok(Baseline {
        source: BaselineSource::default(),
        suite: run.header.suite.clone(),
        runs: vec![accepted],
        metrics: run.header.metrics.clone(),
        cases,
    })
}

/// Runs a pool holds at most; the oldest leave first (statistics §15.1).
const POOL: usize = 10;

/// The pool with one more run. Cases, metrics and fingerprints must be the same: only then is it the same thing, measured again.
///
/// # Errors
/// What differs, by name.
pub fn pool(mut pool: Baseline, newest: Baseline) -> Result<Baseline, String> {
    if pool.metrics != newest.metrics {
        return Err(
            "the run measured other metrics than the baseline, or measured them otherwise: start a new baseline"
                .to_owned(),
        );
    }
    if pool.runs.iter().any(|known| newest.runs.iter().any(|run| run.id == known.id)) {
        return Err("this run is in the baseline already".to_owned());
    }
    if pool.cases.len() != newest.cases.len() {
        let (had, has) = (pool.cases.len(), newest.cases.len());
        return Err(format!("the baseline holds {had} cases, the run {has}: start a new baseline"));
    }
    for (known, case) in pool.cases.iter_mut().zip(newest.cases) {
        if (&known.id, &known.target, known.content) != (&case.id, &case.target, case.content) {
            return Err(format!(
                "case `{}` is not the same in the baseline and the run: start a new baseline",
                case.id
            ));
        }
        for (metric, runs) in case.scores {
            known.scores.entry(metric).or_default().extend(runs);
        }
        known.answered |= case.answered;
        known.answer = case.answer;
    }
    pool.runs.extend(newest.runs);
    let old = pool.runs.len().saturating_sub(POOL);
    pool.runs.drain(..old);
    for scores in pool.cases.iter_mut().flat_map(|case| case.scores.values_mut()) {
        scores.drain(..old.min(scores.len()));
    }
    Ok(pool)
}

fn answer_of(offset: Option<u64>, texts: Option<&Texts>) -> Result<Option<String>, StoreError> {
    let (Some(offset), Some(texts)) = (offset, texts) else { return Ok(None) };
    let line = texts.outcome(offset)?;
    Ok(line.answer.map(|answer| answer.text.chars().take(ANSWER_LIMIT).collect()))
}
