//! Names of cases that have none: a piece of the question and a digest, so that order, insertions and other runs change nothing.

use serde_json::{Map, Value};

use crate::domain::Digest;

/// Characters of a question in an id.
const SHOWN: usize = 48;
/// Characters of a target's name.
const TARGET: usize = 60;

/// `What is the capital of France? #1f0c9a3b`
pub(super) fn of_content(shown: &str, content: Digest) -> String {
    let digest = content.to_string();
    let digest = digest.get(..8).unwrap_or(&digest);
    match first_line(shown, SHOWN) {
        line if line.is_empty() => format!("#{digest}"),
        line => format!("{line} #{digest}"),
    }
}

/// A name that may be a whole prompt.
pub(super) fn short(name: &str) -> String {
    let line = first_line(name, TARGET);
    if line == name { line } else { of_content(name, Digest::of([name])) }
}

fn first_line(text: &str, limit: usize) -> String {
    let line = text.trim().lines().next().unwrap_or_default().trim();
    match line.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default().trim_end()),
        None => line.to_owned(),
    }
}

/// An id as it was written: texts and numbers.
pub(super) fn id(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The value as text, whatever it is; nothing for null.
pub(super) fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => sorted(other).to_string(),
    }
}

/// The same with the keys of every object in order, so that equal values have equal texts.
pub(super) fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> =
                map.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            entries.sort_by(|left, right| left.0.cmp(&right.0));
            Value::Object(Map::from_iter(entries))
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_short_and_tell_contents_apart() {
        let name = |text: &str| of_content(text, Digest::of([text]));
        assert!(name("What is it?\nSay it.").starts_with("What is it? #"));
        assert_ne!(name("What is it?\nSay it."), name("What is it?\nSing it."));
        assert!(name(&"word ".repeat(50)).chars().count() < 60);
        assert!(name("").starts_with('#'));
        assert_eq!(short("openai:gpt-4.1"), "openai:gpt-4.1");
    }

    #[test]
    fn the_order_of_keys_is_no_content() {
        assert_eq!(text(Some(&json!({"b": 1, "a": {"d": 2, "c": 3}}))), r#"{"a":{"c":3,"d":2},"b":1}"#);
    }
}
