//! OpenAI's chat completions, and every service that speaks them: vLLM, Ollama, llama.cpp, gateways, DashScope, DeepSeek, Mistral.

mod reply;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::batch::{self, Access, BatchSpec, Mode, OpenAiBatches};
use super::credentials::{KeyForm, Said, key};
use super::price::{Price, expected};
use super::{Built, ChatApi, ChatReply, ChatRequest, Headers, Kind, Model, Role};
use crate::diagnostic::Diagnostics;
use crate::domain::{EndpointLimits, Env, Fingerprint};
use crate::net::{
    BatchApi, Call, Deadlines, Dialect, HttpRequest, Rejection, Request, Response, Url, check_address, shown,
};
use crate::suite::{Block, Draft, Period};

pub(super) const KIND: Kind = Kind {
    name: "openai",
    summary: "OpenAI, or any service with its chat completions (base_url)",
    schema: || schemars::schema_for!(OpenAiSettings),
    build,
};

const DEFAULT_BASE: &str = "https://api.openai.com/v1";
const KEY: KeyForm = KeyForm { header: "Authorization", before: "Bearer ", variable: "OPENAI_API_KEY" };

/// What `extra` may not hold, because it has a place of its own or would change what a reply is.
const RESERVED: [&str; 10] = [
    "model",
    "messages",
    "stream",
    "n",
    "temperature",
    "top_p",
    "seed",
    "max_tokens",
    "max_completion_tokens",
    "tools",
];

/// A model behind OpenAI's chat completions, or any service compatible with them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OpenAiSettings {
    /// The model's name, as the service knows it.
    #[schemars(length(min = 1))]
    model: String,
    /// Where the service is, up to and without `/chat/completions` (default: https://api.openai.com/v1).
    base_url: Option<String>,
    /// The key (default: the environment variable OPENAI_API_KEY, for OpenAI's own address only).
    api_key: Option<String>,
    /// Randomness; not sent unless it is given.
    #[schemars(range(min = 0.0, max = 2.0))]
    temperature: Option<f64>,
    /// Share of the probability mass that is sampled from; not sent unless it is given.
    #[schemars(range(min = 0.0, max = 1.0))]
    top_p: Option<f64>,
    /// A seed, for services that honour one.
    seed: Option<i64>,
    /// The longest reply, in tokens; a reply that is cut off there counts as not measured.
    max_tokens: Option<NonZeroU32>,
    /// How the service calls `max_tokens` (default: `max_completion_tokens` for OpenAI's own address, else `max_tokens`).
    max_tokens_field: Option<MaxTokensField>,
    /// Time for one attempt (default: the run's).
    timeout: Option<Period>,
    /// Further headers. Values from the environment are treated as credentials.
    headers: Option<BTreeMap<String, String>>,
    /// Further parts of the request's body, as the service documents them.
    extra: Option<Map<String, Value>>,
    /// What tokens cost.
    price: Option<Price>,
    /// How calls of judges are sent: `direct` at once (default), `batch` through the Batch API, cheaper and within a day.
    mode: Option<Mode>,
    /// How long `mode: batch` waits.
    batch: Option<BatchSpec>,
    /// What the service takes.
    limits: Option<EndpointLimits>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum MaxTokensField {
    MaxTokens,
    MaxCompletionTokens,
}

/// Ready to call.
struct OpenAi {
    /// `…/chat/completions`
    url: String,
    /// The address for messages.
    shown: String,
    endpoint: Arc<str>,
    dialect: Dialect,
    model: String,
    /// What follows the messages in the body, in this order.
    parameters: Map<String, Value>,
    headers: Headers,
    timeout: Option<std::time::Duration>,
    price: Option<Price>,
    batches: Option<Arc<dyn BatchApi>>,
    limits: EndpointLimits,
    max_tokens: Option<NonZeroU32>,
}

fn build(block: &Block, env: &Env, diagnostics: &mut Diagnostics) -> Option<Built> {
    let Draft { settings, sound } = block.draft::<OpenAiSettings>(diagnostics)?;
    let base = settings.base_url.as_deref().unwrap_or(DEFAULT_BASE);
    let url = address(block, base, diagnostics);
    let headers = Headers::build(block, "/headers", &settings.headers.clone().unwrap_or_default(), diagnostics);
    let said = Said {
        block,
        api_key: settings.api_key.as_deref(),
        elsewhere: settings.base_url.is_some(),
        headers: headers.as_ref(),
    };
    // A key that is not there may be what is wrong.
    let key = match sound || settings.api_key.is_some() {
        true => key(&said, KEY, env, diagnostics),
        false => None,
    };
    let extra = extra(block, &settings, diagnostics);
    let patience = batch::patience(block, settings.mode, settings.batch.as_ref(), diagnostics);
    let (url, mut headers, key, (), patience) = (url?, headers?, key?, extra?, patience?);
    if !sound {
        return None;
    }
    let mut secrets = Vec::new();
    if let Some(key) = key {
        headers.credentials.push((KEY.header.to_owned(), key.header));
        secrets.extend(key.bare);
    }
    let parameters = parameters(&settings, base);
    let shown = shown(&url);
    let endpoint = format!("{} at {} ({})", settings.model, url.origin().ascii_serialization(), KIND.name);
    let fingerprint = Fingerprint::default()
        .with("model", &settings.model)
        .with("parameters", json!({"body": parameters, "headers": headers.plain}))
        .with("endpoint", &shown);
    let dialect = dialect(url.host_str().unwrap_or_default());
    let endpoint: Arc<str> = endpoint.into();
    let batches = patience.map(|patience| {
        let access = Access { headers: headers.clone(), endpoint: Arc::clone(&endpoint), dialect };
        Arc::new(OpenAiBatches::new(&url, access, patience)) as Arc<dyn BatchApi>
    });
    let chat = OpenAi {
        dialect,
        url: url.to_string(),
        shown,
        endpoint,
        model: settings.model,
        parameters,
        headers,
        timeout: settings.timeout.map(|period| period.0),
        price: settings.price,
        batches,
        limits: settings.limits.unwrap_or_default(),
        max_tokens: settings.max_tokens,
    };
    Some(Built { model: Model { name: block.name.clone(), chat: Arc::new(chat), fingerprint }, secrets })
}

