//! What a server says about its limits: `Retry-After` in all its forms, `x-ratelimit-*`, `anthropic-ratelimit-*`.
//!
//! Every reader here is total: what is not understood is no hint. Times of day are read against the response's own `Date`, since
//! server and client need not agree on the time.

use std::time::{Duration, SystemTime};

use crate::domain::{Allowance, RateHint};

/// Longer waits are taken for this one; it is far beyond any budget.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// Headers with lower-case names.
type Headers = [(String, String)];

/// The hint in a response's headers (lower-case names); `now` is used where the response has no `Date`.
pub fn rate_hint(headers: &Headers, now: SystemTime) -> RateHint {
    let now = value(headers, "date").and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or(now);
    RateHint {
        retry_after: retry_after(headers, now),
        requests: allowance(headers, now, &["requests"]),
        tokens: allowance(headers, now, &["tokens", "input-tokens"]),
        complaint: None,
    }
}

fn value<'h>(headers: &'h Headers, name: &str) -> Option<&'h str> {
    headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim())
}

/// `retry-after-ms` (OpenAI, Azure) is finer and wins over `Retry-After`: seconds, decimals too, or an HTTP date.
fn retry_after(headers: &Headers, now: SystemTime) -> Option<Duration> {
    let fine = value(headers, "retry-after-ms").and_then(|text| units(text, 1_000.0));
    fine.or_else(|| {
        let text = value(headers, "retry-after")?;
        units(text, 1.0).or_else(|| until(httpdate::parse_http_date(text).ok()?, now))
    })
}

/// The first family and window that says anything.
fn allowance(headers: &Headers, now: SystemTime, windows: &[&str]) -> Option<Allowance> {
    let names = windows.iter().flat_map(|window| {
        [
            ["limit", "remaining", "reset"].map(|part| format!("x-ratelimit-{part}-{window}")),
            ["limit", "remaining", "reset"].map(|part| format!("anthropic-ratelimit-{window}-{part}")),
        ]
    });
    names.into_iter().find_map(|[limit, remaining, reset]| {
        let allowance = Allowance {
            limit: value(headers, &limit).and_then(|text| text.parse().ok()),
            remaining: value(headers, &remaining).and_then(|text| text.parse().ok()),
            reset: value(headers, &reset).and_then(|text| period(text).or_else(|| moment(text, now))),
        };
        (allowance.limit.is_some() || allowance.remaining.is_some() || allowance.reset.is_some()).then_some(allowance)
    })
}

/// A number of units, of which a second has `per_second`.
fn units(text: &str, per_second: f64) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    if !number.is_finite() || number < 0.0 {
        return None;
    }
    Some(Duration::try_from_secs_f64(number / per_second).unwrap_or(LONGEST).min(LONGEST))
}

/// `6m0s`, `17ms`, `1h2m3.5s`, `1d`; a number alone is seconds; Google's `38s`.
pub(super) fn period(text: &str) -> Option<Duration> {
    let text = text.trim();
    if let Some(plain) = units(text, 1.0) {
        return Some(plain);
    }
    let mut sum = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let (number, after) = rest.split_at_checked(digits)?;
        let letters = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (unit, behind) = after.split_at_checked(letters)?;
        let per_second = match unit {
            "us" | "µs" => 1e6,
            "ms" => 1e3,
            "s" => 1.0,
            "m" => 1.0 / 60.0,
            "h" => 1.0 / 3_600.0,
            "d" => 1.0 / 86_400.0,
            _ => return None,
        };
        sum = sum.saturating_add(units(number, per_second)?);
        rest = behind;
    }
    (!text.is_empty()).then(|| sum.min(LONGEST))
}

/// An RFC 3339 time, as time from now.
fn moment(text: &str, now: SystemTime) -> Option<Duration> {
    let moment: jiff::Timestamp = text.parse().ok()?;
    until(SystemTime::from(moment), now)
}

