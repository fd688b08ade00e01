//! A message → a reply, or the reason why it is none.

use serde_json::Value;

use crate::domain::{FailureKind, Usage};
use crate::net::{Dialect, Rejection, Response, classify_error_object, first_words};
use crate::provider::price::Price;
use crate::provider::{ChatReply, reply};

/// Reads a complete response with a success status.
pub(super) fn read(response: &Response, address: &str, price: Option<Price>) -> Result<ChatReply, Rejection> {
    let body = reply::json(response, address)?;
    if let Some(rejection) = classify_error_object(&body, Dialect::Anthropic, address) {
        return Err(rejection);
    }
    let spent = reply::spent(usage(&body), price, response);
    let Some(parts) = body.get("content").and_then(Value::as_array) else {
        let why = format!("{address} answered without `content`: {}", first_words(&response.body));
        return Err(reply::unusable(FailureKind::Malformed, why, None, (&body, spent)));
    };
    let text = texts(parts);
    let unusable = |(kind, why): (FailureKind, String)| reply::unusable(kind, why, text.as_deref(), (&body, spent));
    let stop_reason = body.get("stop_reason").and_then(Value::as_str);
    stopped(stop_reason, &body).map_or(Ok(()), |why| Err(unusable(why)))?;
    let text = match &text {
        Some(text) => text.clone(),
        None => return Err(unusable(wordless(parts))),
    };
    Ok(ChatReply {
        text,
        usage: spent.usage,
        cost: spent.cost,
        model: body.get("model").and_then(Value::as_str).map(str::to_owned),
        stop_reason: stop_reason.map(str::to_owned),
    })
}

/// Reasons to stop that make a reply no complete one.
fn stopped(reason: Option<&str>, body: &Value) -> Option<(FailureKind, String)> {
    match reason {
        None | Some("end_turn" | "stop_sequence") => None,
        Some("max_tokens") => {
            let why = "the reply was cut off (stop_reason `max_tokens`): raise `max_tokens`, or shorten the prompt";
            Some((FailureKind::Truncated, why.to_owned()))
        }
        Some("model_context_window_exceeded") => {
            let why = "the reply was cut off at the end of the model's context window: shorten the prompt";
            Some((FailureKind::Truncated, why.to_owned()))
        }
        Some("refusal") => {
            let explained = body.pointer("/stop_details/explanation").and_then(Value::as_str).unwrap_or_default();
            let explained = first_words(explained.as_bytes());
            let why = if explained.is_empty() { String::new() } else { format!(": {explained}") };
            Some((FailureKind::Declined, format!("the model declined (stop_reason `refusal`){why}")))
        }
        Some("tool_use") => Some((FailureKind::Malformed, "the reply is a tool call instead of text".to_owned())),
        Some(other) => {
            let other: String = other.chars().take(40).collect();
            Some((FailureKind::Malformed, format!("the reply ended for an unknown reason (stop_reason `{other}`)")))
        }
    }
}

/// The parts that are text, in a row; `None` without any.
fn texts(parts: &[Value]) -> Option<String> {
    let is_text = |part: &&Value| part.get("type").and_then(Value::as_str) == Some("text");
    let texts: Vec<&str> =
        parts.iter().filter(is_text).filter_map(|part| part.get("text").and_then(Value::as_str)).collect();
    let text = texts.concat();
    // A model that thought and then wrote nothing has not answered; one that only wrote nothing had its say.
    (!texts.is_empty() && (!text.trim().is_empty() || parts.len() == texts.len())).then_some(text)
}

fn wordless(parts: &[Value]) -> (FailureKind, String) {
    let thought =
        parts.iter().any(|part| part.get("type").and_then(Value::as_str).is_some_and(|kind| kind.contains("thinking")));
    let only = if thought { " (reasoning only)" } else { "" };
    (FailureKind::Empty, format!("the reply holds no answer text{only}"))
}

/// What was read from or written to the prompt cache is part of the prompt.
fn usage(body: &Value) -> Usage {
    let count =
        |key: &str| body.get("usage").and_then(|usage| usage.get(key)).and_then(Value::as_u64).unwrap_or_default();
    let prompt = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"]
        .iter()
        .fold(0_u64, |sum, key| sum.saturating_add(count(key)));
    Usage { prompt_tokens: prompt, completion_tokens: count("output_tokens") }
}
