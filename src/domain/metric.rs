//! What a metric is: its scale and which way is good.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Fingerprint;

/// The metric's name: the key under `evaluators`.
pub type MetricName = Arc<str>;
/// The target's name: the key under `targets`.
pub type TargetName = Arc<str>;

/// Which way is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    #[default]
    Higher,
    Lower,
}

impl Direction {
    /// Whether `value` is `mark` or better.
    pub fn reaches(self, value: f64, mark: f64) -> bool {
        match self {
            Self::Higher => value >= mark,
            Self::Lower => value <= mark,
        }
    }
}

/// The scale of a score (statistics §1.2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ScoreKind {
    /// 0 or 1.
    Binary,
    /// Integers `lo..=hi` (means of trials lie between).
    Ordinal { lo: i64, hi: i64 },
    /// Reals in `lo..=hi`.
    Continuous { lo: f64, hi: f64 },
}

impl ScoreKind {
    /// The usual 0..1 scale.
    pub const UNIT: Self = Self::Continuous { lo: 0.0, hi: 1.0 };

    /// Lowest and highest value.
    pub fn range(self) -> (f64, f64) {
        match self {
            Self::Binary => (0.0, 1.0),
            Self::Ordinal { lo, hi } => (lo as f64, hi as f64),
            Self::Continuous { lo, hi } => (lo, hi),
        }
    }

    /// `steps` of statistics §1.3: 1 for binary, `hi − lo` for ordinal, none for continuous.
    pub fn steps(self) -> Option<u64> {
        match self {
            Self::Binary => Some(1),
            Self::Ordinal { lo, hi } => hi.checked_sub(lo).and_then(|steps| u64::try_from(steps).ok()),
            Self::Continuous { .. } => None,
        }
    }

    /// Whether `value` is a score of this kind: finite and in range; 0 or 1 when binary.
    /// Ordinal scores may lie between integers (judges say 4.5, trials are averaged).
    pub fn admits(self, value: f64) -> bool {
        let (lo, hi) = self.range();
        let inside = value.is_finite() && value >= lo && value <= hi;
        match self {
            Self::Binary => inside && (value == 0.0 || value == 1.0),
            Self::Ordinal { .. } | Self::Continuous { .. } => inside,
        }
    }
}

/// A metric as a run measured it: enough to compare two runs, and to refuse to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricSpec {
    pub name: MetricName,
    #[serde(flatten)]
    pub kind: ScoreKind,
    #[serde(default)]
    pub direction: Direction,
    /// A case passes at this score or better (in the metric's own scale); `None`: the metric has no notion of passing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_mark: Option<f64>,
    /// Evaluator, version, prompt, judge model and parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
}
