//! Record and replay: what each call of a run came to, kept in a cassette or taken from it.
//!
//! One line is one call with its end (the accepted answer, or the failure after all retries), not one attempt: how often a call is
//! tried, and who is refused because an endpoint was stopped, depends on the clock, and a replay that decided it anew would differ. The
//! number of attempts and the latency are recorded with it, so that the reports say the same. Answers from the ledger are calls as well.
//!
//! Secrets are masked before an answer is used ([`Caller::with_redactor`]), so a replay reads what the recorded run read.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use super::caller::{Caller, failure};
use super::key::portable_key_of;
use crate::domain::{CallCounts, Env, Failure, FailureKind, Redactor, RetryClass};
use crate::net::{Accept, BoxFuture, Call, Receipt, Rejection, Request, Response, Transport};
use crate::store::{CallLine, Cassette, CassetteWriter, RequestLine, ResponseLine, StoreError};

/// A cassette in use: played, recorded, or both (what it lacks is asked and added).
pub struct Tape {
    played: Option<Cassette>,
    recording: Option<CassetteWriter>,
    redactor: Redactor,
    counts: Counts,
    /// Why the recording is not whole: the first trouble with its file.
    trouble: OnceLock<String>,
}

/// Of the calls that were played.
#[derive(Default)]
struct Counts {
    requests: AtomicU64,
    retries: AtomicU64,
    cache_hits: AtomicU64,
    missed: AtomicU64,
}

/// The caller as the calls of one target's case see it.
pub(super) struct Seat<'a> {
    caller: &'a Caller,
    target: &'a str,
}

impl<'a> Seat<'a> {
    pub(super) fn new(caller: &'a Caller, target: &'a str) -> Self {
        Self { caller, target }
    }
}

impl Transport for Seat<'_> {
    fn send<'a>(&'a self, call: &'a Call, accept: &'a Accept<'a>) -> BoxFuture<'a, Result<Receipt, Failure>> {
        match self.caller.tape() {
            None => self.caller.send(call, accept),
            Some(tape) => Box::pin(tape.send(self.caller, self.target, call, accept)),
        }
    }
}

impl Tape {
    /// Plays `played`, records into `recording`; with both, records what cannot be played.
    pub fn new(played: Option<Cassette>, recording: Option<CassetteWriter>, redactor: Redactor) -> Self {
        Self { played, recording, redactor, counts: Counts::default(), trouble: OnceLock::new() }
    }

    /// The cassette that is played.
    pub fn played(&self) -> Option<&Cassette> {
        self.played.as_ref()
    }

    /// Whether nothing but this tape is asked.
    pub fn is_all(&self) -> bool {
        self.played.is_some() && self.recording.is_none()
    }

    /// Ends the recording. `counts`: of the run, where it reached its end.
    ///
    /// **Returns** the file and how many calls it holds; `None` where nothing is recorded.
    ///
    /// # Errors
    /// Why the recording is not whole.
    pub fn finish(&self, counts: Option<CallCounts>) -> Option<Result<(std::path::PathBuf, u64), String>> {
        let recording = self.recording.as_ref()?;
        let (path, calls) = (recording.path().to_owned(), recording.calls());
        Some(match self.trouble.get() {
            Some(trouble) => Err(trouble.clone()),
            None => recording.finish(counts).map(|()| (path, calls)).map_err(|error| error.to_string()),
        })
    }

    /// All requests of a run: `own` are the caller's. A replay of a whole recording says what the recorded run said.
    pub(super) fn counts(&self, own: CallCounts) -> CallCounts {
        let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let mut counts = own;
        counts += CallCounts {
            requests: count(&self.counts.requests),
            retries: count(&self.counts.retries),
            cache_hits: count(&self.counts.cache_hits),
            ..CallCounts::default()
        };
        match self.played.as_ref().and_then(|cassette| Some((cassette, cassette.end()?))) {
            Some((cassette, end))
                if own == CallCounts::default()
                    && count(&self.counts.missed) == 0
                    && end.calls == cassette.len() as u64
                    && cassette.used() == end.calls =>
            {
                CallCounts { repairs: 0, ..end.counts }
            }
            Some(_) | None => counts,
        }
    }

    pub(super) async fn send(
        &self,
        caller: &Caller,
        target: &str,
        call: &Call,
        accept: &Accept<'_>,
    ) -> Result<Receipt, Failure> {
        if let Some(cassette) = &self.played {
            let found = cassette.find(portable_key_of(call), target, &call.what);
            match found.map_err(|error| unreadable(&error))? {
                Some(line) => return self.play(line, call, accept),
                None if self.recording.is_none() => return Err(self.miss(cassette, target, call)?),
                None => {}
            }
        }
        match &self.recording {
            Some(writer) => self.record(writer, caller, target, call, accept).await,
            None => caller.carry_out(call, accept).await,
        }
    }

    fn play(&self, line: CallLine, call: &Call, accept: &Accept<'_>) -> Result<Receipt, Failure> {
        let CallLine { response, error, attempts, cached, .. } = &line;
        let sent = error.as_ref().map_or(*attempts, |error| error.attempts);
        self.counts.requests.fetch_add(u64::from(sent), Ordering::Relaxed);
        self.counts.retries.fetch_add(u64::from(sent.saturating_sub(1)), Ordering::Relaxed);
        let refused = match response {
            Some(response) => {
                let response = response.response(line.latency());
                let response = response.map_err(|problem| Failure::infra(FailureKind::Internal, problem))?;
                accept(&response).err()
            }
            None => None,
        };
        match (refused, error) {
            (None, Some(error)) if response.is_none() => Err(error.clone().into()),
            (None, _) => {
                self.counts.cache_hits.fetch_add(u64::from(*cached), Ordering::Relaxed);
                Ok(Receipt { attempts: sent, cached: *cached, latency: line.latency() })
            }
            (Some(_), Some(error)) => Err(error.clone().into()),
            // The suite now reads answers in another way than when this one was accepted.
            (Some(rejection), None) => Err(failure(call, rejection, sent)),
        }
    }

