//! `verdict.json`: the verdict for machines (design §5), and the way back.
//!
//! Strict: no NaN, no Infinity; where a rule has no number there is `null`, and `why_null` says why. Keys have a fixed order, texts
//! are exact but for masked secrets. There is no time in it but what was waited (`calls.waited_ms`): equal runs give equal
//! bytes.

mod file;
mod rule;

pub use file::{StoredVerdict, VerdictFileError, read_verdict};

use std::io::{self, Write};

use serde_json::Value;

use super::settings::ReportSettings;
use super::view::View;
use crate::domain::Redactor;

pub(super) fn render(view: &View<'_>, _settings: &ReportSettings, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(text(view).map_err(io::Error::other)?.as_bytes())
}

pub(super) fn text(view: &View<'_>) -> Result<String, String> {
    let document = file::VerdictFileV1::of(view.verdict, view.run.completion.as_ref());
    let mut value = serde_json::to_value(document).map_err(|error| error.to_string())?;
    mask(&mut value, view.redactor());
    let mut text = serde_json::to_string_pretty(&value).map_err(|error| error.to_string())?;
    text.push('\n');
    Ok(text)
}

/// Every text of the document, before it is escaped.
fn mask(value: &mut Value, redactor: &Redactor) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(clean) = redactor.redact_cow(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mask(item, redactor)),
        Value::Object(map) => {
            let masked = std::mem::take(map).into_iter().map(|(key, mut value)| {
                mask(&mut value, redactor);
                (redactor.redact(&key), value)
            });
            *map = masked.collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
