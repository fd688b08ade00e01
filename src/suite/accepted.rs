//! What a place accepts, gathered from the validator's errors: types and fixed words.

use std::collections::BTreeSet;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::types::JsonType;
use serde_json::Value;

/// What a place accepts.
#[derive(Default)]
pub(super) struct Accepted {
    pub types: BTreeSet<&'static str>,
    pub words: Vec<Value>,
}

impl Accepted {
    pub(super) fn add(&mut self, error: &ValidationError<'_>) {
        match error.kind() {
            Kind::Type { kind: TypeKind::Single(kind) } => {
                self.types.insert(type_name(*kind));
            }
            Kind::Type { kind: TypeKind::Multiple(kinds) } => self.types.extend(kinds.iter().map(type_name)),
            Kind::Constant { expected_value } => self.word(expected_value),
            Kind::Enum { options } => options.as_array().into_iter().flatten().for_each(|option| self.word(option)),
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                let at = error.instance_path().as_str();
                context
                    .iter()
                    .flatten()
                    .filter(|inner| inner.instance_path().as_str() == at)
                    .for_each(|inner| self.add(inner));
            }
            _ => {}
        }
    }

    fn word(&mut self, value: &Value) {
        if !value.is_null() && !self.words.contains(value) {
            self.words.push(value.clone());
        }
    }
}

/// True where the value at `pointer` itself is of the wrong sort.
pub(super) fn refuses(error: &ValidationError<'_>, pointer: &str) -> bool {
    if error.instance_path().as_str() != pointer {
        return false;
    }
    match error.kind() {
        Kind::Type { .. } | Kind::Constant { .. } | Kind::Enum { .. } => true,
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            context.iter().all(|branch| branch.iter().any(|error| refuses(error, pointer)))
        }
        _ => false,
    }
}

pub(super) fn is_word(error: &ValidationError<'_>) -> bool {
    matches!(error.kind(), Kind::Constant { .. } | Kind::Enum { .. })
}

pub(super) fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn type_name(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Null => "nothing",
        JsonType::Boolean => "`true` or `false`",
        JsonType::Integer => "whole number",
        JsonType::Number => "number",
        JsonType::String => "text",
        JsonType::Array => "list",
        JsonType::Object => "mapping",
    }
}

pub(super) fn with_article(name: &str) -> String {
    match name {
        "text" => "text".to_owned(),
        name if name.starts_with('`') => name.to_owned(),
        name => format!("a {name}"),
    }
}
