//! promptfoo: `promptfoo eval -o output.json` (or `.jsonl`), version 3 and 2 of its results.
//!
//! **Case**: the test's variables, so that order and insertions change nothing (tests with equal variables are told apart by their
//! assertions and description). **Target**: the provider, with the prompt where there are several. **Trial**: a repetition.
//! **Metric**: `pass`, the named metrics, and each type of assertion without a name. **Error**: a result whose `failureReason` is 2
//! has no answer; an assertion with `graderError` has no score, and a result that failed by nothing else has no `pass`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::look::{Record, Shape, Text};
use super::mark::{self, Mark};
use super::sheet::{Hint, Sheet, Unsaid, outcome};
use super::{Peer, name};
use crate::domain::{Digest, FailureKind, Usd};
use crate::store::{AnswerLine, OutcomeLine, ScoreLine, StoreError};

pub(super) const PEER: Peer =
    Peer { name: "promptfoo", known_by: "`results` with results, or lines with `promptIdx` and `testIdx`", fits, read };

/// The metric of a result as a whole.
const PASS: &str = "pass";
/// The mean of the assertions, where a file does not say them one by one.
const SCORE: &str = "score";
/// Variables that promptfoo sets itself, anew in every run.
const OWN: [&str; 2] = ["_conversation", "sessionId"];

fn fits(text: &Text) -> bool {
    match text.shape {
        Shape::Object if text.has("results") => {
            text.has_any(&["evalId", "shareableUrl"]) || results(text).is_ok_and(|list| looks_so(&list.0))
        }
        Shape::Object | Shape::Lines | Shape::List => text.has("promptIdx") && text.has("testIdx"),
        Shape::Xml | Shape::Cells => false,
    }
}

fn looks_so(records: &[Result<Record, crate::store::BadLine>]) -> bool {
    let first = records.first().and_then(|record| record.as_ref().ok());
    first.is_some_and(|record| record.value.contains_key("promptIdx") || record.value.contains_key("gradingResult"))
}

/// What stands around the results.
#[derive(Default)]
struct Around {
    id: String,
    timestamp: Option<String>,
    version: Option<String>,
    /// Results that the file itself counts.
    counted: Option<u64>,
}

type Records = Vec<Result<Record, crate::store::BadLine>>;

/// The results and what stands around them: `{results: {results: […]}}`, `{results: […]}`, lines or a list.
fn results(text: &Text) -> Result<(Records, Around), StoreError> {
    if text.shape != Shape::Object {
        return Ok((text.records()?, Around::default()));
    }
    let top = text.members()?;
    let member = |key: &str| top.get(key).and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    let word = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let mut around = Around {
        id: word(member("evalId").as_ref()).unwrap_or_default(),
        timestamp: word(member("timestamp").as_ref()),
        version: word(member("metadata").as_ref().and_then(|about| about.get("promptfooVersion"))),
        counted: member("stats").as_ref().and_then(total),
    };
    let Some(list) = top.get("results").copied() else { return Err(text.whole("there are no `results`")) };
    if list.get().starts_with('[') {
        return Ok((text.list(list)?, around));
    }
    let inner: BTreeMap<String, &RawValue> =
        serde_json::from_str(list.get()).map_err(|_| text.whole("`results` is neither a list nor an object"))?;
    let Some(list) = inner.get("results").copied() else {
        return Err(text.whole("there are no `results` within `results`"));
    };
    let member = |key: &str| inner.get(key).and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    around.timestamp = word(member("timestamp").as_ref()).or(around.timestamp);
    around.counted = member("stats").as_ref().and_then(total).or(around.counted);
    Ok((text.list(list)?, around))
}

fn total(stats: &Value) -> Option<u64> {
    let count = |key: &str| stats.get(key).map_or(Some(0), Value::as_u64);
    stats.get("successes")?;
    Some(count("successes")?.saturating_add(count("failures")?).saturating_add(count("errors")?))
}

