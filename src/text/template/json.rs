//! Templates inside the texts of a JSON value.

use serde_json::{Map, Value};

use super::{FillError, Lookup, Template, TemplateError};
use crate::text::pointer::escape;

/// A JSON value whose texts are templates. A text that is exactly one placeholder keeps the type of its value, so
/// `{"k": "{{ contexts }}"}` sends a list. Keys are never templates.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonTemplate(Node);

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Fixed(Value),
    Text(Template),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// A text inside the value that is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct JsonTemplateError {
    /// JSON pointer to the text.
    pub pointer: String,
    pub error: TemplateError,
}

impl JsonTemplate {
    /// Reads all texts of `value`; `allowed` as in [`Template::parse`].
    ///
    /// # Errors
    /// Every text that is no template.
    pub fn parse(value: &Value, allowed: &[&str]) -> Result<Self, Vec<JsonTemplateError>> {
        let mut errors = Vec::new();
        let node = parse(value, "", allowed, &mut errors);
        if errors.is_empty() { Ok(Self(node)) } else { Err(errors) }
    }

    /// The value with every placeholder replaced.
    ///
    /// # Errors
    /// As [`Template::render`]; a text that is exactly one placeholder may also be null, a list or a mapping.
    pub fn render(&self, lookup: &Lookup<'_>) -> Result<Value, FillError> {
        fill(&self.0, lookup)
    }

    /// The variables used.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        collect(&self.0, &mut names);
        names
    }
}

fn parse(value: &Value, pointer: &str, allowed: &[&str], errors: &mut Vec<JsonTemplateError>) -> Node {
    match value {
        Value::String(text) => match Template::parse(text, allowed) {
            Ok(template) if template.is_plain() && !text.contains("{{") => Node::Fixed(value.clone()),
            Ok(template) => Node::Text(template),
            Err(error) => {
                errors.push(JsonTemplateError { pointer: pointer.to_owned(), error });
                Node::Fixed(Value::Null)
            }
        },
        Value::Array(items) => Node::List(
            items
                .iter()
                .enumerate()
                .map(|(index, item)| parse(item, &format!("{pointer}/{index}"), allowed, errors))
                .collect(),
        ),
        Value::Object(map) => Node::Object(
            map.iter()
                .map(|(key, item)| {
                    let pointer = format!("{pointer}/{}", escape(key));
                    (key.clone(), parse(item, &pointer, allowed, errors))
                })
                .collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => Node::Fixed(value.clone()),
    }
}

fn fill(node: &Node, lookup: &Lookup<'_>) -> Result<Value, FillError> {
    match node {
        Node::Fixed(value) => Ok(value.clone()),
        Node::Text(template) => match template.sole() {
            Some(name) => {
                lookup(name).map(std::borrow::Cow::into_owned).ok_or_else(|| FillError::Missing(name.to_owned()))
            }
            None => template.render(lookup).map(Value::String),
        },
        Node::List(items) => items.iter().map(|item| fill(item, lookup)).collect::<Result<_, _>>().map(Value::Array),
        Node::Object(entries) => {
            let mut map = Map::new();
            for (key, item) in entries {
                map.insert(key.clone(), fill(item, lookup)?);
            }
            Ok(Value::Object(map))
        }
    }
}

fn collect<'n>(node: &'n Node, names: &mut Vec<&'n str>) {
    match node {
        Node::Fixed(_) => {}
        Node::Text(template) => names.extend(template.names()),
        Node::List(items) => items.iter().for_each(|item| collect(item, names)),
        Node::Object(entries) => entries.iter().for_each(|(_, item)| collect(item, names)),
    }
}
