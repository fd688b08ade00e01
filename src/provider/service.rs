//! What the providers have in common: a service at an address that is asked by one POST of JSON.
//!
//! A dialect gives its [`Form`], the parameters of its requests and their bodies; address, key, headers, limits, price and batches are
//! read and checked here.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::batch::{self, Access, BatchSpec, Mode};
use super::credentials::{KeyForm, Said, key};
use super::price::{Price, expected};
use super::prompt_size::least_tokens;
use super::structured::{Shape, Structured};
use super::{Built, ChatApi, ChatReply, ChatRequest, Headers, Model};
use crate::diagnostic::Diagnostics;
use crate::domain::{EndpointLimits, Env, FailureKind, Fingerprint, RetryClass, Secret, Spent};
use crate::net::{
    BatchApi, Call, Deadlines, Dialect, HttpRequest, Patience, Rejection, Request, Url, check_address, shown,
};
use crate::suite::{Block, Period};

/// Makes batches beside the address of the questions.
type MakeBatches = fn(&Url, Access, Patience) -> Arc<dyn BatchApi>;

/// Tokens that a prompt has left after it was cut, at least: half of the smallest context that is in use.
const SMALLEST_CONTEXT: u64 = 1_000;

/// How a dialect's services are reached.
pub(super) struct Form {
    /// The word under `provider`.
    pub(super) name: &'static str,
    pub(super) base: &'static str,
    /// The path below the base, in the parts that a person may have written at the end of `base_url` already.
    pub(super) path: &'static [&'static str],
    pub(super) key: KeyForm,
    /// Sent unless the suite gives them.
    pub(super) headers: &'static [(&'static str, &'static str)],
    /// What `extra` may not hold because it would change what a reply is.
    pub(super) whole_reply: &'static [&'static str],
    /// … or because it has a place of its own, and what to write instead.
    pub(super) placed: &'static [(&'static str, &'static str)],
    /// Whose errors a service at this host answers with.
    pub(super) dialect: fn(&str) -> Dialect,
    /// `None`: its batches are not spoken here.
    pub(super) batches: Option<MakeBatches>,
    /// At the provider's own address replies are held to a JSON Schema unless the suite says otherwise.
    pub(super) structured: bool,
}

/// Where the questions go, for dialects whose path depends on the settings.
pub(super) struct At<'a> {
    /// The path below the base, in the parts that may stand at the end of `base_url` already.
    pub(super) path: &'a [&'a str],
    /// A parameter of the address.
    pub(super) query: Option<(&'a str, &'a str)>,
    /// The provider's own address: the key of the environment may go there.
    pub(super) own: bool,
    /// What the service calls the model.
    pub(super) asked: &'a str,
}

/// The settings that every dialect has. They are flattened into its own, which serde cannot do beside `deny_unknown_fields`; their JSON
/// Schema refuses unknown keys.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ServiceSettings {
    /// The model's name, as the service knows it.
    #[schemars(length(min = 1))]
    pub(super) model: String,
    /// Where the service is, when it is not the provider's own.
    pub(super) base_url: Option<String>,
    /// The key (default: the provider's environment variable, for the provider's own address only).
    pub(super) api_key: Option<String>,
    /// The longest reply, in tokens; a reply that is cut off there counts as not measured.
    pub(super) max_tokens: Option<NonZeroU32>,
    /// Time for one attempt (default: the run's).
    pub(super) timeout: Option<Period>,
    /// Further headers. Values from the environment are treated as credentials.
    pub(super) headers: Option<BTreeMap<String, String>>,
    /// Further parts of the request's body, as the service documents them.
    pub(super) extra: Option<Map<String, Value>>,
    /// How replies in JSON are held to their form (default: `json_schema` at the addresses of OpenAI, Azure and Google, else `off`).
    pub(super) structured: Option<Structured>,
    /// What tokens cost.
    pub(super) price: Option<Price>,
    /// How calls of judges are sent: `direct` at once (default), `batch` through the Batch API, cheaper and within a day.
    pub(super) mode: Option<Mode>,
    /// How long `mode: batch` waits.
    pub(super) batch: Option<BatchSpec>,
    /// What the service takes.
    pub(super) limits: Option<EndpointLimits>,
}

/// Ready to be asked.
pub(super) struct Service {
    /// Where the questions go.
    url: String,
    /// The same for messages to people.
    pub(super) shown: String,
    endpoint: Arc<str>,
    pub(super) dialect: Dialect,
    /// As the service calls it.
    pub(super) model: String,
    /// What follows the messages in the body, in this order.
    pub(super) parameters: Map<String, Value>,
    headers: Headers,
    timeout: Option<Duration>,
    pub(super) price: Option<Price>,
    /// How replies in JSON are held to their form.
    pub(super) shape: Option<Shape>,
    /// Prompts that were cut are found out by the tokens that the service counts.
    pub(super) counted: bool,
    batches: Option<Arc<dyn BatchApi>>,
    limits: EndpointLimits,
    /// What the suite says.
    max_tokens: Option<NonZeroU32>,
}