fn read(text: &Text) -> Result<Sheet, StoreError> {
    let (records, around) = results(text)?;
    let mut sheet = Sheet::default();
    sheet.version = around.version;
    sheet.header.id = around.id;
    sheet.header.started = around.timestamp;
    sheet.hints.insert(PASS.to_owned(), Hint::PASS);
    let found = records.len() as u64;
    if let Some(counted) = around.counted.filter(|counted| *counted != found && found > 0) {
        sheet.incomplete = Some(format!("its statistics count {counted} results, and {found} are there"));
    }
    let mut rows: Vec<Row> = Vec::new();
    for record in records {
        match record.map(|record| Row::of(record.line, record.value)) {
            Ok(Ok(row)) => rows.push(row),
            Ok(Err((line, problem))) => sheet.problem(line, problem),
            Err(bad) => sheet.bad_line(bad),
        }
    }
    let names = Names::of(&rows);
    // Only where no result says its assertions is their mean all there is.
    let bare = rows.iter().all(|row| row.scores.is_empty());
    for row in rows {
        let case = names.case(&row);
        let target = names.target(&row);
        let trial = sheet.repeat("", &case, &target);
        let (line, planned) = (row.line, row.planned.clone());
        let unsaid = if row.error.is_some() { planned_of(planned) } else { Unsaid::NotApplicable };
        sheet.push(line, row.outcome(case, target, trial, bare), unsaid);
    }
    Ok(sheet)
}

fn planned_of(mut names: Vec<String>) -> Unsaid {
    if names.is_empty() {
        return Unsaid::Missing;
    }
    names.push(PASS.to_owned());
    Unsaid::Planned(names)
}

/// One result.
struct Row {
    line: u64,
    provider: String,
    prompt: String,
    vars: String,
    /// A piece of the variables to recognise the case by.
    shown: String,
    /// Digest of assertions and description.
    identity: Digest,
    content: Digest,
    success: Option<bool>,
    score: Option<f64>,
    scores: Vec<ScoreLine>,
    /// Metrics of the test's assertions.
    planned: Vec<String>,
    /// It failed, and by nothing but a judge that could not judge.
    unjudged: Option<String>,
    error: Option<String>,
    answer: AnswerLine,
    tags: Vec<String>,
}

impl Row {
    fn of(line: u64, mut value: Map<String, Value>) -> Result<Self, (u64, String)> {
        let bad = |problem: &str| Err((line, problem.to_owned()));
        let test = value.remove("testCase").unwrap_or_default();
        let vars = value.get("vars").or_else(|| test.get("vars")).cloned().unwrap_or_default();
        let vars = match vars {
            Value::Object(mut vars) => {
                vars.retain(|name, _| !OWN.contains(&name.as_str()));
                vars
            }
            Value::Null => Map::new(),
            _ => return bad("`vars` is no object"),
        };
        let grading = value.get("gradingResult").cloned().unwrap_or_default();
        let Some(success) = value.get("success").or_else(|| grading.get("pass")) else {
            return bad("this result has neither `success` nor `gradingResult`: is it promptfoo's?");
        };
        let description = name::text(test.get("description").or_else(|| value.get("description")));
        let prompt = value.get("prompt").cloned().unwrap_or_default();
        let shown = vars.values().find_map(Value::as_str).map(str::to_owned);
        let shown = shown.unwrap_or_else(|| description.clone());
        let vars = name::text(Some(&Value::Object(vars)));
        let asserts = asserted(test.get("assert"));
        let mut graded = Graded::default();
        graded.read(&grading, &value);
        let unjudged = graded.unjudged(success.as_bool());
        Ok(Self {
            line,
            provider: provider(value.get("provider")),
            prompt: name::short(&name::text(prompt.get("label").or_else(|| prompt.get("raw")))),
            identity: Digest::of([&asserts, &description]),
            content: Digest::of([&vars, &asserts]),
            vars,
            shown,
            success: success.as_bool(),
            score: value.get("score").and_then(Value::as_f64),
            planned: planned(test.get("assert")),
            unjudged,
            scores: graded.scores(),
            error: error(&value, &grading),
            answer: answer(&value),
            tags: tags(&test),
        })
    }

