//! Carries out calls: ledger first, then within the limits, again while that can help, and kept before it is used.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use super::assumed::most_at_once;
use super::batch::{Batcher, Delivery};
use super::budget::{Account, Reservation};
use super::cancel::{Cancel, Stop};
use super::kept::{keep, restore};
use super::key::key_of;
use super::landing::{landing_of, settle, tokens, used};
use super::limiter::{Ceiling, Landing, Limiter, Limiters};
use super::retry::{RetryPolicy, Tries, wait};
use super::tape::{Seat, Tape};
use super::waits::Waits;
use crate::domain::{
    CallCounts, Event, EventSink, Failure, FailureKind, LimiterState, Redactor, RetryClass, Side, Spent,
};
use crate::net::{
    Accept, Attempt, BoxFuture, Call, Purpose, Receipt, Rejection, Response, Route, Transport, rate_hint,
};
use crate::store::{Found, Ledger, StoreError};
use crate::suite::Budget;

/// How calls are carried out.
#[derive(Clone, Copy, Debug)]
pub struct CallerSettings {
    /// Calls in flight at most, per endpoint; `None`: as many as the endpoint keeps up with.
    pub workers: Option<NonZeroUsize>,
    pub retry: RetryPolicy,
    pub budget: Budget,
    /// Machines that share the endpoints, this one included; at least 1.
    pub shards: usize,
}

/// The engine's transport.
pub struct Caller {
    attempts: Arc<dyn Attempt>,
    ledger: Option<Arc<Ledger>>,
    /// Without it, every call is made directly.
    batcher: Option<Batcher>,
    settings: CallerSettings,
    limiters: Limiters,
    account: Account,
    cancel: Cancel,
    events: Arc<dyn EventSink>,
    counts: Counts,
    /// Why the ledger can no longer be relied upon: the first trouble with it.
    ledger_trouble: OnceLock<String>,
    /// Altered rows are told once.
    told_altered: AtomicBool,
    tape: Option<Arc<Tape>>,
    redactor: Redactor,
}

#[derive(Default)]
struct Counts {
    requests: AtomicU64,
    retries: AtomicU64,
    cache_hits: AtomicU64,
    /// Pauses before another try.
    pauses: Waits,
}

impl Caller {
    /// Without a ledger nothing is kept or reused.
    pub fn new(
        attempts: Arc<dyn Attempt>,
        ledger: Option<Arc<Ledger>>,
        settings: CallerSettings,
        cancel: Cancel,
        events: Arc<dyn EventSink>,
    ) -> Self {
        Self {
            attempts,
            ledger,
            batcher: None,
            settings,
            limiters: Limiters::new(),
            account: Account::new(settings.budget),
            cancel,
            events,
            counts: Counts::default(),
            ledger_trouble: OnceLock::new(),
            told_altered: AtomicBool::new(false),
            tape: None,
            redactor: Redactor::default(),
        }
    }

    /// The same with a tape, which records what calls come to, or knows it already.
    #[must_use]
    pub fn with_tape(self, tape: Option<Arc<Tape>>) -> Self {
        Self { tape, ..self }
    }

    /// Answers are used and kept without the secrets that `redactor` knows: whatever follows from one (a score, the judge's question) is
    /// then the same whether it was just given, comes from the ledger or is replayed.
    #[must_use]
    pub fn with_redactor(self, redactor: Redactor) -> Self {
        Self { redactor, ..self }
    }

    pub(super) fn tape(&self) -> Option<&Tape> {
        self.tape.as_deref()
    }

    /// The caller for the calls that one target's case needs.
    pub(super) fn seat<'a>(&'a self, target: &'a str) -> Seat<'a> {
        Seat::new(self, target)
    }

    /// Calls that may wait for a batch go through `batcher`.
    #[must_use]
    pub fn with_batcher(self, batcher: Option<Batcher>) -> Self {
        Self { batcher, ..self }
    }

    /// True while calls wait for batches, which may take hours.
    pub(super) fn waits_for_batches(&self) -> bool {
        self.batcher.as_ref().is_some_and(Batcher::is_waiting)
    }

    /// Why nothing more is sent although the run was not cancelled: the ledger failed, or the budget is used up.
    pub fn ended(&self) -> Option<String> {
        let trouble = self.ledger_trouble().map(|trouble| format!("answers could not be kept: {trouble}"));
        trouble.or_else(|| self.account.exhausted().map(str::to_owned))
    }

