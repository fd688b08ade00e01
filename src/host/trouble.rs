//! What can go wrong with a request to a host, what it means for sending it again, and how it is said.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode};
use serde_json::Value;

use super::Warning;

/// Longest excerpt of a server's message in a warning, in characters.
const EXCERPT: usize = 300;

/// Why a request did not do its work.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Trouble {
    /// Too fast. `wait` is what the server asks for, where it says so.
    Limited { wait: Option<Duration>, message: String },
    /// No answer, or one that does not tell whether the request was carried out (5xx).
    Lost { message: String },
    /// A clear no.
    Refused { status: u16, message: String },
    /// Carried out, but the answer does not have the documented shape.
    Unreadable { message: String },
}

impl Trouble {
    /// Reads an answer that is no success.
    ///
    /// A 403 is a limit where it says how long to wait, that nothing remains, or names a rate limit
    /// (docs.github.com, "Rate limits for the REST API"); any other 403 is a missing permission.
    pub(super) fn of_answer(status: StatusCode, headers: &HeaderMap, body: &[u8], now: SystemTime) -> Self {
        let message = message_of(body);
        if status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT {
            return Self::Lost { message: format!("HTTP {}{}", status.as_u16(), suffix(&message)) };
        }
        let wait = told_wait(headers, now);
        let names_limit = ["rate limit", "secondary limit", "abuse detection"];
        let lower = message.to_ascii_lowercase();
        let limited = status == StatusCode::TOO_MANY_REQUESTS
            || status == StatusCode::FORBIDDEN
                && (wait.is_some() || names_limit.iter().any(|words| lower.contains(words)));
        if limited {
            return Self::Limited { wait, message };
        }
        Self::Refused { status: status.as_u16(), message }
    }

    /// Was the thing that the request is about not there (any more)?
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Self::Refused { status: 404 | 410, .. })
    }

    /// Was it refused for lack of rights?
    pub(super) fn is_forbidden(&self) -> bool {
        matches!(self, Self::Refused { status: 403, .. })
    }

    /// The one warning that remains. `what` could not be done; `advice` says what to do about a refusal, by its status and words.
    pub(super) fn told(&self, what: &str, host: &Words, advice: impl FnOnce(u16, &str) -> String) -> Warning {
        let Words { name, safe, address } = *host;
        match self {
            Self::Limited { wait, message } => {
                let told = match wait {
                    Some(wait) => format!("{name} asks to wait {}", said(*wait)),
                    None => format!("{name} says it was asked too often"),
                };
                Warning::new(format!("{what}: rate limit{}; {told}", suffix(message)))
                    .with_help(format!("{safe} Run the job again later to get it."))
            }
            Self::Lost { message } => Warning::new(format!("{what}: no usable answer from the API: {message}"))
                .with_help(format!("{safe} Run the job again to get it.")),
            Self::Unreadable { message } => Warning::new(format!("{what}: unexpected answer from the API: {message}"))
                .with_help(format!("{safe} Check that {address}.")),
            Self::Refused { status, message } => Warning::new(format!("{what}: HTTP {status}{}", suffix(message)))
                .with_help(format!("{safe} {}", advice(*status, message))),
        }
    }
}

/// A host's own words in a warning.
pub(super) struct Words {
    pub(super) name: &'static str,
    /// Where the report is all the same.
    pub(super) safe: &'static str,
    /// What must be so for answers to be readable.
    pub(super) address: &'static str,
}

/// Seconds of `Retry-After`, or the time until `x-ratelimit-reset` where nothing remains.
fn told_wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    // The server's own clock, where it shows it: ours may be wrong.
    let now = text("date").and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or(now);
    if let Some(asked) = text("retry-after") {
        if let Ok(seconds) = asked.parse() {
            return Some(Duration::from_secs(seconds));
        }
        if let Ok(date) = httpdate::parse_http_date(asked) {
            return Some(date.duration_since(now).unwrap_or_default());
        }
    }
    if text("x-ratelimit-remaining") != Some("0") {
        return None;
    }
    let reset = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(text("x-ratelimit-reset")?.parse().ok()?))?;
    Some(reset.duration_since(now).unwrap_or_default())
}

/// What the answer says for itself (GitLab also under `error` and `error_description`), on one line, without control characters, cut.
fn message_of(body: &[u8]) -> String {
    let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
    let said = ["/message", "/error_description", "/error"].iter().filter_map(|place| parsed.pointer(place));
    let message = said.map(|said| said.as_str().map_or_else(|| said.to_string(), str::to_owned)).next();
    let message = message.unwrap_or_default();
    message.chars().map(|c| if c.is_control() { ' ' } else { c }).take(EXCERPT).collect()
}

fn suffix(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(" ({message})") }
}

fn said(wait: Duration) -> String {
    match wait.as_secs() {
        seconds @ 0..=120 => format!("{seconds} seconds"),
        seconds if seconds <= 7200 => format!("{} minutes", seconds.div_ceil(60)),
        seconds => format!("{} hours", seconds.div_ceil(3600)),
    }
}
