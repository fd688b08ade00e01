//! A response → a reply, or the reason why it is none.

use serde_json::Value;

use crate::domain::{FailureKind, Usage};
use crate::net::{Dialect, Rejection, Response, classify_error_object, first_words};
use crate::provider::price::Price;
use crate::provider::{ChatReply, reply};

/// Reads a complete response with a success status.
pub(super) fn read(
    response: &Response,
    dialect: Dialect,
    address: &str,
    price: Option<Price>,
) -> Result<ChatReply, Rejection> {
    let body = reply::json(response, address)?;
    let spent = reply::spent(usage(&body), price, response);
    if let Some(rejection) = classify_error_object(&body, dialect, address) {
        return Err(Rejection { spent, ..rejection });
    }
    let Some(output) = body.get("output").and_then(Value::as_array) else {
        let why = format!("{address} answered without `output`: {}", first_words(&response.body));
        return Err(reply::unusable(FailureKind::Malformed, why, None, (&body, spent)));
    };
    let said = Said::of(output);
    let text = said.text();
    let unusable = |(kind, why): (FailureKind, String)| reply::unusable(kind, why, text.as_deref(), (&body, spent));
    let status = body.get("status").and_then(Value::as_str);
    let reason = body.pointer("/incomplete_details/reason").and_then(Value::as_str);
    stopped(status, reason).map_or(Ok(()), |why| Err(unusable(why)))?;
    if let Some(refusal) = said.refusals.iter().find(|text| !text.trim().is_empty()) {
        let why = format!("the model declined: {}", first_words(refusal.as_bytes()));
        return Err(reply::unusable(FailureKind::Declined, why, Some(refusal), (&body, spent)));
    }
    let text = match &text {
        Some(text) if !text.trim().is_empty() || !said.reasoned => text.clone(),
        Some(_) | None => return Err(unusable(said.wordless())),
    };
    Ok(ChatReply {
        text,
        usage: spent.usage,
        cost: spent.cost,
        model: body.get("model").and_then(Value::as_str).map(str::to_owned),
        stop_reason: reason.or(status).map(str::to_owned),
    })
}

/// What stands in the output, in its order.
#[derive(Default)]
struct Said<'a> {
    texts: Vec<&'a str>,
    refusals: Vec<&'a str>,
    reasoned: bool,
    called: bool,
}

impl<'a> Said<'a> {
    fn of(output: &'a [Value]) -> Self {
        let mut said = Self::default();
        let kind = |value: &'a Value| value.get("type").and_then(Value::as_str).unwrap_or_default();
        for item in output {
            match kind(item) {
                "message" => {
                    for part in item.get("content").and_then(Value::as_array).into_iter().flatten() {
                        let text = |key: &str| part.get(key).and_then(Value::as_str);
                        said.texts.extend(text("text").filter(|_| kind(part) == "output_text"));
                        said.refusals.extend(text("refusal").filter(|_| kind(part) == "refusal"));
                    }
                }
                "reasoning" => said.reasoned = true,
                other => said.called |= other.ends_with("_call"),
            }
        }
        said
    }

    /// `None` where nothing was said, not even nothing.
    fn text(&self) -> Option<String> {
        (!self.texts.is_empty()).then(|| self.texts.concat())
    }

    fn wordless(&self) -> (FailureKind, String) {
        if self.called {
            return (FailureKind::Malformed, "the reply is a tool call instead of text".to_owned());
        }
        let only = if self.reasoned { " (reasoning only)" } else { "" };
        (FailureKind::Empty, format!("the reply holds no answer text{only}"))
    }
}

/// States that make a response no complete reply. A service that gives none is believed.
fn stopped(status: Option<&str>, reason: Option<&str>) -> Option<(FailureKind, String)> {
    match (status, reason) {
        (None | Some("completed"), None) => None,
        (_, Some("max_output_tokens")) => {
            let why =
                "the reply was cut off (incomplete: `max_output_tokens`): raise `max_tokens`, or shorten the prompt";
            Some((FailureKind::Truncated, why.to_owned()))
        }
        (_, Some("content_filter")) => {
            Some((FailureKind::Filtered, "the reply was stopped by the service's content filter".to_owned()))
        }
        (status, reason) => {
            let word: String = reason.or(status).unwrap_or_default().chars().take(40).collect();
            Some((FailureKind::Malformed, format!("the response is not complete (`{word}`)")))
        }
    }
}

fn usage(body: &Value) -> Usage {
    let count = |pointer| body.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
    Usage { prompt_tokens: count("/usage/input_tokens"), completion_tokens: count("/usage/output_tokens") }
}
