//! The smallest form of results: lines of `{"case","metric","value"}` or `{"case","metric","error"}` (design §5).

use std::collections::HashMap;

use serde::Deserialize;

use super::lines::{Line, Lines, json_parts};
use super::run_builder::{RunBuilder, cell};
use super::{BadLine, FailureLine, ScoreLine, StoreError};
use crate::domain::{
    Cell, Completion, Direction, FailureKind, MetricSpec, Run, RunHeader, ScoreKind, Side, SkipReason, TrialRecord,
};

/// Bad lines that are named; the others are counted.
const NAMED: usize = 20;

#[derive(Deserialize)]
struct SmallLine {
    case: String,
    metric: String,
    #[serde(default)]
    value: Option<f64>,
    #[serde(default)]
    error: Option<serde_json::Value>,
    #[serde(default)]
    skipped: Option<serde_json::Value>,
    #[serde(default)]
    trial: u32,
    #[serde(default)]
    run: Option<serde_json::Value>,
    #[serde(default)]
    target: String,
    #[serde(default)]
    passed: Option<bool>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    cluster: Option<String>,
}

/// A line with its place, checked.
struct Checked {
    line: SmallLine,
    cell: Cell,
    offset: u64,
    number: u64,
}

/// Every run of the file, in the order in which they first appear; a file without `run` holds one.
pub(super) fn read_scores(mut reader: Lines, first: Line, declared: &[MetricSpec]) -> Result<Vec<Run>, StoreError> {
    let mut problems = Vec::new();
    let mut bad = 0_usize;
    let mut checked = Vec::new();
    let mut next = Some(first);
    while let Some(line) = next {
        match check(&line, reader.number, declared) {
            Ok(one) => checked.push(one),
            Err(problem) => {
                bad += 1;
                if problems.len() < NAMED {
                    problems.push(BadLine { line: reader.number, ..problem });
                }
            }
        }
        next = reader.next()?;
    }
    if bad > 0 {
        return Err(StoreError::Lines { path: reader.path, problems, more: bad.saturating_sub(NAMED) });
    }
    let metrics = metrics(&checked, declared);
    group(checked, &metrics, &reader)
}

fn check(line: &Line, number: u64, declared: &[MetricSpec]) -> Result<Checked, BadLine> {
    let bad = |problem: String| BadLine { line: 0, column: None, problem };
    let small: SmallLine = serde_json::from_str(&line.text).map_err(|error| {
        let (_, column) = json_parts(&error);
        let column = column.map(|column| {
            let before = line.text.as_bytes().get(..column.saturating_sub(1)).unwrap_or_default();
            u32::try_from(String::from_utf8_lossy(before).chars().count()).unwrap_or(u32::MAX).saturating_add(1)
        });
        BadLine { column, ..bad(wrong_form(&line.text, &error)) }
    })?;
    let kind =
        declared.iter().find(|metric| *metric.name == *small.metric).map_or(ScoreKind::UNIT, |metric| metric.kind);
    let failure = small.error.as_ref().map(|error| FailureLine {
        kind: FailureKind::Recorded,
        side: Side::Infra,
        message: error.as_str().map_or_else(|| error.to_string(), str::to_owned),
        attempts: 0,
        raw: None,
    });
    let score = ScoreLine {
        metric: small.metric.clone(),
        value: small.value,
        passed: small.passed,
        error: failure,
        skipped: small.skipped.as_ref().map(|_| SkipReason::NotMeasured),
        ..ScoreLine::default()
    };
    let cell = cell(&score, kind).map_err(|problem| {
        let undeclared = !declared.iter().any(|metric| *metric.name == *small.metric);
        let hint = "; where its scale is another, say so in the suite: `gate.metrics.NAME.type` and `range`";
        bad(if undeclared && small.value.is_some() { format!("{problem}{hint}") } else { problem })
    })?;
    Ok(Checked { line: small, cell, offset: line.offset, number })
}

