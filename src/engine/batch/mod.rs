//! Judge calls that go by batch: gathered, submitted, waited for, and handed back as if they had been answered directly.
//!
//! ```text
//! Caller ─► desk (who waits for what) ─► gather (when to submit) ─► voyage (submit, look, fetch) ─► desk ─► Caller ─► ledger
//!                    └─► remembered batches of earlier runs ────────────────┘
//! ```
//!
//! A call that waits here holds no slot. What was submitted is remembered on disk before it is sent ([`Batches`]), so that a run that
//! was killed, cancelled or ran out of time is resumed by the next one: its calls have the same keys and find their batch. An answer
//! that a batch does not bring (expired, cancelled, failed, missing) is asked for directly.
//!
//! Promise: a call is in one batch at a time, and is submitted again only where it is known that no batch has it.

mod desk;
mod gather;
mod parcel;
mod submit;
mod voyage;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::caller::cancelled;
use super::cancel::Cancel;
use crate::domain::{Event, EventSink, Failure, FailureKind};
use crate::net::{Attempt, BatchApi, Call, Rejection, Response};
use crate::store::{Batches, Remembered, StoreError};
use desk::Desk;
use parcel::Parcel;

/// The key of a call.
pub(super) type Key = [u8; 32];

/// What came of waiting for a batch.
#[derive(Clone, Debug)]
pub(super) enum Delivery {
    /// An answer, which is `first` for one of those who wait for the same call.
    Answer { response: Response, first: bool },
    /// The batch brings no answer; a direct call may.
    Direct,
    /// No answer will come.
    Rejected(Rejection, Billed),
}

/// Whether a call that gets no answer may be paid for all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Billed {
    No,
    /// Its batch is, or may be, at the provider.
    Perhaps,
}

/// Sends judge calls by batch.
pub struct Batcher(Arc<Shared>);

struct Shared {
    outside: Arc<dyn Attempt>,
    /// A run without a ledger has one in its journal; only where there is no file at all, a batch is lost with the run.
    register: Option<Arc<Batches>>,
    cancel: Cancel,
    events: Arc<dyn EventSink>,
    desk: Mutex<Desk>,
    /// Direct calls in flight: while there are some, more calls for a batch may follow.
    busy: AtomicUsize,
    /// Requests submitted in batches by this run.
    submitted: AtomicU64,
}

/// A direct call in flight.
pub(super) struct Busy<'a>(&'a AtomicUsize);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Batcher {
    /// With what earlier runs left in `register`.
    ///
    /// # Errors
    /// Where the register cannot be read.
    pub fn new(
        outside: Arc<dyn Attempt>,
        register: Option<Batches>,
        cancel: Cancel,
        events: Arc<dyn EventSink>,
    ) -> Result<Self, StoreError> {
        let mut desk = Desk::default();
        for remembered in register.as_ref().map(Batches::remembered).transpose()?.unwrap_or_default() {
            desk.add(&Arc::new(Parcel::remembered(remembered)));
        }
        Ok(Self(Arc::new(Shared {
            outside,
            register: register.map(Arc::new),
            cancel,
            events,
            desk: Mutex::new(desk),
            busy: AtomicUsize::new(0),
            submitted: AtomicU64::new(0),
        })))
    }

    /// Waits until the call's batch brings something for it.
    ///
    /// # Errors
    /// Where the run is cancelled, or the call's patience ends (`InBatch`); the batch goes on in either case.
    pub(super) async fn ask(&self, key: Key, call: &Call, api: &Arc<dyn BatchApi>) -> Result<Delivery, Failure> {
        let answer: oneshot::Receiver<Delivery> = self.0.enter(key, call, api);
        let max_wait = api.patience().max_wait;
        tokio::select! {
            biased;
            delivery = answer => {
                delivery.map_err(|_| Failure::infra(FailureKind::Internal, "the batch of this call was dropped"))
            }
            why = self.0.cancel.cancelled() => {
                self.0.tell_left(&key);
                Err(cancelled(why, 0))
            }
            () = tokio::time::sleep(max_wait) => {
                let limit = format!("within {} s (`batch.max_wait`)", max_wait.as_secs_f64());
                let why = match self.0.leave(key) {
                    Some(name) => format!("{name} has not ended {limit}; it goes on, and a later run picks it up"),
                    None => format!("it came into no batch {limit}; run again"),
                };
                Err(Failure::infra(FailureKind::InBatch, why))
            }
        }
    }

    /// Takes note that the answer to a call is in the ledger, or of no use to anybody.
    pub(super) async fn settle(&self, key: &Key) {
        self.0.settle(key).await;
    }

    /// To be held while a call is made directly.
    pub(super) fn busy(&self) -> Busy<'_> {
        self.0.busy.fetch_add(1, Ordering::Relaxed);
        Busy(&self.0.busy)
    }

    /// True while calls wait for batches.
    pub(super) fn is_waiting(&self) -> bool {
        self.0.desk().is_waiting()
    }

    /// True where calls of this run were left waiting for their answers, which a later run picks up.
    pub(super) fn leaves_calls(&self) -> bool {
        self.0.desk().leaves_calls()
    }

    /// Requests submitted in batches so far.
    pub(super) fn submitted(&self) -> u64 {
        self.0.submitted.load(Ordering::Relaxed)
    }
}

impl Shared {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, text: String) {
        self.events.emit(Event::Note { text });
    }

    /// Says once what becomes of the batch that a call was in when the run ended.
    fn tell_left(&self, key: &Key) {
        let Some(parcel) = self.desk().parcel(key) else { return };
        if !parcel.tell_once() {
            return;
        }
        let name = parcel.name();
        self.note(if self.register.is_some() {
            format!("{name} goes on at the provider; run again to pick up its answers, which are not paid for again")
        } else {
            format!(
                "{name} goes on at the provider, but its answers are lost, since nothing is remembered without a ledger"
            )
        });
    }

    /// Nobody waits for a call any more in this run; the name of its batch, if it is in one.
    fn leave(&self, key: Key) -> Option<String> {
        let mut desk = self.desk();
        desk.leave(key);
        desk.parcel(&key).map(|parcel| parcel.name())
    }

    async fn settle(&self, key: &Key) {
        let parcel = {
            let mut desk = self.desk();
            desk.settle(key);
            desk.parcel(key)
        };
        let Some(parcel) = parcel else { return };
        if parcel.settle(key) {
            self.forget(&parcel).await;
        }
    }

    /// Strikes out a batch of which nothing is wanted any more. If that fails, a later run looks at it once more.
    async fn forget(&self, parcel: &Parcel) {
        let tag = parcel.tag.clone();
        if let Err(error) = self.registered(move |register| register.forget(&tag)).await {
            tracing::debug!("{}: {error}", parcel.name());
        }
    }

    /// Work on the register, which may wait for the disk.
    async fn registered(
        &self,
        work: impl FnOnce(&Batches) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), String> {
        let Some(register) = self.register.clone() else { return Ok(()) };
        let done = tokio::task::spawn_blocking(move || work(&register)).await;
        done.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }
}

/// Microseconds since 1970.
fn now_us() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// `1 request`, `400 requests`
fn counted(requests: usize) -> String {
    format!("{requests} request{}", if requests == 1 { "" } else { "s" })
}

/// As it is written down.
fn remembered(parcel: &Parcel) -> Remembered {
    Remembered {
        tag: parcel.tag.clone(),
        id: None,
        endpoint: parcel.endpoint.to_string(),
        since_us: parcel.since_us(),
        keys: parcel.keys.clone(),
        requests: parcel.requests,
    }
}

#[cfg(test)]
mod tests;
