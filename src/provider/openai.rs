//! OpenAI's chat completions, and every service that speaks them: vLLM, Ollama, llama.cpp, gateways, DashScope, DeepSeek, Mistral.

mod reply;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::batch::OpenAiBatches;
use super::credentials::KeyForm;
use super::service::{Form, Service, ServiceSettings, given};
use super::{Built, ChatApi, ChatReply, ChatRequest, Kind, Role};
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
    whole_reply: &["stream", "n", "messages", "tools"],
    placed: &[
        ("model", ""),
        ("temperature", ""),
        ("top_p", ""),
        ("seed", ""),
        ("max_tokens", ""),
        ("max_completion_tokens", "write `max_tokens` and `max_tokens_field: max_completion_tokens` beside `model`"),
    ],
    dialect,
    batches: |url, access, patience| Arc::new(OpenAiBatches::new(url, access, patience)),
};

/// A model behind OpenAI's chat completions, or any service compatible with them. `base_url` is without `/chat/completions` (default:
/// https://api.openai.com/v1), and `api_key` defaults to OPENAI_API_KEY.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct OpenAiSettings {
    #[serde(flatten)]
    service: ServiceSettings,
    /// Randomness; not sent unless it is given.
    #[schemars(range(min = 0.0, max = 2.0))]
    temperature: Option<f64>,
    /// Share of the probability mass that is sampled from; not sent unless it is given.
    #[schemars(range(min = 0.0, max = 1.0))]
    top_p: Option<f64>,
    /// A seed, for services that honour one.
    seed: Option<i64>,
    /// How the service calls `max_tokens` (default: `max_completion_tokens` for OpenAI's own address, else `max_tokens`).
    max_tokens_field: Option<MaxTokensField>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum MaxTokensField {
    MaxTokens,
    MaxCompletionTokens,
}

struct OpenAi(Service);

fn build(block: &Block, env: &Env, diagnostics: &mut Diagnostics) -> Option<Built> {
    let Draft { settings, sound } = block.draft::<OpenAiSettings>(diagnostics)?;
    let OpenAiSettings { service, temperature, top_p, seed, max_tokens_field } = settings;
    let own_address = service.base_url.as_deref().is_none_or(|base| base == FORM.base);
    let max_tokens = match max_tokens_field {
        Some(MaxTokensField::MaxCompletionTokens) => "max_completion_tokens",
        None if own_address => "max_completion_tokens",
        Some(MaxTokensField::MaxTokens) | None => "max_tokens",
    };
    let parameters = given([
        ("temperature", temperature.map(Value::from)),
        ("top_p", top_p.map(Value::from)),
        ("seed", seed.map(Value::from)),
        (max_tokens, service.max_tokens.map(|tokens| tokens.get().into())),
    ]);
    let ready = FORM.ready(block, (service, sound), parameters, env, diagnostics)?;
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
    } else if host.ends_with(".openai.azure.com") {
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
        Value::Object(body)
    }
}

impl ChatApi for OpenAi {
    fn call(&self, request: &ChatRequest) -> Call {
        self.0.call(request, &self.body(request))
    }

    fn read(&self, response: &Response) -> Result<ChatReply, Rejection> {
        reply::read(response, self.0.dialect, &self.0.shown, self.0.price)
    }

    fn batches(&self) -> bool {
        self.0.batches()
    }
}

#[cfg(test)]
mod tests;
