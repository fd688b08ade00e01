//! A service behind HTTP: templates for address, headers and body; JSONPaths for what it answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use ::http::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::one_call::OneCall;
use super::paths::{Paths, UsagePaths, Written, malformed};
use super::values::{ContextForm, json_template, lookup, template, unfilled};
use super::{BuildContext, Kind, Target};
use crate::diagnostic::Diagnostics;
use crate::domain::{Answer, Case, EndpointLimits, Failure, FailureKind, Secret};
use crate::net::{
    Call, Deadlines, Dialect, Expected, HttpRequest, Purpose, Rejection, Request, Response, Route, check_address,
    classify, first_words, shown,
};
use crate::provider::Headers;
use crate::suite::{Block, Draft, Period};
use crate::text::template::{FillError, JsonTemplate, Template};

pub(super) const KIND: Kind = Kind {
    name: "http",
    summary: "a service behind HTTP, asked with one request a case",
    schema: || schemars::schema_for!(HttpSettings),
    build,
};

/// What stays as it is where a value is put into an address.
const IN_ADDRESS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A service behind HTTP. `{{ input }}`, `{{ id }}`, `{{ contexts }}`, `{{ tags }}`, `{{ trial }}` and `{{ metadata.x }}` stand for
/// the case's values.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HttpSettings {
    /// The address; values are percent-encoded in its path and query, and cannot stand in front of the path.
    #[schemars(length(min = 1))]
    url: String,
    /// GET, POST, PUT, … (default: POST).
    method: Option<String>,
    /// Headers; values from the environment are credentials: they go to this address only and are never stored.
    headers: Option<BTreeMap<String, String>>,
    /// The request's body: a text, or anything else as JSON.
    body: Option<Value>,
    /// Where the answer's text is, as a JSONPath such as `$.answer`; without it the whole body is the answer.
    answer: Option<String>,
    /// Where the retrieved passages are, such as `$.sources[*].text`.
    contexts: Option<String>,
    /// Where the passages' ids are, such as `$.sources[*].id`.
    context_ids: Option<String>,
    /// Where the tokens are counted.
    usage: Option<UsagePaths>,
    /// Status codes that are answers (default: `2xx`).
    #[schemars(length(min = 1))]
    status: Option<Vec<StatusRule>>,
    /// What to do when the service redirects (default: error).
    redirects: Option<Redirects>,
    /// Time for one attempt (default: the run's).
    timeout: Option<Period>,
    /// What the service takes.
    limits: Option<EndpointLimits>,
    /// The version of the application, such as the digest of its image: kept answers are used for the same version alone (default: the
    /// commit that is checked out, with what is changed in it).
    version: Option<String>,
}

/// A status code, or a class of them such as `2xx`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
struct StatusRule {
    first: u16,
    last: u16,
}

impl TryFrom<Value> for StatusRule {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let text = match value {
            Value::Number(number) => number.to_string(),
            Value::String(text) => text,
            _ => String::new(),
        };
        let code = |text: &str| text.parse::<u16>().ok().filter(|code| (200..600).contains(code));
        match text.strip_suffix("xx").map(|class| format!("{class}00")) {
            Some(first) => code(&first).map(|first| Self { first, last: first.saturating_add(99) }),
            None => code(&text).map(|code| Self { first: code, last: code }),
        }
        .ok_or_else(|| format!("`{text}` is no status code (200 to 599) and no class of them (`2xx`)"))
    }
}

