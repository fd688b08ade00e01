//! When is a threshold violated, met, or neither? (§11.4)

/// How a threshold is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThresholdMode {
    /// Violated where the whole interval lies on the wrong side.
    #[default]
    Confident,
    /// Violated where the mean lies on the wrong side; flaps near the threshold.
    Point,
    /// Violated unless the whole interval lies on the right side.
    Strict,
}

/// What a threshold says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThresholdState {
    Violated,
    Met,
    Uncertain,
}

/// Reads a lower threshold ("at least tau").
///
/// **Inputs**: mean and bounds on one scale, the required value on the same. An upper threshold ("at most") is read by negating all.
/// **Returns** the state; equal to the threshold is met. **Source**: §11.4.
pub fn threshold_state(mean: f64, lower: f64, upper: f64, tau: f64, mode: ThresholdMode) -> ThresholdState {
    match mode {
        ThresholdMode::Point if mean < tau => ThresholdState::Violated,
        ThresholdMode::Point => ThresholdState::Met,
        ThresholdMode::Confident | ThresholdMode::Strict if upper < tau => ThresholdState::Violated,
        ThresholdMode::Confident | ThresholdMode::Strict if lower >= tau => ThresholdState::Met,
        ThresholdMode::Strict => ThresholdState::Violated,
        ThresholdMode::Confident => ThresholdState::Uncertain,
    }
}
