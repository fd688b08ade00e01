//! How numbers are shown: the same in every report.

/// A score or mean: four decimals without trailing zeros, more where rounding would hide on which side of `limit` it lies.
pub fn score(value: f64, limit: Option<f64>) -> String {
    (4..=15)
        .map(|digits| trimmed(value, digits))
        .find(|text| limit.is_none_or(|limit| same_side(text, value, limit)))
        .unwrap_or_else(|| value.to_string())
}

fn same_side(text: &str, value: f64, limit: f64) -> bool {
    text.parse::<f64>().is_ok_and(|shown| shown.partial_cmp(&limit) == value.partial_cmp(&limit))
}

fn trimmed(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A change, with its sign; a true minus for people.
pub fn change(value: f64) -> String {
    let text = trimmed(value.abs(), 4);
    match value {
        _ if text == "0" => "0".to_owned(),
        value if value < 0.0 => format!("−{text}"),
        _ => format!("+{text}"),
    }
}

/// A p-value: two significant digits (statistics §5.3, §19.4).
pub fn p_value(p: f64) -> String {
    if p < 1e-12 {
        return "<1e-12".to_owned();
    }
    if p < 1e-4 {
        return format!("{p:.1e}");
    }
    let digits = (1.0 - p.log10().floor()).clamp(1.0, 6.0) as usize;
    format!("{p:.digits$}")
}

/// `n of planned`.
pub fn share(n: u64, planned: u64) -> String {
    if n == planned || planned == 0 { n.to_string() } else { format!("{n} of {planned}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_just_below_the_limit_is_seen_to_be_below() {
        assert_eq!(score(0.79996, Some(0.8)), "0.79996");
        assert_eq!(score(0.799_996, Some(0.8)), "0.799996");
        assert_eq!(score(0.8, Some(0.8)), "0.8");
        assert_eq!(score(0.123_456, None), "0.1235");
    }

    #[test]
    fn changes_carry_their_sign() {
        assert_eq!((change(-0.05), change(0.25), change(0.000_001)), ("−0.05".into(), "+0.25".into(), "0".into()));
    }

    #[test]
    fn p_values_have_two_significant_digits() {
        assert_eq!(p_value(0.0123), "0.012");
        assert_eq!(p_value(0.5), "0.50");
        assert_eq!(p_value(0.000_012_3), "1.2e-5");
        assert_eq!(p_value(0.0), "<1e-12");
    }
}
