//! Holds one endpoint's limits: how many at once ([`concurrency`]), how fast ([`bucket`]), not before when, and the end of it all.
//!
//! Calls wait in the order in which they came. Only the first of them watches the limits, so that nobody is woken in vain, and
//! those who waited for the same moment do not meet there.
//!
//! Promise: nothing is sent before a moment that the server named, and a place is free again however its call ends.

mod bucket;
mod concurrency;
mod core;
mod learned;
#[cfg(test)]
mod schedules;
#[cfg(test)]
mod simulated;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

pub(in crate::engine) use self::concurrency::Ceiling;
pub(in crate::engine) use self::core::Landing;
use self::core::{Admission, Core, Load};
use super::waits::Waits;
use crate::domain::{EndpointLimits, Failure, FailureKind, LimiterState, RateHint};

/// The limits of one endpoint, shared by everything that calls it.
pub(super) struct Limiter {
    /// Held by the first of those who wait.
    turn: tokio::sync::Mutex<()>,
    /// Wakes the first one: a place is free, or something was learned.
    changed: Notify,
    core: Mutex<Core>,
    /// How long the first in the queue was held back by a pace or a moment that the server named.
    held: Waits,
}

impl Limiter {
    /// `ceiling`: calls at once at most.
    pub(super) fn new(limits: EndpointLimits, ceiling: Ceiling) -> Self {
        Self {
            turn: tokio::sync::Mutex::const_new(()),
            changed: Notify::new(),
            core: Mutex::new(Core::new(limits, ceiling, Instant::now())),
            held: Waits::default(),
        }
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a call of about `tokens`, once there is one.
    ///
    /// # Errors
    /// The endpoint's failure where it was stopped, meanwhile too.
    pub(super) async fn admit(&self, tokens: u64) -> Result<Permit<'_>, Failure> {
        #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
        let tokens = tokens as f64;
        let _turn = self.turn.lock().await;
        // Counted however the waiting ends.
        let mut held = Held { waits: &self.held, time: Duration::ZERO };
        loop {
            let admission = {
                let mut core = self.core();
                if let Some(failure) = stopped(&core) {
                    return Err(failure);
                }
                core.admit(tokens, Instant::now())
            };
            match admission {
                Admission::Go(load) => return Ok(Permit { limiter: self, load: Some(load) }),
                Admission::Full => self.changed.notified().await,
                Admission::At(moment) => {
                    let since = Instant::now();
                    tokio::select! {
                        () = tokio::time::sleep_until(moment.into()) => {}
                        () = self.changed.notified() => {}
                    }
                    held.time = held.time.saturating_add(since.elapsed());
                }
            }
        }
    }

    /// The failure of a call that is not sent because the endpoint was stopped.
    pub(super) fn stopped(&self) -> Option<Failure> {
        stopped(&self.core())
    }

    /// Calls that got an answer so far.
    pub(super) fn answered(&self) -> u64 {
        self.core().answered()
    }

    /// How long the endpoint has refused everything.
    pub(super) fn refused_for(&self) -> Duration {
        self.core().refused_for(Instant::now())
    }

    /// Stops the endpoint; true for the first to do so.
    pub(super) fn stop(&self, kind: FailureKind, why: &str) -> bool {
        let first = self.core().stop(kind, why);
        self.changed.notify_one();
        first
    }

    /// What the first in the queue waited for the limits so far.
    pub(super) fn held(&self) -> &Waits {
        &self.held
    }

    pub(super) fn state(&self) -> LimiterState {
        self.core().state()
    }
}

fn stopped(core: &Core) -> Option<Failure> {
    let (kind, why) = core.stopped()?;
    Some(Failure::infra(*kind, format!("not evaluated: the endpoint was stopped because {why}")))
}

/// The waiting of the first in the queue for one place.
struct Held<'a> {
    waits: &'a Waits,
    time: Duration,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.waits.add(self.time);
    }
}

/// A place in flight. Given back with what the call came to, or without a word when dropped.
pub(super) struct Permit<'a> {
    limiter: &'a Limiter,
    load: Option<Load>,
}

impl Permit<'_> {
    /// Tells what the call came to; the place is free.
    pub(super) fn land(mut self, landing: &Landing, hint: &RateHint) {
        self.give_back(landing, hint);
    }

    fn give_back(&mut self, landing: &Landing, hint: &RateHint) {
        if let Some(load) = self.load.take() {
            self.limiter.core().land(load, landing, hint, Instant::now());
            self.limiter.changed.notify_one();
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.give_back(&Landing::Lost, &RateHint::default());
    }
}

/// All endpoints of a run.
pub(super) struct Limiters {
    known: Mutex<HashMap<Arc<str>, Arc<Limiter>>>,
}

impl Limiters {
    pub(super) fn new() -> Self {
        Self { known: Mutex::default() }
    }

    /// The limiter of `name`, made with `limits` at its first call.
    pub(super) fn get(&self, name: &Arc<str>, limits: impl FnOnce() -> (EndpointLimits, Ceiling)) -> Arc<Limiter> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let limiter = known.entry(Arc::clone(name)).or_insert_with(|| {
            let (limits, ceiling) = limits();
            Arc::new(Limiter::new(limits, ceiling))
        });
        Arc::clone(limiter)
    }

    /// Waits for the limits of all endpoints: how many, and their time together.
    pub(super) fn held(&self) -> (u64, Duration) {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .values()
            .map(|limiter| limiter.held().so_far())
            .fold((0, Duration::ZERO), |sum, one| (sum.0.saturating_add(one.0), sum.1.saturating_add(one.1)))
    }

    /// Calls in flight and calls at once over all endpoints, and the rate where one endpoint alone holds a pace.
    pub(super) fn state(&self) -> LimiterState {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let states: Vec<LimiterState> = known.values().map(|limiter| limiter.state()).collect();
        let mut rates = states.iter().filter_map(|state| state.rate);
        LimiterState {
            in_flight: states.iter().map(|state| state.in_flight).sum(),
            limit: states.iter().map(|state| state.limit).sum(),
            rate: rates.next().filter(|_| rates.next().is_none()),
        }
    }
}
