//! Status, dialect and body → what it means and whether to try again. The only place that decides it.
//!
//! A status alone is not enough: OpenAI's 429 may mean "slow down" or "pay first", and one code means different things to
//! different providers. So a dialect's words are read first, then the status.
//!
//! **Source**: the providers' error pages and SDKs (OpenAI, Azure, Anthropic, Google, Alibaba Cloud), as of 2026-11.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::error_body::ErrorBody;
use super::excerpt::{excerpt, one_line};
use super::rate_hint::rate_hint;
use super::words::{by_common_words, by_words};
use super::{Dialect, Rejection, Response};
use crate::domain::{Complaint, FailureKind, RateHint, RetryClass, Spent};

/// A server that asks for a longer wait than this is not limiting the rate but has had enough.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// What an error comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    RateLimited,
    Overloaded,
    TimedOut,
    Quota,
    Auth,
    NotFound,
    /// The request is wrong, and so are all the others: a parameter that the model does not take.
    Settings,
    /// This request is wrong.
    Request,
    /// This request is longer than the model's context, or than the account may send at once.
    TooLong,
    Filtered,
    Redirected,
}

impl Meaning {
    /// Kind and class: whether to try again.
    fn verdict(self) -> (FailureKind, RetryClass) {
        match self {
            Self::RateLimited => (FailureKind::RateLimited, RetryClass::Retry),
            Self::Overloaded => (FailureKind::Server, RetryClass::Retry),
            Self::TimedOut => (FailureKind::Timeout, RetryClass::Retry),
            Self::Quota => (FailureKind::Quota, RetryClass::Endpoint),
            Self::Auth => (FailureKind::Auth, RetryClass::Endpoint),
            Self::NotFound => (FailureKind::NotFound, RetryClass::Endpoint),
            Self::Settings => (FailureKind::BadRequest, RetryClass::Endpoint),
            Self::Request => (FailureKind::BadRequest, RetryClass::Case),
            Self::TooLong => (FailureKind::TooLong, RetryClass::Case),
            Self::Filtered => (FailureKind::Filtered, RetryClass::Case),
            Self::Redirected => (FailureKind::Redirect, RetryClass::Case),
        }
    }

    /// What to do about it, where that is not plain.
    fn advice(self) -> Option<&'static str> {
        match self {
            Self::Quota => Some("the allowance is used up, so waiting does not help"),
            Self::Auth => Some("check the key and its permissions"),
            Self::NotFound => Some("check the address and the name of the model"),
            Self::Settings => Some("change the model's settings in the suite"),
            Self::TooLong => {
                Some("it is too long for the model: shorten what is sent, or use a model with a larger context")
            }
            Self::RateLimited
            | Self::Overloaded
            | Self::TimedOut
            | Self::Request
            | Self::Filtered
            | Self::Redirected => None,
        }
    }
}

/// Why `response`, a complete answer with a status that is no success, is rejected. `address` is as [`super::shown`] gives it.
pub fn classify(response: &Response, dialect: Dialect, address: &str) -> Rejection {
    let said = ErrorBody::read(&response.body);
    let mut hint = rate_hint(&response.headers, SystemTime::now());
    hint.retry_after = hint.retry_after.or(said.retry_after);
    let meaning = meaning(response.status, dialect, &said, response.header("x-should-retry"), &hint);
    let words = match &said.message {
        Some(message) => one_line(message),
        None => excerpt(&response.body),
    };
    let reason = http::StatusCode::from_u16(response.status).ok().and_then(|status| status.canonical_reason());
    let status = reason.map_or_else(|| response.status.to_string(), |reason| format!("{} {reason}", response.status));
    hint.complaint = complaint(meaning, response.status, &said, &hint);
    rejection(meaning, &format!("{address} answered {status}"), &words, hint)
}