    /// Outer error: the cassette cannot be read.
    fn miss(&self, cassette: &Cassette, target: &str, call: &Call) -> Result<Failure, Failure> {
        self.counts.missed.fetch_add(1, Ordering::Relaxed);
        let other = cassette.other(target, &call.what).map_err(|error| unreadable(&error))?;
        let now = self.request(call);
        let why = match (stand_in(&call.request), other) {
            (Some(name), _) => format!(
                "`{name}` is not set, and its value is part of what is asked: set it to what it was when the cassette was recorded"
            ),
            (None, Some(recorded)) => {
                let difference = recorded.request.difference(&now);
                let difference = difference.unwrap_or("other headers, variables, trial or model settings");
                format!("it was recorded with {difference}; record again what changed: `--record-mode new-episodes`")
            }
            (None, None) => "record again what is new: `--record-mode new-episodes`".to_owned(),
        };
        let message = format!("{} is not in the cassette {}: {why}", call.what, cassette.path().display());
        Ok(Failure::infra(FailureKind::NotRecorded, message))
    }

    async fn record(
        &self,
        writer: &CassetteWriter,
        caller: &Caller,
        target: &str,
        call: &Call,
        accept: &Accept<'_>,
    ) -> Result<Receipt, Failure> {
        let last: Mutex<Option<(Response, Option<Rejection>)>> = Mutex::new(None);
        let watched = |response: &Response| {
            let accepted = accept(response);
            *last.lock().unwrap_or_else(PoisonError::into_inner) = Some((response.clone(), accepted.clone().err()));
            accepted
        };
        let result = caller.carry_out(call, &watched).await.map_err(|failure| self.masked_failure(failure));
        let last = last.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = self.line(target, call, &result, last) {
            self.write(writer, &line);
        }
        result
    }

    /// `None` for what says nothing about the call: the run was cancelled, its budget used up, or this program could not go on.
    fn line(
        &self,
        target: &str,
        call: &Call,
        result: &Result<Receipt, Failure>,
        last: Option<(Response, Option<Rejection>)>,
    ) -> Option<CallLine> {
        let (receipt, error) = match result {
            Ok(receipt) => (*receipt, None),
            Err(failure)
                if matches!(failure.kind, FailureKind::Cancelled | FailureKind::Internal | FailureKind::Budget) =>
            {
                return None;
            }
            Err(failure) => (Receipt::default(), Some(failure)),
        };
        let response = last.filter(|(_, refused)| match (error, refused) {
            (None, None) => true,
            // The reply that made the failure, not one of an earlier attempt.
            (Some(failure), Some(refused)) => {
                refused.class != RetryClass::Retry
                    && failure.kind == refused.kind
                    && failure.message.starts_with(&self.redactor.redact(&refused.message))
            }
            (None, Some(_)) | (Some(_), None) => false,
        });
        Some(CallLine {
            key: portable_key_of(call),
            target: self.redactor.redact(target),
            what: self.redactor.redact(&call.what),
            trial: call.trial,
            request: self.request(call),
            response: response.map(|(response, _)| ResponseLine::of(&response)),
            error: error.map(Into::into),
            attempts: receipt.attempts,
            cached: receipt.cached,
            latency_ns: nanoseconds(receipt.latency),
        })
    }

    /// After the first trouble nothing more is written, and the run says so at its end.
    fn write(&self, writer: &CassetteWriter, line: &CallLine) {
        if self.trouble.get().is_none()
            && let Err(error) = writer.append(line)
        {
            let _ = self.trouble.set(error.to_string());
        }
    }

    fn request(&self, call: &Call) -> RequestLine {
        RequestLine::of(&call.request, |text| self.redactor.redact(text), |bytes| self.masked_bytes(bytes))
    }

    fn masked_bytes(&self, bytes: &Bytes) -> Bytes {
        match self.redactor.redact_bytes(bytes) {
            std::borrow::Cow::Borrowed(_) => bytes.clone(),
            std::borrow::Cow::Owned(masked) => masked.into(),
        }
    }

    fn masked_failure(&self, failure: Failure) -> Failure {
        Failure {
            message: self.redactor.redact(&failure.message),
            raw: failure.raw.map(|raw| self.redactor.redact(&raw)),
            ..failure
        }
    }
}

fn nanoseconds(latency: Duration) -> u64 {
    u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX)
}

fn unreadable(error: &StoreError) -> Failure {
    Failure::infra(FailureKind::Internal, format!("the cassette cannot be read: {error}"))
}

/// The variable that is not set in this replay and is part of `request`, or takes part in it.
fn stand_in(request: &Request) -> Option<String> {
    let of = |bytes: &[u8]| Env::stand_in_of(&String::from_utf8_lossy(bytes)).map(str::to_owned);
    let of_pairs = |pairs: &[(String, String)]| pairs.iter().find_map(|(_, value)| of(value.as_bytes()));
    match request {
        Request::Http(request) => {
            of(request.url.as_bytes()).or_else(|| of_pairs(&request.headers)).or_else(|| of(&request.body))
        }
        Request::Command(request) => {
            let arguments = request.argv.iter().find_map(|argument| of(argument.as_bytes()));
            arguments.or_else(|| of_pairs(&request.environment)).or_else(|| of(&request.stdin))
        }
    }
}
