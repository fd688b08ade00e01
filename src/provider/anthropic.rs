//! Anthropic's messages, and every service that speaks them.

mod reply;

use std::num::NonZeroU32;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::batch::AnthropicBatches;
use super::credentials::KeyForm;
use super::service::{Form, Service, ServiceSettings, given};
use super::structured::Structured;
use super::{Built, ChatApi, ChatReply, ChatRequest, Kind, Role};
use crate::diagnostic::Diagnostics;
use crate::domain::Env;
use crate::net::{Call, Dialect, Rejection, Response};
use crate::suite::{Block, Draft};

pub(super) const KIND: Kind = Kind {
    name: FORM.name,
    summary: "Anthropic, or any service with its messages (base_url)",
    schema: || schemars::schema_for!(AnthropicSettings),
    build,
};

const FORM: Form = Form {
    name: "anthropic",
    base: "https://api.anthropic.com",
    path: &["/v1", "/messages"],
    key: KeyForm { header: "x-api-key", before: "", variable: "ANTHROPIC_API_KEY" },
    // The only version of the API that is in use. **Source**: Anthropic's API reference, "Versions", 2026-11.
    headers: &[("anthropic-version", "2023-06-01")],
    whole_reply: &["stream", "messages", "system", "tools", "tool_choice"],
    placed: &[("model", ""), ("temperature", ""), ("top_p", ""), ("max_tokens", "")],
    dialect: |_| Dialect::Anthropic,
    batches: Some(|url, access, patience| Arc::new(AnthropicBatches::new(url, access, patience))),
    structured: false,
};

/// The API requires a bound. Enough for any verdict or answer of these suites; only what is written is paid for.
const MAX_TOKENS: u32 = 4096;

/// A model behind Anthropic's messages, or any service compatible with them. `base_url` is without `/v1/messages` (default:
/// https://api.anthropic.com), `api_key` defaults to ANTHROPIC_API_KEY, `max_tokens` to 4096, and the header `anthropic-version` to 2023-06-01.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct AnthropicSettings {
    #[serde(flatten)]
    service: ServiceSettings,
    /// Randomness; not sent unless it is given.
    #[schemars(range(min = 0.0, max = 1.0))]
    temperature: Option<f64>,
    /// Share of the probability mass that is sampled from; not sent unless it is given.
    #[schemars(range(min = 0.0, max = 1.0))]
    top_p: Option<f64>,
}

struct Anthropic(Service);

fn build(block: &Block, env: &Env, diagnostics: &mut Diagnostics) -> Option<Built> {
    let Draft { settings, sound } = block.draft::<AnthropicSettings>(diagnostics)?;
    let AnthropicSettings { service, temperature, top_p } = settings;
    if service.structured == Some(Structured::JsonObject) {
        let message = "`structured: json_object` is not known for `anthropic`: it has schemas (`json_schema`) only";
        diagnostics.push(block.problem("/structured", "structured", message));
        return None;
    }
    let parameters = given([
        ("max_tokens", Some(service.max_tokens.map_or(MAX_TOKENS, NonZeroU32::get).into())),
        ("temperature", temperature.map(Value::from)),
        ("top_p", top_p.map(Value::from)),
    ]);
    let ready = FORM.ready(block, (service, sound), parameters, env, diagnostics)?;
    Some(ready.built(block, Anthropic))
}

impl Anthropic {
    /// What the system says stands beside the messages, which are those of the two speakers.
    fn body(&self, request: &ChatRequest) -> Value {
        let mut system: Vec<&str> = Vec::new();
        let mut messages = Vec::new();
        for message in &request.messages {
            let role = match message.role {
                Role::System => {
                    system.push(&message.text);
                    continue;
                }
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            messages.push(json!({"role": role, "content": message.text}));
        }
        let mut body = Map::new();
        body.insert("model".to_owned(), Value::from(self.0.model.as_str()));
        if !system.is_empty() {
            body.insert("system".to_owned(), Value::from(system.join("\n\n")));
        }
        body.insert("messages".to_owned(), Value::Array(messages));
        body.extend(self.0.parameters.clone());
        if let (Some(_), Some(form)) = (self.0.shape, &request.form) {
            let config = body.entry("output_config").or_insert_with(|| json!({}));
            if let Value::Object(config) = config {
                config.entry("format").or_insert_with(|| json!({"type": "json_schema", "schema": form.schema}));
            }
        }
        Value::Object(body)
    }
}

impl ChatApi for Anthropic {
    fn call(&self, request: &ChatRequest) -> Call {
        self.0.call(request, &self.body(request))
    }

    fn read(&self, _: &Call, response: &Response) -> Result<ChatReply, Rejection> {
        reply::read(response, &self.0.shown, self.0.price)
    }

    fn batches(&self) -> bool {
        self.0.batches()
    }
}

#[cfg(test)]
mod tests;