    /// How the endpoints stand together.
    pub fn limits(&self) -> LimiterState {
        self.limiters.state()
    }

    /// Why the ledger failed, if it did: from then on nothing is sent, and the run is not complete.
    fn ledger_trouble(&self) -> Option<&str> {
        self.ledger_trouble.get().map(String::as_str)
    }

    /// Requests so far; what they ask for is not known here, so `repairs` is 0.
    pub fn counts(&self) -> CallCounts {
        let repeats = self.attempts.repeats();
        let more = [repeats, self.attempts.detours(), self.batcher.as_ref().map_or(0, Batcher::submitted)];
        let (pauses, paused) = self.counts.pauses.so_far();
        let (holds, held) = self.limiters.held();
        let requests = self.counts.requests.load(Ordering::Relaxed);
        let own = CallCounts {
            requests: more.into_iter().fold(requests, u64::saturating_add),
            retries: self.counts.retries.load(Ordering::Relaxed).saturating_add(repeats),
            cache_hits: self.counts.cache_hits.load(Ordering::Relaxed),
            repairs: 0,
            waits: pauses.saturating_add(holds),
            waited_ms: u64::try_from(paused.saturating_add(held).as_millis()).unwrap_or(u64::MAX),
        };
        self.tape.as_ref().map_or(own, |tape| tape.counts(own))
    }

    /// The limiter of the call's endpoint.
    fn limiter(&self, call: &Call) -> Arc<Limiter> {
        self.limiters.get(&call.endpoint, || {
            let limits = call.limits.share(self.settings.shards);
            let ceiling = match limits.workers.or(self.settings.workers) {
                Some(stated) => Ceiling::Stated(stated.get()),
                None => Ceiling::Assumed(most_at_once(call)),
            };
            (limits, ceiling)
        })
    }

    pub(super) async fn carry_out(&self, call: &Call, accept: &Accept<'_>) -> Result<Receipt, Failure> {
        let key = key_of(call);
        if let Some(receipt) = self.recall(key, accept).await? {
            return Ok(receipt);
        }
        let limiter = self.limiter(call);
        if let Some(receipt) = self.by_batch(call, accept, &limiter, key).await? {
            return Ok(receipt);
        }
        let _busy = self.batcher.as_ref().map(Batcher::busy);
        let begun = Instant::now();
        let mut sent = 0;
        let mut tries = Tries::new(limiter.answered());
        let retry = &self.settings.retry;
        let mut last: Option<Rejection> = None;
        loop {
            // The first request waits as long as it takes; who was refused is let in again in time, or not at all.
            let late = last.as_ref().and_then(|_| begun.checked_add(retry.max_elapsed));
            let rejection = match self.once(call, accept, &limiter, (key, late), &mut sent).await? {
                Landed::Answered(receipt) => return Ok(receipt),
                Landed::Rejected(rejection) => self.bounded_refusals(call, &limiter, rejection),
                Landed::Late => match last {
                    Some(rejection) => return Err(failure(call, rejection, sent)),
                    None => continue,
                },
            };
            let refused = rejection.hint.complaint.is_some();
            // Who was refused for the load waits with all the others, for the limiter.
            let pause = if refused { Duration::ZERO } else { wait(sent, rejection.hint.retry_after) };
            let tried = tries.failed(refused, limiter.answered());
            let spent = tried >= retry.attempts || begun.elapsed().saturating_add(pause) > retry.max_elapsed;
            match rejection.class {
                RetryClass::Retry if !spent => self.pause(call, &rejection, pause).await,
                RetryClass::Retry | RetryClass::Endpoint | RetryClass::Case | RetryClass::Unusable => {
                    return Err(failure(call, rejection, sent));
                }
            }
            last = Some(rejection);
        }
    }

    /// An endpoint that has refused everything for as long as any call is tried is given up.
    fn bounded_refusals(&self, call: &Call, limiter: &Limiter, rejection: Rejection) -> Rejection {
        let (limit, refused_for) = (self.settings.retry.max_elapsed, limiter.refused_for());
        if rejection.class != RetryClass::Retry || refused_for <= limit {
            return rejection;
        }
        let message = format!(
            "{} (nothing got through for {} s, longer than `run.retry.max_elapsed` allows: {} s)",
            rejection.message,
            refused_for.as_secs(),
            limit.as_secs_f64()
        );
        let rejection = Rejection { class: RetryClass::Endpoint, message, ..rejection };
        self.heed(call, limiter, &rejection);
        rejection
    }

