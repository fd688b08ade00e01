//! Carries out calls: ledger first, then within the limits, again while that can help, and kept before it is used.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::cancel::{Cancel, Stop};
use super::endpoint::{Endpoint, Endpoints};
use super::key::key_of;
use super::retry::{RetryPolicy, Tries, wait};
use crate::domain::{CallCounts, Event, EventSink, Failure, FailureKind, RetryClass, Side, Spent};
use crate::net::{Accept, Attempt, BoxFuture, Call, Purpose, Receipt, Rejection, Response, Transport};
use crate::store::{Bill, Found, Kept, Ledger, StoreError};

/// The engine's transport.
pub struct Caller {
    attempts: Arc<dyn Attempt>,
    ledger: Option<Arc<Ledger>>,
    endpoints: Endpoints,
    retry: RetryPolicy,
    cancel: Cancel,
    events: Arc<dyn EventSink>,
    counts: Counts,
    /// Why the ledger can no longer be relied upon: the first trouble with it.
    ledger_trouble: OnceLock<String>,
    /// Altered rows are told once.
    told_altered: AtomicBool,
}

#[derive(Default)]
struct Counts {
    requests: AtomicU64,
    retries: AtomicU64,
    cache_hits: AtomicU64,
}

impl Caller {
    /// `slots`: calls in flight at most, per endpoint. Without a ledger nothing is kept or reused.
    pub fn new(
        attempts: Arc<dyn Attempt>,
        ledger: Option<Arc<Ledger>>,
        slots: usize,
        retry: (u32, Duration),
        cancel: Cancel,
        events: Arc<dyn EventSink>,
    ) -> Self {
        Self {
            attempts,
            ledger,
            endpoints: Endpoints::new(slots),
            retry: RetryPolicy { attempts: retry.0.max(1), max_elapsed: retry.1 },
            cancel,
            events,
            counts: Counts::default(),
            ledger_trouble: OnceLock::new(),
            told_altered: AtomicBool::new(false),
        }
    }

    /// Why the ledger failed, if it did: from then on nothing is sent, and the run is not complete.
    pub fn ledger_trouble(&self) -> Option<&str> {
        self.ledger_trouble.get().map(String::as_str)
    }

    /// Requests so far; what they ask for is not known here, so `repairs` is 0.
    pub fn counts(&self) -> CallCounts {
        let repeats = self.attempts.repeats();
        CallCounts {
            requests: self.counts.requests.load(Ordering::Relaxed).saturating_add(repeats),
            retries: self.counts.retries.load(Ordering::Relaxed).saturating_add(repeats),
            cache_hits: self.counts.cache_hits.load(Ordering::Relaxed),
            repairs: 0,
        }
    }

    async fn carry_out(&self, call: &Call, accept: &Accept<'_>) -> Result<Receipt, Failure> {
        let key = key_of(call);
        if let Some(receipt) = self.recall(key, accept).await? {
            return Ok(receipt);
        }
        let endpoint = self.endpoints.get(&call.endpoint);
        let begun = Instant::now();
        let mut sent = 0;
        let mut tries = Tries::new(endpoint.accepted());
        loop {
            let rejection = match self.once(call, accept, &endpoint, key, &mut sent).await? {
                Ok(receipt) => return Ok(receipt),
                Err(rejection) => rejection,
            };
            let pause = wait(sent, rejection.hint.retry_after);
            let tried = tries.failed(rejection.kind == FailureKind::RateLimited, endpoint.accepted());
            let spent = tried >= self.retry.attempts || begun.elapsed().saturating_add(pause) > self.retry.max_elapsed;
            match rejection.class {
                RetryClass::Retry if !spent => self.pause(call, &rejection, pause).await,
                RetryClass::Retry | RetryClass::Endpoint | RetryClass::Case | RetryClass::Unusable => {
                    return Err(failure(call, rejection, sent));
                }
            }
        }
    }

