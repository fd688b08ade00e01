//! What is known about an endpoint, and what follows for the next call. Pure: time comes in, decisions go out.

use std::time::{Duration, Instant};

use super::bucket::{Bucket, Came};
use super::concurrency::{Ceiling, Concurrency, Flight};
use crate::domain::{Allowance, Complaint, EndpointLimits, FailureKind, LimiterState, RateHint};

/// The first wait after a refusal that names no time; doubled for each further one without any good answer between.
const COOLING: Duration = Duration::from_millis(500);
const LONGEST_COOLING: Duration = Duration::from_secs(8);
/// Those who waited for a hold to end are spread over at least this time.
const SPREAD: Duration = Duration::from_millis(250);

/// A moment that nobody waits for to the end.
const FAR: Duration = Duration::from_secs(365 * 86_400);

/// Whether a call may be sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Admission {
    Go(Load),
    /// Not before this moment, if nothing happens until then.
    At(Instant),
    /// Once a call has ended.
    Full,
}

/// What a call takes of the limits while it is in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    flight: Flight,
    tokens: f64,
    /// Its marks in the two buckets.
    marks: (f64, f64),
}

/// What a call came to, for the limits.
#[derive(Clone, Debug)]
pub(in crate::engine) enum Landing {
    /// A complete answer, usable or not: the endpoint kept up.
    Answered { latency: Duration, tokens: Option<u64> },
    /// The endpoint could not take it.
    Refused(Complaint),
    /// It broke, was given up, or was wrong: nothing is learned about the limits.
    Lost,
}

/// The state of one endpoint.
#[derive(Debug)]
pub(super) struct Core {
    concurrency: Concurrency,
    requests: Bucket,
    tokens: Bucket,
    held_until: Option<Instant>,
    /// After a hold: how many are still spread, and not before when the next one goes.
    spread: (usize, Instant),
    /// Holds that have ended.
    holds: u32,
    /// Episodes of refusals since the last good answer, and when the first began.
    refusals: u32,
    refused_since: Option<Instant>,
    answered: u64,
    /// Why no request will succeed any more.
    stopped: Option<(FailureKind, String)>,
}

impl Core {
    pub(super) fn new(limits: EndpointLimits, ceiling: Ceiling, now: Instant) -> Self {
        Self {
            concurrency: Concurrency::new(ceiling),
            requests: Bucket::new(limits.requests_per_minute),
            tokens: Bucket::new(limits.tokens_per_minute),
            held_until: None,
            spread: (0, now),
            holds: 0,
            refusals: 0,
            refused_since: None,
            answered: 0,
            stopped: None,
        }
    }

    /// Takes a place for a call of about `tokens`, if there is one.
    pub(super) fn admit(&mut self, tokens: f64, now: Instant) -> Admission {
        if let Some(until) = self.held_until {
            if until > now {
                return Admission::At(until);
            }
            self.held_until = None;
            self.holds = self.holds.wrapping_add(1);
            // Not even the first goes at the same moment after every hold: where few wait, it would be most of them.
            self.spread = (self.concurrency.limit(), now + self.gap().mul_f64(golden(self.holds)));
        }
        if !self.concurrency.has_room() {
            return Admission::Full;
        }
        let pause = self.requests.wait(1.0, now).max(self.tokens.wait(tokens, now));
        // Who states next to nothing waits until something else happens.
        let at = now.checked_add(pause).unwrap_or(now + FAR);
        let at = if self.spread.0 > 0 { at.max(self.spread.1) } else { at };
        if at > now {
            return Admission::At(at);
        }
        if self.spread.0 > 0 {
            self.spread = (self.spread.0.saturating_sub(1), now + self.gap());
        }
        let marks = (self.requests.take(1.0, now), self.tokens.take(tokens, now));
        Admission::Go(Load { flight: self.concurrency.send(now), tokens, marks })
    }

    /// Between two that are spread.
    fn gap(&self) -> Duration {
        SPREAD / u32::try_from(self.concurrency.limit()).unwrap_or(u32::MAX).max(1)
    }