/// Nothing for what has passed.
fn until(moment: SystemTime, now: SystemTime) -> Option<Duration> {
    Some(moment.duration_since(now).unwrap_or_default().min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hint(headers: &[(&str, &str)]) -> RateHint {
        let now = httpdate::parse_http_date("Tue, 05 May 2026 10:00:00 GMT").unwrap();
        let headers: Vec<(String, String)> = headers.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        rate_hint(&headers, now)
    }

    #[test]
    fn retry_after_is_read_in_all_its_forms() {
        let after = |name, text| hint(&[(name, text)]).retry_after.map(|wait| wait.as_millis());
        assert_eq!(after("retry-after", "2"), Some(2_000));
        assert_eq!(after("retry-after", " 0.25 "), Some(250));
        assert_eq!(after("retry-after-ms", "1500"), Some(1_500));
        assert_eq!(after("retry-after", "Tue, 05 May 2026 10:00:03 GMT"), Some(3_000));
        assert_eq!(after("retry-after", "Tue, 05 May 2026 09:00:03 GMT"), Some(0));
        for nonsense in ["-1", "NaN", "inf", "soon", "", "5 s"] {
            assert_eq!(after("retry-after", nonsense), None, "{nonsense}");
        }
        assert_eq!(after("retry-after", "1e300"), Some(LONGEST.as_millis()));
    }

    #[test]
    fn a_date_is_read_against_the_server_s_clock() {
        let headers = [("date", "Tue, 05 May 2026 10:10:00 GMT"), ("retry-after", "Tue, 05 May 2026 10:10:03 GMT")];
        assert_eq!(hint(&headers).retry_after, Some(Duration::from_secs(3)));
    }

    #[test]
    fn allowances_of_both_families_are_read() {
        let found = hint(&[
            ("x-ratelimit-limit-requests", "500"),
            ("x-ratelimit-remaining-requests", "499"),
            ("x-ratelimit-reset-requests", "6m0s"),
            ("x-ratelimit-reset-tokens", "17ms"),
        ]);
        let reset = Some(Duration::from_secs(360));
        assert_eq!(found.requests, Some(Allowance { limit: Some(500), remaining: Some(499), reset }));
        assert_eq!(found.tokens.and_then(|tokens| tokens.reset), Some(Duration::from_millis(17)));
        let found = hint(&[
            ("anthropic-ratelimit-requests-remaining", "0"),
            ("anthropic-ratelimit-requests-reset", "2026-05-05T10:00:30Z"),
            ("anthropic-ratelimit-input-tokens-limit", "40000"),
        ]);
        assert_eq!(found.requests.and_then(|requests| requests.reset), Some(Duration::from_secs(30)));
        assert_eq!(found.tokens.and_then(|tokens| tokens.limit), Some(40_000));
        assert_eq!(hint(&[]), RateHint::default());
    }

    #[test]
    fn periods_are_summed() {
        assert_eq!(period("1h2m3.5s"), Some(Duration::from_millis(3_723_500)));
        assert_eq!(period(" 38s "), Some(Duration::from_secs(38)));
        assert_eq!(period("9"), Some(Duration::from_secs(9)));
        for nonsense in ["", "s", "5x", "1.2.3s", "m5", "5s 3"] {
            assert_eq!(period(nonsense), None, "{nonsense}");
        }
    }

    proptest! {
        #[test]
        fn any_header_is_survived(text in ".{0,40}", numbers in "[0-9.eE+smhdu:TZ, -]{0,24}") {
            for text in [text.as_str(), numbers.as_str()] {
                for name in ["retry-after-ms", "date", "x-ratelimit-reset-requests", "anthropic-ratelimit-tokens-reset"] {
                    let found = hint(&[(name, text), ("retry-after", text)]);
                    prop_assert!(found.retry_after.is_none_or(|wait| wait <= LONGEST));
                }
            }
        }
    }
}