    /// The answer of a batch, for calls that may wait for one; no place is held meanwhile. `None`: the call is to be made directly.
    async fn by_batch(
        &self,
        call: &Call,
        accept: &Accept<'_>,
        limiter: &Limiter,
        key: [u8; 32],
    ) -> Result<Option<Receipt>, Failure> {
        let (Some(batcher), Route::Batch(api)) = (&self.batcher, &call.route) else { return Ok(None) };
        self.still_open(limiter)?;
        let reserved = self.account.reserve_for_batch(&call.expected).await?;
        // A call that is left in its batch keeps what is reserved for it: it will be paid for.
        let (response, first) = match batcher.ask(key, call, api).await? {
            Delivery::Answer { response, first } => (response, first),
            Delivery::Direct => {
                reserved.unsent();
                batcher.settle(&key).await;
                return Ok(None);
            }
            Delivery::Rejected(rejection) => {
                reserved.give_back();
                // What is wrong with a request is settled; a batch that could not be looked at is not.
                if rejection.class == RetryClass::Case {
                    batcher.settle(&key).await;
                }
                self.heed(call, limiter, &rejection);
                return Err(failure(call, rejection, 1));
            }
        };
        let response = response.masked(&self.redactor);
        let read = accept(&response);
        match &read {
            Ok(spent) if first => reserved.settle(spent),
            Err(rejection) if first => settle(reserved, rejection),
            Ok(_) | Err(_) => reserved.give_back(),
        }
        match read {
            Ok(spent) => {
                let receipt = self.keep(key, call, (response, spent), 1).await?;
                batcher.settle(&key).await;
                Ok(Some(Receipt { attempts: u32::from(first), cached: !first, ..receipt }))
            }
            Err(rejection) => {
                batcher.settle(&key).await;
                match rejection.class {
                    // Something is wrong with the answer, not with the request.
                    RetryClass::Retry | RetryClass::Endpoint => Ok(None),
                    RetryClass::Case | RetryClass::Unusable => Err(failure(call, rejection, 1)),
                }
            }
        }
    }

    /// Whether calls may still be made.
    fn still_open(&self, limiter: &Limiter) -> Result<(), Failure> {
        if let Some(trouble) = self.ledger_trouble() {
            let why = format!("not evaluated: answers cannot be kept any more: {trouble}");
            return Err(Failure::infra(FailureKind::Internal, why));
        }
        limiter.stopped().map_or(Ok(()), Err)
    }

    /// A server that asks for a longer wait than any call may take is not waited for: its endpoint is stopped.
    fn bounded(&self, rejection: Rejection) -> Rejection {
        match rejection.hint.retry_after {
            Some(asked) if rejection.class == RetryClass::Retry && asked > self.settings.retry.max_elapsed => {
                let (asked, limit) = (asked.as_secs_f64(), self.settings.retry.max_elapsed.as_secs_f64());
                let message = format!(
                    "{} (it asks to wait {asked} s, longer than `run.retry.max_elapsed` allows: {limit} s)",
                    rejection.message
                );
                Rejection { class: RetryClass::Endpoint, message, ..rejection }
            }
            _ => rejection,
        }
    }

    /// Stops the endpoint where no call to it will succeed; to be done before anybody gets this call's place.
    fn heed(&self, call: &Call, limiter: &Limiter, rejection: &Rejection) {
        if rejection.class == RetryClass::Endpoint && limiter.stop(rejection.kind, &rejection.message) {
            let why = rejection.message.clone();
            self.events.emit(Event::EndpointStopped { endpoint: Arc::clone(&call.endpoint), why });
        }
    }

    /// The failure of a call whose answer cannot be looked up or kept; the first one is remembered.
    fn ledger_failure(&self, what: &str, error: &StoreError) -> Failure {
        let trouble = self.ledger_trouble.get_or_init(|| error.to_string());
        Failure::infra(FailureKind::Internal, format!("{what}: {trouble}"))
    }