    /// A server that asks for a longer wait than any call may take is not waited for: its endpoint is stopped.
    fn bounded(&self, rejection: Rejection) -> Rejection {
        match rejection.hint.retry_after {
            Some(asked) if rejection.class == RetryClass::Retry && asked > self.retry.max_elapsed => {
                let (asked, limit) = (asked.as_secs_f64(), self.retry.max_elapsed.as_secs_f64());
                let message = format!(
                    "{} (it asks to wait {asked} s, longer than `run.retry.max_elapsed` allows: {limit} s)",
                    rejection.message
                );
                Rejection { class: RetryClass::Endpoint, message, ..rejection }
            }
            _ => rejection,
        }
    }

    /// What the server's answer means for the other calls to it; to be said before anybody gets this call's slot.
    fn heed(&self, call: &Call, endpoint: &Endpoint, rejection: &Rejection) {
        match (rejection.class, rejection.hint.retry_after) {
            (RetryClass::Retry, Some(asked)) => endpoint.hold(asked),
            (RetryClass::Endpoint, _) => {
                if endpoint.stop(rejection.kind, &rejection.message) {
                    let why = rejection.message.clone();
                    self.events.emit(Event::EndpointStopped { endpoint: Arc::clone(&call.endpoint), why });
                }
            }
            (RetryClass::Retry | RetryClass::Case | RetryClass::Unusable, _) => {}
        }
    }

    /// The failure of a call whose answer cannot be looked up or kept; the first one is remembered.
    fn ledger_failure(&self, error: &StoreError) -> Failure {
        let trouble = self.ledger_trouble.get_or_init(|| error.to_string());
        Failure::infra(FailureKind::Internal, format!("a paid answer could not be kept: {trouble}"))
    }

    /// A kept answer that the reader no longer accepts is asked for again.
    async fn recall(&self, key: [u8; 32], accept: &Accept<'_>) -> Result<Option<Receipt>, Failure> {
        let Some(ledger) = &self.ledger else { return Ok(None) };
        let kept = ledger.get(key).await.map_err(|error| self.ledger_failure(&error))?;
        let kept = match kept {
            Found::Nothing => return Ok(None),
            Found::Kept(kept) => kept,
            Found::Altered => {
                self.tell_altered();
                return Ok(None);
            }
        };
        let Some(response) = restore(kept) else { return Ok(None) };
        if accept(&response).is_err() {
            return Ok(None);
        }
        self.counts.cache_hits.fetch_add(1, Ordering::Relaxed);
        Ok(Some(Receipt { attempts: 0, cached: true, latency: response.latency }))
    }

    fn tell_altered(&self) {
        if !self.told_altered.swap(true, Ordering::Relaxed) {
            let text = "warning: the ledger holds answers that something else than scoregate changed; they are not used, \
                        and the calls are made again";
            self.events.emit(Event::Note { text: text.to_owned() });
        }
    }

    /// One attempt, kept before its slot is free again: what a kill can cost is never more than the slots. Outer error: it was not
    /// sent, was cancelled, or could not be kept.
    async fn once(
        &self,
        call: &Call,
        accept: &Accept<'_>,
        endpoint: &Endpoint,
        key: [u8; 32],
        sent: &mut u32,
    ) -> Result<Result<Receipt, Rejection>, Failure> {
        let slot = tokio::select! {
            // Whoever waited for a slot sends nothing after the wish to stop.
            biased;
            why = self.cancel.cancelled() => return Err(cancelled(why, *sent)),
            slot = ready(endpoint) => slot.map_err(|failure| Failure { attempts: *sent, ..failure })?,
        };
        if let Some(trouble) = self.ledger_trouble() {
            let why = format!("not evaluated: answers cannot be kept any more: {trouble}");
            return Err(Failure { attempts: *sent, ..Failure::infra(FailureKind::Internal, why) });
        }
        *sent += 1;
        self.counts.requests.fetch_add(1, Ordering::Relaxed);
        let result = tokio::select! {
            result = self.attempts.attempt(call) => result,
            why = self.cancel.cancelled() => return Err(cancelled(why, *sent)),
        };
        let kept = match result.and_then(|response| accept(&response).map(|spent| (response, spent))) {
            Ok((response, spent)) => {
                endpoint.accept();
                Ok(self.keep(key, call, (response, spent), *sent).await?)
            }
            Err(rejection) => {
                let rejection = self.bounded(rejection);
                self.heed(call, endpoint, &rejection);
                Err(rejection)
            }
        };
        drop(slot);
        Ok(kept)
    }

