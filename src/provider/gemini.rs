//! Google's `generateContent`: the Gemini API, and Vertex AI by its address.

mod reply;

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::azure_openai::is_path_part;
use super::credentials::KeyForm;
use super::service::{At, Form, Service, ServiceSettings, given};
use super::structured::Shape;
use super::{Built, ChatApi, ChatReply, ChatRequest, Kind, Role};
use crate::diagnostic::Diagnostics;
use crate::domain::Env;
use crate::net::{Call, Dialect, Rejection, Response};
use crate::suite::{Block, Draft};

pub(super) const KIND: Kind = Kind {
    name: FORM.name,
    summary: "Google's Gemini (generateContent), or Vertex AI (base_url)",
    schema: || schemars::schema_for!(GeminiSettings),
    build,
};

const FORM: Form = Form {
    name: "gemini",
    base: "https://generativelanguage.googleapis.com",
    path: &[],
    key: KeyForm { header: "x-goog-api-key", before: "", variable: "GEMINI_API_KEY" },
    headers: &[],
    whole_reply: &["contents", "systemInstruction", "system_instruction", "tools", "toolConfig", "tool_config"],
    placed: &[
        ("model", ""),
        ("temperature", ""),
        ("top_p", ""),
        ("seed", ""),
        ("max_tokens", ""),
        ("generation_config", "write it as `generationConfig`"),
    ],
    dialect: |_| Dialect::Gemini,
    batches: None,
    structured: true,
};

/// Where the sampling parameters stand.
const CONFIG: &str = "generationConfig";
/// More than one reply, of which one would be read.
const MANY: &str = "candidateCount";

/// A model behind Google's `generateContent`. `base_url` (default: https://generativelanguage.googleapis.com) may end in `/v1beta`, `/v1`
/// or `/models`; for Vertex AI it ends in `/publishers/google/models`, with `headers: { authorization: "Bearer ${TOKEN}" }`. `api_key` defaults to
/// GEMINI_API_KEY. `extra` may hold `safetySettings`, and `generationConfig` with further parts.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct GeminiSettings {
    #[serde(flatten)]
    service: ServiceSettings,
    /// Randomness; not sent unless it is given.
    #[schemars(range(min = 0.0, max = 2.0))]
    temperature: Option<f64>,
    /// Share of the probability mass that is sampled from; not sent unless it is given.
    #[schemars(range(min = 0.0, max = 1.0))]
    top_p: Option<f64>,
    /// A seed, which Google honours as far as it can.
    seed: Option<i64>,
}

struct Gemini(Service);

fn build(block: &Block, env: &Env, diagnostics: &mut Diagnostics) -> Option<Built> {
    let Draft { settings, sound } = block.draft::<GeminiSettings>(diagnostics)?;
    let GeminiSettings { service, temperature, top_p, seed } = settings;
    let config = given([
        ("temperature", temperature.map(Value::from)),
        ("topP", top_p.map(Value::from)),
        ("seed", seed.map(Value::from)),
        ("maxOutputTokens", service.max_tokens.map(NonZeroU32::get).map(Value::from)),
    ]);
    let model = service.model.strip_prefix("models/").unwrap_or(&service.model).to_owned();
    let is_name = is_path_part(&model);
    if sound && !is_name {
        let message = format!("`{model}` is no name of a Gemini model: it stands in the address");
        diagnostics.push(block.problem("/model", "model-name", message));
    }
    let many =
        service.extra.as_ref().and_then(|extra| extra.get(CONFIG)).is_some_and(|config| config.get(MANY).is_some());
    if many {
        let message = format!("`{MANY}` cannot stand in `extra`: one reply is read");
        diagnostics.push(block.key_problem(&format!("/extra/{CONFIG}/{MANY}"), "reserved", message));
    }
    let parameters = given([(CONFIG, (!config.is_empty()).then_some(Value::Object(config)))]);
    let question = format!("/{model}:generateContent");
    let path = path(service.base_url.as_deref(), &question);
    let (own, asked) = (service.base_url.is_none(), service.model.clone());
    let at = At { path: &path, query: None, own, asked: &asked };
    let sound = sound && is_name && !many;
    let ready = FORM.ready_at(block, &at, (service, sound), parameters, env, diagnostics)?;
    Some(ready.built(block, Gemini))
}

/// What follows the base, whose end may say the version or that models follow.
fn path<'a>(base: Option<&str>, question: &'a str) -> Vec<&'a str> {
    let written = base.and_then(|base| base.split(['?', '#']).next()).unwrap_or_default().trim_end_matches('/');
    if written.ends_with("/models") {
        vec![question]
    } else if ["/v1", "/v1beta", "/v1beta1"].iter().any(|version| written.ends_with(version)) {
        vec!["/models", question]
    } else {
        vec!["/v1beta", "/models", question]
    }
}

impl Gemini {
    /// What the system says stands beside the contents, which are those of the two speakers.
    fn body(&self, request: &ChatRequest) -> Value {
        let mut system = Vec::new();
        let mut contents = Vec::new();
        for message in &request.messages {
            let part = json!({"text": message.text});
            match message.role {
                Role::System => system.push(part),
                Role::User => contents.push(json!({"role": "user", "parts": [part]})),
                Role::Assistant => contents.push(json!({"role": "model", "parts": [part]})),
            }
        }
        let mut body = Map::new();
        if !system.is_empty() {
            body.insert("systemInstruction".to_owned(), json!({"parts": system}));
        }
        body.insert("contents".to_owned(), Value::Array(contents));
        body.extend(self.0.parameters.clone());
        if let (Some(shape), Some(form)) = (self.0.shape, &request.form) {
            let config = body.entry(CONFIG).or_insert_with(|| json!({}));
            if let Value::Object(config) = config {
                config.entry("responseMimeType").or_insert_with(|| "application/json".into());
                if shape == Shape::Schema && !config.contains_key("responseSchema") {
                    config.entry("responseJsonSchema").or_insert_with(|| form.schema.clone());
                }
            }
        }
        Value::Object(body)
    }
}

impl ChatApi for Gemini {
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