impl JsonSchema for StatusRule {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "StatusRule".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A status code, or a class of them.",
            "type": ["integer", "string"],
            "examples": [200, "2xx"],
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Redirects {
    /// A redirect is an error of the case.
    Error,
    /// Follow at most five, with the same method, without credentials for other origins.
    Follow,
}

struct Http {
    endpoint: Arc<str>,
    method: Method,
    url: Template,
    headers: Vec<(String, Template)>,
    credentials: Vec<(String, Secret)>,
    body: Body,
    paths: Paths,
    /// `None`: every success.
    statuses: Option<Vec<StatusRule>>,
    redirects: Redirects,
    deadlines: Deadlines,
    limits: EndpointLimits,
    version: Option<Arc<str>>,
}

enum Body {
    Nothing,
    Text(Template),
    Json(JsonTemplate),
}

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Box<dyn Target>> {
    let Draft { settings, sound } = block.draft::<HttpSettings>(diagnostics)?;
    let url = address(block, &settings.url, diagnostics);
    let method = method(block, settings.method.as_deref(), diagnostics);
    let written = settings.headers.unwrap_or_default();
    let headers = Headers::build(block, "/headers", &written, diagnostics).and_then(|headers| {
        let plain: Vec<Option<(String, Template)>> = headers
            .plain
            .into_iter()
            .map(|(name, value)| {
                let template = template(block, &format!("/headers/{name}"), &value, diagnostics)?;
                Some((name, template))
            })
            .collect();
        Some((plain.into_iter().collect::<Option<Vec<_>>>()?, headers.credentials))
    });
    let body = match &settings.body {
        None => Some(Body::Nothing),
        Some(Value::String(text)) => template(block, "/body", text, diagnostics).map(Body::Text),
        Some(value) => json_template(block, "/body", value, diagnostics).map(Body::Json),
    };
    let paths = Paths::build(
        block,
        Written {
            answer: settings.answer.as_deref(),
            contexts: settings.contexts.as_deref(),
            context_ids: settings.context_ids.as_deref(),
            usage: settings.usage.as_ref(),
        },
        diagnostics,
    );
    let (url, method, (headers, credentials), body, paths) = (url?, method?, headers?, body?, paths?);
    if !sound {
        return None;
    }
    Some(Box::new(Http {
        endpoint: block.name.clone(),
        method,
        url,
        headers: with_content_type(headers, &credentials, &body),
        credentials,
        body,
        paths,
        statuses: settings.status,
        redirects: settings.redirects.unwrap_or(Redirects::Error),
        limits: settings.limits.unwrap_or_default(),
        version: context.version(settings.version.as_deref()),
        deadlines: context.deadlines(settings.timeout.map(|period| period.0)),
    }))
}

/// The address as a template. What stands before the path is fixed and checked now: data must not choose whom to call.
fn address(block: &Block, text: &str, diagnostics: &mut Diagnostics) -> Option<Template> {
    let parsed = template(block, "/url", text, diagnostics)?;
    let after_scheme = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = after_scheme.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains("{{") || !text.contains("://") && text.starts_with("{{") {
        let problem = block.problem("/url", "address", "a value of the case cannot choose the host of an address");
        diagnostics.push(
            problem.help("write scheme, host and port as they are, or take them from the environment: `${APP_URL}`"),
        );
        return None;
    }
    let sample = parsed.render(&|_| Some(std::borrow::Cow::Owned(Value::from("x"))));
    match check_address(sample.as_deref().unwrap_or(text)) {
        Ok(_) => Some(parsed),
        Err(error) => {
            diagnostics.push(block.problem("/url", "address", error.to_string()));
            None
        }
    }
}

fn method(block: &Block, text: Option<&str>, diagnostics: &mut Diagnostics) -> Option<Method> {
    let Some(text) = text else { return Some(Method::POST) };
    let known = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    let found = known.into_iter().find(|method| method.as_str() == text.to_ascii_uppercase());
    if found.is_none() {
        let problem = block.problem("/method", "method", format!("`{text}` is no method that can be used here"));
        diagnostics.push(problem.help("use GET, POST, PUT, PATCH or DELETE"));
    }
    found
}

/// The body's type, unless the suite gives one.
fn with_content_type(
    mut headers: Vec<(String, Template)>,
    credentials: &[(String, Secret)],
    body: &Body,
) -> Vec<(String, Template)> {
    let same = |name: &str| name.eq_ignore_ascii_case("content-type");
    let given = headers.iter().any(|(name, _)| same(name)) || credentials.iter().any(|(name, _)| same(name));
    let kind = match body {
        Body::Nothing => None,
        Body::Text(_) => Some("text/plain; charset=utf-8"),
        Body::Json(_) => Some("application/json"),
    };
    if let Some(Ok(kind)) = kind.filter(|_| !given).map(|kind| Template::parse(kind, &[])) {
        headers.insert(0, ("content-type".to_owned(), kind));
    }
    headers
}

impl OneCall for Http {
    fn brings_contexts(&self) -> bool {
        self.paths.has_contexts()
    }

