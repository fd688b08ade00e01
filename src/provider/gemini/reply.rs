//! Generated content → a reply, or the reason why it is none.

use serde_json::Value;

use crate::domain::{FailureKind, Usage};
use crate::net::{Dialect, Rejection, Response, classify_error_object, first_words};
use crate::provider::price::Price;
use crate::provider::{ChatReply, reply};

/// Reads a complete response with a success status.
pub(super) fn read(response: &Response, address: &str, price: Option<Price>) -> Result<ChatReply, Rejection> {
    let body = reply::json(response, address)?;
    if let Some(rejection) = classify_error_object(&body, Dialect::Gemini, address) {
        return Err(rejection);
    }
    let spent = reply::spent(usage(&body), price, response);
    let Some(candidate) = body.pointer("/candidates/0") else {
        let (kind, why) = nothing(&body, address, response);
        return Err(reply::unusable(kind, why, None, (&body, spent)));
    };
    let parts = candidate.pointer("/content/parts").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let said = Said::of(parts);
    let unusable =
        |(kind, why): (FailureKind, String)| reply::unusable(kind, why, said.text.as_deref(), (&body, spent));
    let stop_reason = candidate.get("finishReason").and_then(Value::as_str);
    let explained = candidate.get("finishMessage").and_then(Value::as_str).unwrap_or_default();
    stopped(stop_reason, explained).map_or(Ok(()), |why| Err(unusable(why)))?;
    let text = match &said.text {
        Some(text) if !text.trim().is_empty() || !said.thought => text.clone(),
        Some(_) | None => return Err(unusable(said.wordless())),
    };
    Ok(ChatReply {
        text,
        usage: spent.usage,
        cost: spent.cost,
        model: body.get("modelVersion").and_then(Value::as_str).map(str::to_owned),
        stop_reason: stop_reason.map(str::to_owned),
    })
}

/// A prompt that was stopped has no candidates.
fn nothing(body: &Value, address: &str, response: &Response) -> (FailureKind, String) {
    match body.pointer("/promptFeedback/blockReason").and_then(Value::as_str) {
        Some(reason) => {
            let reason: String = reason.chars().take(40).collect();
            (FailureKind::Filtered, format!("the prompt was stopped by the service's filter (blockReason `{reason}`)"))
        }
        None => {
            let why = format!("{address} answered without `candidates`: {}", first_words(&response.body));
            (FailureKind::Malformed, why)
        }
    }
}

/// Reasons to stop that make a reply no complete one. A service that gives no reason is believed.
///
/// **Source**: Google's API reference, `Candidate.FinishReason`, 2026-11.
fn stopped(reason: Option<&str>, explained: &str) -> Option<(FailureKind, String)> {
    let explained = first_words(explained.as_bytes());
    let more = if explained.is_empty() { String::new() } else { format!(": {explained}") };
    match reason {
        None | Some("STOP" | "FINISH_REASON_UNSPECIFIED") => None,
        Some("MAX_TOKENS") => {
            let why = "the reply was cut off (finishReason `MAX_TOKENS`): raise `max_tokens`, which counts the model's thoughts too, or \
                       shorten the prompt";
            Some((FailureKind::Truncated, why.to_owned()))
        }
        Some(reason @ ("SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE")) => {
            let why = format!("the reply was stopped by the service's filter (finishReason `{reason}`){more}");
            Some((FailureKind::Filtered, why))
        }
        Some("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS") => {
            Some((FailureKind::Malformed, format!("the reply is a tool call instead of text{more}")))
        }
        Some(other) => {
            let other: String = other.chars().take(40).collect();
            let why = format!("the reply ended for an unknown reason (finishReason `{other}`){more}");
            Some((FailureKind::Malformed, why))
        }
    }
}

/// What stands in the parts.
struct Said {
    /// `None` where nothing was said, not even nothing.
    text: Option<String>,
    thought: bool,
    called: bool,
}

impl Said {
    fn of(parts: &[Value]) -> Self {
        let is_thought = |part: &&Value| part.get("thought").and_then(Value::as_bool) == Some(true);
        let texts: Vec<&str> = parts
            .iter()
            .filter(|part| !is_thought(part))
            .filter_map(|part| part.get("text").and_then(Value::as_str))
            .collect();
        Self {
            text: (!texts.is_empty()).then(|| texts.concat()),
            thought: parts.iter().any(|part| is_thought(&part)),
            called: parts.iter().any(|part| part.get("functionCall").is_some()),
        }
    }

    fn wordless(&self) -> (FailureKind, String) {
        if self.called {
            return (FailureKind::Malformed, "the reply is a tool call instead of text".to_owned());
        }
        let only = if self.thought { " (reasoning only)" } else { "" };
        (FailureKind::Empty, format!("the reply holds no answer text{only}"))
    }
}

/// Thoughts are paid for as what comes back.
fn usage(body: &Value) -> Usage {
    let count = |key: &str| {
        body.get("usageMetadata").and_then(|usage| usage.get(key)).and_then(Value::as_u64).unwrap_or_default()
    };
    Usage {
        prompt_tokens: count("promptTokenCount").saturating_add(count("toolUsePromptTokenCount")),
        completion_tokens: count("candidatesTokenCount").saturating_add(count("thoughtsTokenCount")),
    }
}
