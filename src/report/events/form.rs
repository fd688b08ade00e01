//! An event as a JSON object. Texts that are not ours are masked before they become JSON.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::domain::{Event, Measurement, Outcome, Redactor, SoFar, Usd};

/// Version of the stream. Further fields and types do not change it.
pub(super) const SCHEMA: u32 = 1;

/// The first line.
pub(super) fn head() -> Value {
    json!({ "type": "events", "schema": SCHEMA, "tool": "scoregate", "version": env!("CARGO_PKG_VERSION") })
}

/// How many lines were left out before this one, because nobody took them in time.
pub(super) fn dropped(count: u64) -> Value {
    json!({ "type": "dropped", "lines": count })
}

/// The last line.
pub(super) fn exit(code: u8, reason: Option<&str>, at: Duration, redactor: &Redactor) -> Value {
    let reason = reason.map(|reason| redactor.redact(reason));
    json!({ "type": "exit", "elapsed_ms": millis(at), "code": code, "reason": reason })
}

/// Turns events into objects.
pub(super) struct Form {
    redactor: Redactor,
    planned: u64,
    errors: u64,
}

impl Form {
    pub(super) fn new(redactor: Redactor) -> Self {
        Self { redactor, planned: 0, errors: 0 }
    }

    /// The object of an event that came `at` this time after the run began.
    pub(super) fn object(&mut self, event: &Event, at: Duration) -> Value {
        let clean = |text: &str| self.redactor.redact(text);
        let (name, mut fields) = match event {
            Event::Started { outcomes_planned, cases, trials, targets, metrics } => {
                self.planned = *outcomes_planned;
                let targets: Vec<String> = targets.iter().map(|target| clean(target)).collect();
                let planned = outcomes_planned;
                let fields = json!({
                    "cases": cases, "trials": trials, "targets": targets, "metrics": metrics, "planned": planned,
                });
                ("started", fields)
            }
            Event::Finished { outcome, done, so_far } => {
                let mut fields = self.finished(outcome);
                self.errors += u64::from(failed(outcome));
                fields.insert("done".to_owned(), json!(done));
                fields.insert("planned".to_owned(), json!(self.planned));
                fields.insert("errors".to_owned(), json!(self.errors));
                fields.extend(progress(so_far));
                ("finished", Value::Object(fields))
            }
            Event::Retried { endpoint, what, wait } => {
                let fields = json!({ "endpoint": clean(endpoint), "what": clean(what), "wait_ms": millis(*wait) });
                ("retried", fields)
            }
            Event::EndpointStopped { endpoint, why } => {
                ("endpoint_stopped", json!({ "endpoint": clean(endpoint), "why": clean(why) }))
            }
            Event::Waiting { silent, cases, so_far } => {
                let cases: Vec<String> = cases.iter().map(|case| clean(case)).collect();
                let mut fields = progress(so_far);
                fields.insert("silent_ms".to_owned(), json!(millis(*silent)));
                fields.insert("waiting_for".to_owned(), json!(cases));
                ("waiting", Value::Object(fields))
            }
            Event::Cancelled { signal } => ("cancelled", json!({ "signal": signal })),
            Event::Note { text } => ("note", json!({ "text": clean(text) })),
            Event::Ended => ("ended", json!({})),
        };
        let mut object = Map::new();
        object.insert("type".to_owned(), json!(name));
        object.insert("elapsed_ms".to_owned(), json!(millis(at)));
        if let Value::Object(fields) = &mut fields {
            object.append(fields);
        }
        Value::Object(object)
    }

    /// The case, and what each metric came to: a number, or the kind of trouble.
    fn finished(&self, outcome: &Outcome) -> Map<String, Value> {
        let scores: Map<String, Value> = outcome
            .scores
            .iter()
            .map(|score| {
                let found = match &score.measurement {
                    Measurement::Value(reading) => json!({ "value": reading.value(), "passed": reading.passed }),
                    Measurement::Error(failure) => json!({ "error": failure.kind }),
                    Measurement::Unusable(failure) => json!({ "unusable": failure.kind }),
                    Measurement::Skipped(why, _) => json!({ "skipped": why }),
                };
                (self.redactor.redact(&score.metric), found)
            })
            .collect();
        let mut fields = Map::new();
        fields.insert("case".to_owned(), json!(self.redactor.redact(&outcome.case.id)));
        fields.insert("target".to_owned(), json!(self.redactor.redact(&outcome.target)));
        fields.insert("trial".to_owned(), json!(outcome.trial));
        fields.insert("error".to_owned(), json!(outcome.answer.as_ref().err().map(|failure| failure.kind)));
        fields.insert("scores".to_owned(), Value::Object(scores));
        fields
    }
}

/// Whether something of the outcome could not be measured.
fn failed(outcome: &Outcome) -> bool {
    let lost = |measurement: &Measurement| matches!(measurement, Measurement::Error(_) | Measurement::Unusable(_));
    outcome.answer.is_err() || outcome.scores.iter().any(|score| lost(&score.measurement))
}

fn progress(so_far: &SoFar) -> Map<String, Value> {
    let SoFar { calls, usage, cost, limits } = so_far;
    let mut fields = Map::new();
    fields.insert("calls".to_owned(), json!(calls));
    fields.insert("usage".to_owned(), json!(usage));
    fields.insert("cost_usd".to_owned(), json!(cost.map(|Usd(cost)| cost)));
    fields.insert("in_flight".to_owned(), json!(limits.in_flight));
    fields.insert("limit".to_owned(), json!(limits.limit));
    fields.insert("pace_per_second".to_owned(), json!(limits.rate));
    fields
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
