//! The file as a tree in which every value and every key remembers its place.

use serde_json::{Map, Number, Value};

use crate::diagnostic::Span;

/// A value of the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub content: Content,
    pub span: Span,
    /// Where it begins in the source, in bytes.
    pub offset: usize,
    /// True where a variable of the environment was put in: never shown.
    pub from_environment: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    Null,
    Bool(bool),
    /// With the text as written: `1.10` is a number where one is asked for, and stays `1.10` where a text is.
    Number {
        number: Number,
        written: String,
    },
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// One line of a mapping.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub key: String,
    pub key_span: Span,
    pub value: Node,
}

impl Node {
    /// The entries of a mapping; none for anything else.
    pub(super) fn entries(&self) -> &[Entry] {
        match &self.content {
            Content::Map(entries) => entries,
            Content::Null | Content::Bool(_) | Content::Number { .. } | Content::Text(_) | Content::List(_) => &[],
        }
    }

    /// The entry of a mapping with this key.
    pub(super) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// Takes an entry out of a mapping.
    pub(super) fn take(&mut self, key: &str) -> Option<Entry> {
        let Content::Map(entries) = &mut self.content else { return None };
        let position = entries.iter().position(|entry| entry.key == key)?;
        Some(entries.remove(position))
    }

    /// The same place with an empty mapping instead of a mapping's contents; other values as they are.
    pub(super) fn hollow(&self) -> Self {
        match &self.content {
            Content::Map(_) => Self { content: Content::Map(Vec::new()), ..self.leaf() },
            Content::Null | Content::Bool(_) | Content::Number { .. } | Content::Text(_) | Content::List(_) => {
                self.clone()
            }
        }
    }

    /// The same place without a value.
    pub(super) fn leaf(&self) -> Self {
        Self { content: Content::Null, span: self.span, offset: self.offset, from_environment: self.from_environment }
    }

    /// The plain value, without places.
    pub(super) fn value(&self) -> Value {
        match &self.content {
            Content::Null => Value::Null,
            Content::Bool(truth) => Value::Bool(*truth),
            Content::Number { number, .. } => Value::Number(number.clone()),
            Content::Text(text) => Value::String(text.clone()),
            Content::List(items) => Value::Array(items.iter().map(Self::value).collect()),
            Content::Map(entries) => Value::Object(object(entries, Self::value)),
        }
    }

    /// The plain value, with every number that JSON would write differently (`1.10`, `1e3`) as the text that stands in the file.
    pub(super) fn value_as_written(&self) -> Value {
        match &self.content {
            Content::Number { number, written } if number.to_string() != *written => Value::String(written.clone()),
            Content::List(items) => Value::Array(items.iter().map(Self::value_as_written).collect()),
            Content::Map(entries) => Value::Object(object(entries, Self::value_as_written)),
            Content::Null | Content::Bool(_) | Content::Number { .. } | Content::Text(_) => self.value(),
        }
    }
}

fn object(entries: &[Entry], value: impl Fn(&Node) -> Value) -> Map<String, Value> {
    entries.iter().map(|entry| (entry.key.clone(), value(&entry.value))).collect()
}
