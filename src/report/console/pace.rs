//! When a log gets another line of progress: at most one in ten seconds, or one for five more percent; fewer the longer it takes.

use std::time::Duration;

const EVERY: Duration = Duration::from_secs(10);
/// Five percent of a quick run are no news.
const AT_LEAST: Duration = Duration::from_secs(2);
/// Lines after which the interval doubles.
const PATIENCE: u32 = 60;

/// Decides on the run's clock; draws nothing.
#[derive(Debug)]
pub(super) struct Pace {
    last: Duration,
    done: u64,
    lines: u32,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { last: Duration::ZERO, done: 0, lines: 0 }
    }

    /// Whether a line is due now; if so it is taken to be written.
    pub(super) fn due(&mut self, now: Duration, done: u64, planned: u64) -> bool {
        let since = now.saturating_sub(self.last);
        let percent = done.saturating_sub(self.done).saturating_mul(100).checked_div(planned).unwrap_or_default();
        let doubled = 1_u32.checked_shl(self.lines / PATIENCE).unwrap_or(u32::MAX);
        let due = since >= EVERY.saturating_mul(doubled) || (percent >= 5 && since >= AT_LEAST);
        if due {
            self.wrote(now, done);
        }
        due
    }

    pub(super) fn wrote(&mut self, now: Duration, done: u64) {
        (self.last, self.done, self.lines) = (now, done, self.lines.saturating_add(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_cases_of_any_length_stay_far_below_a_thousand_lines() {
        for each in [0, 1, 50, 1_000, 20_000, 600_000] {
            let mut pace = Pace::new();
            let lines =
                (1..=10_000_u64).filter(|done| pace.due(Duration::from_millis(done * each), *done, 10_000)).count();
            assert!(lines < 900, "{each} ms a case: {lines} lines");
        }
    }

    #[test]
    fn lines_are_ten_seconds_or_five_percent_apart() {
        let mut pace = Pace::new();
        let (mut last, mut before) = (Duration::ZERO, 0);
        for done in 1..=1_000 {
            let now = Duration::from_millis(done * 900);
            if pace.due(now, done, 1_000) {
                assert!(now - last >= EVERY || done - before >= 50);
                (last, before) = (now, done);
            }
        }
    }
}