    fn outcome(self, case: String, target: String, trial: u32, bare: bool) -> OutcomeLine {
        let mut line = outcome(case, target, trial);
        line.content = Some(self.content);
        line.tags = self.tags;
        if let Some(message) = self.error {
            line.error = Some(mark::no_answer(message));
            return line;
        }
        line.answer = Some(self.answer);
        line.scores = self.scores;
        line.scores.retain(|score| score.metric != PASS);
        line.scores.push(match (self.unjudged, self.success) {
            (Some(message), _) => mark::failed(PASS, FailureKind::Unusable, message),
            (None, Some(passed)) => {
                ScoreLine { passed: Some(passed), ..mark::scored(PASS, f64::from(u8::from(passed))) }
            }
            (None, None) => mark::left(PASS, "`success` is neither true nor false"),
        });
        if bare && let Some(score) = self.score {
            line.scores.push(mark::scored(SCORE, score));
        }
        line
    }
}

/// What a test asks, without what does not change it.
fn asserted(list: Option<&Value>) -> String {
    name::text(list.filter(|list| list.as_array().is_some_and(|list| !list.is_empty())))
}

fn provider(value: Option<&Value>) -> String {
    let part = |key: &str| value.and_then(|value| value.get(key)).and_then(Value::as_str);
    let name = part("label").filter(|label| !label.is_empty()).or_else(|| part("id"));
    name::short(name.or_else(|| value.and_then(Value::as_str)).unwrap_or_default())
}

/// Why there is no answer.
fn error(value: &Map<String, Value>, grading: &Value) -> Option<String> {
    let message = name::text(value.get("error").filter(|error| !error.is_null()));
    let failed = match value.get("failureReason").and_then(Value::as_u64) {
        Some(reason) => reason == 2,
        // Older files say only that there is an error; a failed assertion has one too.
        None => !message.is_empty() && grading.is_null(),
    };
    failed.then(|| if message.is_empty() { "an error without a message".to_owned() } else { message })
}

fn answer(value: &Map<String, Value>) -> AnswerLine {
    let cached = value.get("response").and_then(|response| response.get("cached")).and_then(Value::as_bool);
    let number = |key: &str| value.get(key).and_then(Value::as_f64).filter(|number| *number >= 0.0);
    AnswerLine {
        latency_ms: number("latencyMs"),
        cost: number("cost").map(Usd),
        cached: cached.unwrap_or_default(),
        ..AnswerLine::default()
    }
}

