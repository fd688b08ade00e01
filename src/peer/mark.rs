//! A value of another tool → what it says as a score.

use serde_json::Value;

use crate::domain::{FailureKind, Side, SkipReason};
use crate::store::{FailureLine, ScoreLine};

/// What a value is as a score.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mark {
    Score(f64),
    /// Nothing stands there.
    Empty,
    /// NaN or infinite: something was computed that is no score.
    NotFinite(String),
    /// Something else.
    Other,
}

/// Words that stand for no value.
const NOTHING: [&str; 6] = ["", "null", "none", "n/a", "na", "<na>"];

impl Mark {
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Empty,
            Value::Bool(flag) => Self::Score(f64::from(u8::from(*flag))),
            Value::Number(number) => match number.as_f64() {
                Some(value) if value.is_finite() => Self::Score(value),
                _ => Self::NotFinite(number.to_string()),
            },
            Value::String(text) => Self::of_text(text),
            Value::Array(_) | Value::Object(_) => Self::Other,
        }
    }

    fn of_text(text: &str) -> Self {
        let text = text.trim();
        let lower = text.to_ascii_lowercase();
        match &*lower {
            word if NOTHING.contains(&word) => Self::Empty,
            "true" => Self::Score(1.0),
            "false" => Self::Score(0.0),
            _ => match text.parse::<f64>() {
                Ok(value) if value.is_finite() => Self::Score(value),
                Ok(_) => Self::NotFinite(text.to_owned()),
                Err(_) => Self::Other,
            },
        }
    }

    /// The line of a score; `None` for what is neither a score nor its absence.
    pub(super) fn score(self, metric: &str) -> Option<ScoreLine> {
        match self {
            Self::Score(value) => Some(scored(metric, value)),
            Self::Empty => Some(left(metric, "nothing stands there")),
            Self::NotFinite(word) => Some(failed(metric, FailureKind::NotAScore, format!("{word} is no score"))),
            Self::Other => None,
        }
    }
}

pub(super) fn scored(metric: &str, value: f64) -> ScoreLine {
    // -0.0 would print as "-0".
    let value = if value == 0.0 { 0.0 } else { value };
    ScoreLine { metric: metric.to_owned(), value: Some(value), ..ScoreLine::default() }
}

/// It was planned, and is not there.
pub(super) fn left(metric: &str, reason: &str) -> ScoreLine {
    let (skipped, reason) = (Some(SkipReason::NotMeasured), Some(reason.to_owned()));
    ScoreLine { metric: metric.to_owned(), skipped, reason, ..ScoreLine::default() }
}

/// The judge, or whoever measured, failed.
pub(super) fn failed(metric: &str, kind: FailureKind, message: impl Into<String>) -> ScoreLine {
    let error = Some(FailureLine { kind, side: Side::Infra, message: message.into(), attempts: 0, raw: None });
    ScoreLine { metric: metric.to_owned(), error, ..ScoreLine::default() }
}

/// The system under test failed.
pub(super) fn no_answer(message: impl Into<String>) -> FailureLine {
    let (kind, side) = (FailureKind::Recorded, Side::Target);
    FailureLine { kind, side, message: message.into(), attempts: 0, raw: None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_finite_numbers_are_scores() {
        let table = [
            (json!(0.5), Mark::Score(0.5)),
            (json!(" 1e-1 "), Mark::Score(0.1)),
            (json!(true), Mark::Score(1.0)),
            (json!("False"), Mark::Score(0.0)),
            (json!(""), Mark::Empty),
            (json!(null), Mark::Empty),
            (json!("None"), Mark::Empty),
            (json!("NaN"), Mark::NotFinite("NaN".to_owned())),
            (json!("-inf"), Mark::NotFinite("-inf".to_owned())),
            (json!("good"), Mark::Other),
            (json!([1]), Mark::Other),
        ];
        for (value, mark) in table {
            assert_eq!(Mark::of(&value), mark, "{value}");
        }
    }
}
