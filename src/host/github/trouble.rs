//! What can go wrong with a request, what it means for sending it again, and how it is said.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode};
use serde_json::Value;

use crate::host::{CheckForm, Warning};

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

/// What the request was part of, for the words of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    LookUp,
    Comment(u64),
    Check(CheckForm),
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

    /// The one warning that remains.
    pub(super) fn warning(&self, task: Task, fork: bool) -> Warning {
        let what = match task {
            Task::LookUp => "could not find the pull request of this commit".to_owned(),
            Task::Comment(number) => format!("could not comment on pull request #{number}"),
            Task::Check(CheckForm::Run) => "could not create the check run".to_owned(),
            Task::Check(CheckForm::Status) => "could not set the commit status".to_owned(),
        };
        const SAFE: &str = "The verdict is unchanged; the report is in the job summary.";
        match self {
            Self::Limited { wait, message } => {
                let told = match wait {
                    Some(wait) => format!("GitHub asks to wait {}", said(*wait)),
                    None => "GitHub says it was asked too often".to_owned(),
                };
                Warning::new(format!("{what}: rate limit{}; {told}", suffix(message)))
                    .with_help(format!("{SAFE} Run the job again later to get it."))
            }
            Self::Lost { message } => Warning::new(format!("{what}: no usable answer from the API: {message}"))
                .with_help(format!("{SAFE} Run the job again to get it.")),
            Self::Unreadable { message } => Warning::new(format!("{what}: unexpected answer from the API: {message}"))
                .with_help(format!("{SAFE} Check that GITHUB_API_URL is the address of a GitHub REST API.")),
            Self::Refused { status, message } => Warning::new(format!("{what}: HTTP {status}{}", suffix(message)))
                .with_help(format!("{SAFE} {}", advice(*status, message, task, fork))),
        }
    }
}

/// What to do about a refusal.
fn advice(status: u16, message: &str, task: Task, fork: bool) -> String {
    let right = match task {
        Task::LookUp => "pull-requests: read",
        Task::Comment(_) => "pull-requests: write",
        Task::Check(CheckForm::Run) => "checks: write",
        Task::Check(CheckForm::Status) => "statuses: write",
    };
    let permissions = format!("permissions:\n  contents: read\n  {right}");
    match status {
        401 => "The token is not accepted: pass `github-token: ${{ github.token }}` to the action.".to_owned(),
        403 if message.to_ascii_lowercase().contains("locked") => "The conversation is locked.".to_owned(),
        403 | 404 if fork && matches!(task, Task::Check(_)) => format!(
            "The token lacks `{right}`: pull requests from forks get a read-only token. Require the job itself instead."
        ),
        403 | 404 if fork => format!(
            "The token lacks `{right}`: pull requests from forks get a read-only token. To comment there all the same, upload \
             the reports' folder as an artifact and let `scoregate comment` post it from a second workflow on `workflow_run`, \
             in a job without the fork's code and with:\n{permissions}"
        ),
        403 => format!("The token lacks `{right}`. Add to the job:\n{permissions}"),
        404 => format!("Not found, or not visible to the token, which needs `{right}`. Add to the job:\n{permissions}"),
        410 => "Comments are disabled there.".to_owned(),
        422 => "GitHub did not accept the text.".to_owned(),
        _ => "Check GITHUB_API_URL and the token.".to_owned(),
    }
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

/// `message` of the answer, on one line, without control characters, cut.
fn message_of(body: &[u8]) -> String {
    let parsed: Option<Value> = serde_json::from_slice(body).ok();
    let message =
        parsed.as_ref().and_then(|value| value.pointer("/message")).and_then(Value::as_str).unwrap_or_default();
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
