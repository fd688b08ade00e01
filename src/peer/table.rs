//! Plain scores: CSV, TSV, JSON lines or a JSON list, wide (a column for each metric) or long (a row for each score).
//!
//! **Case**: a column `case`, `id` or the like; without one the question. **Metric**: in a long table `metric` with `value` (or `score`),
//! in a wide one every column of numbers. **Trial**, **target**, **run**, **tags**, **cluster**: columns of that name. **Error**: a
//! column `error`. Empty cells and NaN are missing.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value};

use super::look::{Record, Shape, Text};
use super::mark::{self, Mark};
use super::sheet::{Seen, Sheet, Unsaid, outcome};
use super::{Peer, name};
use crate::domain::{Digest, FailureKind, SkipReason};
use crate::store::{BadLine, OutcomeLine, ScoreLine, StoreError};

pub(super) const PEER: Peer = Peer {
    name: "scores",
    known_by: "CSV or JSON rows with a column `case` or `id`, and `metric` and `value` or a column for each metric",
    fits,
    read,
};

/// Columns that say which case a row is, the first that is there.
const IDS: &[&str] = &["case", "case_id", "id", "test_id", "sample_id", "example_id", "qid", "question_id"];
/// Columns that ask, where no column is an id.
const QUESTIONS: &[&str] = &["input", "question", "query", "prompt", "user_input"];
/// Columns of a wide table that are never metrics.
const DATA: &[&str] = &[
    "input",
    "question",
    "query",
    "prompt",
    "user_input",
    "output",
    "answer",
    "response",
    "expected",
    "reference",
    "ground_truth",
    "context",
    "contexts",
    "name",
    "description",
    "reason",
    "comment",
    "model",
    "date",
    "timestamp",
    "metadata",
    "index",
    "Unnamed: 0",
    "",
];
/// Columns with a meaning of their own.
const OWN: [&str; 7] = ["trial", "run", "target", "tags", "cluster", "error", "passed"];
/// Objects of a row whose members are metrics.
const GROUPS: [&str; 2] = ["scores", "metrics"];

fn fits(text: &Text) -> bool {
    matches!(text.shape, Shape::Lines | Shape::List | Shape::Cells) && (text.has_any(IDS) || text.has_any(QUESTIONS))
}

/// How a wide table is read.
pub(super) struct Wide<'a> {
    /// The question, where no column is an id: the first that is there.
    pub(super) content: &'a [&'a str],
    /// What belongs to the question.
    pub(super) detail: &'a [&'a str],
    /// Columns that are no metrics.
    pub(super) data: &'a [&'a str],
}

fn read(text: &Text) -> Result<Sheet, StoreError> {
    if text.has("metric") && text.has_any(&["value", "score", "error"]) {
        return long(text);
    }
    wide(text, &Wide { content: QUESTIONS, detail: &["expected", "reference", "ground_truth"], data: DATA })
}

type Records = Vec<Result<Record, BadLine>>;

/// The rows of a table, whatever holds it.
fn rows(text: &Text) -> Result<Records, StoreError> {
    match text.shape {
        Shape::Lines | Shape::List => return text.records(),
        Shape::Cells => {}
        Shape::Object | Shape::Xml => return Err(text.whole("a table is CSV, JSON lines or a JSON list of objects")),
    }
    cells(text)
}

/// CSV with a header; a header cell without a name is an index that pandas wrote.
fn cells(text: &Text) -> Result<Records, StoreError> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(true)
        .flexible(true)
        .delimiter(text.delimiter())
        .from_reader(text.text.as_bytes());
    let header = reader.headers().map_err(|error| text.bad(1, format!("not CSV: {error}")))?.clone();
    let names: Vec<&str> = header.iter().map(str::trim).collect();
    let mut seen = BTreeSet::new();
    if let Some(twice) = names.iter().find(|name| !seen.insert(**name)) {
        return Err(text.bad(1, format!("the header names the column `{}` twice", twice.escape_debug())));
    }
    let mut records = Vec::new();
    for (row, number) in reader.into_records().zip(1_u64..) {
        let row = row.map_err(|error| text.bad(0, format!("row {number} is not CSV: {error}")))?;
        let line = row.position().map_or(0, csv::Position::line);
        records.push(if row.len() == names.len() {
            let cell = |(name, cell): (&&str, &str)| ((*name).to_owned(), Value::String(cell.to_owned()));
            Ok(Record { line, value: names.iter().zip(row.iter()).map(cell).collect() })
        } else {
            let problem = format!(
                "this row has {} cells, the header has {}; cells that contain the delimiter are written in quotes",
                row.len(),
                names.len()
            );
            Err(BadLine { line, column: None, problem })
        });
    }
    Ok(records)
}