/// The address of the chat completions below `base`.
fn address(block: &Block, base: &str, diagnostics: &mut Diagnostics) -> Option<Url> {
    match check_address(base) {
        Ok(mut url) => {
            let path = url.path().trim_end_matches('/').trim_end_matches("/chat/completions").to_owned();
            url.set_path(&format!("{path}/chat/completions"));
            Some(url)
        }
        Err(error) => {
            diagnostics.push(block.problem("/base_url", "address", error.to_string()));
            None
        }
    }
}

fn extra(block: &Block, settings: &OpenAiSettings, diagnostics: &mut Diagnostics) -> Option<()> {
    let mut sound = Some(());
    for key in settings.extra.iter().flatten().map(|(key, _)| key).filter(|key| RESERVED.contains(&key.as_str())) {
        let help = match key.as_str() {
            "max_completion_tokens" => {
                "write `max_tokens` and `max_tokens_field: max_completion_tokens` beside `model`".to_owned()
            }
            "stream" | "n" | "messages" | "tools" => "remove it: one whole reply of text is read".to_owned(),
            _ => format!("write `{key}` beside `model`"),
        };
        let problem =
            block.key_problem(&format!("/extra/{key}"), "reserved", format!("`{key}` cannot stand in `extra`"));
        diagnostics.push(problem.help(help));
        sound = None;
    }
    sound
}

/// In a fixed order, so that equal settings are equal bytes.
fn parameters(settings: &OpenAiSettings, base: &str) -> Map<String, Value> {
    let mut parameters = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            parameters.insert(key.to_owned(), value);
        }
    };
    put("temperature", settings.temperature.map(Value::from));
    put("top_p", settings.top_p.map(Value::from));
    put("seed", settings.seed.map(Value::from));
    let field = settings.max_tokens_field.unwrap_or(if base == DEFAULT_BASE {
        MaxTokensField::MaxCompletionTokens
    } else {
        MaxTokensField::MaxTokens
    });
    let field = match field {
        MaxTokensField::MaxTokens => "max_tokens",
        MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
    };
    put(field, settings.max_tokens.map(|tokens| Value::from(tokens.get())));
    for (key, value) in settings.extra.iter().flatten() {
        put(key, Some(value.clone()));
    }
    parameters
}

/// Whose errors a service behind OpenAI's interface answers with.
fn dialect(host: &str) -> Dialect {
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
        body.insert("model".to_owned(), Value::from(self.model.as_str()));
        body.insert("messages".to_owned(), Value::Array(messages));
        body.extend(self.parameters.clone());
        Value::Object(body)
    }
}

impl ChatApi for OpenAi {
    fn call(&self, request: &ChatRequest) -> Call {
        let body = self.body(request).to_string();
        let route = batch::route(request.purpose, self.batches.as_ref());
        let most = self.max_tokens.map(|tokens| u64::from(tokens.get()));
        let expected = expected(body.len(), most, self.price, &route);
        let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        headers.extend(self.headers.plain.iter().cloned());
        Call {
            request: Request::Http(HttpRequest {
                method: http::Method::POST,
                url: self.url.clone(),
                headers,
                credentials: self.headers.credentials.clone(),
                body: body.into(),
            }),
            endpoint: Arc::clone(&self.endpoint),
            purpose: request.purpose,
            dialect: self.dialect,
            deadlines: Deadlines { whole: self.timeout.unwrap_or(request.deadlines.whole), ..request.deadlines },
            trial: request.trial,
            redirects: false,
            route,
            what: request.what.clone(),
            limits: self.limits,
            expected,
        }
    }

    fn read(&self, response: &Response) -> Result<ChatReply, Rejection> {
        reply::read(response, self.dialect, &self.shown, self.price)
    }

    fn batches(&self) -> bool {
        self.batches.is_some()
    }
}

#[cfg(test)]
mod tests;
