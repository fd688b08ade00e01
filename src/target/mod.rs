//! Systems under test: a case → an answer. One file a kind; [`kinds`] lists them.
//!
//! ```text
//! Block ─► settings, checked ─► Target;  Case ─► (values, template) ─► Call ─► Transport ─► Response ─► (paths) ─► Answer
//! ```
//!
//! Promise: a target's failure is a `Failure`, never an empty answer; everything that the target's own side does wrong is blamed on
//! side `Target`. What a case holds is put in as data: it never chooses a program, an address, or a header's end.

mod blame;
mod chat;
mod command;
mod http;
mod one_call;
mod paths;
mod recorded;
mod values;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diagnostic::Diagnostics;
use crate::domain::{Answer, Case, Digest, Failure, TargetName};
use crate::net::{BoxFuture, Deadlines, Transport};
use crate::provider::Model;
use crate::suite::{Block, Suite};

/// A system under test.
pub trait Target: Send + Sync {
    /// The answer for one case and trial.
    ///
    /// # Errors
    /// Whatever keeps the target from answering, on side `Target`; `Infra` where it could not even be asked.
    fn ask<'a>(
        &'a self,
        case: &'a Case,
        trial: u32,
        transport: &'a dyn Transport,
    ) -> BoxFuture<'a, Result<Answer, Failure>>;

    /// True where its answers may come with passages that the case does not give.
    fn brings_contexts(&self) -> bool {
        true
    }
}

/// A checked target, ready to use.
pub struct Ready {
    pub name: TargetName,
    pub target: Box<dyn Target>,
    /// True where asking costs nothing and needs no limits (recorded answers).
    pub free: bool,
    /// Of its settings and the application's version: another digest is another system under test.
    pub made_of: Digest,
}

/// What building a target may look at.
pub struct BuildContext<'a> {
    pub suite: &'a Suite,
    /// By their key under `models`.
    pub models: &'a BTreeMap<String, Model>,
    /// Of the application, as far as the checkout tells it; a target's own `version` goes before it.
    pub version: Option<&'a str>,
}

impl BuildContext<'_> {
    /// The application's version: as the target states it, unless that is empty, else as the checkout tells it.
    fn version(&self, stated: Option<&str>) -> Option<Arc<str>> {
        stated.filter(|stated| !stated.trim().is_empty()).or(self.version).map(Arc::from)
    }

    /// The run's bounds of one call, with the target's own `timeout` where it has one.
    fn deadlines(&self, timeout: Option<std::time::Duration>) -> Deadlines {
        let run = &self.suite.run;
        Deadlines { connect: run.connect_timeout, whole: timeout.unwrap_or(run.timeout) }
    }
}

/// One kind of target.
pub struct Kind {
    /// The key under the target's name.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    pub schema: fn() -> schemars::Schema,
    /// `None` after pushing diagnostics.
    pub build: fn(&Block, &BuildContext<'_>, &mut Diagnostics) -> Option<Box<dyn Target>>,
}

const KINDS: [Kind; 4] = [http::KIND, command::KIND, chat::KIND, recorded::KIND];

/// Every kind of target.
pub fn kinds() -> &'static [Kind] {
    &KINDS
}

/// What comes from the environment is left out: a key that was exchanged is no other system, and a digest of a short secret tells it.
fn made_of(block: &Block, context: &BuildContext<'_>) -> Digest {
    let mut settings = block.value.clone();
    for place in &block.written.from_environment {
        if let Some(value) = settings.pointer_mut(place) {
            *value = serde_json::Value::Null;
        }
    }
    let stated = settings.get("version").and_then(serde_json::Value::as_str);
    let version = context.version(stated).unwrap_or_default();
    let model = settings.get("model").and_then(|name| context.models.get(name.as_str()?));
    let model = model.map(|model| format!("{:?}", model.fingerprint)).unwrap_or_default();
    Digest::of([&*block.kind, &settings.to_string(), &version, &model])
}

/// The suite's target `block`; `None` after pushing diagnostics.
pub fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Some(kind) = KINDS.iter().find(|kind| kind.name == &*block.kind) else {
        let known: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        diagnostics.push(block.unknown_kind("target", known));
        return None;
    };
    let target = (kind.build)(block, context, diagnostics)?;
    let (name, free) = (block.name.clone(), kind.name == recorded::KIND.name);
    Some(Ready { name, target, free, made_of: made_of(block, context) })
}
