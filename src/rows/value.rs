//! Values of a row → what a field holds. Errors are fragments that name the field and the kind of value, never the value.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{Found, ListRule, Row, budget};
use crate::domain::Context;

/// Keys of a context's parts in the files of common tools.
const CONTEXT_IDS: [&str; 5] = ["id", "id_", "chunk_id", "node_id", "doc_id"];
const CONTEXT_TEXTS: [&str; 3] = ["text", "content", "page_content"];

/// What kind of value this is, with an article.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The value as text: texts as they are, numbers as written, true and false as words. `None` for null and for nothing.
///
/// # Errors
/// Lists, objects, several values, and texts beyond the budget.
pub(crate) fn text_of(field: &str, found: &Found<'_>) -> Result<Option<String>, String> {
    let (value, written) = match found {
        Found::Absent => return Ok(None),
        Found::One(value, written) => (*value, *written),
        Found::Many(nodes) => match nodes.as_slice() {
            [one] => (*one, None),
            many => return Err(format!("the JSONPath of `{field}` selects {} values, and one is needed", many.len())),
        },
    };
    match value {
        Value::Null => Ok(None),
        Value::Array(_) | Value::Object(_) => {
            Err(format!("`{field}` is {}, not a text; name the part that is meant with a JSONPath", kind_of(value)))
        }
        Value::String(text) if text.len() > budget::CELL_BYTES => {
            Err(format!("`{field}` is longer than {} (limit: cell bytes)", budget::shown(budget::CELL_BYTES as u64)))
        }
        value => Ok(Some(written.map_or_else(|| plain(value), str::to_owned))),
    }
}

/// A scalar as text.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// An id as text: `1`, `"1"` and, in JSON, `1.0` are the same id. `None` for null and for nothing.
///
/// # Errors
/// Ids that are no scalar, blank, or beyond the budget.
pub(crate) fn id_of(row: &Row, found: &Found<'_>) -> Result<Option<String>, String> {
    let Some(mut id) = text_of("id", found)? else { return Ok(None) };
    let number = match found {
        Found::One(Value::Number(number), _) => Some(number),
        Found::Many(nodes) => nodes.first().and_then(|node| match node {
            Value::Number(number) => Some(number),
            _ => None,
        }),
        _ => None,
    };
    let fraction = number.filter(|number| number.is_f64() && !row.exact).and_then(serde_json::Number::as_f64);
    if let Some(whole) = fraction.filter(|number| number.fract() == 0.0 && number.abs() < 9e15) {
        id = (whole as i64).to_string();
    }
    if id.trim().is_empty() {
        return Err("the id is empty".to_owned());
    }
    if id.len() > budget::ID_BYTES {
        return Err(format!("the id is longer than {} bytes (limit: id bytes)", budget::ID_BYTES));
    }
    Ok(Some(id))
}

/// The items of a list field: of a list, of a text by `rule`, or the one value there is.
///
/// # Errors
/// Texts that break the rule; null inside a list.
pub(crate) fn items_of<'r>(field: &str, found: &Found<'r>, rule: &ListRule) -> Result<Vec<Cow<'r, Value>>, String> {
    let items = match found {
        Found::Absent => return Ok(Vec::new()),
        Found::One(value, written) => flat(field, value, *written, rule)?,
        Found::Many(nodes) => match nodes.as_slice() {
            [one] => flat(field, one, None, rule)?,
            many => many.iter().map(|node| Cow::Borrowed(*node)).collect(),
        },
    };
    match items.iter().position(|item| item.is_null()) {
        Some(at) => Err(format!("item {} of `{field}` is null", at + 1)),
        None => Ok(items),
    }
}

fn flat<'r>(
    field: &str,
    value: &'r Value,
    written: Option<&str>,
    rule: &ListRule,
) -> Result<Vec<Cow<'r, Value>>, String> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => Ok(items.iter().map(Cow::Borrowed).collect()),
        Value::String(text) => Ok(rule.items(field, text)?.into_iter().map(Cow::Owned).collect()),
        Value::Number(_) if written.is_some() => {
            Ok(vec![Cow::Owned(Value::String(written.unwrap_or_default().to_owned()))])
        }
        other => Ok(vec![Cow::Borrowed(other)]),
    }
}

/// A list of texts.
///
/// # Errors
/// As [`items_of`], and items that are lists or objects.
pub(crate) fn texts_of(field: &str, found: &Found<'_>, rule: &ListRule) -> Result<Vec<String>, String> {
    let mut texts = Vec::new();
    for (at, item) in items_of(field, found, rule)?.iter().enumerate() {
        match &**item {
            Value::Array(_) | Value::Object(_) => {
                return Err(format!("item {} of `{field}` is {}, not a text", at + 1, kind_of(item)));
            }
            item => texts.push(plain(item)),
        }
    }
    Ok(texts)
}

