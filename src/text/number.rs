//! How numbers are shown, the same in every sentence and report (statistics §19.4).
//!
//! Means have three decimals, more where rounding would put a value on the wrong side of its limit or make two different means
//! look the same. Changes are in points, hundredths of the metric's scale.

use std::time::Duration;

/// Shown where there is no number.
pub const NONE: &str = "–";

/// A mean: `0.813`.
pub fn score(value: f64) -> String {
    fixed(value, 3)
}

/// A mean beside the limit it is compared with: with as many digits as show on which side it is.
pub fn beside(value: f64, limit: f64) -> String {
    (3..=17)
        .map(|places| fixed(value, places))
        .find(|text| text.parse::<f64>().is_ok_and(|shown| shown.partial_cmp(&limit) == value.partial_cmp(&limit)))
        .unwrap_or_else(|| value.to_string())
}

/// Two means with as many digits as tell them apart: `0.813 → 0.381`.
pub fn pair(baseline: f64, current: f64) -> String {
    let places = (3..=9).find(|places| baseline == current || fixed(baseline, *places) != fixed(current, *places));
    let places = places.unwrap_or(9);
    format!("{} → {}", fixed(baseline, places), fixed(current, places))
}

/// One case's score, without zeros at its end: `1`, `0.25`.
pub fn case_score(value: f64) -> String {
    let text = fixed(value, 4);
    let short = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    short.to_owned()
}

/// A number as the suite says it.
pub fn limit(value: f64) -> String {
    finite(value, |value| format!("{value}"))
}

/// A size on the unit scale in points: `5`, `2.5`.
pub fn margin(share: f64) -> String {
    case_score(share * 100.0)
}

/// A size on the unit scale in points, without its sign: `34.2`. What is not zero never reads as zero.
pub fn points(share: f64) -> String {
    signed_points(share.abs()).trim_start_matches('+').to_owned()
}

/// The same with its sign: `-34.2`, `+0.4`, `0.0`.
pub fn signed_points(share: f64) -> String {
    signed_points_beside(share, 0.0)
}

/// The same with as many digits as show on which side of `border`, on the unit scale too, it is.
pub fn signed_points_beside(share: f64, border: f64) -> String {
    let (value, border) = (share * 100.0, border * 100.0);
    finite(value, |value| {
        let sided = |text: &String| {
            let shown: f64 = text.parse().unwrap_or_default();
            shown.partial_cmp(&border) == value.partial_cmp(&border) && (shown == 0.0) == (value == 0.0)
        };
        let text = (1..=6).map(|places| fixed(value, places)).find(sided).unwrap_or_else(|| fixed(value, 6));
        if text.starts_with('-') || value <= 0.0 { text } else { format!("+{text}") }
    })
}

/// The ends of a mean's interval, visibly on their sides of the limit.
pub fn score_interval(ends: [f64; 2], limit: Option<f64>) -> String {
    let [low, high] = ends.map(|end| limit.map_or_else(|| score(end), |limit| beside(end, limit)));
    format!("{low} to {high}")
}

/// For machines: the shortest digits that read back as the same number.
pub fn exact(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-4 { format!("{value:e}") } else { value.to_string() }
}

/// Two significant digits: `0.012`, `1.2e-5`, `<1e-12`.
pub fn p_value(p: f64) -> String {
    finite(p, |p| {
        if p < 1e-12 {
            return "<1e-12".to_owned();
        }
        if p < 1e-4 {
            return format!("{p:.1e}");
        }
        // Rounding may carry into the next digit: 0.0999 is 0.10.
        let rounded: f64 = format!("{p:.1e}").parse().unwrap_or(p);
        let places = [1e-1, 1e-2, 1e-3, 1e-4].iter().take_while(|step| rounded < **step).count() + 2;
        format!("{rounded:.places$}")
    })
}

/// How often luck does this: `in about 1 in 120 runs`, with one or two digits that count; `more often than not` from one half on.
pub fn odds(p: f64, runs: &str) -> String {
    if p >= 0.5 {
        return "more often than not".to_owned();
    }
    if p < 1e-6 {
        return format!("in fewer than 1 in 1,000,000 {runs}");
    }
    let mut scale = 1.0;
    while 1.0 / p >= 100.0 * scale {
        scale *= 10.0;
    }
    format!("in about 1 in {} {runs}", count(((1.0 / p / scale).round() * scale) as u64))
}

/// `140`, or `134 of 140` where some are missing.
pub fn share(n: u64, planned: u64) -> String {
    if n >= planned { count(n) } else { format!("{} of {}", count(n), count(planned)) }
}

/// A rate as a percentage; none over nothing.
pub fn rate(n: u64, of: u64) -> String {
    if of == 0 {
        return "none".to_owned();
    }
    let percent = n as f64 * 100.0 / of as f64;
    match n {
        0 => "0%".to_owned(),
        n if n == of => "100%".to_owned(),
        // Neither rounds to all nor to nothing.
        _ => format!("{:.1}%", percent.clamp(0.1, 99.9)),
    }
}

