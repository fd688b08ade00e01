//! JSON, strictly: no key twice, no NaN, no number out of range, bounded depth; errors with line and column and without the text.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use super::problem::{at, count32, shown_name, span_of};
use super::{Row, budget};
use crate::diagnostic::{Diagnostic, Span};

/// Where a piece of JSON begins in its file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'f> {
    pub file: &'f str,
    /// From 1.
    pub line: u32,
    /// Characters before it on that line.
    pub before: u32,
}

/// The members of an object, unparsed, in order.
pub(crate) struct Members<'t>(pub Vec<(Cow<'t, str>, &'t RawValue)>);

/// A value without a key that stands twice in one object.
struct Strict(Value);

/// Reads one object.
pub(crate) fn row(text: &str, origin: Origin<'_>) -> Result<Row, Diagnostic> {
    if let Some(kind) = other_kind(text) {
        return Err(at(
            origin.file,
            origin.line,
            origin.before + 1,
            "not-an-object",
            format!("this record is {kind}, not a JSON object with named fields"),
        ));
    }
    let members: Members<'_> = parse(text, origin, text)?;
    let mut map = Map::with_capacity(members.0.len());
    let mut written = Vec::new();
    for (name, raw) in members.0 {
        let value = value(text, raw, origin)?;
        if let Value::Number(number) = &value
            && number.to_string() != raw.get()
        {
            written.push((name.clone().into_owned(), raw.get().to_owned()));
        }
        if map.contains_key(&*name) {
            let message = format!("the key {} stands twice in this record", shown_name(&name));
            let (line, column) = line_of(text, raw, origin);
            return Err(at(origin.file, line, column, "duplicate-key", message));
        }
        map.insert(name.into_owned(), value);
    }
    let mut row = Row::new(origin.line, map);
    row.written = written;
    Ok(row)
}

/// Where the value of `name` stands in an object.
pub(crate) fn place(text: &str, origin: Origin<'_>, name: &str) -> Option<Span> {
    let members: Members<'_> = serde_json::from_str(text).ok()?;
    let (_, raw) = members.0.into_iter().find(|(key, _)| key == name)?;
    let (line, column) = line_of(text, raw, origin);
    Some(span_of(line, column, raw.get()))
}

/// The members of an object, or the items of a list, as slices of `text`.
pub(crate) fn parse<'t, T: Deserialize<'t>>(
    part: &'t str,
    origin: Origin<'_>,
    whole: &'t str,
) -> Result<T, Diagnostic> {
    serde_json::from_str(part).map_err(|error| explain(&error, part, whole, origin))
}

fn value(text: &str, raw: &RawValue, origin: Origin<'_>) -> Result<Value, Diagnostic> {
    let part = raw.get();
    let parsed = match part.as_bytes().first() {
        Some(b'"') => serde_json::from_str(part).map(Value::String),
        _ => serde_json::from_str::<Strict>(part).map(|strict| strict.0),
    };
    parsed.map_err(|error| explain(&error, part, text, origin))
}

/// The items of a JSON list in a cell.
///
/// # Errors
/// What is wrong, as a fragment without the text.
pub(crate) fn list(text: &str) -> Result<Vec<Value>, String> {
    match serde_json::from_str::<Strict>(text) {
        Ok(Strict(Value::Array(items))) => Ok(items),
        Ok(_) => Err("it holds something else".to_owned()),
        Err(error) => {
            let at = format!("line {}, column {} of the cell", error.line(), error.column());
            let text = error.to_string();
            Err(format!(
                "it is no JSON ({}, at {at})",
                text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason)
            ))
        }
    }
}

/// Where `part`, a slice of `whole`, begins: bytes before it.
pub(crate) fn place_in(whole: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize)
}

fn line_of(text: &str, raw: &RawValue, origin: Origin<'_>) -> (u32, u32) {
    position(text, place_in(text, raw.get()), origin)
}

/// Line and column in the file of the byte at `offset` of `text`.
fn position(text: &str, offset: usize, origin: Origin<'_>) -> (u32, u32) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = text.get(..offset).unwrap_or_default();
    let lines = count32(before.bytes().filter(|byte| *byte == b'\n').count());
    let last = count32(before.rsplit('\n').next().unwrap_or_default().chars().count());
    let shift = if lines == 0 { origin.before } else { 0 };
    (origin.line.saturating_add(lines), last.saturating_add(shift).saturating_add(1))
}

fn explain(error: &serde_json::Error, part: &str, whole: &str, origin: Origin<'_>) -> Diagnostic {
    let here = place_in(whole, part).saturating_add(offset_in(part, error.line(), error.column()));
    let (line, column) = position(whole, here, origin);
    let text = error.to_string();
    let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
    let (code, message) = match reason {
        "recursion limit exceeded" => {
            ("too-deep", format!("lists and objects are nested deeper than {} levels (limit: depth)", budget::DEPTH))
        }
        "number out of range" => ("not-a-number", "a number is out of range: it would be infinite".to_owned()),
        _ if !error.is_syntax() && !error.is_eof() => ("bad-json", reason.to_owned()),
        _ => match word_at(whole, here) {
            Some(word) => ("not-a-number", format!("`{word}` is no JSON value")),
            None => ("bad-json", format!("not JSON: {reason}")),
        },
    };
    at(origin.file, line, column, code, message)
}

/// Bytes before the place that `serde_json` names: line from 1, column in bytes from 1 (0: at the line's end before it).
fn offset_in(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    start.saturating_add(column.saturating_sub(1))
}

