//! `negate`: any evaluator the other way round. One place for all of them, so that no family can forget it.
//!
//! The score is turned on its scale (highest + lowest − score), `threshold` is then of the turned score, and errors stay errors.

use schemars::Schema;
use serde_json::{Value, json};

use super::{Asked, Evaluator, Packing, Ready, Scorer, Subject, Way};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, Measurement, Reading, ScoreKind};
use crate::net::{BoxFuture, Transport};
use crate::suite::Block;
use crate::text::suggest::closest;

const KEY: &str = "negate";

/// A kind's schema with the setting that all of them have.
pub(super) fn taught(mut schema: Schema) -> Schema {
    let setting = json!({
        "description": "The other way round: highest plus lowest score minus the score, so that a check passes where it would fail. \
                        `threshold` is of the score turned round. Default: false.",
        "type": "boolean",
        "default": false,
    });
    let properties = schema.ensure_object().entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        properties.insert(KEY.to_owned(), setting);
    }
    schema
}

/// A block without the setting, and what it was.
pub(super) struct Taken {
    pub block: Block,
    /// As written.
    written: Option<Value>,
    negate: bool,
    /// It is what it must be.
    sound: bool,
}

/// Takes the setting out of a block of a kind with this schema; pushes a problem where it is wrong or misspelt.
pub(super) fn taken(block: &Block, schema: &Schema, diagnostics: &mut Diagnostics) -> Taken {
    let mut taken = Taken { block: block.clone(), written: None, negate: false, sound: true };
    let Some(settings) = taken.block.value.as_object_mut() else { return taken };
    let known: Vec<&str> = schema
        .get("properties")
        .and_then(Value::as_object)
        .map(|known| known.keys().map(String::as_str).collect())
        .unwrap_or_default();
    let strange = |key: &&String| *key != KEY && !known.contains(&key.as_str());
    let slip = settings
        .keys()
        .find(|key| strange(key) && closest(key, known.iter().copied().chain([KEY])).is_some_and(|meant| meant == KEY));
    if let Some(slip) = slip.cloned() {
        let problem = block.key_problem(&format!("/{slip}"), "unknown-key", format!("unknown key `{slip}`"));
        diagnostics.push(problem.help(format!("did you mean `{KEY}`?")));
        settings.shift_remove(&slip);
        taken.sound = false;
    }
    taken.written = settings.shift_remove(KEY);
    match &taken.written {
        None | Some(Value::Bool(false)) => {}
        Some(Value::Bool(true)) => taken.negate = true,
        Some(_) => {
            let problem = block.problem("/negate", "wrong-type", format!("`{KEY}` must be true or false"));
            diagnostics.push(problem.help("write `negate: true`, or leave it out"));
            taken.sound = false;
        }
    }
    taken
}

impl Taken {
    /// `ready`, built of the block without the setting, turned round where that was asked for.
    pub(super) fn apply(self, ready: Option<Ready>, diagnostics: &mut Diagnostics) -> Option<Ready> {
        let mut ready = ready.filter(|_| self.sound)?;
        if let Some(written) = self.written {
            remember(&mut ready, written);
        }
        if !self.negate {
            return Some(ready);
        }
        let kind = ready.spec.kind;
        let own_mark = self.block.value.get("threshold").is_none() && kind != ScoreKind::Binary;
        if own_mark && ready.spec.pass_mark.is_some() {
            let message = format!(
                "`{KEY}` turns the scale of `{}` round, and its usual pass mark means nothing there",
                ready.info.name
            );
            let problem = self.block.problem("/negate", "missing-key", message);
            diagnostics.push(problem.help("set `threshold` too: a case passes at this score, turned round, or better"));
            return None;
        }
        let turn = Turn { kind, direction: ready.spec.direction, pass_mark: ready.spec.pass_mark };
        ready.way = match ready.way {
            Way::Pure(scorer) => Way::Pure(Box::new(Turned { inner: scorer, turn })),
            Way::Asking(evaluator) => Way::Asking(Box::new(Turned { inner: evaluator, turn })),
            Way::Composite(composite) => Way::Composite(composite.turned(turn)),
        };
        Some(ready)
    }
}

/// Puts the setting among those of the fingerprint, as it was written.
fn remember(ready: &mut Ready, written: Value) {
    let Some(settings) = ready.spec.fingerprint.as_mut().and_then(|fingerprint| fingerprint.0.get_mut("settings"))
    else {
        return;
    };
    let mut known: Value = serde_json::from_str(settings).unwrap_or_else(|_| json!({}));
    if !known.is_object() {
        known = json!({});
    }
    if let Some(known) = known.as_object_mut() {
        known.insert(KEY.to_owned(), written);
        known.sort_keys();
    }
    *settings = known.to_string();
}

/// How a score is turned round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    kind: ScoreKind,
    direction: Direction,
    pass_mark: Option<f64>,
}

impl Turn {
    pub(super) fn measurement(self, measurement: Measurement) -> Measurement {
        match measurement {
            Measurement::Value(reading) => self.reading(reading),
            Measurement::Error(_) | Measurement::Unusable(_) | Measurement::Skipped(..) => measurement,
        }
    }

    fn reading(self, reading: Reading) -> Measurement {
        let (lo, hi) = self.kind.range();
        match Reading::new(self.kind, lo + hi - reading.value()) {
            Ok(mut turned) => {
                turned.passed = self.pass_mark.map(|mark| self.direction.reaches(turned.value(), mark));
                (turned.reason, turned.repaired) = (reading.reason, reading.repaired);
                (turned.model, turned.flags) = (reading.model, reading.flags);
                Measurement::Value(turned)
            }
            Err(failure) => Measurement::Error(failure),
        }
    }
}

struct Turned<T> {
    inner: T,
    turn: Turn,
}

impl Turned<Box<dyn Evaluator>> {
    fn asked(&self, asked: Asked) -> Asked {
        Asked { measurement: self.turn.measurement(asked.measurement), ..asked }
    }
}

impl Scorer for Turned<Box<dyn Scorer>> {
    fn score(&self, subject: Subject<'_>) -> Measurement {
        self.turn.measurement(self.inner.score(subject))
    }
}

impl Evaluator for Turned<Box<dyn Evaluator>> {
    fn evaluate<'a>(&'a self, subject: Subject<'a>, transport: &'a dyn Transport) -> BoxFuture<'a, Asked> {
        Box::pin(async move { self.asked(self.inner.evaluate(subject, transport).await) })
    }

    fn packing(&self) -> Option<Packing> {
        self.inner.packing()
    }

    fn evaluate_together<'a>(
        &'a self,
        subjects: &'a [Subject<'a>],
        transport: &'a dyn Transport,
    ) -> BoxFuture<'a, Vec<Asked>> {
        Box::pin(async move {
            let asked = self.inner.evaluate_together(subjects, transport).await;
            asked.into_iter().map(|asked| self.asked(asked)).collect()
        })
    }
}
