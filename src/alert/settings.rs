//! `alerts:` of the suite, checked.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::news::{NAMES, News};
use super::service::Service;
use crate::diagnostic::Diagnostics;
use crate::domain::Secret;
use crate::net::check_address;
use crate::suite::{Block, Draft};
use crate::text::pointer::escape;
use crate::text::template::JsonTemplate;

/// One place to tell.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AlertSettings {
    /// Whose form the message has.
    to: ServiceName,
    /// The webhook's address. Of a chat it is a secret: take it from the environment.
    /// An empty one, such as `${ALERT_URL:-}` where it is not set, tells nobody.
    url: String,
    /// When: `failure` (the default), `drift`, `always`, or a list of them.
    on: Option<OneOrMany>,
    /// Tell of runs of pull requests too (default: false; their authors read the comment).
    #[serde(default)]
    pull_requests: bool,
    /// Of `feishu` and `dingtalk`: the secret that signs each message.
    secret: Option<String>,
    /// Of `webhook`: the body, as JSON. `{{ suite }}`, `{{ verdict }}`, `{{ exit_code }}`, `{{ headline }}`, `{{ details }}`, `{{ url }}`,
    /// `{{ commit }}` and `{{ branch }}` stand for what there is to tell.
    body: Option<Value>,
    /// Of `webhook`: further headers. Values from the environment are masked everywhere.
    headers: Option<BTreeMap<String, String>>,
}

/// A service that has a form of its own, or `webhook`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ServiceName {
    Slack,
    /// Microsoft Teams, by a workflow's webhook.
    Teams,
    /// Feishu and Lark.
    Feishu,
    Dingtalk,
    Webhook,
}

impl ServiceName {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Slack => "slack",
            Self::Teams => "teams",
            Self::Feishu => "feishu",
            Self::Dingtalk => "dingtalk",
            Self::Webhook => "webhook",
        }
    }
}

/// When to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Occasion {
    /// The exit code is not 0.
    Failure,
    /// A level moved: `scoregate drift` says so, or the fixed answers of `gate.canaries`.
    Drift,
    Always,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum OneOrMany {
    One(Occasion),
    Many(#[schemars(length(min = 1))] Vec<Occasion>),
}

/// A place to tell, ready to be told.
#[derive(Debug)]
pub struct Alert {
    /// For messages: `alerts.0 (slack)`.
    pub(super) name: String,
    pub(super) url: Secret,
    pub(super) service: Service,
    pub(super) headers: Vec<(String, String)>,
    pub(super) credentials: Vec<(String, Secret)>,
    occasions: Vec<Occasion>,
    pull_requests: bool,
}

impl Alert {
    /// Whether there is something to tell here. `proposal`: the run is of a change that is not merged.
    pub fn wants(&self, news: &News, proposal: bool) -> bool {
        let told = |occasion: &Occasion| match occasion {
            Occasion::Failure => news.exit_code != 0,
            Occasion::Drift => news.drifted,
            Occasion::Always => true,
        };
        (self.pull_requests || !proposal) && self.occasions.iter().any(told)
    }

    /// What must be masked wherever it would be shown.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let headers = self.credentials.iter().map(|(_, value)| value);
        std::iter::once(&self.url).chain(self.service.secret()).chain(headers)
    }
}

/// The form of one entry, for the suite's schema.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(AlertSettings)
}

/// Every sound entry; problems of the others are pushed.
pub fn build(blocks: &[Block], diagnostics: &mut Diagnostics) -> Vec<Alert> {
    blocks.iter().filter_map(|block| one(block, diagnostics)).collect()
}

fn one(block: &Block, diagnostics: &mut Diagnostics) -> Option<Alert> {
    let Draft { settings, sound } = block.draft::<AlertSettings>(diagnostics)?;
    let AlertSettings { to, url, on, pull_requests, secret, body, headers } = settings;
    let word = to.word();
    let before = diagnostics.iter().count();
    let secret_address = block.written.from_environment.contains("/url");
    if url.is_empty() {
        return None;
    }
    if let Err(error) = check_address(&url) {
        diagnostics.push(block.problem("/url", "address", error.to_string()));
    } else if to != ServiceName::Webhook && !secret_address {
        let problem =
            block.problem("/url", "secret", format!("whoever knows this address may write to the {word} group"));
        diagnostics.push(problem.help("keep it in a secret variable of the pipeline: `url: \"${ALERT_URL}\"`"));
    }
    let signs = matches!(to, ServiceName::Feishu | ServiceName::Dingtalk);
    for (key, given, fits) in [
        ("secret", secret.is_some(), signs),
        ("body", body.is_some(), to == ServiceName::Webhook),
        ("headers", headers.is_some(), to == ServiceName::Webhook),
    ] {
        if given && !fits {
            let problem =
                block.key_problem(&format!("/{key}"), "not-used", format!("`{key}` does nothing for `{word}`"));
            diagnostics.push(problem.help("remove it"));
        }
    }
    let body = body.and_then(|body| template(block, &body, diagnostics));
    let secret = secret.and_then(|value| hidden(block, "/secret", "secret", &value, diagnostics));
    let url = hidden(block, "/url", "url", &url, diagnostics)?;
    let mut plain = Vec::new();
    let mut credentials = Vec::new();
    for (name, value) in headers.unwrap_or_default() {
        let place = format!("/headers/{}", escape(&name));
        if http::HeaderName::from_bytes(name.as_bytes()).is_err() || http::HeaderValue::from_str(&value).is_err() {
            diagnostics.push(block.problem(&place, "header", format!("`{name}` and its value make no header")));
        } else if block.written.from_environment.contains(&place) {
            credentials.extend(hidden(block, &place, &name, &value, diagnostics).map(|secret| (name, secret)));
        } else {
            plain.push((name, value));
        }
    }
    if !sound || diagnostics.iter().count() > before {
        return None;
    }
    let occasions = match on {
        None => vec![Occasion::Failure],
        Some(OneOrMany::One(one)) => vec![one],
        Some(OneOrMany::Many(many)) => many,
    };
    Some(Alert {
        name: format!("{} ({word})", block.path),
        url,
        service: Service::new(to, secret, body),
        headers: plain,
        credentials,
        occasions,
        pull_requests,
    })
}

fn hidden(block: &Block, pointer: &str, name: &str, value: &str, diagnostics: &mut Diagnostics) -> Option<Secret> {
    let secret = Secret::new(format!("{}.{name}", block.path), value);
    secret.map_err(|error| diagnostics.push(block.problem(pointer, "secret", error.to_string()))).ok()
}

fn template(block: &Block, body: &Value, diagnostics: &mut Diagnostics) -> Option<JsonTemplate> {
    let errors = match JsonTemplate::parse(body, &NAMES) {
        Ok(template) => return Some(template),
        Err(errors) => errors,
    };
    for found in errors {
        let problem = block.problem(&format!("/body{}", found.pointer), "template", found.error.message.clone());
        diagnostics.push(match &found.error.help {
            Some(help) => problem.help(help.clone()),
            None => problem,
        });
    }
    None
}