/// What is wrong with a line, in the words of who wrote it.
fn wrong_form(text: &str, error: &serde_json::Error) -> String {
    const FORM: &str = "lines are `{\"case\": …, \"metric\": …, \"value\": …}`";
    let line = match serde_json::from_str::<serde_json::Value>(text) {
        Ok(serde_json::Value::Object(line)) => line,
        Ok(_) => return format!("not a JSON object; {FORM}"),
        Err(_) => return format!("not JSON; {FORM}"),
    };
    if let Some(missing) = ["case", "metric"].iter().find(|key| !line.contains_key(**key)) {
        return format!("missing key `{missing}`; {FORM}");
    }
    let wrong = |key: &str, fits: fn(&serde_json::Value) -> bool| line.get(key).is_some_and(|value| !fits(value));
    if wrong("value", |value| value.is_number() || value.is_null()) {
        return "`value` must be a number, without quotes".to_owned();
    }
    if let Some(key) = ["case", "metric", "target"].iter().find(|key| wrong(key, serde_json::Value::is_string)) {
        return format!("`{key}` must be a text, in quotes");
    }
    error.to_string()
}

/// In the order of their names, so that the order of the lines changes nothing.
fn metrics(checked: &[Checked], declared: &[MetricSpec]) -> Vec<MetricSpec> {
    let mut names: Vec<&str> = checked.iter().map(|one| one.line.metric.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let spec = |name: &str| {
        declared.iter().find(|metric| *metric.name == *name).cloned().unwrap_or(MetricSpec {
            name: name.into(),
            kind: ScoreKind::UNIT,
            direction: Direction::Higher,
            pass_mark: None,
            fingerprint: None,
        })
    };
    names.into_iter().map(spec).collect()
}

fn group(checked: Vec<Checked>, metrics: &[MetricSpec], reader: &Lines) -> Result<Vec<Run>, StoreError> {
    let trials = checked.iter().map(|one| one.line.trial).max().unwrap_or(0).saturating_add(1);
    let mut order: HashMap<String, usize> = HashMap::new();
    let mut builders: Vec<(RunBuilder, u64)> = Vec::new();
    for one in checked {
        let name = one
            .line
            .run
            .as_ref()
            .map_or_else(String::new, |run| run.as_str().map_or_else(|| run.to_string(), str::to_owned));
        let at = *order.entry(name.clone()).or_insert_with(|| {
            let header = RunHeader { id: name, metrics: metrics.to_vec(), trials, ..RunHeader::default() };
            builders.push((RunBuilder::new(header), 0));
            builders.len() - 1
        });
        let column = metrics.iter().position(|metric| *metric.name == *one.line.metric);
        let (Some((builder, lines)), Some(column)) = (builders.get_mut(at), column) else {
            return Err(reader.corrupt(format!("metric `{}` has no place", one.line.metric)));
        };
        *lines += 1;
        place(builder, &one, column, metrics.len()).map_err(|problem| StoreError::Lines {
            path: reader.path.clone(),
            problems: vec![BadLine { line: one.number, column: None, problem }],
            more: 0,
        })?;
    }
    let finish = |(builder, lines): (RunBuilder, u64)| {
        let completion = Completion { complete: true, outcomes: lines, ..Completion::default() };
        builder.finish(Some(completion), None)
    };
    Ok(builders.into_iter().map(finish).collect())
}

fn place(builder: &mut RunBuilder, one: &Checked, column: usize, width: usize) -> Result<(), String> {
    let line = &one.line;
    let case = builder.case(&line.case, &line.target);
    if case.trials.is_empty() {
        case.tags = line.tags.iter().map(|tag| tag.as_str().into()).collect();
        case.cluster = line.cluster.as_deref().map(Into::into);
    }
    let at = case.trials.iter().position(|trial| trial.trial == line.trial);
    let at = at.unwrap_or_else(|| {
        case.trials.push(TrialRecord {
            trial: line.trial,
            answered: Ok(()),
            cells: vec![None; width],
            latency_ms: None,
            tokens: None,
            cost: None,
            attempts: 0,
            offset: one.offset,
        });
        case.trials.len() - 1
    });
    let cell = case.trials.get_mut(at).and_then(|trial| trial.cells.get_mut(column));
    match cell {
        Some(slot) if slot.is_none() => {
            *slot = Some(one.cell);
            Ok(())
        }
        _ => Err(format!("case `{}`, metric `{}`, trial {} stands twice", line.case, line.metric, line.trial)),
    }
}
