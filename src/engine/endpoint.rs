//! What calls to one endpoint share: slots, a pause that the server asked for, and the end of it all.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, Semaphore};

use crate::domain::{Failure, FailureKind};

/// The state of one endpoint.
pub(super) struct Endpoint {
    pub(super) slots: Semaphore,
    /// Wakes those who wait out a hold when the endpoint is stopped.
    pub(super) stopping: Notify,
    accepted: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// No request before this moment.
    held_until: Option<Instant>,
    /// Why no request will succeed any more.
    stopped: Option<(FailureKind, String)>,
}

impl Endpoint {
    fn new(slots: usize) -> Self {
        Self {
            slots: Semaphore::new(slots),
            stopping: Notify::new(),
            accepted: AtomicU64::new(0),
            state: Mutex::default(),
        }
    }

    /// One more call got an answer.
    pub(super) fn accept(&self) {
        self.accepted.fetch_add(1, Ordering::Relaxed);
    }

    /// Calls that got an answer so far.
    pub(super) fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Holds back every worker for `wait` from now.
    pub(super) fn hold(&self, wait: Duration) {
        let Some(until) = Instant::now().checked_add(wait) else { return };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.held_until = Some(state.held_until.map_or(until, |held| held.max(until)));
    }

    /// How long the hold still lasts.
    pub(super) fn held(&self) -> Option<Duration> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.held_until.and_then(|until| until.checked_duration_since(Instant::now())).filter(|wait| !wait.is_zero())
    }

    /// Stops the endpoint; true for the first to do so.
    pub(super) fn stop(&self, kind: FailureKind, why: &str) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let first = state.stopped.is_none();
        state.stopped.get_or_insert_with(|| (kind, why.to_owned()));
        drop(state);
        self.stopping.notify_waiters();
        first
    }

    /// The failure of a call that is not sent because the endpoint was stopped.
    pub(super) fn stopped(&self) -> Option<Failure> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (kind, why) = state.stopped.as_ref()?;
        Some(Failure::infra(*kind, format!("not evaluated: the endpoint was stopped because {why}")))
    }
}

/// All endpoints of a run.
pub(super) struct Endpoints {
    slots: usize,
    known: Mutex<HashMap<Arc<str>, Arc<Endpoint>>>,
}

impl Endpoints {
    pub(super) fn new(slots: usize) -> Self {
        Self { slots: slots.max(1), known: Mutex::default() }
    }

    pub(super) fn get(&self, name: &Arc<str>) -> Arc<Endpoint> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let endpoint = known.entry(Arc::clone(name)).or_insert_with(|| Arc::new(Endpoint::new(self.slots)));
        Arc::clone(endpoint)
    }
}
