//! One named part of the suite whose settings belong to another room.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::path::PathError;
use super::validate;
use crate::diagnostic::{Diagnostic, Diagnostics, Source, Span};
use crate::text::suggest;

/// One entry of `dataset`, `targets`, `models`, `evaluators`, `alerts`, or the whole of `gate` or `reports`.
#[derive(Clone, Debug)]
pub struct Block {
    /// The key (`faithfulness`), or the position for list entries (`0`).
    pub name: Arc<str>,
    /// `use`, `provider` or the target's kind key; the key itself where it is not given; `dataset`, `gate`, `reports` for those.
    pub kind: Arc<str>,
    /// The settings as written, after interpolation, without the kind.
    pub value: Value,
    /// Where it stands in the suite: `evaluators.tone`.
    pub path: String,
    pub source: Arc<Source>,
    /// Where the block begins: its key.
    pub span: Span,
    /// JSON pointer below the block (`/retry/attempts`, "" for the block) → place of the value; of its key under `#key` + pointer;
    /// of the word that says the block's kind under `#kind`.
    pub spans: Arc<BTreeMap<String, Span>>,
    /// What a plain value does not say.
    pub written: Arc<Written>,
}

/// What stands in the file behind a plain value, by JSON pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Numbers as written: `1.10`, `1e3`.
    pub numbers: BTreeMap<String, String>,
    /// Texts that hold a variable of the environment; they are not shown.
    pub from_environment: BTreeSet<String>,
}

/// Settings as far as they can be read.
#[derive(Clone, Debug)]
pub struct Draft<T> {
    pub settings: T,
    /// Nothing is missing. Where something is, what the settings lack may stand in the file, unreadable: no problem is to be made of it.
    pub sound: bool,
}

impl Block {
    /// A block made in code, for tests and defaults.
    pub fn from_value(name: &str, kind: &str, value: Value) -> Self {
        Self {
            name: name.into(),
            kind: kind.into(),
            value,
            path: name.to_owned(),
            source: Arc::new(Source::new("suite.yaml", "")),
            span: Span::default(),
            spans: Arc::default(),
            written: Arc::new(Written::none()),
        }
    }

    /// The settings as `T`; `None` after pushing every problem (unknown keys with a suggestion, wrong types, …).
    ///
    /// The value is checked against `T`'s JSON Schema, which finds everything at once, then read. Where the schema asks for a text and
    /// the file holds a plain number (`1.10`), the text is what stands in the file. No settings at all (`rouge_l:`) are the empty
    /// mapping.
    pub fn settings<T: DeserializeOwned + schemars::JsonSchema>(&self, diagnostics: &mut Diagnostics) -> Option<T> {
        let Draft { settings, sound } = self.draft(diagnostics)?;
        sound.then_some(settings)
    }

    /// As [`Block::settings`], for owners who have checks of their own: after a problem the settings come without what is wrong, so
    /// that the rest can be checked and a person sees all problems at once. Nothing may be built of a draft that is not sound.
    /// `None` where nothing of it can be read.
    pub fn draft<T: DeserializeOwned + schemars::JsonSchema>(&self, diagnostics: &mut Diagnostics) -> Option<Draft<T>> {
        let (settings, findings) = validate::settings(self);
        let sound = findings.is_empty();
        let mut found: Vec<Diagnostic> = findings.into_iter().map(|finding| finding.diagnostic(self)).collect();
        found.sort_by_key(|diagnostic| diagnostic.span);
        found.into_iter().for_each(|diagnostic| diagnostics.push(diagnostic));
        settings.map(|settings| Draft { settings, sound })
    }

    /// An error at the value behind `pointer` (JSON pointer below the block; "" for the block itself).
    pub fn problem(&self, pointer: &str, code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, message).at(&self.source, self.place(pointer))
    }

    /// An error at the key behind `pointer`.
    pub fn key_problem(&self, pointer: &str, code: &'static str, message: impl Into<String>) -> Diagnostic {
        let span = self.spans.get(&format!("#key{pointer}")).copied().unwrap_or_else(|| self.place(pointer));
        Diagnostic::error(code, message).at(&self.source, span)
    }

    /// The block's kind is none of `known`.
    pub fn unknown_kind<'k>(&self, what: &str, known: impl IntoIterator<Item = &'k str>) -> Diagnostic {
        let known: Vec<&str> = known.into_iter().collect();
        let help = suggest::did_you_mean(&self.kind, known.iter().copied())
            .unwrap_or_else(|| format!("known: {}", suggest::list(known.iter().copied(), "and")));
        self.problem("#kind", "unknown-kind", format!("unknown {what} `{}`", self.kind)).help(help)
    }

    /// A reference to a file, at `pointer`, that is not allowed.
    pub fn path_problem(&self, pointer: &str, error: &PathError) -> Diagnostic {
        let diagnostic = self.problem(pointer, "path", error.to_string());
        match error.help() {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        }
    }

    /// The number behind `pointer` as it is written in the file (`1.10`), for values that may be any type.
    pub fn as_written(&self, pointer: &str) -> Option<&str> {
        self.written.numbers.get(pointer).map(String::as_str)
    }

    /// The place of the value behind `pointer`, or of the nearest value around it.
    pub fn place(&self, pointer: &str) -> Span {
        let mut pointer = pointer;
        loop {
            match (self.spans.get(pointer), pointer.rsplit_once('/')) {
                (Some(span), _) if !pointer.is_empty() => return *span,
                (_, Some((parent, _))) => pointer = parent,
                (_, None) => return self.span,
            }
        }
    }
}
