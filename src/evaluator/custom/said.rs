//! What an evaluator of one's own may answer. Pure and total: any bytes.

use serde::Deserialize;

use crate::domain::{Failure, FailureKind, Measurement, Reading, RetryClass, ScoreKind, SkipReason};
use crate::net::{Rejection, first_words};

/// Characters of a reply that are kept for the reports when it cannot be used.
const RAW: usize = 4_000;

/// The object that it answers with. Further keys are its own business.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Said {
    id: Option<String>,
    score: Option<Number>,
    #[serde(alias = "passed")]
    pass: Option<bool>,
    reason: Option<String>,
    error: Option<String>,
    skip: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Number {
    Flag(bool),
    Value(f64),
}

/// How a reply is read.
pub(super) struct Reader {
    pub kind: ScoreKind,
    /// `None`: what passes is its own word.
    pub pass_mark: Option<f64>,
    pub lower_is_better: bool,
    /// The reply must say the id of its question.
    pub says_id: bool,
}

impl Reader {
    /// The measurement in `body`, the answer of `who` to the question `id`.
    ///
    /// # Errors
    /// Whatever is not exactly a score, a skip or an error in words.
    pub(super) fn read(&self, body: &[u8], who: &str, id: &str) -> Result<Measurement, Rejection> {
        let reject = |kind: FailureKind, why: String| {
            let raw: String = String::from_utf8_lossy(body).chars().take(RAW).collect();
            Err(Rejection { raw: Some(raw), ..Rejection::new(kind, RetryClass::Unusable, why) })
        };
        if body.trim_ascii().is_empty() {
            return reject(FailureKind::Empty, format!("{who} answered with nothing"));
        }
        let said: Said = match serde_json::from_slice(body) {
            Ok(said) => said,
            Err(error) => {
                let why = format!("{who} answered with no usable object ({error}): {}", first_words(body));
                return reject(FailureKind::Malformed, why);
            }
        };
        if self.says_id && said.id.as_deref() != Some(id) {
            let why = format!("{who} must answer with the `id` of the question, and it is another one or none");
            return reject(FailureKind::Malformed, why);
        }
        match said {
            Said { error: Some(error), score: None, pass: None, skip: None, .. } => {
                let words: String = error.chars().take(RAW).collect();
                reject(FailureKind::Command, format!("{who} could not score the answer: {words}"))
            }
            Said { skip: Some(why), score: None, pass: None, error: None, .. } => {
                Ok(Measurement::Skipped(SkipReason::NotApplicable, why))
            }
            Said { score, pass, reason, error: None, skip: None, .. } => match self.score(score, pass) {
                Ok(mut reading) => {
                    reading.reason = reason;
                    Ok(Measurement::Value(reading))
                }
                Err(failure) => reject(failure.kind, format!("{who}: {}", failure.message)),
            },
            _ => {
                reject(FailureKind::Unusable, format!("{who} answered with a score and an `error` or `skip` beside it"))
            }
        }
    }

    fn score(&self, score: Option<Number>, pass: Option<bool>) -> Result<Reading, Failure> {
        let binary = self.kind == ScoreKind::Binary;
        let value = match (score, pass) {
            (Some(Number::Value(value)), _) => value,
            (Some(Number::Flag(flag)), _) | (None, Some(flag)) if binary => f64::from(u8::from(flag)),
            (Some(Number::Flag(_)), _) => return Err(unusable("`score` must be a number")),
            (None, _) => return Err(unusable("there is no `score`")),
        };
        let mut reading = Reading::new(self.kind, value)?;
        reading.passed = match self.pass_mark {
            Some(mark) if self.lower_is_better => Some(value <= mark),
            Some(mark) => Some(value >= mark),
            None => pass,
        };
        if pass.is_some() && pass != reading.passed {
            return Err(unusable("`pass` and the score do not agree on whether the case passes"));
        }
        Ok(reading)
    }
}

