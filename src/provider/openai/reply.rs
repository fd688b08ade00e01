//! A chat completion → a reply, or the reason why it is none.

use serde_json::Value;

use crate::domain::{FailureKind, RetryClass, Spent, Usage, Usd};
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
    if let Some(rejection) = classify_error_object(&body, dialect, address) {
        return Err(rejection);
    }
    let spent = reply::spent(usage(&body), price, response);
    let spent = Spent { cost: spent.cost.or_else(|| stated_cost(&body)), ..spent };
    let unusable = |kind, why: String| unusable(kind, why, (&body, spent));
    let Some(choice) = body.pointer("/choices/0") else {
        let why = format!("{address} answered without `choices`: {}", first_words(&response.body));
        return Err(unusable(FailureKind::Malformed, why));
    };
    let message = choice.get("message").unwrap_or(&Value::Null);
    let stop_reason = choice.get("finish_reason").and_then(Value::as_str);
    if let Some(why) = broken(stop_reason) {
        return Err(Rejection {
            spent,
            ..Rejection::new(FailureKind::Server, RetryClass::Retry, format!("{address}: {why}"))
        });
    }
    stopped(stop_reason).map_or(Ok(()), |(kind, why)| Err(unusable(kind, why)))?;
    let text = text_of(message).map_err(|(kind, why)| unusable(kind, why))?;
    Ok(ChatReply {
        text,
        usage: spent.usage,
        cost: spent.cost,
        model: body.get("model").and_then(Value::as_str).map(str::to_owned),
        stop_reason: stop_reason.map(str::to_owned),
    })
}

/// A service that ran into trouble of its own amid the reply: the next try may come whole.
fn broken(reason: Option<&str>) -> Option<String> {
    match reason {
        // DeepSeek; OpenRouter and Mistral; Zhipu.
        Some(reason @ ("insufficient_system_resource" | "error" | "network_error")) => {
            Some(format!("the service broke off the reply (finish_reason `{reason}`)"))
        }
        _ => None,
    }
}

/// Reasons to stop that make a reply no complete one. A service that gives no reason is believed.
fn stopped(reason: Option<&str>) -> Option<(FailureKind, String)> {
    match reason {
        None | Some("stop" | "end_turn" | "eos" | "eos_token" | "stop_sequence" | "complete") => None,
        Some("length" | "max_tokens" | "model_length") => {
            let why = "the reply was cut off (finish_reason `length`): raise `max_tokens`, or shorten the prompt";
            Some((FailureKind::Truncated, why.to_owned()))
        }
        Some("content_filter" | "sensitive") => {
            Some((FailureKind::Filtered, "the reply was stopped by the service's content filter".to_owned()))
        }
        Some("tool_calls" | "function_call") => {
            Some((FailureKind::Malformed, "the reply is a tool call instead of text".to_owned()))
        }
        Some(other) => {
            let other: String = other.chars().take(40).collect();
            Some((FailureKind::Malformed, format!("the reply ended for an unknown reason (finish_reason `{other}`)")))
        }
    }
}

fn text_of(message: &Value) -> Result<String, (FailureKind, String)> {
    if let Some(refusal) = message.get("refusal").and_then(Value::as_str).filter(|text| !text.trim().is_empty()) {
        return Err((FailureKind::Declined, format!("the model declined: {}", first_words(refusal.as_bytes()))));
    }
    let reasoned = ["reasoning_content", "reasoning"]
        .iter()
        .any(|key| message.get(*key).and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty()));
    let nothing = || {
        let only = if reasoned { " (reasoning only)" } else { "" };
        Err((FailureKind::Empty, format!("the reply holds no answer text{only}")))
    };
    match message.get("content") {
        Some(Value::String(text)) if text.trim().is_empty() && reasoned => nothing(),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(parts)) => joined(parts).map_or_else(nothing, Ok),
        Some(Value::Null) | None if message.get("tool_calls").is_some_and(|calls| !calls.is_null()) => {
            Err((FailureKind::Malformed, "the reply is a tool call instead of text".to_owned()))
        }
        Some(Value::Null) | None => nothing(),
        Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            Err((FailureKind::Malformed, "the reply's `content` is no text".to_owned()))
        }
    }
}

/// The texts of a reply in parts; `None` without any.
fn joined(parts: &[Value]) -> Option<String> {
    let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect();
    (!texts.is_empty()).then(|| texts.concat())
}

fn usage(body: &Value) -> Usage {
    let count = |pointer| body.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
    Usage { prompt_tokens: count("/usage/prompt_tokens"), completion_tokens: count("/usage/completion_tokens") }
}

/// What the service says that the reply cost, in US dollars (OpenRouter).
fn stated_cost(body: &Value) -> Option<Usd> {
    let cost = body.pointer("/usage/cost").and_then(Value::as_f64)?;
    (cost.is_finite() && cost >= 0.0).then_some(Usd(cost))
}

/// A reply that came, was paid for, and cannot be used.
fn unusable(kind: FailureKind, why: String, (body, spent): (&Value, Spent)) -> Rejection {
    let content = body.pointer("/choices/0/message/content").and_then(Value::as_str).filter(|text| !text.is_empty());
    let refusal = body.pointer("/choices/0/message/refusal").and_then(Value::as_str);
    reply::unusable(kind, why, content.or(refusal), (body, spent))
}
