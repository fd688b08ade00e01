//! How long to wait before another try.

use std::time::Duration;

/// Bounds of one call's tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Requests at most, the first one included; at least 1.
    pub attempts: u32,
    /// From the first request on.
    pub max_elapsed: Duration,
}

const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(30);
/// The longest wait of our own where the server says when to come again.
const LONGEST_TOLD: Duration = Duration::from_secs(8);

/// Full jitter: anything from nothing to `FIRST × 2^(attempt − 1)`, at most 30 s; never less than what the server asked for.
///
/// A server that names a moment names it for the next request alone: all who wait would meet there, and again. So the wait grows
/// with the attempts in that case too, to 8 s at most.
///
/// `attempt` counts from 1. Source: Brooker, *Exponential Backoff And Jitter*, AWS Architecture Blog, 2015.
pub(super) fn wait(attempt: u32, asked: Option<Duration>) -> Duration {
    let ceiling = FIRST.saturating_mul(1 << attempt.saturating_sub(1).min(16)).min(LONGEST);
    let jitter = ceiling.mul_f64(fastrand::f64());
    match asked {
        // Spread the wake-ups behind the moment that the server named, never before it.
        Some(asked) => {
            asked.saturating_add(jitter.min(asked / 4 + Duration::from_millis(100))).max(jitter.min(LONGEST_TOLD))
        }
        None => jitter,
    }
}

/// How many of a call's attempts count against its bound.
///
/// A refusal for the rate limit costs nothing, and while the endpoint lets other calls through it is a matter of waiting: it counts
/// only when nothing got through since the last one. Time bounds these waits ([`RetryPolicy::max_elapsed`]).
#[derive(Debug)]
pub(super) struct Tries {
    counted: u32,
    accepted: u64,
}

impl Tries {
    /// `accepted`: calls that the endpoint answered so far.
    pub(super) fn new(accepted: u64) -> Self {
        Self { counted: 0, accepted }
    }

    /// Takes note of a failed attempt; returns how many count.
    pub(super) fn failed(&mut self, rate_limited: bool, accepted: u64) -> u32 {
        let moving = accepted > self.accepted;
        self.accepted = accepted;
        if !(rate_limited && moving) {
            self.counted = self.counted.saturating_add(1);
        }
        self.counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_s_wish_is_a_minimum() {
        for attempt in 1..40 {
            let asked = Duration::from_secs(2);
            let wait = wait(attempt, Some(asked));
            assert!(wait >= asked && wait <= LONGEST_TOLD, "{wait:?}");
        }
    }

    #[test]
    fn waits_stay_below_thirty_seconds() {
        assert!((1..100).all(|attempt| wait(attempt, None) <= LONGEST));
    }

    #[test]
    fn a_tiny_wish_does_not_keep_the_waits_from_growing() {
        let longest = (0..200).map(|_| wait(6, Some(Duration::from_millis(5)))).max().unwrap();
        assert!(longest > Duration::from_secs(1), "{longest:?}");
    }

    #[test]
    fn refusals_count_only_while_nothing_gets_through() {
        let mut tries = Tries::new(0);
        assert_eq!([tries.failed(true, 3), tries.failed(true, 4), tries.failed(true, 4)], [0, 0, 1]);
        assert_eq!(tries.failed(false, 9), 2);
    }
}
