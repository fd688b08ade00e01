//! One thing wanted from outside, and what came back.

use std::borrow::Cow;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;

use super::batch::{BATCH_HEADER, Route};
use crate::domain::{EndpointLimits, Failure, FailureKind, RateHint, Redactor, RetryClass, Secret, Spent, Usd};

/// A boxed future, as object-safe traits need it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Whose error bodies and rate headers to expect (see `net::classify`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Any HTTP service: status codes and `Retry-After` only.
    Plain,
    /// The same, and every complete answer goes to the reader, which says by [`super::classify`] why it does not want a status.
    Raw,
    OpenAi,
    AzureOpenAi,
    Anthropic,
    Gemini,
    DashScope,
}

/// What the call is for: which side is blamed, and which limits it shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    Target,
    Judge,
    Embedding,
}

/// Bounds of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    pub connect: Duration,
    /// From the start to the last byte; also bounds a program's life.
    pub whole: Duration,
}

/// An HTTP request. Everything but `credentials` is part of the ledger's key.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    pub method: http::Method,
    pub url: String,
    pub headers: Vec<(String, String)>,
    /// Headers whose value is a secret: sent to this origin only, never stored, not in the key.
    pub credentials: Vec<(String, Secret)>,
    pub body: Bytes,
}

/// A program to run: no shell, own process group, allow-listed environment.
#[derive(Clone, Debug)]
pub struct CommandRequest {
    /// Program and arguments; NUL is refused.
    pub argv: Vec<String>,
    pub stdin: Bytes,
    /// On top of the allow-list (PATH, HOME, LANG, …).
    pub environment: Vec<(String, String)>,
    /// Secrets that the suite of the trusted side names.
    pub credentials: Vec<(String, Secret)>,
    pub folder: PathBuf,
    /// It lives on and answers one line with one line; else it is run once, and its whole output is the answer.
    pub worker: bool,
}

#[derive(Clone, Debug)]
pub enum Request {
    Http(HttpRequest),
    Command(CommandRequest),
}

/// What a call will take, estimated before it is sent; nothing for calls that no model is paid for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expected {
    pub prompt_tokens: u64,
    /// The most that may come back; `None`: not bounded.
    pub completion_tokens: Option<u64>,
    /// The most that it may cost; `None` where no price is known.
    pub cost: Option<Usd>,
    /// What it costs with a reply of one token; `None` where no price is known.
    pub least_cost: Option<Usd>,
    /// What a server that read the whole prompt counts at least; 0: not known.
    pub least_prompt: u64,
}

impl Expected {
    /// Tokens that a reply without a bound is taken to have at most.
    pub const LONG_REPLY: u64 = 1_000;

    /// Tokens that may come back at most, as far as that can be known; 0 for calls that no model answers.
    pub fn longest_reply(&self) -> u64 {
        let unbounded = if self.prompt_tokens > 0 { Self::LONG_REPLY } else { 0 };
        self.completion_tokens.unwrap_or(unbounded)
    }
}

/// A request with all that the engine needs to carry it out.
#[derive(Clone, Debug)]
pub struct Call {
    pub request: Request,
    /// Calls with the same endpoint share limits and fate: provider, base address and model; or the target's name.
    pub endpoint: Arc<str>,
    pub purpose: Purpose,
    pub dialect: Dialect,
    pub deadlines: Deadlines,
    /// Part of the ledger's key, so that repetitions stay distinct.
    pub trial: u32,
    /// The version of the application behind the request, which does not say it itself; part of the ledger's key.
    pub version: Option<Arc<str>>,
    /// Follow redirects (at most five; credentials never leave the origin). Default off.
    pub redirects: bool,
    /// Not part of the key: the answer is the same whichever way it came.
    pub route: Route,
    /// For messages: `faithfulness of case q17`.
    pub what: String,
    /// Of the endpoint; not part of the key.
    pub limits: EndpointLimits,
    pub expected: Expected,
}

