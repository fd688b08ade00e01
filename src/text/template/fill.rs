//! A [`Template`] and a case's values → text.

use std::borrow::Cow;

use serde_json::Value;

use super::Lookup;
use super::parse::{Form, Piece, Template};

/// Why a template could not be filled for one case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FillError {
    #[error("the case has no `{0}`")]
    Missing(String),
    #[error("`{0}` is a list or a mapping; write `{{{{ {0} | json }}}}` to put it in as JSON")]
    NotText(String),
}

impl Template {
    /// The text with every placeholder replaced by its value.
    ///
    /// # Errors
    /// A value that the case does not have (or that is null), a list or mapping without `| json`.
    pub fn render(&self, lookup: &Lookup<'_>) -> Result<String, FillError> {
        self.render_encoded(lookup, |value| Cow::Borrowed(value))
    }

    /// Like [`Template::render`], with `encode` applied to each value (never to the template's own text): percent-encoding for
    /// addresses.
    ///
    /// # Errors
    /// As [`Template::render`].
    pub fn render_encoded(
        &self,
        lookup: &Lookup<'_>,
        encode: impl for<'v> Fn(&'v str) -> Cow<'v, str>,
    ) -> Result<String, FillError> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(own) => text.push_str(own),
                Piece::Value { name, form } => {
                    let value = lookup(name).ok_or_else(|| FillError::Missing(name.clone()))?;
                    text.push_str(&encode(&written(name, *form, &value)?));
                }
            }
        }
        Ok(text)
    }

    /// The variable of a template that is one plain placeholder and nothing else.
    pub(super) fn sole(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Value { name, form: Form::Plain }] => Some(name),
            _ => None,
        }
    }
}

fn written(name: &str, form: Form, value: &Value) -> Result<String, FillError> {
    match (form, value) {
        (Form::Json, value) => Ok(value.to_string()),
        (Form::Plain, Value::String(text)) => Ok(text.clone()),
        (Form::Plain, Value::Number(_) | Value::Bool(_)) => Ok(value.to_string()),
        (Form::Plain, Value::Null) => Err(FillError::Missing(name.to_owned())),
        (Form::Plain, Value::Array(_) | Value::Object(_)) => Err(FillError::NotText(name.to_owned())),
    }
}
