//! Numbers in the gate's sentences (statistics §19.4): points with one decimal, odds with two digits, and a value next to a limit
//! with as many digits as show on which side it is.

use std::cmp::Ordering;

use crate::stats::Ratio;

/// A size on the unit scale in points: `34.2`. What is not zero never reads as zero.
pub(crate) fn points(share: f64) -> String {
    let size = share.abs() * 100.0;
    let places = (1..6).find(|places| size == 0.0 || rounded(size, *places) != 0.0).unwrap_or(6);
    format!("{size:.places$}")
}

/// The same with its sign: `-34.2`, `+0.4`, `0.0`.
pub(crate) fn signed_points(share: f64) -> String {
    match share.partial_cmp(&0.0) {
        Some(Ordering::Less) => format!("-{}", points(share)),
        Some(Ordering::Greater) => format!("+{}", points(share)),
        Some(Ordering::Equal) | None => points(0.0),
    }
}

fn rounded(value: f64, places: usize) -> f64 {
    format!("{value:.places$}").parse().unwrap_or(value)
}

/// A score: `0.812`.
pub(crate) fn score(value: f64) -> String {
    format!("{value:.3}")
}

/// A score beside the limit it is compared with, visibly on its side of it.
pub(crate) fn score_beside(value: Ratio, limit: f64) -> String {
    let Some(exact) = Ratio::decimal(limit) else { return score(value.value()) };
    let side = value.compare(exact);
    if side == Ordering::Equal {
        return score(value.value());
    }
    let shown = (3..=15).map(|places| format!("{:.places$}", value.value())).find(|text| {
        let seen: Option<f64> = text.parse().ok();
        seen.and_then(Ratio::decimal).is_some_and(|seen| seen.compare(exact) == side)
    });
    shown.unwrap_or_else(|| value.digits(18))
}

/// Two scores of which one may be just below the other: `0.812 → 0.470`.
pub(crate) fn change(baseline: f64, current: f64) -> String {
    let places = (3..=9)
        .find(|places| baseline == current || rounded(baseline, *places) != rounded(current, *places))
        .unwrap_or(9);
    format!("{baseline:.places$} → {current:.places$}")
}

/// A limit as it was written.
pub(crate) fn limit(value: f64) -> String {
    format!("{value}")
}

/// How often luck does this: `in about 1 in 120 runs`, with one or two digits that count; `more often than not` from one half on.
pub(crate) fn in_runs(p: f64, runs: &str) -> String {
    if p >= 0.5 {
        return "more often than not".to_owned();
    }
    if p < 1e-6 {
        return format!("in fewer than 1 in 1,000,000 {runs}");
    }
    let x = 1.0 / p;
    let scale = 10_f64.powf((x.log10().floor() - 1.0).max(0.0));
    format!("in about 1 in {} {runs}", grouped((x / scale).round() * scale))
}

/// `12,000`.
fn grouped(whole: f64) -> String {
    let digits = format!("{whole:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 case`, `3 cases`.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// At most `shown` names, then how many more.
pub(crate) fn names<T: AsRef<str>>(all: &[T], shown: usize) -> String {
    let mut text: Vec<&str> = all.iter().take(shown).map(AsRef::as_ref).collect();
    let more = all.len().saturating_sub(shown);
    let rest = format!("{more} more");
    if more > 0 {
        text.push(&rest);
    }
    text.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_visibly_on_its_side_of_the_limit() {
        let ratio = |value: f64| Ratio::decimal(value).unwrap();
        assert_eq!(score_beside(ratio(0.79996), 0.8), "0.79996");
        assert_eq!(score_beside(ratio(0.8), 0.8), "0.800");
        assert_eq!(score_beside(ratio(0.81), 0.8), "0.810");
        assert_eq!(score_beside(ratio(0.800_000_000_000_1), 0.8), "0.8000000000001");
        assert_eq!(
            score_beside(Ratio::new(799_999_999_999_999_999, 10_i128.pow(18)).unwrap(), 0.8),
            "0.799999999999999999"
        );
    }

    #[test]
    fn points_and_odds_read_as_people_say_them() {
        assert_eq!(points(-0.342), "34.2");
        assert_eq!(signed_points(-0.000_04), "-0.004");
        assert_eq!(signed_points(0.0), "0.0");
        assert_eq!(in_runs(0.0081, "runs"), "in about 1 in 120 runs");
        assert_eq!(in_runs(0.3, "runs"), "in about 1 in 3 runs");
        assert_eq!(in_runs(1e-5, "runs"), "in about 1 in 100,000 runs");
        assert_eq!(in_runs(1e-20, "runs"), "in fewer than 1 in 1,000,000 runs");
        assert_eq!(in_runs(0.7, "runs"), "more often than not");
        assert_eq!(change(0.812, 0.47), "0.812 → 0.470");
    }
}
