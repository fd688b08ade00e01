//! The gate's words that are no plain numbers: an exact ratio beside its limit, lists of names, the start of a sentence.

use std::cmp::Ordering;

use crate::stats::Ratio;
use crate::text::number::score;

/// A score beside the limit it is compared with, visibly on its side of it; both exactly, so that no rounding hides which it is.
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

/// The first letter as a sentence has it.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
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
}
