//! One named part of the suite whose settings belong to another room.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::diagnostic::{Diagnostic, Diagnostics, Source, Span};

/// One entry of `dataset`, `targets`, `models`, `evaluators`, or the whole of `gate` or `reports`.
#[derive(Clone, Debug)]
pub struct Block {
    /// The key (`faithfulness`), or the position for list entries (`0`).
    pub name: Arc<str>,
    /// `use`, `provider` or the target's kind key; the key itself where it is not given.
    pub kind: Arc<str>,
    /// The settings as written, after interpolation, without the kind.
    pub value: serde_json::Value,
    /// Where it stands in the suite: `evaluators.tone`.
    pub path: String,
    pub source: Arc<Source>,
    /// Where the block begins.
    pub span: Span,
    /// JSON pointer below the block (`/retry/attempts`, "" for the block) → place of the value; of its key under `#key` + pointer.
    pub spans: Arc<std::collections::BTreeMap<String, Span>>,
}

impl Block {
    /// A block made in code, for tests and defaults.
    pub fn from_value(name: &str, kind: &str, value: serde_json::Value) -> Self {
        Self {
            name: name.into(),
            kind: kind.into(),
            value,
            path: name.to_owned(),
            source: Arc::new(Source::new("suite.yaml", "")),
            span: Span::default(),
            spans: Arc::default(),
        }
    }

    /// The settings as `T`; `None` after pushing every problem (unknown keys with a suggestion, wrong types, …).
    pub fn settings<T: DeserializeOwned + schemars::JsonSchema>(&self, diagnostics: &mut Diagnostics) -> Option<T> {
        match serde_json::from_value(self.value.clone()) {
            Ok(settings) => Some(settings),
            Err(error) => {
                diagnostics.push(self.problem("", "invalid-settings", error.to_string()));
                None
            }
        }
    }

    /// An error at the value behind `pointer` (JSON pointer below the block; "" for the block itself).
    pub fn problem(&self, pointer: &str, code: &'static str, message: impl Into<String>) -> Diagnostic {
        let span = self.spans.get(pointer).copied().unwrap_or(self.span);
        Diagnostic::error(code, message).at(&self.source, span)
    }
}