    fn call(&self, case: &Case, trial: u32) -> Result<Call, Failure> {
        let request = self.request(case, trial).map_err(|error| unfilled(&error))?;
        stays_below(&request.url)?;
        Ok(Call {
            request: Request::Http(request),
            endpoint: Arc::clone(&self.endpoint),
            purpose: Purpose::Target,
            dialect: if self.statuses.is_some() { Dialect::Raw } else { Dialect::Plain },
            deadlines: self.deadlines,
            trial,
            redirects: self.redirects == Redirects::Follow,
            route: Route::Direct,
            what: format!("answer to case {}", case.id),
            limits: self.limits,
            version: self.version.clone(),
            expected: Expected::default(),
        })
    }

    fn read(&self, _: &Case, call: &Call, response: &Response) -> Result<Answer, Rejection> {
        let address = match &call.request {
            Request::Http(request) => check_address(&request.url).map(|url| shown(&url)).unwrap_or_default(),
            Request::Command(_) => String::new(),
        };
        if let Some(rules) = &self.statuses
            && !rules.iter().any(|rule| (rule.first..=rule.last).contains(&response.status))
        {
            return Err(unwanted(response, &address));
        }
        let kind = response.header("content-type").unwrap_or_default();
        if kind.starts_with("text/html") {
            let why =
                format!("{address} answered {} with a page ({kind}): {}", response.status, first_words(&response.body));
            return Err(malformed(why));
        }
        self.paths.read(&response.body, &address)
    }
}

/// A value of `..` would choose another path, and is so in every encoding.
fn stays_below(url: &str) -> Result<(), Failure> {
    let path = url.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase().replace("%2e", ".");
    if path.split(['/', '\\']).any(|step| matches!(step, "." | "..")) {
        let why = "the request could not be made: a value that is `.` or `..` would change the path of the address";
        return Err(Failure::infra(FailureKind::BadRequest, why));
    }
    Ok(())
}

impl Http {
    fn request(&self, case: &Case, trial: u32) -> Result<HttpRequest, FillError> {
        let values = lookup(case, trial, ContextForm::List);
        let url = self.url.render_encoded(&values, |value| utf8_percent_encode(value, IN_ADDRESS).into())?;
        let headers = self
            .headers
            .iter()
            .map(|(name, value)| Ok((name.clone(), value.render(&values)?)))
            .collect::<Result<Vec<_>, FillError>>()?;
        let body = match &self.body {
            Body::Nothing => Vec::new(),
            Body::Text(text) => text.render(&values)?.into_bytes(),
            Body::Json(json) => json.render(&values)?.to_string().into_bytes(),
        };
        Ok(HttpRequest {
            method: self.method.clone(),
            url,
            headers,
            credentials: self.credentials.clone(),
            body: body.into(),
        })
    }
}

/// A status that is no answer here. A success that the suite does not list is no error of the server, but none of the answers either.
fn unwanted(response: &Response, address: &str) -> Rejection {
    if (200..300).contains(&response.status) {
        let words = first_words(&response.body);
        return malformed(format!("{address} answered {}, which `status` does not list: {words}", response.status));
    }
    classify(response, Dialect::Plain, address)
}
