//! What an error body says, whoever wrote it: codes, a message, and a wait.
//!
//! The forms that are read: `{"error": {"message", "type", "code", "innererror"}}` (OpenAI, Azure), the same in a list (Google),
//! `{"type": "error", "error": {"type", "message", "details"}}` (Anthropic), `{"error": "text"}`, `{"code", "message"}` (DashScope),
//! `{"detail"}` (FastAPI).

use std::time::Duration;

use serde_json::Value;

use super::rate_hint::period;

/// The parts that matter for what to do next.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ErrorBody {
    /// Every code, type, status and quota name, in lower case.
    pub(super) codes: Vec<String>,
    /// A code that is an HTTP status (some gateways answer 200 with it).
    pub(super) status: Option<u16>,
    pub(super) message: Option<String>,
    /// Google's `RetryInfo`.
    pub(super) retry_after: Option<Duration>,
}

/// Levels of the body that are looked at.
const DEEPEST: usize = 6;

impl ErrorBody {
    /// Reads a body; a body that is no JSON says nothing.
    pub(super) fn read(body: &[u8]) -> Self {
        serde_json::from_slice::<Value>(body).map_or_else(|_| Self::default(), |value| Self::of(&value))
    }

    pub(super) fn of(value: &Value) -> Self {
        let mut found = Self::default();
        let value = match value {
            Value::Array(items) => items.first().unwrap_or(value),
            other => other,
        };
        found.take(value, DEEPEST);
        found
    }

    fn take(&mut self, value: &Value, depth: usize) {
        let (Value::Object(map), Some(depth)) = (value, depth.checked_sub(1)) else { return };
        for (key, value) in map {
            match (key.as_str(), value) {
                (
                    "code" | "type" | "status" | "error_code" | "reason" | "quotaId" | "quotaMetric",
                    Value::String(text),
                ) => {
                    self.status = self.status.or_else(|| text.parse().ok().filter(is_status));
                    self.codes.push(text.to_ascii_lowercase());
                }
                ("code" | "status", Value::Number(number)) => {
                    let status = number.as_u64().and_then(|number| u16::try_from(number).ok());
                    self.status = self.status.or(status.filter(is_status));
                }
                ("message" | "detail" | "msg" | "error", Value::String(text)) if !text.trim().is_empty() => {
                    self.message.get_or_insert_with(|| text.clone());
                }
                ("retryDelay", Value::String(text)) => self.retry_after = self.retry_after.or_else(|| period(text)),
                ("error" | "innererror" | "details" | "metadata", Value::Object(_)) => self.take(value, depth),
                ("details" | "violations", Value::Array(items)) => {
                    items.iter().take(20).for_each(|item| self.take(item, depth));
                }
                _ => {}
            }
        }
    }

    /// True where one of the codes is one of `words`.
    pub(super) fn has(&self, words: &[&str]) -> bool {
        self.codes.iter().any(|code| words.contains(&code.as_str()))
    }

    /// True where a code or the message contains one of `words` (lower case).
    pub(super) fn mentions(&self, words: &[&str]) -> bool {
        let message = self.message.as_deref().unwrap_or_default().to_lowercase();
        words.iter().any(|word| message.contains(word) || self.codes.iter().any(|code| code.contains(word)))
    }
}

fn is_status(status: &u16) -> bool {
    (400..600).contains(status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn every_form_gives_its_codes_and_words() {
        let openai = ErrorBody::of(
            &json!({"error": {"message": "No.", "type": "insufficient_quota", "param": null, "code": "Insufficient_Quota"}}),
        );
        assert!(openai.has(&["insufficient_quota"]) && openai.message.as_deref() == Some("No."));
        let google = ErrorBody::of(
            &json!([{"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED", "details": [
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "38s"}]}}]),
        );
        assert_eq!((google.status, google.retry_after), (Some(429), Some(Duration::from_secs(38))));
        assert!(google.mentions(&["perday"]) && google.has(&["resource_exhausted"]));
        let anthropic = ErrorBody::of(&json!({"type": "error", "error": {"type": "rate_limit_error", "message": "m",
            "details": {"error_code": "enforced_spend_limit_reached"}}}));
        assert!(anthropic.has(&["enforced_spend_limit_reached"]));
        assert_eq!(ErrorBody::of(&json!({"error": "plain words"})).message.as_deref(), Some("plain words"));
        assert_eq!(ErrorBody::of(&json!({"detail": "Not Found"})).message.as_deref(), Some("Not Found"));
        assert_eq!(ErrorBody::read(b"<html>"), ErrorBody::default());
    }

    proptest! {
        #[test]
        fn any_body_is_survived(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = ErrorBody::read(&body);
        }
    }
}
