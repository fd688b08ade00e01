//! How often, and for how long, something was held back.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A count of waits and their time together.
#[derive(Debug, Default)]
pub(super) struct Waits {
    count: AtomicU64,
    micros: AtomicU64,
}

impl Waits {
    /// Takes note of one wait; no time is none.
    pub(super) fn add(&self, time: Duration) {
        if time.is_zero() {
            return;
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn so_far(&self) -> (u64, Duration) {
        (self.count.load(Ordering::Relaxed), Duration::from_micros(self.micros.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_add_up_and_no_time_is_no_wait() {
        let waits = Waits::default();
        for millis in [5, 0, 7] {
            waits.add(Duration::from_millis(millis));
        }
        assert_eq!(waits.so_far(), (2, Duration::from_millis(12)));
    }
}