/// `12,345`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + 4);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 case`, `3 cases`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// `812 ms`, `3.2 s`, `4 min 05 s`, `3 h 12 min`, `3 d 04 h`.
pub fn duration(time: Duration) -> String {
    let (seconds, millis) = (time.as_secs(), time.as_millis());
    match seconds {
        0 => format!("{millis} ms"),
        1..60 => format!("{:.1} s", time.as_secs_f64().min(59.9)),
        60..3_600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {:02} min", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {:02} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// US dollars with at least two digits that count: `$12.34`, `$0.0012`.
pub fn money(dollars: f64) -> String {
    finite(dollars, |dollars| {
        if dollars > 0.0 && dollars < 0.000_1 {
            return "<$0.0001".to_owned();
        }
        let places = if dollars == 0.0 || dollars >= 0.1 { 2 } else { 4 };
        format!("${dollars:.places$}")
    })
}

/// An amount with its unit, `1,950 ms`, `$0.0123`; beside a limit with as many digits as show on which side it is.
pub fn amount(value: f64, limit: Option<f64>, least: usize, (before, after): (&str, &str)) -> String {
    finite(value, |value| {
        let sided = |text: &String| {
            limit.is_none_or(|limit| {
                text.parse::<f64>().is_ok_and(|shown| shown.partial_cmp(&limit) == value.partial_cmp(&limit))
            })
        };
        let text = (least..=12).map(|places| fixed(value, places)).find(sided).unwrap_or_else(|| value.to_string());
        let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |text| ("-", text));
        let (whole, part) =
            text.split_once('.').map_or((text, String::new()), |(whole, part)| (whole, format!(".{part}")));
        let whole = whole.parse().map_or_else(|_| whole.to_owned(), count);
        format!("{sign}{before}{whole}{part}{after}")
    })
}

/// A share as a percentage, visibly on its side of another: `+25.3%`, `20%` where there is none to be told from.
pub fn percent(share: f64, beside: Option<f64>) -> String {
    let value = share * 100.0;
    finite(value, |value| match beside {
        None => format!("{}%", case_score(value)),
        Some(border) => {
            let border = border * 100.0;
            let sided = |text: &String| {
                text.parse::<f64>().is_ok_and(|shown| {
                    shown.partial_cmp(&border) == value.partial_cmp(&border) || (value - border).abs() < 1e-9
                })
            };
            let text = (1..=9).map(|places| fixed(value, places)).find(sided).unwrap_or_else(|| fixed(value, 9));
            if text.starts_with('-') { format!("{text}%") } else { format!("+{text}%") }
        }
    })
}

fn fixed(value: f64, places: usize) -> String {
    finite(value, |value| {
        let text = format!("{value:.places$}");
        // "-0.000" is no number that people know.
        if text.starts_with('-') && text.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.')) {
            return text.trim_start_matches('-').to_owned();
        }
        text
    })
}

fn finite(value: f64, show: impl FnOnce(f64) -> String) -> String {
    if value.is_finite() { show(value) } else { "none".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_visibly_on_its_side_of_the_limit() {
        assert_eq!(beside(0.79996, 0.8), "0.79996");
        assert_eq!(beside(0.799_999_6, 0.8), "0.7999996");
        assert_eq!(beside(0.8, 0.8), "0.800");
        assert_eq!(beside(0.5, 0.8), "0.500");
        assert_eq!(pair(0.80004, 0.79996), "0.80004 → 0.79996");
        assert_eq!(pair(0.5, 0.5), "0.500 → 0.500");
    }

    #[test]
    fn points_and_odds_read_as_people_say_them() {
        assert_eq!((points(-0.342), points(0.0), points(0.000_04)), ("34.2".into(), "0.0".into(), "0.004".into()));
        assert_eq!(
            (signed_points(-0.000_04), signed_points(0.5), signed_points(-0.0)),
            ("-0.004".into(), "+50.0".into(), "0.0".into())
        );
        assert_eq!(signed_points_beside(-0.049_98, -0.05), "-4.998");
        assert_eq!(score_interval([0.74, 0.79996], Some(0.8)), "0.740 to 0.79996");
        assert_eq!(odds(0.0081, "runs"), "in about 1 in 120 runs");
        assert_eq!(odds(0.3, "runs"), "in about 1 in 3 runs");
        assert_eq!(odds(1e-5, "runs"), "in about 1 in 100,000 runs");
        assert_eq!(odds(1e-20, "runs"), "in fewer than 1 in 1,000,000 runs");
        assert_eq!(odds(0.7, "runs"), "more often than not");
    }

    #[test]
    fn p_values_have_two_significant_digits() {
        let shown: Vec<String> = [0.0, 1.23e-5, 0.0123, 0.0999, 0.5, 0.997, 1.0, 0.000_123].map(p_value).into();
        assert_eq!(shown, ["<1e-12", "1.2e-5", "0.012", "0.10", "0.50", "1.00", "1.00", "0.00012"]);
    }

    #[test]
    fn rates_over_nothing_are_none_and_nothing_rounds_to_all() {
        let shown = [rate(0, 0), rate(0, 5), rate(5, 5), rate(9_999, 10_000), rate(1, 100_000)];
        assert_eq!(shown, ["none", "0%", "100%", "99.9%", "0.1%"]);
    }

    #[test]
    fn times_and_money_read_as_people_say_them() {
        let times: Vec<String> = [0, 812, 3_210, 59_999, 245_000, 11_520_000, 273_600_000]
            .map(|ms| duration(Duration::from_millis(ms)))
            .into();
        assert_eq!(times, ["0 ms", "812 ms", "3.2 s", "59.9 s", "4 min 05 s", "3 h 12 min", "3 d 04 h"]);
        let sums: Vec<String> = [0.0, 0.000_01, 0.001_23, 0.5, 12.345, f64::NAN].map(money).into();
        assert_eq!(sums, ["$0.00", "<$0.0001", "$0.0012", "$0.50", "$12.35", "none"]);
        assert_eq!(count(1_234_567), "1,234,567");
    }

    #[test]
    fn what_is_no_number_is_said_to_be_none() {
        for shown in [score(f64::NAN), points(f64::INFINITY), p_value(f64::NAN), case_score(f64::NEG_INFINITY)] {
            assert_eq!(shown, "none");
        }
        assert_eq!(
            (case_score(1.0), case_score(0.25), case_score(-0.0), margin(0.025)),
            ("1".into(), "0.25".into(), "0".into(), "2.5".into())
        );
    }
}