/// The sound rows; the others are problems of the sheet.
fn sound(text: &Text, sheet: &mut Sheet) -> Result<Vec<Record>, StoreError> {
    let mut sound = Vec::new();
    for record in rows(text)? {
        match record {
            Ok(record) => sound.push(record),
            Err(bad) => sheet.bad_line(bad),
        }
    }
    Ok(sound)
}

/// Which case, trial, target and run a row is about.
fn about(record: &Record, ids: &[&str]) -> Result<(OutcomeLine, String, bool), String> {
    let value = |key: &str| record.value.get(key).filter(|value| !matches!(Mark::of(value), Mark::Empty));
    let id = ids.iter().find(|key| record.value.contains_key(**key));
    let id = id.map(|key| value(key).and_then(name::id).ok_or_else(|| format!("`{key}` of this row is empty")));
    let trial = match value("trial") {
        None => None,
        Some(trial) => match name::id(trial).and_then(|trial| trial.parse::<u32>().ok()) {
            Some(trial) => Some(trial),
            None => return Err("`trial` is no whole number from 0".to_owned()),
        },
    };
    let word = |key: &str| name::text(value(key));
    let mut line = outcome(id.transpose()?.unwrap_or_default(), word("target"), trial.unwrap_or_default());
    line.cluster = Some(word("cluster")).filter(|cluster| !cluster.is_empty());
    line.tags = tags(value("tags"));
    Ok((line, word("run"), trial.is_some()))
}

fn tags(value: Option<&Value>) -> Vec<String> {
    let parsed = value.and_then(Value::as_str).and_then(|text| serde_json::from_str::<Vec<String>>(text).ok());
    let listed = value.and_then(Value::as_array).map(|items| items.iter().map(|item| name::text(Some(item))).collect());
    parsed.or(listed).unwrap_or_else(|| {
        let text = name::text(value);
        text.split([';', ',', '|']).map(str::trim).filter(|tag| !tag.is_empty()).map(str::to_owned).collect()
    })
}

/// A column for each metric.
pub(super) fn wide(text: &Text, form: &Wide<'_>) -> Result<Sheet, StoreError> {
    let mut sheet = Sheet::default();
    let records: Vec<Record> = sound(text, &mut sheet)?.into_iter().map(flat).collect();
    let first = |keys: &[&str]| -> Option<String> {
        keys.iter().find(|key| records.iter().any(|row| row.value.contains_key(**key))).map(|key| (*key).to_owned())
    };
    let id = first(IDS);
    let content = first(form.content);
    if id.is_none() && content.is_none() {
        return Err(text.whole("no column says which case a row is: name one `case`"));
    }
    let metrics = metrics(&records, form, text);
    let mut places: HashMap<(String, String, String, u32), u64> = HashMap::new();
    for record in &records {
        let (mut line, run, has_trial) = match about(record, IDS) {
            Ok(about) => about,
            Err(problem) => {
                sheet.problem(record.line, problem);
                continue;
            }
        };
        if let Some(content) = &content {
            let question = name::text(record.value.get(content));
            let detail: Vec<String> = form.detail.iter().map(|key| name::text(record.value.get(*key))).collect();
            let digest = Digest::of(std::iter::once(&question).chain(&detail));
            line.content = Some(digest);
            if id.is_none() {
                if question.is_empty() {
                    sheet.problem(record.line, format!("`{content}` of this row is empty"));
                    continue;
                }
                line.case = name::of_content(&question, digest);
            }
        }
        if id.is_none() && !has_trial {
            line.trial = sheet.repeat(&run, &line.case, &line.target);
        }
        let key = (run.clone(), line.case.clone(), line.target.clone(), line.trial);
        if let Some(earlier) = places.insert(key, record.line) {
            let problem = format!(
                "case `{}` stands twice (first in line {earlier}); repetitions need a column `trial`, several runs a column `run`",
                line.case
            );
            sheet.problem(record.line, problem);
            continue;
        }
        fill(&mut line, record, &metrics, &mut sheet);
        sheet.seen.push(Seen { line: record.line, run, outcome: line, unsaid: Unsaid::Missing });
    }
    Ok(sheet)
}

/// The scores of a row.
fn fill(line: &mut OutcomeLine, record: &Record, metrics: &[String], sheet: &mut Sheet) {
    let failed = record.value.get("error").map(|error| name::text(Some(error)).trim().to_owned());
    if let Some(message) = failed.filter(|message| !message.is_empty() && !metrics.iter().any(|it| it == "error")) {
        line.error = Some(mark::no_answer(message));
        return;
    }
    for metric in metrics {
        let value = record.value.get(metric).unwrap_or(&Value::Null);
        match Mark::of(value).score(metric) {
            Some(score) => line.scores.push(score),
            None => sheet.problem(
                record.line,
                format!("`{metric}` of this row is no number; where it is no metric, `--metric` names those that are"),
            ),
        }
    }
}

