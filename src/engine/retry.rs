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

/// Full jitter: anything from nothing to `FIRST × 2^(attempt − 1)`, at most 30 s; on top of it, what the server asked for.
///
/// `attempt` counts from 1. Source: Brooker, *Exponential Backoff And Jitter*, AWS Architecture Blog, 2015.
pub(super) fn wait(attempt: u32, asked: Option<Duration>) -> Duration {
    let ceiling = FIRST.saturating_mul(1 << attempt.saturating_sub(1).min(16)).min(LONGEST);
    let jitter = ceiling.mul_f64(fastrand::f64());
    match asked {
        // Spread the wake-ups behind the moment that the server named, never before it.
        Some(asked) => asked.saturating_add(jitter.min(asked / 4 + Duration::from_millis(100))),
        None => jitter,
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
            assert!(wait >= asked && wait <= asked + Duration::from_millis(600), "{wait:?}");
        }
    }

    #[test]
    fn waits_stay_below_thirty_seconds() {
        assert!((1..100).all(|attempt| wait(attempt, None) <= LONGEST));
    }
}
