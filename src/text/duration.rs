//! Durations as people write them: `500ms`, `60s`, `2m`, `1h30m`.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest duration that can be written: 366 days.
pub const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// The name of this form in JSON Schemas, so that a validator can check it with [`parse`].
pub const FORMAT: &str = "period";

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    #[error("a duration needs a unit, such as `{0}s`, `{0}m` or `{0}ms`")]
    NoUnit(String),
    #[error("`{0}` is not a duration; write for instance `500ms`, `60s`, `2m` or `1h30m`")]
    Malformed(String),
    #[error("`{0}` is longer than 366 days")]
    TooLong(String),
}

/// Reads a duration: numbers with the units `ms`, `s`, `m`, `h`, `d`, each unit at most once and falling (`1h30m`); decimals are
/// allowed (`1.5s`).
///
/// # Errors
/// No unit, anything else that is not of this form, or more than [`LONGEST`].
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    let malformed = || DurationError::Malformed(text.to_owned());
    let mut rest = text.trim();
    if rest.parse::<f64>().is_ok_and(f64::is_finite) {
        return Err(DurationError::NoUnit(rest.to_owned()));
    }
    let (mut total, mut last_unit) = (0.0_f64, f64::INFINITY);
    while !rest.is_empty() {
        let (digits, after) = split(rest, |letter| letter.is_ascii_digit() || letter == '.');
        let (unit, after) = split(after, |letter| letter.is_ascii_alphabetic());
        let number: f64 = digits.parse().map_err(|_| malformed())?;
        let seconds = seconds(unit).filter(|seconds| *seconds < last_unit).ok_or_else(malformed)?;
        total += number * seconds;
        last_unit = seconds;
        rest = after.trim_start();
    }
    if last_unit.is_infinite() {
        return Err(malformed());
    }
    match Duration::try_from_secs_f64(total) {
        Ok(duration) if duration <= LONGEST => Ok(duration),
        Ok(_) | Err(_) => Err(DurationError::TooLong(text.to_owned())),
    }
}

fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|letter| !belongs(letter)).unwrap_or(text.len());
    text.split_at(end)
}

fn seconds(unit: &str) -> Option<f64> {
    match unit {
        "ms" => Some(0.001),
        "s" => Some(1.0),
        "m" | "min" => Some(60.0),
        "h" => Some(3_600.0),
        "d" => Some(86_400.0),
        _ => None,
    }
}

/// A duration in settings, written as text with a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Period(pub Duration);

impl<'de> Deserialize<'de> for Period {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        parse(&text).map(Self).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Period {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}ms", self.0.as_millis()))
    }
}

impl schemars::JsonSchema for Period {
    fn schema_name() -> Cow<'static, str> {
        "Period".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "format": FORMAT,
            "description": "A duration with its unit: `500ms`, `60s`, `2m`, `1h30m`.",
            "examples": ["60s"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_forms_are_read() {
        assert_eq!(parse("60s"), Ok(Duration::from_secs(60)));
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse("1h30m"), Ok(Duration::from_secs(5_400)));
        assert_eq!(parse("1.5s"), Ok(Duration::from_millis(1_500)));
    }

    #[test]
    fn a_bare_number_is_asked_for_its_unit() {
        assert_eq!(parse("60"), Err(DurationError::NoUnit("60".to_owned())));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "s", "10x", "-1s", "1m1h", "1s1s", "inf", "NaN", "1..2s", "１s"] {
            assert!(matches!(parse(text), Err(DurationError::Malformed(_))), "{text}");
        }
        assert!(matches!(parse("99999999999999h"), Err(DurationError::TooLong(_))));
    }
}