    async fn pause(&self, call: &Call, rejection: &Rejection, pause: Duration) {
        self.counts.retries.fetch_add(1, Ordering::Relaxed);
        let what = format!("{}: {}", call.what, rejection.message);
        self.events.emit(Event::Retried { endpoint: Arc::clone(&call.endpoint), what, wait: pause });
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = self.cancel.cancelled() => {}
        }
    }

    async fn keep(
        &self,
        key: [u8; 32],
        call: &Call,
        (response, spent): (Response, Spent),
        sent: u32,
    ) -> Result<Receipt, Failure> {
        let latency = response.latency;
        if let Some(ledger) = &self.ledger {
            let stored = match keep(call, &response, spent) {
                Ok(kept) => ledger.put(key, kept).await,
                Err(problem) => Err(StoreError::Ledger { path: ledger.path().to_owned(), problem }),
            };
            stored.map_err(|error| Failure { attempts: sent, ..self.ledger_failure(&error) })?;
        }
        Ok(Receipt { attempts: sent, cached: false, latency })
    }
}

fn cancelled(why: Stop, attempts: u32) -> Failure {
    let failure = Failure::infra(FailureKind::Cancelled, format!("{} before this was measured", why.words()));
    Failure { attempts, ..failure }
}

/// A free slot, once no pause holds the endpoint back; its failure where it was stopped meanwhile.
async fn ready(endpoint: &Endpoint) -> Result<tokio::sync::SemaphorePermit<'_>, Failure> {
    loop {
        let stopping = endpoint.stopping.notified();
        let slot = endpoint.slots.acquire().await;
        let slot = slot.map_err(|error| Failure::infra(FailureKind::Internal, error.to_string()))?;
        if let Some(failure) = endpoint.stopped() {
            return Err(failure);
        }
        let Some(held) = endpoint.held() else { return Ok(slot) };
        drop(slot);
        // A little later than asked, each worker by another amount: wake-ups are spread.
        let pause = held.saturating_add(Duration::from_micros(fastrand::u64(0..250_000)));
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stopping => {}
        }
    }
}

fn keep(call: &Call, response: &Response, Spent { usage, cost }: Spent) -> Result<Kept, String> {
    Ok(Kept {
        status: response.status,
        headers: serde_json::to_string(&response.headers).map_err(|error| error.to_string())?,
        body: response.body.to_vec(),
        latency_us: i64::try_from(response.latency.as_micros()).unwrap_or(i64::MAX),
        bill: Bill { endpoint: call.endpoint.to_string(), usage, cost },
    })
}

/// `None` where the row is not one that this version writes: the call is made again.
fn restore(kept: Kept) -> Option<Response> {
    Some(Response {
        status: kept.status,
        headers: serde_json::from_str(&kept.headers).ok()?,
        body: kept.body.into(),
        latency: Duration::from_micros(kept.latency_us.unsigned_abs()),
    })
}

fn failure(call: &Call, rejection: Rejection, attempts: u32) -> Failure {
    let tries = if attempts > 1 { format!(" ({attempts} attempts)") } else { String::new() };
    let side = match call.purpose {
        Purpose::Target => Side::Target,
        Purpose::Judge | Purpose::Embedding => Side::Infra,
    };
    Failure {
        kind: rejection.kind,
        side,
        message: format!("{}{tries}", rejection.message),
        attempts,
        raw: rejection.raw,
    }
}

impl Transport for Caller {
    fn send<'a>(&'a self, call: &'a Call, accept: &'a Accept<'a>) -> BoxFuture<'a, Result<Receipt, Failure>> {
        Box::pin(self.carry_out(call, accept))
    }
}
