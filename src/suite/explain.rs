//! Findings of the JSON Schema validator in plain sentences.

use std::collections::BTreeSet;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

use super::Block;
use super::accepted::{Accepted, is_word, refuses, with_article, word};
use crate::diagnostic::Diagnostic;
use crate::domain::MASK;
use crate::text::pointer::{escape, unescape};
use crate::text::{duration, suggest};

/// Whether the key or the value is what must be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    Key,
    Value,
}

/// One thing that is wrong with a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// JSON pointer below the block.
    pub pointer: String,
    pub at: At,
    pub code: &'static str,
    pub message: String,
    pub help: Option<String>,
    /// A text is asked for here, and only a text.
    pub wants_text: bool,
}

impl Finding {
    pub(super) fn new(pointer: &str, at: At, code: &'static str, message: impl Into<String>) -> Self {
        Self { pointer: pointer.to_owned(), at, code, message: message.into(), help: None, wants_text: false }
    }

    fn help(mut self, help: Option<String>) -> Self {
        self.help = help;
        self
    }

    /// The finding at its place in the file.
    pub(super) fn diagnostic(self, block: &Block) -> Diagnostic {
        let diagnostic = match self.at {
            At::Key => block.key_problem(&self.pointer, self.code, self.message),
            At::Value => block.problem(&self.pointer, self.code, self.message),
        };
        match self.help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        }
    }
}

/// Every error as findings, in the order of the file's keys where the validator keeps it.
pub(super) fn explain<'e>(
    errors: impl Iterator<Item = ValidationError<'e>>,
    schema: &Value,
    block: &Block,
) -> Vec<Finding> {
    let explainer = Explainer { schema, block };
    let mut findings = Vec::new();
    errors.for_each(|error| explainer.error(&error, &mut findings));
    drop_explained(&mut findings);
    findings
}

/// A missing key is not reported beside the misspelt key that stands for it.
fn drop_explained(findings: &mut Vec<Finding>) {
    let meant: BTreeSet<String> = findings
        .iter()
        .filter(|finding| finding.code == "unknown-key")
        .filter_map(|finding| {
            let parent = finding.pointer.rsplit_once('/')?.0;
            let word = finding.help.as_ref()?.strip_prefix("did you mean `")?.strip_suffix("`?")?;
            Some(format!("{parent}#{word}"))
        })
        .collect();
    findings.retain(|finding| {
        let word = finding.message.strip_prefix("missing key `").and_then(|rest| rest.strip_suffix('`'));
        finding.code != "missing-key" || word.is_none_or(|word| !meant.contains(&format!("{}#{word}", finding.pointer)))
    });
    let mut seen = BTreeSet::new();
    findings.retain(|finding| seen.insert((finding.pointer.clone(), finding.message.clone())));
}

struct Explainer<'x> {
    schema: &'x Value,
    block: &'x Block,
}

