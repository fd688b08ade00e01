//! inspect_ai: a log as JSON (`inspect log dump FILE`, or `INSPECT_LOG_FORMAT=json`).
//!
//! **Case**: the sample's `id`. **Trial**: its epoch. **Target**: the model. **Metric**: each scorer; a scorer that gives several values
//! becomes `scorer/key`. `C`, `P`, `I` and `N` are 1, 0.5, 0 and 0, as in inspect_ai. **Error**: a sample with `error` has no answer; a
//! score of NaN is missing. A log whose status is not `success` is not a whole run.

use serde_json::{Map, Value};

use super::look::{Record, Shape, Text};
use super::mark::{self, Mark};
use super::sheet::{Sheet, Unsaid, outcome};
use super::{Peer, name};
use crate::domain::{Digest, FailureKind};
use crate::store::{ScoreLine, StoreError};

pub(super) const PEER: Peer = Peer {
    name: "inspect_ai",
    known_by: "`eval`, `status` and `samples`; of an .eval file: `inspect log dump`",
    fits,
    read,
};

fn fits(text: &Text) -> bool {
    text.shape == Shape::Object && text.has("eval") && text.has_any(&["status", "samples", "plan"])
}

fn read(text: &Text) -> Result<Sheet, StoreError> {
    if text.shape != Shape::Object {
        return Err(text.whole("a log of inspect_ai is one JSON object"));
    }
    let top = text.members()?;
    let member =
        |key: &str| -> Value { top.get(key).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default() };
    let Some(samples) = top.get("samples").copied().filter(|raw| raw.get().starts_with('[')) else {
        return Err(text.whole(
            "the log holds no samples: write it with samples (`--log-samples`), and dump the whole of it: `inspect log dump FILE`",
        ));
    };
    let about = member("eval");
    let word = |key: &str| about.get(key).and_then(Value::as_str);
    let mut sheet = Sheet::default();
    let id = ["eval_id", "run_id", "task_id"].into_iter().find_map(word);
    sheet.header.id = id.unwrap_or_default().to_owned();
    sheet.header.started = word("created").map(str::to_owned);
    sheet.header.suite = word("task").unwrap_or_default().to_owned();
    let commit = about.get("revision").and_then(|revision| revision.get("commit"));
    sheet.header.commit = commit.and_then(Value::as_str).map(str::to_owned);
    let version = about.get("packages").and_then(|packages| packages.get("inspect_ai"));
    sheet.version = version.and_then(Value::as_str).map(str::to_owned);
    let target = name::short(word("model").unwrap_or_default());
    sheet.incomplete = unfinished(&member("status"), &member("error"));
    for record in text.list(samples)? {
        match record {
            Ok(record) => sample(&record, &target, &mut sheet),
            Err(bad) => sheet.bad_line(bad),
        }
    }
    Ok(sheet)
}

fn unfinished(status: &Value, error: &Value) -> Option<String> {
    let status = status.as_str().unwrap_or("success");
    let why = error.get("message").and_then(Value::as_str).map(|why| format!(": {why}")).unwrap_or_default();
    (status != "success").then(|| format!("the log's status is `{status}`{why}"))
}

fn sample(record: &Record, target: &str, sheet: &mut Sheet) {
    let (line, value) = (record.line, &record.value);
    let Some(id) = value.get("id").and_then(name::id) else {
        return sheet.problem(line, "this sample has no `id`");
    };
    let epoch = value.get("epoch").map_or(Some(1), Value::as_u64).and_then(|epoch| epoch.checked_sub(1));
    let Some(trial) = epoch.and_then(|trial| u32::try_from(trial).ok()) else {
        return sheet.problem(line, "`epoch` is no number from 1");
    };
    let mut one = outcome(id, target.to_owned(), trial);
    let (question, expected) = (name::text(value.get("input")), name::text(value.get("target")));
    one.content = Some(Digest::of([&question, &expected]));
    let scores = value.get("scores").and_then(Value::as_object);
    // Before epochs had several scorers a sample held one score.
    let single = value.get("score").filter(|score| score.is_object());
    if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
        let message =
            error.get("message").and_then(Value::as_str).map_or_else(|| name::text(Some(error)), str::to_owned);
        one.error = Some(mark::no_answer(message));
    } else if let Some(why) = value.get("invalidation").filter(|why| !why.is_null()) {
        let reason = format!("invalidated: {}", name::text(why.get("reason")));
        one.scores = scores.into_iter().flatten().map(|(scorer, _)| mark::left(scorer, &reason)).collect();
    } else {
        for (scorer, score) in scores.into_iter().flatten() {
            score_of(scorer, score, &mut one.scores);
        }
        if let Some(score) = single.filter(|_| one.scores.is_empty()) {
            score_of("score", score, &mut one.scores);
        }
    }
    sheet.push(line, one, Unsaid::Missing);
}

fn score_of(scorer: &str, score: &Value, scores: &mut Vec<ScoreLine>) {
    let value = score.get("value").unwrap_or(&Value::Null);
    match value {
        Value::Object(parts) => scores.extend(several(scorer, parts)),
        value => scores.push(one_value(scorer, value)),
    }
}

fn several<'v>(scorer: &'v str, parts: &'v Map<String, Value>) -> impl Iterator<Item = ScoreLine> + 'v {
    parts.iter().map(move |(key, value)| one_value(&format!("{scorer}/{key}"), value))
}

fn one_value(metric: &str, value: &Value) -> ScoreLine {
    let letter = match value.as_str().map(str::trim) {
        Some("C") => Some(1.0),
        Some("P") => Some(0.5),
        Some("I" | "N") => Some(0.0),
        Some(word) if word.eq_ignore_ascii_case("yes") => Some(1.0),
        Some(word) if word.eq_ignore_ascii_case("no") => Some(0.0),
        _ => None,
    };
    match letter {
        Some(score) => mark::scored(metric, score),
        None => {
            let other = || mark::failed(metric, FailureKind::NotAScore, "its value is neither a number nor a grade");
            Mark::of(value).score(metric).unwrap_or_else(other)
        }
    }
}
