//! The baseline file: one header line, then one line per case and target, sorted, so that a diff shows which cases moved.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::StoreError;
use super::first_line::FirstLine;
use super::lines::json_problem;
use super::place::read_file as read;
use crate::domain::{
    Baseline, BaselineCase, BaselineRun, BaselineSource, Digest, MetricName, MetricSpec, Resource, Taken,
};

/// Version of the format.
pub const BASELINE_SCHEMA: u64 = 1;
/// What the first line says the file is.
pub(super) const KIND: &str = "baseline";
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
    /// Run → trial: milliseconds, tokens, dollars of the answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    taken: Option<Box<Taken>>,
    /// Scores of runs that have left the pool.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    older: BTreeMap<MetricName, Vec<f64>>,
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
        kind: KIND.to_owned(),
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
            taken: case.taken.clone(),
            older: case.older.clone(),
        };
        text.push_str(&serde_json::to_string(&line).map_err(fail)?);
        text.push('\n');
    }
    Ok(text)
}

/// Reads and checks a baseline file: at least one run and one case, no case twice, every metric in every case, every score in range.
///
/// # Errors
/// `Absent`, `Io`, `Newer`, or `Corrupt` with the line; the file is left as it is.
pub fn read_baseline(path: &Path, place: &str) -> Result<Baseline, StoreError> {
    parse_baseline(&read(path)?, path, place)
}

/// As [`read_baseline`], from bytes that were read already. `path` is for messages, `place` for reports.
///
/// # Errors
/// `Newer`, or `Corrupt` with the line.
pub fn parse_baseline(bytes: &[u8], path: &Path, place: &str) -> Result<Baseline, StoreError> {
    let corrupt =
        |line: usize, problem: String| StoreError::Corrupt { path: path.to_owned(), line: line as u64, problem };
    let text = std::str::from_utf8(bytes).map_err(|_| corrupt(0, "the file is not UTF-8".to_owned()))?;
    let mut lines = text.lines().enumerate();
    let (_, first) = lines.next().ok_or_else(|| corrupt(0, "the file is empty".to_owned()))?;
    let version: FirstLine = serde_json::from_str(first).map_err(|error| {
        corrupt(1, format!("the first line is damaged, or this is no baseline: {}", json_problem(&error)))
    })?;
    if version.kind.is_none() {
        let problem =
            "this is no baseline: the first line is none of its headers; `scoregate baseline update` writes one";
        return Err(corrupt(1, problem.to_owned()));
    }
    if let Some(found) = version.schema.filter(|found| *found > BASELINE_SCHEMA) {
        return Err(StoreError::Newer { path: path.to_owned(), found, known: BASELINE_SCHEMA });
    }
    let header: HeaderLine = serde_json::from_str(first).map_err(|error| corrupt(1, json_problem(&error)))?;
    check_header(&header).map_err(|problem| corrupt(1, problem))?;
    let mut cases: Vec<BaselineCase> = Vec::new();
    for (at, line) in lines {
        let line: CaseLine = serde_json::from_str(line).map_err(|error| corrupt(at + 1, json_problem(&error)))?;
        let case = check_case(line, &header).map_err(|problem| corrupt(at + 1, problem))?;
        if cases.last().is_some_and(|last| (&last.id, &last.target) >= (&case.id, &case.target)) {
            return Err(corrupt(at + 1, format!("case `{}` is not in order, or stands twice", case.id)));
        }
        cases.push(case);
    }
    if cases.len() as u64 != header.cases {
        let problem = format!("{} cases were written, {} are there", header.cases, cases.len());
        return Err(corrupt(cases.len() + 1, problem));
    }
    let source = BaselineSource { place: place.to_owned(), digest: Some(Digest::of([bytes])) };
    Ok(Baseline { source, suite: header.suite, runs: header.runs, metrics: header.metrics, cases })
}

fn check_header(header: &HeaderLine) -> Result<(), String> {
    if header.kind != KIND {
        return Err(format!("the first line is of type `{}`, not `{KIND}`", header.kind));
    }
    let empty = [("run", header.runs.is_empty()), ("metric", header.metrics.is_empty()), ("case", header.cases == 0)];
    if let Some((what, _)) = empty.iter().find(|(_, empty)| *empty) {
        return Err(format!("the baseline holds no {what}"));
    }
    let mut names = BTreeSet::new();
    match header.metrics.iter().find(|metric| !names.insert(&metric.name)) {
        Some(twice) => Err(format!("metric `{}` stands in the header twice", twice.name)),
        None => Ok(()),
    }
}

fn check_case(line: CaseLine, header: &HeaderLine) -> Result<BaselineCase, String> {
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
    for (name, scores) in &line.older {
        let metric = header.metrics.iter().find(|metric| metric.name == *name);
        let metric = metric.ok_or_else(|| format!("metric `{name}` of `older` is not in the header"))?;
        if let Some(bad) = scores.iter().find(|value| !metric.kind.admits(**value)) {
            return Err(format!("{bad} in `older` is no score of `{name}`"));
        }
    }
    for metric in &header.metrics {
        let (scored, left_out) = (line.scores.contains_key(&metric.name), line.not_applicable.contains(&metric.name));
        if scored == left_out {
            return Err(format!("metric `{}` must stand either in `scores` or in `not_applicable`", metric.name));
        }
    }
    let taken = line.taken.map(|taken| check_taken(*taken, header.runs.len())).transpose()?;
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
        taken: taken.map(Box::new),
        older: line.older,
    })
}

fn check_taken(mut taken: Taken, runs: usize) -> Result<Taken, String> {
    for resource in [Resource::Latency, Resource::Tokens, Resource::Cost] {
        let (of, word) = (taken.of(resource), resource.word());
        if !of.is_empty() && of.len() != runs {
            return Err(format!("`taken` has {word} of {} runs, the header has {runs}", of.len()));
        }
        if let Some(bad) = of.iter().flatten().find(|number| !number.is_finite() || **number < 0.0) {
            return Err(format!("{bad} in `taken` is no {word}"));
        }
    }
    taken.pad(runs);
    Ok(taken)
}

#[cfg(test)]
mod tests;
