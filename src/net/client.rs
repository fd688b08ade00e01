//! One attempt at a call: a complete answer within the deadlines, or the reason why not.
//!
//! [`Client`] holds the one HTTP client of a run, with its pool, proxies, authorities and address rules, and the environment that
//! programs may see a part of. It never retries, with one exception that is counted: a request that met a pooled connection which
//! the server was just closing is sent once more (never one about a batch, which could then be paid for twice).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::Url;

use super::address::{check_address, shown};
use super::connect::{Connection, WatchLayer, watched};
use super::excerpt::one_line;
use super::redirect::{self, Hop};
use super::resolve::Resolver;
use super::tls::{ClientError, builder};
use super::worker::Workers;
use super::{Attempt, BODY_LIMIT, BoxFuture, Call, Dialect, HttpRequest, Rejection, Request, Response, Route};
use super::{body, broken, classify, process};
use crate::domain::{Env, FailureKind, RetryClass};

/// Carries out single attempts.
pub struct Client {
    http: reqwest::Client,
    resolver: Arc<Resolver>,
    env: Env,
    workers: Workers,
    repeats: AtomicU64,
    /// Requests to where redirects led.
    detours: AtomicU64,
}

impl Client {
    /// A client with the proxies and authorities that `env` names.
    ///
    /// # Errors
    /// Where TLS or a proxy cannot be set up.
    pub fn new(env: &Env) -> Result<Self, ClientError> {
        let resolver = Arc::new(Resolver::default());
        let http = builder(env)?
            .dns_resolver(Arc::clone(&resolver))
            .connector_layer(WatchLayer)
            // Undone in `body`, which is stricter.
            .no_gzip()
            .build()
            .map_err(|error| ClientError::new(error.without_url().to_string()))?;
        Ok(Self {
            http,
            resolver,
            env: env.clone(),
            workers: Workers::default(),
            repeats: AtomicU64::new(0),
            detours: AtomicU64::new(0),
        })
    }

    async fn carry_out(&self, call: &Call) -> Result<Response, Rejection> {
        match &call.request {
            Request::Command(request) if request.worker => {
                self.workers.ask(&self.env, request, call.deadlines.whole).await
            }
            Request::Command(request) => process::run(&self.env, request, call.deadlines.whole).await,
            Request::Http(request) => self.http(call, request).await,
        }
    }

    async fn http(&self, call: &Call, request: &HttpRequest) -> Result<Response, Rejection> {
        let url = check_address(&request.url).map_err(|error| broken::forbidden(&error))?;
        let address = shown(&url);
        let begun = Instant::now();
        match tokio::time::timeout(call.deadlines.whole, self.follow(call, request, url)).await {
            Ok(answer) => answer.map(|response| Response { latency: begun.elapsed(), ..response }),
            Err(_) => {
                let why = format!("no complete answer from {address} within {} s", call.deadlines.whole.as_secs_f64());
                Err(Rejection::new(FailureKind::Timeout, RetryClass::Retry, why))
            }
        }
    }