/// A service with what a model needs beside it.
pub(super) struct Ready {
    pub(super) service: Service,
    fingerprint: Fingerprint,
    secrets: Vec<Secret>,
}

impl Form {
    /// Checks what `settings` say of the service; `parameters` are the dialect's own, in a fixed order, so that equal settings are equal
    /// bytes. `sound`: nothing is wrong with the settings so far. `None` after pushing every problem.
    pub(super) fn ready(
        &self,
        block: &Block,
        (settings, sound): (ServiceSettings, bool),
        parameters: Map<String, Value>,
        env: &Env,
        diagnostics: &mut Diagnostics,
    ) -> Option<Ready> {
        let (own, asked) = (settings.base_url.is_none(), settings.model.clone());
        let at = At { path: self.path, query: None, own, asked: &asked };
        self.ready_at(block, &at, (settings, sound), parameters, env, diagnostics)
    }

    /// As [`Form::ready`], for a path of the dialect's making.
    pub(super) fn ready_at(
        &self,
        block: &Block,
        at: &At<'_>,
        (settings, sound): (ServiceSettings, bool),
        mut parameters: Map<String, Value>,
        env: &Env,
        diagnostics: &mut Diagnostics,
    ) -> Option<Ready> {
        let url = self.address(block, settings.base_url.as_deref(), at, diagnostics);
        let headers = Headers::build(block, "/headers", &settings.headers.unwrap_or_default(), diagnostics);
        let said = Said { block, api_key: settings.api_key.as_deref(), elsewhere: !at.own, headers: headers.as_ref() };
        // A key that is not there may be what is wrong.
        let key = match sound || settings.api_key.is_some() {
            true => key(&said, self.key, env, diagnostics),
            false => None,
        };
        let extra = self.extra(block, settings.extra.as_ref(), &parameters, diagnostics);
        let patience = batch::patience(block, settings.mode, settings.batch.as_ref(), diagnostics);
        let batches = patience.and_then(|patience| self.batches(block, patience, diagnostics));
        let (url, mut headers, key, (), batches) = (url?, headers?, key?, extra?, batches?);
        if !sound {
            return None;
        }
        let missing = |(name, _): &&(&str, &str)| !headers.plain.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let own: Vec<_> = self.headers.iter().filter(missing).collect();
        headers.plain.extend(own.into_iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let mut secrets = Vec::new();
        if let Some(key) = key {
            headers.credentials.push((self.key.header.to_owned(), key.header));
            secrets.extend(key.bare);
        }
        put_in(&mut parameters, settings.extra.unwrap_or_default());
        let shape = settings.structured.unwrap_or_default().shape(at.own && self.structured);
        let (shown, origin) = (shown(&url), url.origin().ascii_serialization());
        let endpoint: Arc<str> = format!("{} at {origin} ({})", at.asked, self.name).into();
        let dialect = (self.dialect)(url.host_str().unwrap_or_default());
        let mut measured_with = json!({"body": parameters, "headers": headers.plain});
        if let (Some(shape), Some(parts)) = (shape, measured_with.as_object_mut()) {
            parts.insert("structured".to_owned(), shape.word().into());
        }
        let mut fingerprint = Fingerprint::default()
            .with("model", &settings.model)
            .with("parameters", measured_with)
            .with("endpoint", &shown);
        if at.asked != settings.model {
            fingerprint = fingerprint.with("deployment", at.asked);
        }
        let batches = batches.map(|(make, patience)| {
            let access = Access { headers: headers.clone(), endpoint: Arc::clone(&endpoint), dialect };
            make(&url, access, patience)
        });
        let service = Service {
            url: url.to_string(),
            shown,
            endpoint,
            dialect,
            model: at.asked.to_owned(),
            parameters,
            headers,
            timeout: settings.timeout.map(|period| period.0),
            price: settings.price,
            shape,
            counted: false,
            batches,
            limits: settings.limits.unwrap_or_default(),
            max_tokens: settings.max_tokens,
        };
        Some(Ready { service, fingerprint, secrets })
    }

    /// How batches are made, where the suite wants them; outer `None` after pushing a problem.
    fn batches(
        &self,
        block: &Block,
        patience: Option<Patience>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Option<(MakeBatches, Patience)>> {
        match (patience, self.batches) {
            (None, _) => Some(None),
            (Some(patience), Some(make)) => Some(Some((make, patience))),
            (Some(_), None) => {
                let message = format!("`mode: batch` is not known for `{}`", self.name);
                let help = "leave `mode` out; OpenAI's and Anthropic's Batch APIs are spoken";
                diagnostics.push(block.problem("/mode", "no-batches", message).help(help));
                None
            }
        }
    }

    fn address(&self, block: &Block, base: Option<&str>, at: &At<'_>, diagnostics: &mut Diagnostics) -> Option<Url> {
        match check_address(base.unwrap_or(self.base)) {
            Ok(mut url) => {
                let written = url.path().trim_end_matches('/');
                let below = at.path.iter().rev().fold(written, |path, part| path.trim_end_matches(part)).to_owned();
                url.set_path(&format!("{below}{}", at.path.concat()));
                if let Some((name, value)) =
                    at.query.filter(|(name, _)| !url.query_pairs().any(|(key, _)| key == *name))
                {
                    url.query_pairs_mut().append_pair(name, value);
                }
                Some(url)
            }
            Err(error) => {
                diagnostics.push(block.problem("/base_url", "address", error.to_string()));
                None
            }
        }
    }

    fn extra(
        &self,
        block: &Block,
        extra: Option<&Map<String, Value>>,
        own: &Map<String, Value>,
        diagnostics: &mut Diagnostics,
    ) -> Option<()> {
        let mut sound = Some(());
        for (key, inner) in extra.into_iter().flatten().filter_map(|(key, value)| Some((key, value.as_object()?))) {
            let ours = own.get(key).and_then(Value::as_object);
            for name in inner.keys().filter(|name| ours.is_some_and(|ours| ours.contains_key(*name))) {
                let message = format!("`{key}.{name}` has a setting of its own beside `model`");
                diagnostics.push(block.key_problem(&format!("/extra/{key}/{name}"), "reserved", message));
                sound = None;
            }
        }
        for key in extra.into_iter().flatten().map(|(key, _)| key.as_str()) {
            let help = match self.placed.iter().find(|(placed, _)| *placed == key) {
                Some((_, "")) => format!("write `{key}` beside `model`"),
                Some((_, instead)) => (*instead).to_owned(),
                None if self.whole_reply.contains(&key) => "remove it: one whole reply of text is read".to_owned(),
                None => continue,
            };
            let message = format!("`{key}` cannot stand in `extra`");
            diagnostics.push(block.key_problem(&format!("/extra/{key}"), "reserved", message).help(help));
            sound = None;
        }
        sound
    }
}

impl Ready {
    /// What it is made of, for what is no chat.
    pub(super) fn parts(self) -> (Service, Fingerprint, Vec<Secret>) {
        (self.service, self.fingerprint, self.secrets)
    }

    /// The model, once the dialect is put around the service.
    pub(super) fn built<C: ChatApi + 'static>(self, block: &Block, dialect: impl FnOnce(Service) -> C) -> Built {
        let Self { service, fingerprint, secrets } = self;
        let chat = Arc::new(dialect(service));
        Built { model: Model { name: block.name.clone(), chat, fingerprint }, secrets }
    }
}

impl Service {
    /// The call that asks `request` with this body.
    pub(super) fn call(&self, request: &ChatRequest, body: &Value) -> Call {
        let body = body.to_string();
        let route = batch::route(request.purpose, self.batches.as_ref());
        let most = self.max_tokens.map(|tokens| u64::from(tokens.get()));
        let mut expected = expected(body.len(), most, self.price, &route);
        if self.counted {
            expected.least_prompt = least_tokens(request.messages.iter().map(|message| message.text.as_str()));
        }
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
            version: None,
            redirects: false,
            route,
            what: request.what.clone(),
            limits: self.limits,
            expected,
        }
    }

