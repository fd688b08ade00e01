//! A bucket of requests that fills at a rate.

use std::time::{Duration, Instant};

use super::http::Headers;

pub struct Bucket {
    per_second: f64,
    burst: f64,
    level: f64,
    last: Instant,
}

impl Bucket {
    pub fn full(per_minute: f64, burst: f64, now: Instant) -> Self {
        Self { per_second: per_minute / 60.0, burst, level: burst, last: now }
    }

    /// Takes one; how long until there is one if there is none.
    pub fn take(&mut self, now: Instant) -> Option<Duration> {
        let passed = now.duration_since(self.last).as_secs_f64();
        self.level = (self.level + passed * self.per_second).min(self.burst);
        self.last = now;
        let missing = 1.0 - self.level;
        if missing > 1e-9 {
            return Some(Duration::from_secs_f64(missing / self.per_second));
        }
        self.level -= 1.0;
        None
    }

    /// As OpenAI tells them.
    pub fn headers(&self) -> Headers {
        let reset = (self.burst - self.level).max(0.0) / self.per_second;
        vec![
            ("x-ratelimit-limit-requests", format!("{:.0}", self.per_second * 60.0)),
            ("x-ratelimit-remaining-requests", format!("{:.0}", self.level.max(0.0).floor())),
            ("x-ratelimit-reset-requests", format!("{:.0}ms", reset * 1000.0)),
        ]
    }
}
