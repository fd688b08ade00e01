//! Anthropic's messages, and every service that speaks them.

mod reply;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::batch::{self, Access, AnthropicBatches, BatchSpec, Mode};
use super::credentials::{KeyForm, Said, key};
use super::price::{Price, expected};
use super::{Built, ChatApi, ChatReply, ChatRequest, Headers, Kind, Model, Role};
use crate::diagnostic::Diagnostics;
use crate::domain::{EndpointLimits, Env, Fingerprint};
use crate::net::{
    BatchApi, Call, Deadlines, Dialect, HttpRequest, Rejection, Request, Response, Url, check_address, shown,
};
use crate::suite::{Block, Period};

pub(super) const KIND: Kind = Kind {
    name: "anthropic",
    summary: "Anthropic, or any service with its messages (base_url)",
    schema: || schemars::schema_for!(AnthropicSettings),
    build,
};

const DEFAULT_BASE: &str = "https://api.anthropic.com";
const KEY: KeyForm = KeyForm { header: "x-api-key", before: "", variable: "ANTHROPIC_API_KEY" };
const VERSION_HEADER: &str = "anthropic-version";
/// The only version of the API that is in use. **Source**: Anthropic's API reference, "Versions", 2026-11.
const VERSION: &str = "2023-06-01";
/// The API requires a bound. Enough for any verdict or answer of these suites; only what is written is paid for.
const MAX_TOKENS: u32 = 4096;

/// What `extra` may not hold, because it has a place of its own or would change what a reply is.
const RESERVED: [&str; 9] =
    ["model", "messages", "system", "stream", "temperature", "top_p", "max_tokens", "tools", "tool_choice"];

/// A model behind Anthropic's messages, or any service compatible with them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AnthropicSettings {
    /// The model's name, as the service knows it.
    #[schemars(length(min = 1))]
    model: String,
    /// Where the service is, up to and without `/v1/messages` (default: https://api.anthropic.com).
    base_url: Option<String>,
    /// The key (default: the environment variable ANTHROPIC_API_KEY, for Anthropic's own address only).
    api_key: Option<String>,
    /// Randomness; not sent unless it is given.
    #[schemars(range(min = 0.0, max = 1.0))]
    temperature: Option<f64>,
    /// Share of the probability mass that is sampled from; not sent unless it is given.
    #[schemars(range(min = 0.0, max = 1.0))]
    top_p: Option<f64>,
    /// The longest reply, in tokens (default: 4096); a reply that is cut off there counts as not measured.
    max_tokens: Option<NonZeroU32>,
    /// Time for one attempt (default: the run's).
    timeout: Option<Period>,
    /// Further headers. Values from the environment are treated as credentials. `anthropic-version` is 2023-06-01 unless it stands here.
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

/// Ready to call.
struct Anthropic {
    /// `…/v1/messages`
    url: String,
    /// The address for messages to people.
    shown: String,
    endpoint: Arc<str>,
    model: String,
    /// What follows the messages in the body, in this order.
    parameters: Map<String, Value>,
    headers: Headers,
    timeout: Option<std::time::Duration>,
    price: Option<Price>,
    batches: Option<Arc<dyn BatchApi>>,
    limits: EndpointLimits,
    /// What the suite says.
    max_tokens: Option<NonZeroU32>,
}

fn build(block: &Block, env: &Env, diagnostics: &mut Diagnostics) -> Option<Built> {
    let settings: AnthropicSettings = block.settings(diagnostics)?;
    let url = address(block, settings.base_url.as_deref().unwrap_or(DEFAULT_BASE), diagnostics);
    let headers = Headers::build(block, "/headers", &settings.headers.clone().unwrap_or_default(), diagnostics);
    let said = Said {
        block,
        api_key: settings.api_key.as_deref(),
        elsewhere: settings.base_url.is_some(),
        headers: headers.as_ref(),
    };
    let key = key(&said, KEY, env, diagnostics);
    let extra = extra(block, &settings, diagnostics);
    let patience = batch::patience(block, settings.mode, settings.batch.as_ref(), diagnostics);
    let (url, mut headers, key, (), patience) = (url?, headers?, key?, extra?, patience?);
    if !headers.plain.iter().any(|(name, _)| name.eq_ignore_ascii_case(VERSION_HEADER)) {
        headers.plain.push((VERSION_HEADER.to_owned(), VERSION.to_owned()));
    }
    let mut secrets = Vec::new();
    if let Some(key) = key {
        headers.credentials.push((KEY.header.to_owned(), key.header));
        secrets.extend(key.bare);
    }
    let parameters = parameters(&settings);
    let shown = shown(&url);
    let endpoint: Arc<str> =
        format!("{} at {} ({})", settings.model, url.origin().ascii_serialization(), KIND.name).into();
    let fingerprint = Fingerprint::default()
        .with("model", &settings.model)
        .with("parameters", json!({"body": parameters, "headers": headers.plain}))
        .with("endpoint", &shown);
    let batches = patience.map(|patience| {
        let access = Access { headers: headers.clone(), endpoint: Arc::clone(&endpoint), dialect: Dialect::Anthropic };
        Arc::new(AnthropicBatches::new(&url, access, patience)) as Arc<dyn BatchApi>
    });
    let chat = Anthropic {
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

/// The address of the messages below `base`.
fn address(block: &Block, base: &str, diagnostics: &mut Diagnostics) -> Option<Url> {
    match check_address(base) {
        Ok(mut url) => {
            let path =
                url.path().trim_end_matches('/').trim_end_matches("/messages").trim_end_matches("/v1").to_owned();
            url.set_path(&format!("{path}/v1/messages"));
            Some(url)
        }
        Err(error) => {
            diagnostics.push(block.problem("/base_url", "address", error.to_string()));
            None
        }
    }
}

fn extra(block: &Block, settings: &AnthropicSettings, diagnostics: &mut Diagnostics) -> Option<()> {
    let mut sound = Some(());
    for key in settings.extra.iter().flatten().map(|(key, _)| key).filter(|key| RESERVED.contains(&key.as_str())) {
        let help = match key.as_str() {
            "stream" | "messages" | "system" | "tools" | "tool_choice" => {
                "remove it: one whole reply of text is read".to_owned()
            }
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
fn parameters(settings: &AnthropicSettings) -> Map<String, Value> {
    let mut parameters = Map::new();
    parameters.insert("max_tokens".to_owned(), settings.max_tokens.map_or(MAX_TOKENS, NonZeroU32::get).into());
    for (key, value) in [("temperature", settings.temperature), ("top_p", settings.top_p)] {
        if let Some(value) = value {
            parameters.insert(key.to_owned(), value.into());
        }
    }
    for (key, value) in settings.extra.iter().flatten() {
        parameters.insert(key.clone(), value.clone());
    }
    parameters
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
        body.insert("model".to_owned(), Value::from(self.model.as_str()));
        if !system.is_empty() {
            body.insert("system".to_owned(), Value::from(system.join("\n\n")));
        }
        body.insert("messages".to_owned(), Value::Array(messages));
        body.extend(self.parameters.clone());
        Value::Object(body)
    }
}

impl ChatApi for Anthropic {
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
            dialect: Dialect::Anthropic,
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
        reply::read(response, &self.shown, self.price)
    }

    fn batches(&self) -> bool {
        self.batches.is_some()
    }
}

#[cfg(test)]
mod tests;