    /// A call has ended: what it tells is learned, and its place is free.
    pub(super) fn land(&mut self, load: Load, landing: &Landing, hint: &RateHint, now: Instant) {
        self.concurrency.land();
        let came = |estimate: f64, used: Option<f64>| match landing {
            Landing::Answered { .. } => Came::Answered(used.unwrap_or(estimate)),
            Landing::Refused(_) => Came::Refused,
            Landing::Lost => Came::Lost,
        };
        let tokens = match landing {
            Landing::Answered { tokens, .. } => tokens.map(number),
            Landing::Refused(_) | Landing::Lost => None,
        };
        self.requests.settle(load.marks.0, 1.0, came(1.0, None));
        self.tokens.settle(load.marks.1, load.tokens, came(load.tokens, tokens));
        if let Some(told) = hint.requests {
            self.requests.learn(told, load.marks.0, now);
        }
        if let Some(told) = hint.tokens {
            self.tokens.learn(told, load.marks.1, now);
        }
        match landing {
            Landing::Answered { latency, .. } => {
                self.refusals = 0;
                self.refused_since = None;
                self.answered = self.answered.saturating_add(1);
                self.concurrency.answered(load.flight, *latency);
                if self.requests.is_paced() || self.tokens.is_paced() {
                    self.concurrency.paced();
                }
            }
            Landing::Refused(complaint) => self.refused(load, *complaint, hint, now),
            Landing::Lost => {}
        }
    }

    fn refused(&mut self, load: Load, complaint: Complaint, hint: &RateHint, now: Instant) {
        self.refused_since.get_or_insert(now);
        // The server's own wish holds back everybody, whatever the episode.
        if let Some(asked) = hint.retry_after {
            self.hold(asked, now);
        }
        let cut = complaint != Complaint::TooFast;
        if !self.concurrency.refused(load.flight, now, cut) {
            return;
        }
        if complaint != Complaint::TooMany {
            let lacks = |told: Option<Allowance>, wanted: f64| {
                told.and_then(|told| told.remaining).is_some_and(|left| number(left) < wanted)
            };
            let by_tokens = lacks(hint.tokens, load.tokens) && !lacks(hint.requests, 1.0);
            let bucket = if by_tokens { &mut self.tokens } else { &mut self.requests };
            bucket.refused(now);
        }
        if hint.retry_after.is_none() {
            let doublings = self.refusals.min(8);
            let cooling = COOLING.saturating_mul(1 << doublings).min(LONGEST_COOLING);
            let paced = self.requests.is_paced() || self.tokens.is_paced();
            // A cut is answer enough to the first complaint about too many at once, and a pace to one about too fast.
            if self.refusals > 0 || !(paced || complaint == Complaint::TooMany) {
                self.hold(cooling, now);
            }
        }
        self.refusals = self.refusals.saturating_add(1);
    }

    /// Holds back every worker for `wait` from now.
    fn hold(&mut self, wait: Duration, now: Instant) {
        let Some(until) = now.checked_add(wait) else { return };
        self.held_until = Some(self.held_until.map_or(until, |held| held.max(until)));
    }

    /// Stops the endpoint; true for the first to do so.
    pub(super) fn stop(&mut self, kind: FailureKind, why: &str) -> bool {
        let first = self.stopped.is_none();
        self.stopped.get_or_insert_with(|| (kind, why.to_owned()));
        first
    }

    /// Calls that got an answer so far.
    pub(super) fn answered(&self) -> u64 {
        self.answered
    }

    /// How long everything was refused.
    pub(super) fn refused_for(&self, now: Instant) -> Duration {
        self.refused_since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }

    pub(super) fn stopped(&self) -> Option<&(FailureKind, String)> {
        self.stopped.as_ref()
    }

    pub(super) fn state(&self) -> LimiterState {
        LimiterState {
            in_flight: self.concurrency.in_flight(),
            limit: self.concurrency.limit(),
            rate: self.requests.rate(),
        }
    }
}

/// The fractional part of a multiple of the golden ratio: the values of successive numbers lie evenly between 0 and 1.
/// Source: D. E. Knuth, The Art of Computer Programming, vol. 3, §6.4, theorem S.
fn golden(number: u32) -> f64 {
    const RATIO: f64 = 0.618_033_988_749_894_9;
    (f64::from(number) * RATIO).fract()
}

#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
fn number(count: u64) -> f64 {
    count as f64
}