fn unusable(why: &str) -> Failure {
    Failure::infra(FailureKind::Unusable, why)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reader(kind: ScoreKind, pass_mark: Option<f64>) -> Reader {
        Reader { kind, pass_mark, lower_is_better: false, says_id: false }
    }

    /// Value and pass, or the kind of the failure.
    fn read(reader: &Reader, body: &str) -> Result<(f64, Option<bool>), FailureKind> {
        match reader.read(body.as_bytes(), "`x`", "7") {
            Ok(Measurement::Value(reading)) => Ok((reading.value(), reading.passed)),
            Ok(other) => panic!("{other:?}"),
            Err(rejection) => {
                assert_eq!(rejection.class, RetryClass::Unusable);
                assert!(rejection.raw.is_some());
                Err(rejection.kind)
            }
        }
    }

    #[test]
    fn only_a_score_in_range_is_a_score() {
        let unit = reader(ScoreKind::UNIT, None);
        for (body, expected) in [
            (r#"{"score": 0.5, "reason": "half", "more": [1]}"#, Ok((0.5, None))),
            (r#"{"score": 1, "passed": true}"#, Ok((1.0, Some(true)))),
            (r#"{"score": 1.5}"#, Err(FailureKind::NotAScore)),
            (r#"{"score": -0.1}"#, Err(FailureKind::NotAScore)),
            (r#"{"score": "0.5"}"#, Err(FailureKind::Malformed)),
            (r#"{"score": true}"#, Err(FailureKind::Unusable)),
            (r#"{"score": null}"#, Err(FailureKind::Unusable)),
            (r#"{"score": NaN}"#, Err(FailureKind::Malformed)),
            (r#"{"score": 0.5, "score": 0.6}"#, Err(FailureKind::Malformed)),
            (r#"{"pass": true}"#, Err(FailureKind::Unusable)),
            (r#"{"error": "no model"}"#, Err(FailureKind::Command)),
            (r#"{"error": "no model", "score": 1}"#, Err(FailureKind::Unusable)),
            ("{}", Err(FailureKind::Unusable)),
            ("0.5", Err(FailureKind::Malformed)),
            ("[0.5]", Err(FailureKind::Malformed)),
            ("{\"score\": 0.5} trailing", Err(FailureKind::Malformed)),
            (" \n", Err(FailureKind::Empty)),
        ] {
            assert_eq!(read(&unit, body), expected, "{body}");
        }
        let skipped = unit.read(br#"{"skip": "no table"}"#, "`x`", "7").unwrap();
        assert_eq!(skipped, Measurement::Skipped(SkipReason::NotApplicable, "no table".to_owned()));
    }

    #[test]
    fn a_threshold_decides_and_must_not_be_contradicted() {
        let marked = reader(ScoreKind::UNIT, Some(0.5));
        assert_eq!(read(&marked, r#"{"score": 0.5}"#), Ok((0.5, Some(true))));
        assert_eq!(read(&marked, r#"{"score": 0.4, "pass": false}"#), Ok((0.4, Some(false))));
        assert_eq!(read(&marked, r#"{"score": 0.9, "pass": false}"#), Err(FailureKind::Unusable));
        let binary = reader(ScoreKind::Binary, Some(1.0));
        assert_eq!(read(&binary, r#"{"pass": true}"#), Ok((1.0, Some(true))));
        assert_eq!(read(&binary, r#"{"score": false}"#), Ok((0.0, Some(false))));
        assert_eq!(read(&binary, r#"{"score": 0.5}"#), Err(FailureKind::NotAScore));
    }

    #[test]
    fn a_worker_says_which_question_it_answers() {
        let worker = Reader { says_id: true, ..reader(ScoreKind::UNIT, None) };
        assert_eq!(read(&worker, r#"{"id": "7", "score": 1}"#), Ok((1.0, None)));
        assert_eq!(read(&worker, r#"{"id": "8", "score": 1}"#), Err(FailureKind::Malformed));
        assert_eq!(read(&worker, r#"{"score": 1}"#), Err(FailureKind::Malformed));
    }

    proptest! {
        #[test]
        fn any_bytes_have_an_end(bytes in proptest::collection::vec(any::<u8>(), 0..60), score: f64) {
            let unit = reader(ScoreKind::UNIT, None);
            let _ = unit.read(&bytes, "`x`", "7");
            let body = serde_json::json!({ "score": score }).to_string();
            if let Ok(Measurement::Value(reading)) = unit.read(body.as_bytes(), "`x`", "7") {
                prop_assert!((0.0..=1.0).contains(&reading.value()));
            }
        }
    }
}
