//! deepeval: a test run (`DEEPEVAL_RESULTS_FOLDER`, `.deepeval/.latest_test_run.json`) or a dumped `EvaluationResult`.
//!
//! **Case**: its input and expected output (a conversation: scenario and expected outcome), never its position. **Trial**: the same case
//! again (`-r`). **Metric**: each of `metricsData`; which way is better is told by `success`, `score` and `threshold`, which deepeval
//! itself compares either way. **Error**: a metric with `error`; without a score and without an error it is missing.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::look::{Record, Shape, Text};
use super::mark::{self, Mark};
use super::sheet::{Hint, Sheet, Unsaid, outcome};
use super::{Peer, name};
use crate::domain::{Digest, FailureKind};
use crate::store::{ScoreLine, StoreError};

pub(super) const PEER: Peer =
    Peer { name: "deepeval", known_by: "`testCases`, `testRunData` or `test_results` with metrics", fits, read };

const CASES: [&str; 5] =
    ["testCases", "conversationalTestCases", "test_cases", "conversational_test_cases", "test_results"];

fn fits(text: &Text) -> bool {
    match text.shape {
        Shape::Object => text.has("testRunData") || text.has_any(&CASES),
        Shape::Lines | Shape::List => text.has_any(&["metricsData", "metrics_data"]),
        Shape::Xml | Shape::Cells => false,
    }
}

fn read(text: &Text) -> Result<Sheet, StoreError> {
    let mut sheet = Sheet::default();
    let mut directions = Directions::default();
    for record in records(text, &mut sheet)? {
        match record {
            Ok(record) => case(&record, &mut sheet, &mut directions),
            Err(bad) => sheet.bad_line(bad),
        }
    }
    directions.settle(&mut sheet);
    Ok(sheet)
}

type Records = Vec<Result<Record, crate::store::BadLine>>;

fn records(text: &Text, sheet: &mut Sheet) -> Result<Records, StoreError> {
    if text.shape != Shape::Object {
        return text.records();
    }
    let top = text.members()?;
    let inner: Option<BTreeMap<String, &RawValue>> =
        top.get("testRunData").and_then(|raw| serde_json::from_str(raw.get()).ok());
    let member = |key: &str| match &inner {
        Some(inner) => inner.get(key).copied(),
        None => top.get(key).copied(),
    };
    let id = member("identifier").and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    sheet.header.id = name::text(id.as_ref());
    let mut all = Vec::new();
    for list in CASES.iter().filter_map(|key| member(key)).filter(|raw| raw.get().starts_with('[')) {
        all.extend(text.list(list)?);
    }
    Ok(all)
}

/// A member under its name in JSON or in Python.
fn part<'v>(value: &'v Map<String, Value>, camel: &str, snake: &str) -> Option<&'v Value> {
    value.get(camel).or_else(|| value.get(snake)).filter(|value| !value.is_null())
}

fn case(record: &Record, sheet: &mut Sheet, directions: &mut Directions) {
    let value = &record.value;
    let question = part(value, "input", "input").or_else(|| part(value, "scenario", "scenario"));
    let question = question.or_else(|| first_turn(value)).or_else(|| part(value, "name", "name"));
    let Some(question) = question else {
        return sheet.problem(record.line, "this test case has neither `input` nor `scenario` nor `name`");
    };
    let question = name::text(Some(question));
    let expected =
        part(value, "expectedOutput", "expected_output").or_else(|| part(value, "expectedOutcome", "expected_outcome"));
    let expected = name::text(expected);
    let id = name::of_content(&question, Digest::of([&question, &expected]));
    let context = name::text(part(value, "context", "context"));
    let mut line = outcome(id.clone(), String::new(), sheet.repeat("", &id, ""));
    line.content = Some(Digest::of([&question, &expected, &context]));
    let tags = value.get("tags").and_then(Value::as_array).into_iter().flatten();
    line.tags = tags.filter_map(Value::as_str).map(str::to_owned).collect();
    let metrics = part(value, "metricsData", "metrics_data").and_then(Value::as_array);
    for metric in metrics.into_iter().flatten().filter_map(Value::as_object) {
        match score(metric, directions, record.line) {
            Ok(score) => line.scores.push(score),
            Err(problem) => sheet.problem(record.line, problem),
        }
    }
    // A case without any metric was not evaluated; one with some lacks those that do not apply.
    let unsaid = if line.scores.is_empty() { Unsaid::Missing } else { Unsaid::NotApplicable };
    sheet.push(record.line, line, unsaid);
}

fn first_turn(value: &Map<String, Value>) -> Option<&Value> {
    let turns = value.get("turns")?.as_array()?;
    turns.iter().find(|turn| turn.get("role").and_then(Value::as_str) == Some("user"))?.get("content")
}

fn score(metric: &Map<String, Value>, directions: &mut Directions, line: u64) -> Result<ScoreLine, String> {
    let Some(name) = metric.get("name").or_else(|| metric.get("metric")).and_then(Value::as_str) else {
        return Err("a metric has no `name`".to_owned());
    };
    if let Some(message) = metric.get("error").filter(|error| !error.is_null()) {
        return Ok(mark::failed(name, FailureKind::Recorded, name::text(Some(message))));
    }
    let found = Mark::of(metric.get("score").unwrap_or(&Value::Null));
    let passed = metric.get("success").and_then(Value::as_bool);
    if let (Mark::Score(score), Some(passed)) = (&found, passed) {
        directions.see(name, *score, metric.get("threshold").and_then(Value::as_f64), passed, line);
    }
    let mut score = found.score(name).ok_or_else(|| format!("the score of `{name}` is no number"))?;
    score.passed = passed.filter(|_| score.value.is_some());
    Ok(score)
}

/// Which way is better, by what deepeval says of scores beside their thresholds.
#[derive(Default)]
struct Directions(BTreeMap<String, (Option<u64>, Option<u64>)>);

impl Directions {
    fn see(&mut self, metric: &str, score: f64, threshold: Option<f64>, passed: bool, line: u64) {
        let Some(threshold) = threshold.filter(|threshold| *threshold != score) else { return };
        let (higher, lower) = self.0.entry(metric.to_owned()).or_default();
        let side = if (score > threshold) == passed { higher } else { lower };
        side.get_or_insert(line);
    }

    fn settle(self, sheet: &mut Sheet) {
        for (metric, seen) in self.0 {
            match seen {
                (None, Some(_)) => drop(sheet.hints.insert(metric, Hint::LOWER)),
                (Some(higher), Some(lower)) => sheet.problem(
                    higher.max(lower),
                    format!(
                        "`{metric}` passes above its threshold here and below it there (lines {} and {}): which way is better is not known",
                        higher.min(lower),
                        higher.max(lower)
                    ),
                ),
                (Some(_), None) | (None, None) => {}
            }
        }
    }
}