/// Why a body that was sent with a success status is rejected: it holds an error object. `None` where it holds none.
pub fn classify_error_object(body: &Value, dialect: Dialect, address: &str) -> Option<Rejection> {
    body.as_object()?.get("error").filter(|error| !error.is_null())?;
    let said = ErrorBody::of(body);
    let mut hint = RateHint { retry_after: said.retry_after, ..RateHint::default() };
    let meaning = match said.status {
        Some(status) => meaning(status, dialect, &said, None, &hint),
        None => by_words(dialect, &said).unwrap_or_else(|| by_common_words(&said)),
    };
    hint.complaint = complaint(meaning, said.status.unwrap_or(429), &said, &hint);
    let words = said.message.as_deref().map_or_else(|| one_line(&body.to_string()), one_line);
    Some(rejection(meaning, &format!("{address} answered with a success status and an error"), &words, hint))
}

/// What a server that is at its limit complains about: its headers say so, or its words. Other breakdowns are no complaint.
fn complaint(meaning: Meaning, status: u16, said: &ErrorBody, hint: &RateHint) -> Option<Complaint> {
    let words = said.message.as_deref().unwrap_or_default().to_ascii_lowercase();
    let mentions = |some: &[&str]| some.iter().any(|word| words.contains(word));
    let spent = [hint.requests, hint.tokens].into_iter().flatten().any(|told| told.remaining == Some(0));
    match meaning {
        Meaning::RateLimited if mentions(&["concurren", "simultaneous", "parallel", "in flight", "at once"]) => {
            Some(Complaint::TooMany)
        }
        Meaning::RateLimited
            if spent
                || mentions(&["per min", "per sec", "per hour", "per day", "rpm", "tpm", "qps"])
                || has_rate(&words) =>
        {
            Some(Complaint::TooFast)
        }
        Meaning::RateLimited => Some(Complaint::Unclear),
        Meaning::Overloaded if matches!(status, 503 | 529) => Some(Complaint::TooMany),
        Meaning::Overloaded
        | Meaning::TimedOut
        | Meaning::Quota
        | Meaning::Auth
        | Meaning::NotFound
        | Meaning::Settings
        | Meaning::Request
        | Meaning::TooLong
        | Meaning::Filtered
        | Meaning::Redirected => None,
    }
}

/// `50 requests/s`, `10/min`; the path of an address is none.
fn has_rate(words: &str) -> bool {
    let units = ["s", "sec", "second", "min", "minute", "h", "hour", "d", "day"];
    let unit =
        |word: &str| word.split_once('/').map(|(_, unit)| unit.trim_matches(|c: char| !c.is_alphanumeric()).to_owned());
    words.split_whitespace().filter_map(unit).any(|unit| units.contains(&unit.as_str()))
}

fn rejection(meaning: Meaning, what: &str, words: &str, hint: RateHint) -> Rejection {
    let (kind, class) = meaning.verdict();
    let advice = meaning.advice().map(|advice| format!(" ({advice})")).unwrap_or_default();
    let words = if words.is_empty() { String::new() } else { format!(": {words}") };
    Rejection { kind, class, message: format!("{what}{words}{advice}"), hint, raw: None, spent: Spent::default() }
}

fn meaning(status: u16, dialect: Dialect, said: &ErrorBody, should_retry: Option<&str>, hint: &RateHint) -> Meaning {
    let meaning = by_words(dialect, said).unwrap_or_else(|| by_status(status));
    let retried = meaning.verdict().1 == RetryClass::Retry;
    match should_retry {
        Some("false") if retried && status != 429 => Meaning::Request,
        Some("true") if meaning == Meaning::Request => Meaning::Overloaded,
        _ if retried && hint.retry_after.is_some_and(|wait| wait > LONGEST_WAIT) => Meaning::Quota,
        _ => meaning,
    }
}

fn by_status(status: u16) -> Meaning {
    match status {
        300..=399 => Meaning::Redirected,
        401 | 403 | 407 => Meaning::Auth,
        402 => Meaning::Quota,
        404 | 405 | 410 => Meaning::NotFound,
        408 => Meaning::TimedOut,
        429 => Meaning::RateLimited,
        409 | 425 | 500..=599 => Meaning::Overloaded,
        _ => Meaning::Request,
    }
}

#[cfg(test)]
mod tests;