fn tags(test: &Value) -> Vec<String> {
    let tags = test.get("metadata").and_then(|metadata| metadata.get("tags"));
    tags.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The metrics that a test's assertions measure.
fn planned(list: Option<&Value>) -> Vec<String> {
    let mut names = BTreeSet::new();
    for one in list.and_then(Value::as_array).into_iter().flatten() {
        match metric_of(one) {
            Some(name) => drop(names.insert(name)),
            None => names.extend(planned(one.get("assert"))),
        }
    }
    names.into_iter().collect()
}

/// The metric of an assertion: its name, else its type; a set without a name is its parts.
fn metric_of(assertion: &Value) -> Option<String> {
    let word = |key: &str| assertion.get(key).and_then(Value::as_str).filter(|word| !word.is_empty());
    word("metric").or_else(|| word("type").filter(|kind| *kind != "assert-set")).map(str::to_owned)
}

/// The scores of one result by metric.
#[derive(Default)]
struct Graded {
    named: BTreeMap<String, Value>,
    by_type: BTreeMap<String, Vec<(f64, bool)>>,
    /// Metrics whose judge failed, and what it said.
    unjudged: BTreeMap<String, String>,
    /// An assertion that was judged failed.
    failed: bool,
    passed: BTreeMap<String, bool>,
}

impl Graded {
    fn read(&mut self, grading: &Value, value: &Map<String, Value>) {
        for named in [grading.get("namedScores"), value.get("namedScores")].into_iter().flatten() {
            for (name, score) in named.as_object().into_iter().flatten() {
                self.named.insert(name.clone(), score.clone());
            }
        }
        self.components(grading);
    }

    fn components(&mut self, grading: &Value) {
        for part in grading.get("componentResults").and_then(Value::as_array).into_iter().flatten() {
            let assertion = part.get("assertion").filter(|assertion| assertion.is_object());
            let Some(metric) = assertion.and_then(metric_of) else {
                self.components(part);
                continue;
            };
            let passed = part.get("pass").and_then(Value::as_bool).unwrap_or_default();
            let informs = assertion.and_then(|it| it.get("weight")).and_then(Value::as_f64) == Some(0.0);
            if part.get("metadata").and_then(|about| about.get("graderError")) == Some(&Value::Bool(true)) {
                self.unjudged.insert(metric, name::text(part.get("reason")));
                continue;
            }
            self.failed |= !passed && !informs;
            *self.passed.entry(metric.clone()).or_insert(true) &= passed;
            if let Some(score) = part.get("score").and_then(Value::as_f64) {
                self.by_type.entry(metric).or_default().push((score, passed));
            }
        }
    }

    /// The result failed only because a judge could not judge.
    fn unjudged(&self, success: Option<bool>) -> Option<String> {
        let (metric, message) = self.unjudged.iter().next()?;
        (success == Some(false) && !self.failed).then(|| format!("{metric}: {message}"))
    }

    fn scores(self) -> Vec<ScoreLine> {
        let mut lines: BTreeMap<String, ScoreLine> = BTreeMap::new();
        for (metric, parts) in &self.by_type {
            let mean = parts.iter().map(|(score, _)| score).sum::<f64>() / parts.len().max(1) as f64;
            lines.insert(metric.clone(), mark::scored(metric, mean));
        }
        // promptfoo's own mean of a named metric knows the weights.
        for (metric, value) in &self.named {
            let line = Mark::of(value).score(metric);
            let other = || mark::failed(metric, FailureKind::NotAScore, "it is no number");
            lines.insert(metric.clone(), line.unwrap_or_else(other));
        }
        for (metric, line) in &mut lines {
            line.passed = self.passed.get(metric).copied().filter(|_| line.value.is_some());
        }
        for (metric, message) in self.unjudged {
            lines.insert(metric.clone(), mark::failed(&metric, FailureKind::Unusable, message));
        }
        lines.into_values().collect()
    }
}

/// What cases and targets are called, which needs all results.
struct Names {
    /// Variables → digests of the tests that have them.
    identities: BTreeMap<String, BTreeSet<Digest>>,
    prompts: usize,
}

impl Names {
    fn of(rows: &[Row]) -> Self {
        let mut identities: BTreeMap<String, BTreeSet<Digest>> = BTreeMap::new();
        for row in rows {
            identities.entry(row.vars.clone()).or_default().insert(row.identity);
        }
        let prompts: BTreeSet<&str> = rows.iter().map(|row| row.prompt.as_str()).collect();
        Self { identities, prompts: prompts.len() }
    }

    fn case(&self, row: &Row) -> String {
        let alone = self.identities.get(&row.vars).is_none_or(|tests| tests.len() < 2);
        let digest = if alone { Digest::of([&row.vars]) } else { Digest::of([&row.vars, &row.identity.to_string()]) };
        name::of_content(&row.shown, digest)
    }

    fn target(&self, row: &Row) -> String {
        match (row.provider.as_str(), self.prompts) {
            (provider, ..2) => provider.to_owned(),
            ("", _) => row.prompt.clone(),
            (provider, _) => format!("{provider}, {}", row.prompt),
        }
    }
}
