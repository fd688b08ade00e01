//! How fast a run gets on: over its last half minute, so that what the ledger answered at once does not promise too much.

use std::collections::VecDeque;
use std::time::Duration;

const WINDOW: Duration = Duration::from_secs(30);
/// Two remembered moments are at least this far apart.
const STEP: Duration = Duration::from_secs(1);

/// Remembers some moments; asks no clock.
#[derive(Debug, Default)]
pub(super) struct Rate {
    moments: VecDeque<Moment>,
    last: Moment,
}

/// What was done by then.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    at: Duration,
    outcomes: u64,
    calls: u64,
}

/// Each second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Speed {
    pub(super) outcomes: f64,
    pub(super) calls: f64,
}

impl Rate {
    pub(super) fn see(&mut self, at: Duration, outcomes: u64, calls: u64) {
        let due = self.moments.back().is_none_or(|last| at.saturating_sub(last.at) >= STEP);
        self.last = Moment { at, outcomes, calls };
        if due {
            self.moments.push_back(self.last);
        }
        // The oldest that is kept is the last one outside the window.
        while self.moments.get(1).is_some_and(|second| at.saturating_sub(second.at) >= WINDOW) {
            self.moments.pop_front();
        }
    }

    /// Nothing where nothing is known.
    pub(super) fn at(&self, now: Duration) -> Speed {
        // A run begins with nothing done, whenever its first outcome came.
        let whole = now < WINDOW;
        let from = if whole { Moment::default() } else { self.moments.front().copied().unwrap_or_default() };
        let seconds = now.saturating_sub(from.at).as_secs_f64();
        if seconds <= 0.0 {
            return Speed::default();
        }
        let each_second = |count: u64| count as f64 / seconds;
        Speed {
            outcomes: each_second(self.last.outcomes.saturating_sub(from.outcomes)),
            calls: each_second(self.last.calls.saturating_sub(from.calls)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_from_the_ledger_is_forgotten() {
        let mut rate = Rate::default();
        rate.see(Duration::from_millis(100), 1_000, 0);
        assert_eq!(rate.at(Duration::from_secs(10)).outcomes, 100.0);
        for second in 1..=120 {
            rate.see(Duration::from_secs(second), 1_000 + 2 * second, 3 * second);
        }
        let speed = rate.at(Duration::from_secs(120));
        assert!((speed.outcomes - 2.0).abs() < 0.01 && (speed.calls - 3.0).abs() < 0.01, "{speed:?}");
        assert!(rate.moments.len() <= 32, "{}", rate.moments.len());
        assert!(rate.at(Duration::from_secs(240)).outcomes < 1.0, "silence counts");
    }

    #[test]
    fn nothing_is_known_before_the_first_moment() {
        assert_eq!(Rate::default().at(Duration::ZERO), Speed::default());
    }
}
