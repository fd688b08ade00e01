//! OpenAI's Responses API, and every service that speaks it.

mod reply;

use std::num::NonZeroU32;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::batch::OpenAiBatches;
use super::credentials::KeyForm;
use super::openai::dialect;
use super::service::{Form, Service, ServiceSettings, given};
use super::{Built, ChatApi, ChatReply, ChatRequest, Kind, Role, reasoning};
use crate::diagnostic::Diagnostics;
use crate::domain::Env;
use crate::net::{Call, Rejection, Response};
use crate::suite::{Block, Draft};

pub(super) const KIND: Kind = Kind {
    name: FORM.name,
    summary: "OpenAI's Responses API, or any service that speaks it (base_url)",
    schema: || schemars::schema_for!(ResponsesSettings),
    build,
};

const FORM: Form = Form {
    name: "openai_responses",
    base: "https://api.openai.com/v1",
    path: &["/responses"],
    key: KeyForm { header: "Authorization", before: "Bearer ", variable: "OPENAI_API_KEY" },
    headers: &[],
    whole_reply: &[
        "stream",
        "background",
        "input",
        "instructions",
        "tools",
        "tool_choice",
        "conversation",
        "previous_response_id",
        "prompt",
    ],
    placed: &[
        ("model", ""),
        ("temperature", ""),
        ("top_p", ""),
        ("max_tokens", ""),
        ("max_output_tokens", "write `max_tokens` beside `model`"),
    ],
    dialect,
    batches: Some(|url, access, patience| Arc::new(OpenAiBatches::new(url, "/responses", access, patience))),
    structured: true,
};

/// The least that the API takes for `max_output_tokens`. **Source**: OpenAI's API description 2.3.0.
const LEAST_TOKENS: u32 = 16;

/// A model behind OpenAI's Responses API, or any service compatible with it. `base_url` is without `/responses` (default:
/// https://api.openai.com/v1), and `api_key` defaults to OPENAI_API_KEY. Responses are not stored at OpenAI, unless `extra` says `store: true`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct ResponsesSettings {
    #[serde(flatten)]
    service: ServiceSettings,
    /// Randomness; not sent unless it is given.
    #[schemars(range(min = 0.0, max = 2.0))]
    temperature: Option<f64>,
    /// Share of the probability mass that is sampled from; not sent unless it is given.
    #[schemars(range(min = 0.0, max = 1.0))]
    top_p: Option<f64>,
}

struct Responses(Service);

fn build(block: &Block, env: &Env, diagnostics: &mut Diagnostics) -> Option<Built> {
    let Draft { settings, sound } = block.draft::<ResponsesSettings>(diagnostics)?;
    let ResponsesSettings { service, temperature, top_p } = settings;
    let bounded = service.max_tokens.map(NonZeroU32::get);
    let enough = bounded.is_none_or(|tokens| tokens >= LEAST_TOKENS);
    if !enough {
        let message = format!("`max_tokens` is at least {LEAST_TOKENS} for `{}`", FORM.name);
        diagnostics.push(block.problem("/max_tokens", "range", message));
    }
    if service.base_url.is_none() {
        reasoning::warn(block, &service, (temperature, top_p), diagnostics);
    }
    let parameters = given([
        ("temperature", temperature.map(Value::from)),
        ("top_p", top_p.map(Value::from)),
        ("max_output_tokens", bounded.map(Value::from)),
        // What is asked and answered is the suite's owner's, and kept here.
        ("store", Some(Value::Bool(false))),
    ]);
    let ready = FORM.ready(block, (service, sound && enough), parameters, env, diagnostics)?;
    Some(ready.built(block, Responses))
}

impl Responses {
    /// What the system says stands beside the input, which is what the two speakers said.
    fn body(&self, request: &ChatRequest) -> Value {
        let mut instructions: Vec<&str> = Vec::new();
        let mut input = Vec::new();
        for message in &request.messages {
            let role = match message.role {
                Role::System => {
                    instructions.push(&message.text);
                    continue;
                }
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            input.push(json!({"role": role, "content": message.text}));
        }
        let mut body = Map::new();
        body.insert("model".to_owned(), Value::from(self.0.model.as_str()));
        if !instructions.is_empty() {
            body.insert("instructions".to_owned(), Value::from(instructions.join("\n\n")));
        }
        body.insert("input".to_owned(), Value::Array(input));
        body.extend(self.0.parameters.clone());
        if let (Some(shape), Some(form)) = (self.0.shape, &request.form) {
            let text = body.entry("text").or_insert_with(|| json!({}));
            if let Value::Object(text) = text {
                text.entry("format").or_insert_with(|| shape.of_responses(form));
            }
        }
        Value::Object(body)
    }
}

impl ChatApi for Responses {
    fn call(&self, request: &ChatRequest) -> Call {
        self.0.call(request, &self.body(request))
    }

    fn read(&self, _: &Call, response: &Response) -> Result<ChatReply, Rejection> {
        reply::read(response, self.0.dialect, &self.0.shown, self.0.price)
    }

    fn batches(&self) -> bool {
        self.0.batches()
    }
}

#[cfg(test)]
mod tests;
