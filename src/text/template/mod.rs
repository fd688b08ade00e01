//! One small template language: `{{ name }}`, `{{ metadata.topic }}`, `{{ contexts | json }}`, and `{{ "{{" }}` for braces as text.
//!
//! [`Template`] fills a text (an address, an argument, a prompt), [`JsonTemplate`] the texts inside a JSON value (a request's body).
//!
//! Promise: one pass. What a variable holds is put in as it is and never read as a template again, so data cannot inject anything;
//! a name that is not known is an error before the first call, a value that is missing is an error and never an empty text.

mod fill;
mod json;
mod parse;

pub use fill::FillError;
pub use json::{JsonTemplate, JsonTemplateError};
pub use parse::{Template, TemplateError};

use std::borrow::Cow;

use serde_json::Value;

/// Where the values of one case come from: by name (`input`, `metadata.topic`); `None` where the case has none.
pub type Lookup<'a> = dyn Fn(&str) -> Option<Cow<'a, Value>> + 'a;

#[cfg(test)]
mod tests;
