//! OpenAI's chat completions, and every service that speaks them: vLLM, Ollama, llama.cpp, gateways, DashScope, DeepSeek, Mistral.

mod reply;

use std::num::NonZeroU32;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::batch::OpenAiBatches;
use super::credentials::KeyForm;
use super::service::{Form, Service, ServiceSettings, given};
use super::{Built, ChatApi, ChatReply, ChatRequest, Kind, Role, reasoning};
use crate::diagnostic::Diagnostics;
use crate::domain::Env;
use crate::net::{Call, Dialect, Rejection, Response};
use crate::suite::{Block, Draft};

pub(super) const KIND: Kind = Kind {
    name: FORM.name,
    summary: "OpenAI, or any service with its chat completions (base_url)",
    schema: || schemars::schema_for!(OpenAiSettings),
    build,
};

const FORM: Form = Form {
    name: "openai",
    base: "https://api.openai.com/v1",
    path: &["/chat/completions"],
    key: KeyForm { header: "Authorization", before: "Bearer ", variable: "OPENAI_API_KEY" },
    headers: &[],
    whole_reply: WHOLE_REPLY,
    placed: PLACED,
    dialect,
    batches: Some(|url, access, patience| Arc::new(OpenAiBatches::new(url, "/chat/completions", access, patience))),
    structured: true,
};

/// What `extra` may not hold, of chat completions wherever they are.
pub(super) const WHOLE_REPLY: &[&str] = &["stream", "n", "messages", "tools"];
pub(super) const PLACED: &[(&str, &str)] = &[
    ("model", ""),
    ("temperature", ""),
    ("top_p", ""),
    ("seed", ""),
    ("max_tokens", ""),
    ("max_completion_tokens", "write `max_tokens` and `max_tokens_field: max_completion_tokens` beside `model`"),
];

/// A model behind OpenAI's chat completions, or any service compatible with them. `base_url` is without `/chat/completions` (default:
/// https://api.openai.com/v1), and `api_key` defaults to OPENAI_API_KEY.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct OpenAiSettings {
    #[serde(flatten)]
    service: ServiceSettings,
    #[serde(flatten)]
    sampling: Sampling,
    /// Whether a prompt of which the service counts fewer tokens than it can have is an error: it was cut in silence, as Ollama does
    /// (default: true, except at OpenAI's own address, which never cuts).
    check_prompt: Option<bool>,
}

/// The settings of every service of chat completions.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Sampling {
    /// Randomness; not sent unless it is given.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub(super) temperature: Option<f64>,
    /// Share of the probability mass that is sampled from; not sent unless it is given.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub(super) top_p: Option<f64>,
    /// A seed, for services that honour one.
    seed: Option<i64>,
    /// How the service calls `max_tokens` (default: `max_completion_tokens` for OpenAI's own address and today's of Azure, else `max_tokens`).
    max_tokens_field: Option<MaxTokensField>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum MaxTokensField {
    MaxTokens,
    MaxCompletionTokens,
}

impl Sampling {
    /// What is sent of it, in this order; `field` is what the service calls `max_tokens` where nothing is said.
    pub(super) fn parameters(&self, max_tokens: Option<NonZeroU32>, field: MaxTokensField) -> Map<String, Value> {
        let name = match self.max_tokens_field.unwrap_or(field) {
            MaxTokensField::MaxTokens => "max_tokens",
            MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
        };
        given([
            ("temperature", self.temperature.map(Value::from)),
            ("top_p", self.top_p.map(Value::from)),
            ("seed", self.seed.map(Value::from)),
            (name, max_tokens.map(|tokens| tokens.get().into())),
        ])
    }
}

/// Chat completions, whoever offers them.
pub(super) struct OpenAi(pub(super) Service);

fn build(block: &Block, env: &Env, diagnostics: &mut Diagnostics) -> Option<Built> {
    let Draft { settings, sound } = block.draft::<OpenAiSettings>(diagnostics)?;
    let OpenAiSettings { service, sampling, check_prompt } = settings;
    let own_address = service.base_url.as_deref().is_none_or(|base| base == FORM.base);
    let field = if own_address { MaxTokensField::MaxCompletionTokens } else { MaxTokensField::MaxTokens };
    if own_address {
        reasoning::warn(block, &service, (sampling.temperature, sampling.top_p), diagnostics);
    }
    let parameters = sampling.parameters(service.max_tokens, field);
    let mut ready = FORM.ready(block, (service, sound), parameters, env, diagnostics)?;
    ready.service.counted = check_prompt.unwrap_or(!own_address);
    Some(ready.built(block, OpenAi))
}

/// Whose errors a service behind OpenAI's interface answers with.
pub(super) fn dialect(host: &str) -> Dialect {
    if host.ends_with(".aliyuncs.com") {
        Dialect::DashScope
    } else if host == "generativelanguage.googleapis.com" {
        Dialect::Gemini
    } else if host == "api.anthropic.com" {
        Dialect::Anthropic
    } else if super::azure_openai::is_azure(host) {
        Dialect::AzureOpenAi
    } else {
        Dialect::OpenAi
    }
}

impl OpenAi {
    fn body(&self, request: &ChatRequest) -> Value {
        let messages: Vec<Value> = request
            .messages
            .iter()
            .map(|message| {
                let role = match message.role {
                    Role::System => "system",
                    Role::User => "user",
                    Role::Assistant => "assistant",
                };
                json!({"role": role, "content": message.text})
            })
            .collect();
        let mut body = Map::new();
        body.insert("model".to_owned(), Value::from(self.0.model.as_str()));
        body.insert("messages".to_owned(), Value::Array(messages));
        body.extend(self.0.parameters.clone());
        if let (Some(shape), Some(form)) = (self.0.shape, &request.form) {
            body.entry("response_format").or_insert_with(|| shape.of_chat(form));
        }
        Value::Object(body)
    }
}

impl ChatApi for OpenAi {
    fn call(&self, request: &ChatRequest) -> Call {
        self.0.call(request, &self.body(request))
    }

    fn read(&self, call: &Call, response: &Response) -> Result<ChatReply, Rejection> {
        let reply = reply::read(response, self.0.dialect, &self.0.shown, self.0.price)?;
        self.0.whole(call, reply)
    }

    fn batches(&self) -> bool {
        self.0.batches()
    }
}

#[cfg(test)]
mod tests;