impl Explainer<'_> {
    fn error(&self, error: &ValidationError<'_>, findings: &mut Vec<Finding>) {
        let pointer = error.instance_path().as_str();
        let name = self.name(pointer);
        let value = |code: &'static str, message: String| Finding::new(pointer, At::Value, code, message);
        match error.kind() {
            Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
                let known = self.known_keys(error.schema_path().as_str());
                findings.extend(unexpected.iter().map(|key| unknown_key(pointer, key, &known)));
            }
            Kind::Required { property } => {
                let key = property.as_str().unwrap_or_default();
                findings.push(Finding::new(pointer, At::Key, "missing-key", format!("missing key `{key}`")));
            }
            Kind::Type { .. } | Kind::Constant { .. } | Kind::Enum { .. } => {
                let mut accepted = Accepted::default();
                accepted.add(error);
                findings.push(self.unaccepted(pointer, error.instance(), &accepted));
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } | Kind::OneOfMultipleValid { context } => {
                self.alternatives(pointer, error.instance(), context, findings);
            }
            Kind::Minimum { limit } => findings.push(self.range(pointer, error, &format!("at least {limit}"))),
            Kind::Maximum { limit } => findings.push(self.range(pointer, error, &format!("at most {limit}"))),
            Kind::ExclusiveMinimum { limit } => {
                findings.push(self.range(pointer, error, &format!("more than {limit}")))
            }
            Kind::ExclusiveMaximum { limit } => {
                findings.push(self.range(pointer, error, &format!("less than {limit}")))
            }
            Kind::MinLength { limit: 1 } | Kind::MinItems { limit: 1 } | Kind::MinProperties { limit: 1 } => {
                findings.push(value("empty", format!("{name} must not be empty")));
            }
            Kind::MinItems { limit } => {
                findings.push(value("too-few", format!("{name} must have at least {limit} entries")))
            }
            Kind::MaxItems { limit } => {
                findings.push(value("too-many", format!("{name} must have at most {limit} entries")))
            }
            Kind::MinLength { limit } => {
                findings.push(value("too-short", format!("{name} must have at least {limit} characters")));
            }
            Kind::MaxLength { limit } => {
                findings.push(value("too-long", format!("{name} must have at most {limit} characters")));
            }
            Kind::Pattern { pattern } => {
                findings.push(value("invalid-value", format!("{name} must have the form `{pattern}`")));
            }
            Kind::Format { format } if format == duration::FORMAT => {
                let text = if self.is_hidden(pointer) { MASK } else { error.instance().as_str().unwrap_or_default() };
                let problem = duration::parse(text).err().map_or_else(String::new, |problem| problem.to_string());
                findings.push(value("invalid-value", format!("{name}: {problem}")));
            }
            Kind::UniqueItems => findings.push(value("repeated", format!("{name} has the same entry twice"))),
            Kind::FalseSchema => findings.push(value("not-allowed", format!("{name} cannot be given here"))),
            _ => findings.push(value("invalid-value", format!("{name}: {}", error.masked()))),
        }
    }

    /// Explains a choice by the alternative that was most likely meant.
    fn alternatives(
        &self,
        pointer: &str,
        instance: &Value,
        context: &[Vec<ValidationError<'static>>],
        findings: &mut Vec<Finding>,
    ) {
        let elsewhere = |branch: &&Vec<ValidationError<'static>>| !branch.iter().any(|error| refuses(error, pointer));
        let fitting: Vec<&Vec<ValidationError<'static>>> = context.iter().filter(elsewhere).collect();
        // Among mappings, those whose telling word (`from: git`) is the one written.
        let told = |branch: &&&Vec<ValidationError<'static>>| !branch.iter().any(is_word);
        let best = match fitting.iter().filter(told).min_by_key(|branch| branch.len()) {
            Some(branch) => Some(*branch),
            None if fitting.len() == 1 => fitting.first().copied(),
            None => None,
        };
        if let Some(branch) = best {
            branch.iter().for_each(|error| self.error(error, findings));
            return;
        }
        let mut accepted = Accepted::default();
        let at = match fitting.iter().flat_map(|branch| branch.iter()).find(|error| is_word(error)) {
            Some(word) => word.instance_path().as_str().to_owned(),
            None => pointer.to_owned(),
        };
        for error in context.iter().flatten().filter(|error| error.instance_path().as_str() == at) {
            accepted.add(error);
        }
        let found = if at == pointer {
            Some(instance)
        } else {
            context
                .iter()
                .flatten()
                .find(|error| error.instance_path().as_str() == at)
                .map(|error| error.instance().as_ref())
        };
        findings.push(self.unaccepted(&at, found.unwrap_or(instance), &accepted));
    }

    fn unaccepted(&self, pointer: &str, instance: &Value, accepted: &Accepted) -> Finding {
        let words: Vec<String> = accepted.words.iter().map(word).collect();
        let mut expected: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        let types = accepted.types.iter().filter(|name| **name != "text" || words.is_empty());
        expected.extend(types.filter(|name| **name != "nothing").map(|name| with_article(name)));
        let expected = match expected.split_last() {
            None => "something else".to_owned(),
            Some((last, [])) => last.clone(),
            Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        };
        let message = format!("{} must be {expected}, found {}", self.name(pointer), self.describe(pointer, instance));
        let mut finding =
            Finding::new(pointer, At::Value, if words.is_empty() { "wrong-type" } else { "invalid-value" }, message);
        let text = accepted.types.contains("text");
        finding.wants_text = text && !accepted.types.contains("number") && !accepted.types.contains("whole number");
        finding.help = match instance {
            Value::String(text) if !words.is_empty() && !self.is_hidden(pointer) => {
                suggest::did_you_mean(text, words.iter().map(String::as_str))
            }
            Value::String(text)
                if text.parse::<f64>().is_ok() && !text.trim().is_empty() && !self.is_hidden(pointer) =>
            {
                Some("a number is written without quotes, without leading zeros and without underscores".to_owned())
            }
            Value::Bool(_) | Value::Null if text && words.is_empty() => {
                Some("put it in quotes if it is meant as text".to_owned())
            }
            _ => None,
        };
        finding
    }

    fn range(&self, pointer: &str, error: &ValidationError<'_>, limit: &str) -> Finding {
        let found = self.describe(pointer, error.instance());
        Finding::new(
            pointer,
            At::Value,
            "out-of-range",
            format!("{} must be {limit}, found {found}", self.name(pointer)),
        )
        .help(Some(format!("write a value that is {limit}, or leave the key out for the default")))
    }

    /// How a message calls the value behind `pointer`.
    fn name(&self, pointer: &str) -> String {
        match pointer.rsplit_once('/') {
            None => format!("`{}`", self.block.path.rsplit('.').next().unwrap_or(&self.block.path)),
            Some((parent, step)) => match step.parse::<usize>() {
                Ok(index) => format!("entry {} of {}", index.saturating_add(1), self.name(parent)),
                Err(_) => format!("`{}`", unescape(step)),
            },
        }
    }

    fn is_hidden(&self, pointer: &str) -> bool {
        self.block.written.from_environment.contains(pointer)
    }

    fn describe(&self, pointer: &str, instance: &Value) -> String {
        match instance {
            Value::Null => "nothing".to_owned(),
            Value::Bool(truth) => format!("`{truth}`"),
            Value::Number(number) => match self.block.as_written(pointer) {
                Some(written) => format!("the number {written}"),
                None => format!("the number {number}"),
            },
            Value::String(_) if self.is_hidden(pointer) => "a text from the environment".to_owned(),
            Value::String(text) => {
                let shown: String = text.chars().take(40).collect();
                let dots = if shown.len() < text.len() { "…" } else { "" };
                format!("the text \"{shown}{dots}\"")
            }
            Value::Array(_) => "a list".to_owned(),
            Value::Object(_) => "a mapping".to_owned(),
        }
    }

    /// The keys that the object schema around `keyword` (a pointer to `additionalProperties`) knows.
    fn known_keys(&self, keyword: &str) -> Vec<String> {
        let parent = keyword.rsplit_once('/').map_or("", |(parent, _)| parent);
        let mut keys = Vec::new();
        if let Some(schema) = self.schema.pointer(parent) {
            self.collect_keys(schema, &mut keys, 8);
        }
        keys
    }

    fn collect_keys(&self, schema: &Value, keys: &mut Vec<String>, levels: usize) {
        if levels == 0 {
            return;
        }
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            keys.extend(properties.keys().cloned());
        }
        let reference = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
        if let Some(target) = reference.and_then(|pointer| self.schema.pointer(pointer)) {
            self.collect_keys(target, keys, levels.saturating_sub(1));
        }
        for part in ["allOf", "anyOf", "oneOf"].iter().filter_map(|part| schema.get(part)?.as_array()).flatten() {
            self.collect_keys(part, keys, levels.saturating_sub(1));
        }
    }
}

fn unknown_key(pointer: &str, key: &str, known: &[String]) -> Finding {
    let known = || known.iter().map(String::as_str);
    let help = suggest::did_you_mean(key, known())
        .or_else(|| known().next().map(|_| format!("known here: {}", suggest::list(known(), "and"))));
    Finding::new(&format!("{pointer}/{}", escape(key)), At::Key, "unknown-key", format!("unknown key `{key}`"))
        .help(help)
}
