//! Replies that the service holds to a form: a JSON Schema, or at least some JSON object.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// How replies in JSON (lists, verdicts on several items) are held to their form. Verdicts in one line are asked for as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Structured {
    /// By a schema where the provider is known to have it.
    #[default]
    Auto,
    /// By a schema.
    JsonSchema,
    /// By the service's JSON mode, which knows no schema.
    JsonObject,
    /// By words alone.
    Off,
}

/// What is asked of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Schema,
    Object,
}

/// The form of a reply that is asked for in JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplyForm {
    /// Letters, digits, `_` and `-`.
    pub name: &'static str,
    /// A JSON Schema that every provider takes: each property is required, no others are allowed.
    pub schema: Value,
}

impl Structured {
    /// `known`: this is an address that is known to have schemas.
    pub(super) fn shape(self, known: bool) -> Option<Shape> {
        match self {
            Self::Auto => known.then_some(Shape::Schema),
            Self::JsonSchema => Some(Shape::Schema),
            Self::JsonObject => Some(Shape::Object),
            Self::Off => None,
        }
    }
}

impl Shape {
    /// As the suite writes it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Schema => "json_schema",
            Self::Object => "json_object",
        }
    }

    /// `response_format` of chat completions.
    pub(super) fn of_chat(self, form: &ReplyForm) -> Value {
        match self {
            Self::Schema => json!({
                "type": "json_schema", "json_schema": {"name": form.name, "strict": true, "schema": form.schema},
            }),
            Self::Object => json!({"type": "json_object"}),
        }
    }

    /// `text.format` of responses, whose schema stands one level higher.
    pub(super) fn of_responses(self, form: &ReplyForm) -> Value {
        match self {
            Self::Schema => json!({"type": "json_schema", "name": form.name, "strict": true, "schema": form.schema}),
            Self::Object => json!({"type": "json_object"}),
        }
    }
}