    /// A kept answer that the reader no longer accepts is asked for again.
    async fn recall(&self, key: [u8; 32], accept: &Accept<'_>) -> Result<Option<Receipt>, Failure> {
        let Some(ledger) = &self.ledger else { return Ok(None) };
        let kept = ledger.get(key).await;
        let kept = kept.map_err(|error| self.ledger_failure("kept answers could not be looked up", &error))?;
        let kept = match kept {
            Found::Nothing => return Ok(None),
            Found::Kept(kept) => kept,
            Found::Altered => {
                self.tell_altered();
                return Ok(None);
            }
        };
        let Some(response) = restore(kept).map(|response| response.masked(&self.redactor)) else { return Ok(None) };
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

    /// One attempt, kept before its place is free again: what a kill can cost is never more than the calls in flight. Outer error: it
    /// was not sent, was cancelled, or could not be kept.
    async fn once(
        &self,
        call: &Call,
        accept: &Accept<'_>,
        limiter: &Limiter,
        (key, late): ([u8; 32], Option<Instant>),
        sent: &mut u32,
    ) -> Result<Landed, Failure> {
        let permit = tokio::select! {
            // Whoever waited for a place sends nothing after the wish to stop.
            biased;
            why = self.cancel.cancelled() => return Err(cancelled(why, *sent)),
            () = until(late) => return Ok(Landed::Late),
            permit = limiter.admit(tokens(call)) => permit.map_err(|failure| Failure { attempts: *sent, ..failure })?,
        };
        let reserved = self.reserve(call, limiter, *sent).await?;
        *sent += 1;
        self.counts.requests.fetch_add(1, Ordering::Relaxed);
        if *sent > 1 {
            self.counts.retries.fetch_add(1, Ordering::Relaxed);
        }
        let result = tokio::select! {
            result = self.attempts.attempt(call) => result,
            why = self.cancel.cancelled() => return Err(cancelled(why, *sent)),
        };
        let result = result.map(|response| response.masked(&self.redactor));
        let read = result.and_then(|response| accept(&response).map(|spent| (response, spent)));
        match read {
            Ok((response, spent)) => {
                reserved.settle(&spent);
                let hint = rate_hint(&response.headers, SystemTime::now());
                let landing = Landing::Answered { latency: response.latency, tokens: used(&spent) };
                let receipt = self.keep(key, call, (response, spent), *sent).await?;
                permit.land(&landing, &hint);
                Ok(Landed::Answered(receipt))
            }
            Err(rejection) => {
                let rejection = self.bounded(rejection);
                self.heed(call, limiter, &rejection);
                settle(reserved, &rejection);
                permit.land(&landing_of(&rejection), &rejection.hint);
                Ok(Landed::Rejected(rejection))
            }
        }
    }

    /// Room for one attempt in the budget, unless the run is to stop or the endpoint is stopped meanwhile.
    async fn reserve(&self, call: &Call, limiter: &Limiter, sent: u32) -> Result<Reservation<'_>, Failure> {
        let tried = |failure| Failure { attempts: sent, ..failure };
        self.still_open(limiter).map_err(tried)?;
        let reserved = tokio::select! {
            biased;
            why = self.cancel.cancelled() => return Err(cancelled(why, sent)),
            reserved = self.account.reserve(&call.expected) => reserved.map_err(tried)?,
        };
        if let Err(stopped) = self.still_open(limiter) {
            reserved.unsent();
            return Err(tried(stopped));
        }
        Ok(reserved)
    }

    async fn pause(&self, call: &Call, rejection: &Rejection, pause: Duration) {
        let what = format!("{}: {}", call.what, rejection.message);
        self.events.emit(Event::Retried { endpoint: Arc::clone(&call.endpoint), what, wait: pause });
        let since = Instant::now();
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = self.cancel.cancelled() => {}
        }
        if !pause.is_zero() {
            self.counts.pauses.add(since.elapsed());
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
            stored.map_err(|error| Failure {
                attempts: sent,
                ..self.ledger_failure("a paid answer could not be kept", &error)
            })?;
        }
        Ok(Receipt { attempts: sent, cached: false, latency })
    }
}

/// What one attempt came to.
enum Landed {
    Answered(Receipt),
    Rejected(Rejection),
    /// It was not let in before its time was over.
    Late,
}

/// Ends at that moment, if there is one.
async fn until(late: Option<Instant>) {
    match late {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}

pub(super) fn cancelled(why: Stop, attempts: u32) -> Failure {
    let failure = Failure::infra(FailureKind::Cancelled, format!("{} before this was measured", why.words()));
    Failure { attempts, ..failure }
}

pub(super) fn failure(call: &Call, rejection: Rejection, attempts: u32) -> Failure {
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
        match &self.tape {
            None => Box::pin(self.carry_out(call, accept)),
            Some(tape) => Box::pin(tape.send(self, "", call, accept)),
        }
    }
}