    /// Sends the request, and again to where redirects lead, if they are allowed.
    async fn follow(&self, call: &Call, request: &HttpRequest, url: Url) -> Result<Response, Rejection> {
        let mut hop = Hop::first(url);
        loop {
            let answer = self.send(call, request, &hop).await?;
            if redirect::is_redirect(answer.status(), answer.headers()) {
                hop = redirect::next(call, &request.method, &hop, &answer)?;
                self.detours.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            return complete(call, answer, &shown(&hop.url)).await;
        }
    }

    async fn send(&self, call: &Call, request: &HttpRequest, hop: &Hop) -> Result<reqwest::Response, Rejection> {
        let (first, connection) = watched(call.deadlines.connect, self.http.execute(build(request, hop)?)).await;
        let error = match first {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        // What was asked about a batch may have been done: who asks finds that out.
        let may_repeat = !matches!(call.route, Route::Control);
        if connection == Connection::New || !may_repeat || !broken::ended_without_answer(&error) {
            return Err(broken::rejection(&error, &hop.url, &self.resolver));
        }
        self.repeats.fetch_add(1, Ordering::Relaxed);
        tracing::debug!("{}: a pooled connection was closed; sending again", call.what);
        let (second, _) = watched(call.deadlines.connect, self.http.execute(build(request, hop)?)).await;
        second.map_err(|error| broken::rejection(&error, &hop.url, &self.resolver))
    }
}

impl Attempt for Client {
    fn attempt<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Response, Rejection>> {
        Box::pin(self.carry_out(call))
    }

    /// Requests that met a pooled connection which had just been closed, and were sent once more.
    fn repeats(&self) -> u64 {
        self.repeats.load(Ordering::Relaxed)
    }

    fn detours(&self) -> u64 {
        self.detours.load(Ordering::Relaxed)
    }
}

fn build(request: &HttpRequest, hop: &Hop) -> Result<reqwest::Request, Rejection> {
    let mut built = reqwest::Request::new(request.method.clone(), hop.url.clone());
    let headers = built.headers_mut();
    headers.insert(http::header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    for (name, value) in request.headers.iter().filter(|(name, _)| hop.may_carry(name)) {
        headers.append(header_name(name)?, header_value(name, value)?);
    }
    if hop.carries_credentials() {
        for (name, secret) in &request.credentials {
            let mut value = header_value(name, secret.expose())?;
            value.set_sensitive(true);
            headers.insert(header_name(name)?, value);
        }
    }
    *built.body_mut() = (!request.body.is_empty()).then(|| request.body.clone().into());
    Ok(built)
}

fn header_name(name: &str) -> Result<HeaderName, Rejection> {
    HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad_request(format!("`{name}` is no name of a header")))
}

/// The value itself is not shown: it may be a secret.
fn header_value(name: &str, value: &str) -> Result<HeaderValue, Rejection> {
    HeaderValue::from_bytes(value.as_bytes()).map_err(|_| {
        bad_request(format!("the value of the header `{name}` holds a line end or another control character"))
    })
}

fn bad_request(message: String) -> Rejection {
    Rejection::new(FailureKind::BadRequest, RetryClass::Case, message)
}

/// The whole answer; with a status that is no success, only where the dialect leaves the status to the reader.
async fn complete(call: &Call, answer: reqwest::Response, address: &str) -> Result<Response, Rejection> {
    let status = answer.status();
    let headers = kept_headers(answer.headers());
    let limit = match call.route {
        Route::Direct | Route::Batch(_) => BODY_LIMIT,
        Route::Control => body::BATCH_BODY_LIMIT,
    };
    let body = body::read(answer, address, limit).await;
    let response = Response { status: status.as_u16(), headers, body: body.bytes, latency: Duration::ZERO };
    if !status.is_success() && call.dialect != Dialect::Raw {
        // A damaged error page must not hide the status.
        return Err(classify(&response, call.dialect, address));
    }
    match body.problem {
        Some(problem) => Err(problem),
        None => Ok(response),
    }
}

/// The headers that somebody reads, with lower-case names; cookies and the like are dropped.
fn kept_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    const KEPT: [&str; 9] = [
        "content-type",
        "date",
        "etag",
        "retry-after",
        "retry-after-ms",
        "x-should-retry",
        "x-request-id",
        "request-id",
        "apim-request-id",
    ];
    let kept = |name: &str| {
        KEPT.contains(&name) || name.starts_with("x-ratelimit-") || name.starts_with("anthropic-ratelimit-")
    };
    headers
        .iter()
        .filter(|(name, _)| kept(name.as_str()))
        .map(|(name, value)| (name.as_str().to_owned(), one_line(&String::from_utf8_lossy(value.as_bytes()))))
        .collect()
}
