//! Counters behind `GET /stats`.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::http::Answer;

/// The counters as they are told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Stats {
    /// All of them, refused ones included.
    pub requests: u64,
    /// Good answers that were sent whole.
    pub ok: u64,
    /// Different requests that got one.
    pub unique_ok: u64,
    /// Requests for what had been answered well before: paid twice.
    pub duplicates: u64,
    /// Refused for the rate limit.
    pub limited: u64,
    /// Those of them that came more than a second after the first request: the limit is known by then.
    pub limited_late: u64,
    /// Faults that struck.
    pub faults: u64,
    /// Requests that came after the first reply that the quota is spent.
    pub after_quota: u64,
    /// Seconds since that reply.
    pub since_quota: Option<f64>,
    pub max_in_flight: u64,
    /// Whole answers by status.
    pub status: BTreeMap<u16, u64>,
}

#[derive(Default)]
pub struct Counts {
    told: Stats,
    work: HashMap<u64, Work>,
    first: Option<Instant>,
    quota: Option<Instant>,
    in_flight: u64,
    /// Requests that neither limit nor quota refused.
    pub let_through: u64,
    pub faults: u64,
}

#[derive(Default)]
struct Work {
    asked: u32,
    answered: bool,
}

impl Counts {
    /// How often the same was asked before.
    pub fn entered(&mut self, key: u64, now: Instant) -> u32 {
        self.first.get_or_insert(now);
        self.told.requests += 1;
        self.in_flight += 1;
        self.told.max_in_flight = self.told.max_in_flight.max(self.in_flight);
        if self.quota.is_some() {
            self.told.after_quota += 1;
        }
        let work = self.work.entry(key).or_default();
        if work.answered {
            self.told.duplicates += 1;
        }
        work.asked += 1;
        work.asked - 1
    }

    pub fn limited(&mut self, now: Instant) {
        self.told.limited += 1;
        if self.first.is_some_and(|first| now.duration_since(first) > Duration::from_secs(1)) {
            self.told.limited_late += 1;
        }
    }

    pub fn quota(&mut self, now: Instant) {
        self.quota.get_or_insert(now);
    }

    pub fn ended(&mut self, key: u64, answer: &Answer, sent: bool) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if !sent {
            return;
        }
        if !answer.ends() {
            *self.told.status.entry(answer.status).or_default() += 1;
        }
        if answer.good {
            self.told.ok += 1;
            self.work.entry(key).or_default().answered = true;
        }
    }

    pub fn stats(&self) -> Stats {
        Stats {
            unique_ok: self.work.values().filter(|work| work.answered).count() as u64,
            since_quota: self.quota.map(|quota| quota.elapsed().as_secs_f64()),
            faults: self.faults,
            ..self.told.clone()
        }
    }
}