/// A row whose `scores` are an object: its members stand beside the rest.
fn flat(mut record: Record) -> Record {
    for group in GROUPS {
        if let Some(Value::Object(scores)) = record.value.get(group).cloned() {
            record.value.remove(group);
            let scores = scores.into_iter().filter(|(name, _)| !IDS.contains(&name.as_str()));
            record.value.extend(scores);
        }
    }
    record
}

/// The columns that hold scores, in the order in which they first appear. A column without any value is one: its measurement failed.
fn metrics(records: &[Record], form: &Wide<'_>, text: &Text) -> Vec<String> {
    let mut columns: Map<String, Value> = Map::new();
    for key in records.iter().flat_map(|record| record.value.keys()) {
        if !columns.contains_key(key) {
            columns.insert(key.clone(), Value::Null);
        }
    }
    let numbers = |column: &str| {
        let marks = records.iter().filter_map(|record| record.value.get(column)).map(Mark::of);
        let (mut any, mut other) = (false, false);
        for mark in marks {
            any |= matches!(mark, Mark::Score(_) | Mark::NotFinite(_));
            other |= mark == Mark::Other;
        }
        // Where metrics are wanted by name, a column that is half of numbers need not be one.
        if text.wanted.is_empty() { any || !other } else { !other }
    };
    let known = |column: &str| IDS.contains(&column) || form.data.contains(&column) || DATA.contains(&column);
    let own = |column: &str| OWN.contains(&column);
    let is_metric =
        |column: &String| text.wanted.contains(column) || !(known(column) || own(column)) && numbers(column);
    columns.into_iter().map(|(column, _)| column).filter(is_metric).collect()
}

/// A row for each score.
fn long(text: &Text) -> Result<Sheet, StoreError> {
    let mut sheet = Sheet::default();
    let records = sound(text, &mut sheet)?;
    let mut places: HashMap<(String, String, String, u32), usize> = HashMap::new();
    for record in records {
        let (line, run, _) = match about(&record, IDS) {
            Ok(about) if !about.0.case.is_empty() => about,
            Ok(_) => {
                sheet.problem(record.line, "no column says which case this row is: name one `case`");
                continue;
            }
            Err(problem) => {
                sheet.problem(record.line, problem);
                continue;
            }
        };
        let score = match long_score(&record.value) {
            Ok(score) => score,
            Err(problem) => {
                sheet.problem(record.line, problem);
                continue;
            }
        };
        let key = (run.clone(), line.case.clone(), line.target.clone(), line.trial);
        let at = *places.entry(key).or_insert_with(|| {
            sheet.seen.push(Seen { line: record.line, run, outcome: line, unsaid: Unsaid::NotApplicable });
            sheet.seen.len() - 1
        });
        let Some(seen) = sheet.seen.get_mut(at) else { continue };
        if seen.outcome.scores.iter().any(|known| known.metric == score.metric) {
            let case = seen.outcome.case.clone();
            let problem = format!(
                "metric `{}` of case `{case}` stands twice; repetitions need a column `trial`, several runs a column `run`",
                score.metric
            );
            sheet.problem(record.line, problem);
            continue;
        }
        seen.outcome.scores.push(score);
    }
    Ok(sheet)
}

fn long_score(value: &Map<String, Value>) -> Result<ScoreLine, String> {
    let filled = |key: &str| value.get(key).filter(|value| !matches!(Mark::of(value), Mark::Empty));
    let Some(metric) = filled("metric").and_then(name::id) else {
        return Err("`metric` of this row is empty".to_owned());
    };
    let found = filled("value").or_else(|| filled("score"));
    match (found, filled("error"), filled("skipped")) {
        (None, Some(error), _) => Ok(mark::failed(&metric, FailureKind::Recorded, name::text(Some(error)))),
        (Some(_), Some(_), _) => Err(format!("`{metric}` has a value and an error")),
        (None, None, Some(_)) => {
            let skipped = Some(SkipReason::NotMeasured);
            Ok(ScoreLine { metric, skipped, ..ScoreLine::default() })
        }
        (found, None, _) => {
            let mark = Mark::of(found.unwrap_or(&Value::Null));
            let mut score = mark.score(&metric).ok_or_else(|| format!("the value of `{metric}` is no number"))?;
            let passed = filled("passed").map(Mark::of);
            score.passed = match passed {
                Some(Mark::Score(passed)) if score.value.is_some() => Some(passed != 0.0),
                _ => None,
            };
            Ok(score)
        }
    }
}
