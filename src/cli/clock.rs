//! The wall clock is read here and nowhere else in this room; what a run says of its time comes from the values handed on.

use std::time::{Duration, Instant};

use jiff::Timestamp;

pub(super) fn now() -> Timestamp {
    Timestamp::now()
}

/// Tells the time since now.
pub(super) fn stopwatch() -> impl Fn() -> Duration + Send + Sync + 'static {
    let begun = Instant::now();
    move || begun.elapsed()
}

/// As results and hosts write it: `2026-11-30T07:02:28Z`.
pub(super) fn written(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc_to_the_second() {
        assert_eq!(written("2026-11-30T08:02:28.9+01:00".parse().unwrap()), "2026-11-30T07:02:28Z");
    }
}