/// A list of contexts: texts, or objects with a text, an id and a score.
///
/// # Errors
/// As [`items_of`], and objects without text and id.
pub(crate) fn contexts_of(field: &str, found: &Found<'_>, rule: &ListRule) -> Result<Vec<Context>, String> {
    let mut contexts = Vec::new();
    for (at, item) in items_of(field, found, rule)?.iter().enumerate() {
        contexts.push(match &**item {
            Value::Object(map) => context(map).map_err(|reason| format!("item {} of `{field}` {reason}", at + 1))?,
            Value::Array(_) => return Err(format!("item {} of `{field}` is a list, not a text or an object", at + 1)),
            item => Context { id: None, text: plain(item), score: None },
        });
    }
    Ok(contexts)
}

fn context(map: &Map<String, Value>) -> Result<Context, String> {
    // LlamaIndex writes {"node": {"id_": …, "text": …}, "score": …}.
    let body = map.get("node").and_then(Value::as_object).unwrap_or(map);
    let id = first(body, &CONTEXT_IDS)?;
    let text = first(body, &CONTEXT_TEXTS)?;
    let score = match map.get("score") {
        None | Some(Value::Null) => None,
        Some(value) => {
            Some(value.as_f64().ok_or_else(|| format!("has a score that is {}, not a number", kind_of(value)))?)
        }
    };
    if id.is_none() && text.is_none() {
        return Err(format!("has neither a text ({}) nor an id", CONTEXT_TEXTS.join(", ")));
    }
    Ok(Context { id, text: text.unwrap_or_default(), score })
}

/// The first of `keys` that is there, as text.
pub(crate) fn first(map: &Map<String, Value>, keys: &[&str]) -> Result<Option<String>, String> {
    let found = keys.iter().find_map(|key| map.get(*key).filter(|value| !value.is_null()).map(|value| (key, value)));
    match found {
        None => Ok(None),
        Some((key, value @ (Value::Array(_) | Value::Object(_)))) => {
            Err(format!("has `{key}` as {}, not a text", kind_of(value)))
        }
        Some((_, value)) => Ok(Some(plain(value))),
    }
}

/// A finite number, from a number or a text that is one.
///
/// # Errors
/// Everything else.
pub(crate) fn number_of(field: &str, found: &Found<'_>) -> Result<Option<f64>, String> {
    let Some(text) = text_of(field, found)? else { return Ok(None) };
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(Some(number)),
        _ => Err(format!("`{field}` is no finite number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn contexts_come_as_texts_or_objects() {
        let value = json!(["a | b", {"id": 7, "text": "t", "score": 0.5}, {"node": {"id_": "n", "text": "x"}, "score": 1}, {"id": "only"}]);
        let contexts = contexts_of("contexts", &Found::One(&value, None), &ListRule::Undeclared).unwrap();
        let parts: Vec<_> =
            contexts.iter().map(|context| (context.id.as_deref(), context.text.as_str(), context.score)).collect();
        assert_eq!(
            parts,
            [(None, "a | b", None), (Some("7"), "t", Some(0.5)), (Some("n"), "x", Some(1.0)), (Some("only"), "", None)]
        );
        for wrong in [json!([null]), json!([{"score": 1}]), json!([["a"]]), json!([{"text": "a", "score": "high"}])] {
            assert!(contexts_of("contexts", &Found::One(&wrong, None), &ListRule::Undeclared).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_text_field_takes_scalars_only() {
        let text = |value: Value| text_of("input", &Found::One(&value, None));
        assert_eq!(text(json!(true)), Ok(Some("true".to_owned())));
        assert_eq!(text(json!(4)), Ok(Some("4".to_owned())));
        assert_eq!(text(json!(null)), Ok(None));
        assert!(text(json!(["secret"])).unwrap_err().starts_with("`input` is a list"));
        assert_eq!(text_of("input", &Found::One(&json!(1.1), Some("1.10"))), Ok(Some("1.10".to_owned())));
    }

    #[test]
    fn a_number_is_finite() {
        let number = |value: Value| number_of("latency_ms", &Found::One(&value, None));
        assert_eq!(number(json!("12.5")), Ok(Some(12.5)));
        for wrong in [json!("NaN"), json!("inf"), json!("soon"), json!([1])] {
            assert!(number(wrong).is_err());
        }
    }
}
