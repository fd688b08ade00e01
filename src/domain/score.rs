//! One evaluator's finding about one answer: a value, or why there is none.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Failure, FailureKind, MetricName, ScoreKind};

/// Why a score was not attempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// The case has nothing that this metric could measure (no expected contexts, say): outside the planned cells.
    NotApplicable,
    /// It was planned and left out: counts as not measured.
    NotMeasured,
}

/// A score that counts: finite and in the metric's range.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    value: f64,
    pub passed: Option<bool>,
    pub reason: Option<String>,
    /// The judge had to be asked again for the required form.
    pub repaired: bool,
    /// The judge's model as its service named it in the answer; of several in the order of their names, with `, ` between.
    pub model: Option<Arc<str>>,
    /// What a reader must know of this score, as fixed words (`speaks_to_the_judge`); usually empty.
    pub flags: Vec<Arc<str>>,
}

impl Reading {
    /// A reading in the metric's own scale.
    ///
    /// # Errors
    /// `NotAScore` where `value` is NaN, infinite, or outside `kind`; nothing is clamped.
    pub fn new(kind: ScoreKind, value: f64) -> Result<Self, Failure> {
        if kind.admits(value) {
            // -0.0 would print as "-0".
            let value = if value == 0.0 { 0.0 } else { value };
            return Ok(Self { value, passed: None, reason: None, repaired: false, model: None, flags: Vec::new() });
        }
        let (lo, hi) = kind.range();
        Err(Failure::infra(FailureKind::NotAScore, format!("{value} is no score: it must be from {lo} to {hi}")))
    }

    /// The score in the metric's own scale; finite and in range.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// The same with a reason for people.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

/// The closed set of what measuring can come to (security §3). Only `Value` enters a mean or a comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum Measurement {
    Value(Reading),
    Error(Failure),
    /// A reply came and says nothing usable.
    Unusable(Failure),
    Skipped(SkipReason, String),
}

/// A metric with its measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    pub metric: MetricName,
    pub measurement: Measurement,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_never_nan_or_out_of_range() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.1, 1.000_000_1] {
            assert!(Reading::new(ScoreKind::UNIT, value).is_err(), "{value}");
        }
        assert!(Reading::new(ScoreKind::Binary, 0.5).is_err());
        assert_eq!(Reading::new(ScoreKind::Ordinal { lo: 1, hi: 5 }, 4.5).map(|reading| reading.value()), Ok(4.5));
    }
}