/// A complete response. For programs: status is the exit code, `body` standard output.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    pub status: u16,
    /// Lower-case names. For programs: `stderr` holds an excerpt of standard error.
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
    pub latency: Duration,
}

impl Response {
    /// First header of that (lower-case) name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The same without secrets.
    #[must_use]
    pub fn masked(self, redactor: &Redactor) -> Self {
        let clean = |(name, value): (String, String)| match redactor.redact_cow(&value) {
            Cow::Owned(masked) => (name, masked),
            Cow::Borrowed(_) => (name, value),
        };
        let body = match redactor.redact_bytes(&self.body) {
            Cow::Owned(masked) => masked.into(),
            Cow::Borrowed(_) => self.body.clone(),
        };
        Self { headers: self.headers.into_iter().map(clean).collect(), body, ..self }
    }

    /// The id of the batch that this came in.
    pub fn batch(&self) -> Option<&str> {
        self.header(BATCH_HEADER)
    }
}

/// Why a response is not the expected answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    pub kind: FailureKind,
    pub class: RetryClass,
    /// Lower case, with a short excerpt where that helps.
    pub message: String,
    pub hint: RateHint,
    /// The text that could not be used, for the reports.
    pub raw: Option<String>,
    /// A reply that cannot be used is paid for all the same.
    pub spent: Spent,
}

impl Rejection {
    pub fn new(kind: FailureKind, class: RetryClass, message: impl Into<String>) -> Self {
        Self { kind, class, message: message.into(), hint: RateHint::default(), raw: None, spent: Spent::default() }
    }
}

/// What carrying out a call took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// Requests sent now (0: from the ledger).
    pub attempts: u32,
    pub cached: bool,
    /// Of the successful attempt, when it was made.
    pub latency: Duration,
}

/// The reader: `Ok` accepts the response as the complete, usable answer, which is then kept, and says what it took.
pub type Accept<'a> = dyn Fn(&Response) -> Result<Spent, Rejection> + Send + Sync + 'a;

/// Carries out calls. The engine's has ledger, limits, retries and budget; tests bring their own.
pub trait Transport: Send + Sync {
    /// # Errors
    /// After all retries the call allows; `Failure::attempts` says how many requests were sent.
    fn send<'a>(&'a self, call: &'a Call, accept: &'a Accept<'a>) -> BoxFuture<'a, Result<Receipt, Failure>>;
}

/// Sends `call` and returns what `read` made of the accepted response, read once. `read` says as well what the response took.
///
/// # Errors
/// As [`Transport::send`].
pub async fn exchange<T: Send>(
    transport: &dyn Transport,
    call: &Call,
    read: impl Fn(&Response) -> Result<(T, Spent), Rejection> + Send + Sync,
) -> Result<(T, Receipt), Failure> {
    let slot: Mutex<Option<T>> = Mutex::new(None);
    let accept = |response: &Response| {
        let (value, spent) = read(response)?;
        if let Ok(mut slot) = slot.lock() {
            *slot = Some(value);
        }
        Ok(spent)
    };
    let receipt = transport.send(call, &accept).await?;
    let value = slot.into_inner().ok().flatten();
    match value {
        Some(value) => Ok((value, receipt)),
        None => Err(Failure::infra(FailureKind::Internal, "the transport accepted a response without reading it")),
    }
}

/// One attempt at a call, without limits, retries or memory. [`super::Client`] is the real one.
pub trait Attempt: Send + Sync {
    /// # Errors
    /// Whatever keeps a complete, successful response from arriving, classified.
    fn attempt<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Response, Rejection>>;

    /// Requests sent so far beyond one an attempt: to be counted and shown like any other.
    fn repeats(&self) -> u64 {
        0
    }

    /// Requests sent so far to where redirects led: to be counted as requests, though none of them is a retry.
    fn detours(&self) -> u64 {
        0
    }
}
