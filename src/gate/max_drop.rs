//! Did the mean drop by more than the policy allows, luck or not? An exact comparison of decimals (promise R10).

use std::cmp::Ordering;

use super::explain;
use super::matchup::Fill;
use super::not_worse::Compared;
use super::scene::{Finding, Scene, severity};
use crate::domain::{Bound, Direction, Reason, RuleKind, RuleVerdict};
use crate::stats::{Differences, Ratio};

/// Whether `current` lies below (or above, where lower is better) `baseline` by more than `allowed`, all as decimals.
///
/// Equal to the allowed drop is allowed. A difference too long for exact arithmetic is compared as floats.
pub(crate) fn drops_too_far(baseline: Ratio, current: Ratio, allowed: f64, direction: Direction) -> bool {
    let (from, to) = match direction {
        Direction::Higher => (baseline, current),
        Direction::Lower => (current, baseline),
    };
    match (from.minus(to), Ratio::decimal(allowed)) {
        (Some(drop), Some(allowed)) => drop.compare(allowed) == Ordering::Greater,
        _ => from.value() - to.value() > allowed,
    }
}

/// The rule of one compared metric, where the policy has one.
pub(crate) fn finding(scene: &Scene<'_>, compared: &Compared<'_>) -> Option<Finding> {
    let allowed = compared.rules.max_drop?;
    let new = |verdict, reason| {
        let mut finding = Finding::new(RuleKind::MaxDrop, &compared.spec.name, compared.target, verdict, reason)
            .with_severity(severity(verdict, reason, compared.rules, scene.policy));
        finding.comparison.require(allowed, Bound::AtMost);
        "point".clone_into(&mut finding.comparison.method);
        finding
    };
    let (matchup, numbers) = match (&compared.matchup, &compared.outcome) {
        (Some(matchup), Ok(numbers)) => (matchup, numbers),
        (_, Err(refusal)) => {
            let verdict = match refusal.reason {
                Reason::NoBaseline => RuleVerdict::NotEvaluated,
                _ => RuleVerdict::Inconclusive,
            };
            return Some(new(verdict, refusal.reason).saying(&refusal.phrase, &refusal.explanation));
        }
        (None, Ok(_)) => return None,
    };
    let too_far = |fill| {
        let (baseline, current) = Differences::means(&matchup.pairs(compared.spec, fill))?;
        Some(drops_too_far(baseline, current, allowed, compared.spec.direction))
    };
    let (as_is, worst, best) = (too_far(Fill::None)?, too_far(Fill::Worst)?, too_far(Fill::Best)?);
    let mut finding = match (as_is, worst, best) {
        (true, true, true) => new(RuleVerdict::Violated, Reason::DropTooLarge),
        (false, false, false) => new(RuleVerdict::Met, Reason::DropAllowed),
        _ => new(RuleVerdict::Inconclusive, Reason::Missing),
    };
    let estimate = &numbers.as_is;
    let comparison = &mut finding.comparison;
    comparison.baseline = Some(estimate.baseline.value());
    comparison.current = Some(estimate.current.value());
    comparison.delta = estimate.current.minus(estimate.baseline).map(Ratio::value);
    comparison.n = estimate.cases;
    comparison.planned = matchup.joints.len() as u64;
    (comparison.up, comparison.down, comparison.same) = (estimate.up, estimate.down, estimate.same);
    Some(explain::drop_rule(finding, scene, compared, estimate, allowed))
}

#[cfg(test)]
mod tests {
    use super::super::tests::sized;
    use super::*;

    fn ratio(value: f64) -> Ratio {
        Ratio::decimal(value).unwrap()
    }

    #[test]
    fn every_pair_of_two_decimal_scores_is_judged_as_decimals_are() {
        let mut differences = 0;
        let every: Vec<i32> = (0..=100).collect();
        for baseline in 0..=100_i32 {
            for current in 0..=100_i32 {
                // All allowed drops in thousandths at full size; else: on the drop itself, a thousandth beside it, and at both ends; in between the answer does not change.
                let drop = (baseline - current) * 10;
                let near = [0, drop - 1, drop, drop + 1, 100].map(|allowed| allowed.clamp(0, 1000));
                for allowed in sized(near.as_slice(), every.as_slice()).iter().copied() {
                    let too_far = drops_too_far(
                        ratio(f64::from(baseline) / 100.0),
                        ratio(f64::from(current) / 100.0),
                        f64::from(allowed) / 1000.0,
                        Direction::Higher,
                    );
                    differences += u32::from(too_far != (drop > allowed));
                }
            }
        }
        assert_eq!(differences, 0);
    }

    #[test]
    fn random_scores_with_four_decimals_are_judged_as_decimals_are() {
        let mut generator = fastrand::Rng::with_seed(10);
        let mut differences = 0;
        for _ in 0..sized(30_000, 10_000_000) {
            let (baseline, allowed) = (generator.i32(0..=10_000), generator.i32(0..=1_000));
            // Half of them exactly at the allowed drop, or next to it.
            let near = baseline - allowed + generator.i32(-1..=1);
            let current = if generator.bool() { near.max(0) } else { generator.i32(0..=10_000) };
            let score = |units: i32| f64::from(units) / 10_000.0;
            let too_far =
                drops_too_far(ratio(score(baseline)), ratio(score(current)), score(allowed), Direction::Higher);
            differences += u32::from(too_far != (baseline - current > allowed));
        }
        assert_eq!(differences, 0);
    }

    #[test]
    fn vd_float_equal() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/cases/verdicts/equal-drops.csv");
        let mut lines = 0;
        for line in std::fs::read_to_string(path).unwrap().lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let number = |at: usize| fields[at].parse::<f64>().unwrap();
            let too_far = drops_too_far(ratio(number(0)), ratio(number(1)), number(2), Direction::Higher);
            assert_eq!(too_far, fields[3] == "fail", "{line}");
            lines += 1;
        }
        assert_eq!(lines, 8);
    }

    #[test]
    fn where_lower_is_better_a_rise_is_the_drop() {
        assert!(drops_too_far(ratio(0.2), ratio(0.31), 0.1, Direction::Lower));
        assert!(!drops_too_far(ratio(0.2), ratio(0.3), 0.1, Direction::Lower));
        assert!(!drops_too_far(ratio(0.9), ratio(0.1), 0.0, Direction::Lower));
    }
}
