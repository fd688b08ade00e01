//! What the readers of all dialects share.

use serde_json::Value;

use super::price::{Price, tariff};
use crate::domain::{FailureKind, RetryClass, Spent, Usage};
use crate::net::{Rejection, Response, first_words};

/// Characters of a reply that are kept for the reports when it cannot be used.
const RAW: usize = 4_000;

/// The body of a complete response. White space before the JSON is allowed: some services send blank lines to keep a slow connection
/// alive.
///
/// # Errors
/// A body that ends too early is a server in trouble and may come whole the next time; a page stays a page.
pub(super) fn json(response: &Response, address: &str) -> Result<Value, Rejection> {
    serde_json::from_slice(&response.body).map_err(|error| no_json(&error, response, address))
}

fn no_json(error: &serde_json::Error, response: &Response, address: &str) -> Rejection {
    let kind = response.header("content-type").unwrap_or("no content type");
    let words = match first_words(&response.body) {
        words if words.is_empty() => "an empty body".to_owned(),
        words => words,
    };
    if error.is_eof() {
        let why = format!("the JSON of {address} ends early (status {}): {words}", response.status);
        return Rejection::new(FailureKind::Truncated, RetryClass::Retry, why);
    }
    let why = format!("{address} answered {} without JSON ({kind}): {words}", response.status);
    Rejection::new(FailureKind::Malformed, RetryClass::Case, why)
}

/// What a response took.
pub(super) fn spent(usage: Usage, price: Option<Price>, response: &Response) -> Spent {
    Spent { usage, cost: price.and_then(|price| price.of(usage, tariff(response))) }
}

/// A reply that came, was paid for, and cannot be used; `text` is what it said, if it said something.
pub(super) fn unusable(
    kind: FailureKind,
    why: String,
    text: Option<&str>,
    (body, spent): (&Value, Spent),
) -> Rejection {
    let raw = match text {
        Some(text) => text.chars().take(RAW).collect(),
        None => body.to_string().chars().take(RAW).collect(),
    };
    Rejection { raw: Some(raw), spent, ..Rejection::new(kind, RetryClass::Unusable, why) }
}
