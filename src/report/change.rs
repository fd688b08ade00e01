//! Changes of a metric in points of its scale, turned so that negative is worse.

use crate::domain::{Direction, MetricSpec};
use crate::text::number::{signed_points, signed_points_beside};

/// A difference in the metric's own scale as points, negative for worse: `-43.3`. What is not zero never reads as zero.
pub fn points(difference: f64, spec: Option<&MetricSpec>) -> String {
    signed_points(turned(difference, spec))
}

/// The ends of a change's interval in points, the worse first: `-50.9 to -35.8`. The worse end is visibly on its side of the margin
/// (unit scale), which decides.
pub fn interval([low, high]: [f64; 2], spec: Option<&MetricSpec>, margin: Option<f64>) -> String {
    let lower_is_better = spec.is_some_and(|spec| spec.direction == Direction::Lower);
    let (low, high) = if lower_is_better { (high, low) } else { (low, high) };
    let worse = signed_points_beside(turned(low, spec), margin.map_or(0.0, |margin| -margin));
    format!("{worse} to {}", points(high, spec))
}

/// Share of the scale, negative for worse.
fn turned(difference: f64, spec: Option<&MetricSpec>) -> f64 {
    let (lo, hi) = spec.map_or((0.0, 1.0), |spec| spec.kind.range());
    let share = if hi > lo { difference / (hi - lo) } else { difference };
    match spec.map(|spec| spec.direction) {
        Some(Direction::Lower) => -share,
        Some(Direction::Higher) | None => share,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ScoreKind;

    fn spec(kind: ScoreKind, direction: Direction) -> MetricSpec {
        MetricSpec { name: "m".into(), kind, direction, pass_mark: None, fingerprint: None }
    }

    #[test]
    fn changes_are_points_and_negative_is_worse() {
        assert_eq!(points(-0.4328, None), "-43.3");
        assert_eq!(points(0.000_01, None), "+0.001");
        assert_eq!(points(-0.0, None), "0.0");
        let grade = spec(ScoreKind::Ordinal { lo: 1, hi: 5 }, Direction::Higher);
        assert_eq!(points(-1.0, Some(&grade)), "-25.0");
        let errors = spec(ScoreKind::UNIT, Direction::Lower);
        assert_eq!(points(0.05, Some(&errors)), "-5.0");
        assert_eq!(interval([-0.01, 0.05], Some(&errors), None), "-5.0 to +1.0");
        assert_eq!(interval([-0.04998, 0.01], None, Some(0.05)), "-4.998 to +1.0");
        assert_eq!(interval([-0.05, 0.01], None, Some(0.05)), "-5.0 to +1.0");
    }
}