/// The word of other dialects that people meet in machine-made JSON.
fn word_at(text: &str, offset: usize) -> Option<&'static str> {
    let from = |back: usize| text.get(offset.checked_sub(back)?..);
    let near = [from(0), from(1)];
    ["-Infinity", "-NaN", "NaN", "Infinity", "None", "True", "False", "undefined"]
        .into_iter()
        .find(|word| near.iter().flatten().any(|rest| rest.starts_with(word)))
}

/// What else the text holds, where it is no object.
fn other_kind(text: &str) -> Option<&'static str> {
    match text.trim_start().as_bytes().first() {
        Some(b'[') => Some("a list"),
        Some(b'"') => Some("a text"),
        Some(b'0'..=b'9') => Some("a number"),
        Some(b't' | b'f') => Some("true or false"),
        Some(b'n') => Some("null"),
        _ => None,
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Members<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(Key(key)) = access.next_key()? {
                    members.push((key, access.next_value()?));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Read)
    }
}

/// A key, borrowed where it has no escapes.
struct Key<'t>(Cow<'t, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Key<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Read)
    }
}

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Strict;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a JSON value")
            }
            fn visit_unit<E>(self) -> Result<Strict, E> {
                Ok(Strict(Value::Null))
            }
            fn visit_bool<E>(self, truth: bool) -> Result<Strict, E> {
                Ok(Strict(Value::Bool(truth)))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Strict, E> {
                Ok(Strict(Value::Number(number.into())))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Strict, E> {
                Ok(Strict(Value::Number(number.into())))
            }
            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Strict, E> {
                let number = Number::from_f64(number).ok_or_else(|| E::custom("a number is out of range"))?;
                Ok(Strict(Value::Number(number)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Strict, E> {
                Ok(Strict(Value::String(text.to_owned())))
            }
            fn visit_string<E>(self, text: String) -> Result<Strict, E> {
                Ok(Strict(Value::String(text)))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Strict, A::Error> {
                let mut items = Vec::new();
                while let Some(Strict(item)) = access.next_element()? {
                    items.push(item);
                }
                Ok(Strict(Value::Array(items)))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Strict, A::Error> {
                let mut map = Map::new();
                while let Some(key) = access.next_key::<String>()? {
                    let Strict(value) = access.next_value()?;
                    if map.contains_key(&key) {
                        return Err(A::Error::custom(format!(
                            "the key {} stands twice in one object",
                            shown_name(&key)
                        )));
                    }
                    map.insert(key, value);
                }
                Ok(Strict(Value::Object(map)))
            }
        }
        deserializer.deserialize_any(Read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: Origin<'static> = Origin { file: "f.jsonl", line: 7, before: 0 };

    fn wrong(text: &str) -> Diagnostic {
        row(text, ORIGIN).expect_err(text)
    }

    #[test]
    fn numbers_keep_how_they_were_written() {
        let row = row(r#"{"a":1.10,"b":12345678901234567890123,"c":5,"d":0.5}"#, ORIGIN).unwrap();
        assert_eq!((row.written("a"), row.written("b")), (Some("1.10"), Some("12345678901234567890123")));
        assert_eq!((row.written("c"), row.written("d")), (None, None));
    }

    #[test]
    fn what_is_no_number_is_refused_by_name() {
        for (text, word) in [
            ("NaN", "NaN"),
            ("Infinity", "Infinity"),
            ("-Infinity", "-Infinity"),
            ("1e999", "out of range"),
            ("None", "None"),
        ] {
            let error = wrong(&format!(r#"{{"id":"f","score":{text}}}"#));
            assert!(error.message.contains(word), "{text}: {}", error.message);
            assert_eq!(error.span.map(|span| span.line), Some(7));
        }
        assert!(wrong(r#"{"a":[1e999]}"#).message.contains("out of range"));
    }

    #[test]
    fn a_key_twice_is_an_error_at_any_depth() {
        assert!(wrong(r#"{"a":1,"b":2,"a":3}"#).message.contains("`a` stands twice"));
        assert!(wrong(r#"{"x":[{"a":1,"a":3}]}"#).message.contains("`a` stands twice"));
    }

    #[test]
    fn depth_is_bounded_and_named() {
        let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        let error = wrong(&deep);
        assert!(error.message.contains("128 levels"), "{}", error.message);
    }

    #[test]
    fn messages_never_hold_the_row() {
        for text in [
            r#"{"a":"secret""#,
            r#"{"a":"secret",}"#,
            r#"["secret"]"#,
            r#""secret""#,
            r#"{"a":"secret"} x"#,
            r#"{"secret\ud800":1}"#,
            r#"{"a":"secret\ud800"}"#,
        ] {
            let error = wrong(text);
            assert!(!error.message.contains("secret"), "{}", error.message);
        }
    }

    #[test]
    fn columns_count_characters() {
        let error = wrong(r#"{"ä":"öü",}"#);
        assert_eq!(error.span.map(|span| (span.line, span.column)), Some((7, 11)));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
            let _ = row(&text, ORIGIN);
        }

        #[test]
        fn it_reads_what_serde_json_writes(key in "\\PC{0,8}", text in "\\PC{0,16}", number in proptest::num::f64::NORMAL) {
            let value = serde_json::json!({"k": {key: [text, number, null, true]}, "n": number});
            let row = row(&value.to_string(), ORIGIN).unwrap();
            proptest::prop_assert_eq!(row.value.to_string(), value.to_string());
        }
    }
}