    /// The reply, unless the service counted fewer tokens than the prompt can have: then it read a part of it only, and what it says is
    /// about something else.
    ///
    /// # Errors
    /// `TooLong`: paid for, and the next try would be cut as well.
    pub(super) fn whole(&self, call: &Call, reply: ChatReply) -> Result<ChatReply, Rejection> {
        let (counted, least) = (reply.usage.prompt_tokens, call.expected.least_prompt);
        // Nobody counts, or somebody counts something else: a prompt that was cut fills its context.
        if counted < SMALLEST_CONTEXT || counted >= least {
            return Ok(reply);
        }
        let why = format!(
            "{} counted {counted} tokens in a prompt that has at least {least}, so it read a part of it only: give the model a \
             larger context (Ollama: `num_ctx`, or OLLAMA_CONTEXT_LENGTH), or shorten what is sent; where the service counts \
             otherwise, set `check_prompt: false`",
            self.shown
        );
        let spent = Spent { usage: reply.usage, cost: reply.cost };
        Err(Rejection {
            raw: Some(reply.text),
            spent,
            ..Rejection::new(FailureKind::TooLong, RetryClass::Unusable, why)
        })
    }

    /// Whether calls of judges go by batch.
    pub(super) fn batches(&self) -> bool {
        self.batches.is_some()
    }
}

/// Adds `extra` to a body; what is in an object on both sides is put together.
fn put_in(body: &mut Map<String, Value>, extra: Map<String, Value>) {
    for (key, value) in extra {
        match (body.get_mut(&key), value) {
            (Some(Value::Object(own)), Value::Object(more)) => own.extend(more),
            (_, value) => {
                body.insert(key, value);
            }
        }
    }
}

/// The settings that are sent as they are written, in this order; what is not given is not sent.
pub(super) fn given<const N: usize>(settings: [(&str, Option<Value>); N]) -> Map<String, Value> {
    settings.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}
