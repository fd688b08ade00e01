//! Sizes as people write them: `500kB`, `100MB`, `1.5GiB`.

/// Why a text is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a size; write for instance `500kB`, `100MB` or `1GiB`")]
pub struct SizeError(String);

/// Units in the order in which a size is shown; the letter case does not matter.
const UNITS: [(&str, f64); 7] = [
    ("GB", 1e9),
    ("MB", 1e6),
    ("kB", 1e3),
    ("B", 1.0),
    ("GiB", 1_073_741_824.0),
    ("MiB", 1_048_576.0),
    ("KiB", 1_024.0),
];

/// Reads a size in bytes: a number with the unit `B`, `kB`, `MB`, `GB`, `KiB`, `MiB` or `GiB`.
///
/// # Errors
/// Anything else, a negative size, or one beyond 8 EiB.
pub fn parse(text: &str) -> Result<u64, SizeError> {
    let wrong = || SizeError(text.to_owned());
    let trimmed = text.trim();
    let end = trimmed.find(|letter: char| !(letter.is_ascii_digit() || letter == '.')).ok_or_else(wrong)?;
    let (digits, unit) = trimmed.split_at(end);
    let number: f64 = digits.parse().map_err(|_| wrong())?;
    let (_, factor) = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit.trim())).ok_or_else(wrong)?;
    let bytes = (number * factor).round();
    if !(0.0..9.2e18).contains(&bytes) {
        return Err(wrong());
    }
    Ok(bytes as u64)
}

/// `812 B`, `1.5 kB`, `100 MB`.
pub fn show(bytes: u64) -> String {
    let number = bytes as f64;
    let unit = UNITS.iter().take(4).find(|(_, factor)| number >= *factor);
    let (name, factor) = unit.copied().unwrap_or(("B", 1.0));
    let value = number / factor;
    if name == "B" || value >= 99.95 { format!("{value:.0} {name}") } else { format!("{value:.1} {name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_forms_are_read() {
        assert_eq!(parse("100MB"), Ok(100_000_000));
        assert_eq!(parse(" 1.5 GiB "), Ok(1_610_612_736));
        assert_eq!(parse("64kb"), Ok(64_000));
        assert_eq!(parse("0B"), Ok(0));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "100", "MB", "-1MB", "1..2MB", "1 XB", "1e3MB", "99999999999GB", "inf"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_shown_short() {
        let shown = [0, 812, 1_500, 99_900, 100_000, 3_200_000, 250_000_000, 7_000_000_000].map(show);
        assert_eq!(shown, ["0 B", "812 B", "1.5 kB", "99.9 kB", "100 kB", "3.2 MB", "250 MB", "7.0 GB"]);
    }
}
