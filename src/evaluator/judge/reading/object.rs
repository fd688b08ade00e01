//! Verdicts as JSON objects.

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::{JudgeReading, Said, Unusable, Why, in_range, reason};
use crate::text::normalize::excerpt;

/// A JSON object with all its fields, also those that stand twice.
pub(super) struct Object {
    fields: Vec<(String, Value)>,
    raw: String,
}

/// The objects of a text that hold one of the wanted fields.
#[derive(Default)]
pub(super) struct Scan {
    pub objects: Vec<Object>,
    /// Something began like an object and is none; nothing after it was looked at.
    pub broken: Option<Unusable>,
}

impl Object {
    /// The field's value, its name in any letter case.
    ///
    /// # Errors
    /// `Ambiguous` where it stands twice.
    pub(super) fn field(&self, name: &str) -> Result<Option<&Value>, Unusable> {
        let mut values = self.fields.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        match (values.next(), values.next()) {
            (first, None) => Ok(first),
            (_, Some(_)) => Err(Unusable::new(Why::Ambiguous, format!("`{name}` stands twice in the object"))),
        }
    }

    pub(super) fn boolean(&self, name: &str) -> Result<Option<bool>, Unusable> {
        match self.field(name)? {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(other) => Err(wrong_type(name, "true or false", other)),
        }
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<f64>, Unusable> {
        match self.field(name)? {
            None => Ok(None),
            Some(Value::Number(number)) => number
                .as_f64()
                .map(Some)
                .ok_or_else(|| Unusable::new(Why::OutOfRange, format!("`{name}` is no finite number"))),
            Some(other) => Err(wrong_type(name, "a number", other)),
        }
    }

    pub(super) fn reason(&self) -> Option<String> {
        self.fields
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case("reason"))
            .and_then(|(_, value)| reason(value.as_str()?))
    }

    pub(super) fn raw(&self) -> &str {
        &self.raw
    }
}

fn wrong_type(name: &str, wanted: &str, value: &Value) -> Unusable {
    Unusable::new(Why::NoVerdict, format!("`{name}` must be {wanted}, not {}", excerpt(&value.to_string(), 40)))
}

/// Finds the objects of `text` outside of one another that have one of the `wanted` fields. One pass: the first thing that begins
/// like an object and is none ends the search, so that no part of a broken verdict is taken for a whole one.
pub(super) fn scan(text: &str, wanted: &[&str]) -> Scan {
    let mut scan = Scan::default();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('{') {
        if !begins_an_object(after) {
            rest = after;
            continue;
        }
        let here = rest.get(rest.len() - after.len() - 1..).unwrap_or_default();
        let mut values = serde_json::Deserializer::from_str(here).into_iter::<Fields>();
        match values.next() {
            Some(Ok(Fields(fields))) => {
                let length = values.byte_offset();
                if fields.iter().any(|(key, _)| wanted.iter().any(|name| key.eq_ignore_ascii_case(name))) {
                    scan.objects.push(Object { fields, raw: here.get(..length).unwrap_or_default().to_owned() });
                }
                rest = here.get(length..).unwrap_or_default();
            }
            Some(Err(error)) => {
                let why = if error.is_eof() { Why::Truncated } else { Why::Malformed };
                scan.broken = Some(Unusable::new(why, format!("the object is no JSON: {error}")));
                return scan;
            }
            None => return scan,
        }
    }
    scan
}

/// Whether what follows a brace looks like the inside of an object rather than like prose or a set.
fn begins_an_object(after: &str) -> bool {
    let after = after.trim_start();
    match after.chars().next() {
        None | Some('"' | '\'' | '}') => true,
        Some(first) if first.is_alphabetic() || first == '_' => {
            let name: usize =
                after.chars().take(64).take_while(|c| c.is_alphanumeric() || *c == '_').map(char::len_utf8).sum();
            after.get(name..).is_some_and(|rest| rest.trim_start().starts_with(':'))
        }
        Some(_) => false,
    }
}

/// The one object of a text.
pub(super) fn only<'a>(scan: &'a Scan, wanted: &str) -> Result<&'a Object, Unusable> {
    if let Some(broken) = &scan.broken {
        return Err(broken.clone());
    }
    match scan.objects.as_slice() {
        [object] => Ok(object),
        [] => Err(Unusable::new(Why::NoVerdict, format!("no JSON object with {wanted}"))),
        many => Err(Unusable::new(Why::Ambiguous, format!("{} JSON objects with a verdict", many.len()))),
    }
}

/// The `score` of the one object.
pub(super) fn score(text: &str, needs_pass: bool, lo: f64, hi: f64) -> Result<JudgeReading, Unusable> {
    score_of(only(&scan(text, &["score", "pass"]), "`score`")?, needs_pass, lo, hi)
}

pub(super) fn score_of(object: &Object, needs_pass: bool, lo: f64, hi: f64) -> Result<JudgeReading, Unusable> {
    let pass = object.boolean("pass")?;
    let value = object.number("score")?;
    let value = value.ok_or_else(|| Unusable::new(Why::NoVerdict, "the object has no `score`"))?;
    let value = in_range(value, lo, hi)?;
    if needs_pass && pass.is_none() {
        return Err(Unusable::new(Why::NoVerdict, "the object has no `pass`"));
    }
    if (pass == Some(true) && value == lo) || (pass == Some(false) && value == hi) {
        return Err(Unusable::new(Why::Contradiction, format!("`pass` and `score` {value} do not agree")));
    }
    Ok(JudgeReading { value, pass, reason: object.reason(), form: Said::Object, said: object.raw.clone() })
}

/// Whether a text holds an object with a field that judges give their verdict in, or the beginning of one.
pub fn objects_with_a_verdict(text: &str) -> bool {
    let wanted = ["score", "pass", "verdict"];
    let squeezed: String = text.to_lowercase().split_whitespace().collect();
    wanted.iter().any(|name| squeezed.contains(&format!("\"{name}\":")) || squeezed.contains(&format!("'{name}':")))
}

struct Fields(Vec<(String, Value)>);

impl<'de> serde::Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Collect)
    }
}

struct Collect;

impl<'de> Visitor<'de> for Collect {
    type Value = Fields;

    fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Fields(fields))
    }
}
