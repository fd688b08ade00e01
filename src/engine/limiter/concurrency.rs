//! How many calls at once: grows while the endpoint keeps up, is cut once for each complaint.

use std::time::{Duration, Instant};

/// Calls in flight at the start, before anything is known.
const FIRST: usize = 4;
/// How much the limit grows for every answer until the first complaint: sixfold in the time of one answer.
const SLOW_START: f64 = 5.0;
/// What a complaint leaves of the calls that were in flight.
const CUT: f64 = 0.8;
/// Answers that are averaged for the latency that is compared with the usual one.
const SMOOTHING: f64 = 0.05;
/// Latency counts as risen from this much above the usual one on, whatever the ratio: below are scheduling and noise.
const NOISE: Duration = Duration::from_millis(50);
/// … and from this ratio on.
const RISEN: f64 = 2.0;
/// Answers before the usual latency is known.
const KNOWN_AFTER: u32 = 10;

/// Calls at once at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Ceiling {
    /// The suite says so: half of it is where the calls start.
    Stated(usize),
    /// Nobody says: the calls start with a few.
    Assumed(usize),
}

/// Additive increase, multiplicative decrease.
///
/// **Source**: Chiu and Jain, *Analysis of the increase and decrease algorithms for congestion avoidance*, 1989; slow start and one cut for
/// each episode as in RFC 5681 and RFC 6582.
#[derive(Debug)]
pub(super) struct Concurrency {
    limit: f64,
    ceiling: f64,
    in_flight: usize,
    slow_start: bool,
    /// Refusals of what was sent before this moment belong to the episode that was answered already.
    cut_at: Option<Instant>,
    /// When the last place was taken last: from then on the limit was what held calls back.
    full_at: Option<Instant>,
    latency: Latency,
}

/// What a call has with it while it is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flight {
    pub(super) sent: Instant,
    /// Calls in flight, this one included, when it was sent.
    pub(super) among: usize,
}

impl Concurrency {
    /// A ceiling of 0 is one of 1.
    pub(super) fn new(ceiling: Ceiling) -> Self {
        let (most, first) = match ceiling {
            Ceiling::Stated(most) => (most, FIRST.max(most / 2)),
            Ceiling::Assumed(most) => (most, FIRST),
        };
        #[expect(clippy::cast_precision_loss, reason = "counts of calls in flight")]
        let [first, most] = [first, most].map(|count| count.max(1) as f64);
        Self {
            limit: first.min(most),
            ceiling: most,
            in_flight: 0,
            slow_start: true,
            cut_at: None,
            full_at: None,
            latency: Latency::default(),
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.in_flight < self.limit()
    }

    /// Calls at once, at least 1.
    pub(super) fn limit(&self) -> usize {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and a small ceiling")]
        let limit = self.limit as usize;
        limit.max(1)
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(super) fn send(&mut self, now: Instant) -> Flight {
        self.in_flight = self.in_flight.saturating_add(1);
        if !self.has_room() {
            self.full_at = Some(now);
        }
        Flight { sent: now, among: self.in_flight }
    }

    /// A call ended, however it did.
    pub(super) fn land(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// A good answer. The limit grows only where it was what held the calls back.
    pub(super) fn answered(&mut self, flight: Flight, latency: Duration) {
        self.latency.add(latency);
        if self.latency.has_risen() {
            // More at once would only wait longer.
            self.slow_start = false;
            return;
        }
        if self.full_at.is_none_or(|at| at < flight.sent) {
            return;
        }
        let more = if self.slow_start { SLOW_START } else { 1.0 / self.limit };
        self.limit = (self.limit + more).min(self.ceiling);
    }

    /// The pace is known now, and it holds the calls back: no need to feel for the limit.
    pub(super) fn paced(&mut self) {
        if self.slow_start && self.cut_at.is_none() {
            self.limit = self.ceiling;
        }
    }

    /// The endpoint could not take it. Returns true for the first refusal of an episode, which cuts the limit.
    pub(super) fn refused(&mut self, flight: Flight, now: Instant, cut: bool) -> bool {
        self.slow_start = false;
        if self.cut_at.is_some_and(|at| flight.sent <= at) {
            return false;
        }
        self.cut_at = Some(now);
        if cut {
            #[expect(clippy::cast_precision_loss, reason = "counts of calls in flight")]
            let among = flight.among as f64;
            self.limit = (among.min(self.limit) * CUT).max(1.0);
        }
        true
    }
}

/// The usual latency, from the best smoothed one so far, and the latest.
#[derive(Debug, Default)]
struct Latency {
    seen: u32,
    smoothed: f64,
    usual: f64,
}

impl Latency {
    fn add(&mut self, latency: Duration) {
        let latency = latency.as_secs_f64();
        self.seen = self.seen.saturating_add(1);
        let weight = if self.seen <= KNOWN_AFTER { 1.0 / f64::from(self.seen) } else { SMOOTHING };
        self.smoothed += weight * (latency - self.smoothed);
        match self.seen {
            ..=KNOWN_AFTER => self.usual = self.smoothed,
            // The usual latency may rise for good: another model behind the same name, longer texts.
            _ => self.usual = self.smoothed.min(self.usual * 1.001),
        }
    }

    fn has_risen(&self) -> bool {
        self.seen > KNOWN_AFTER && self.smoothed > (self.usual * RISEN).max(self.usual + NOISE.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Duration = Duration::from_millis(50);

    /// One round: as many calls as fit, all answered.
    fn round(concurrency: &mut Concurrency, latency: Duration) {
        let mut flights = Vec::new();
        while concurrency.has_room() {
            flights.push(concurrency.send(Instant::now()));
        }
        for flight in flights {
            concurrency.land();
            concurrency.answered(flight, latency);
        }
    }

    #[test]
    fn it_grows_quickly_to_the_ceiling_and_no_further() {
        let mut concurrency = Concurrency::new(Ceiling::Assumed(100));
        let limits: Vec<usize> = (0..4)
            .map(|_| {
                round(&mut concurrency, QUICK);
                concurrency.limit()
            })
            .collect();
        assert_eq!(limits, [24, 100, 100, 100]);
        assert_eq!(Concurrency::new(Ceiling::Assumed(2)).limit(), 2);
        assert_eq!(Concurrency::new(Ceiling::Stated(0)).limit(), 1);
        assert_eq!(Concurrency::new(Ceiling::Stated(32)).limit(), 16);
    }

    #[test]
    fn it_does_not_grow_where_it_is_not_used() {
        let mut concurrency = Concurrency::new(Ceiling::Assumed(100));
        for _ in 0..50 {
            let flight = concurrency.send(Instant::now());
            concurrency.land();
            concurrency.answered(flight, QUICK);
        }
        assert_eq!(concurrency.limit(), 4);
    }

    #[test]
    fn an_episode_is_cut_once_and_growth_is_slow_from_then_on() {
        let mut concurrency = Concurrency::new(Ceiling::Assumed(100));
        round(&mut concurrency, QUICK);
        let begun = Instant::now();
        let flights: Vec<Flight> = (0..24).map(|_| concurrency.send(begun)).collect();
        let first: Vec<bool> = flights
            .iter()
            .map(|flight| {
                concurrency.land();
                concurrency.refused(*flight, begun + QUICK, true)
            })
            .collect();
        assert_eq!(first.iter().filter(|first| **first).count(), 1);
        let limit = concurrency.limit();
        assert!(limit <= 20, "{limit}");
        round(&mut concurrency, QUICK);
        assert!(concurrency.limit() <= limit + 1, "{}", concurrency.limit());
        let later = begun + 2 * QUICK;
        let flight = concurrency.send(later);
        assert!(concurrency.refused(flight, later, true), "a refusal of what was sent later is a new episode");
    }

    #[test]
    fn the_last_slot_is_never_lost() {
        let mut concurrency = Concurrency::new(Ceiling::Assumed(4));
        for _ in 0..50 {
            let flight = concurrency.send(Instant::now());
            concurrency.land();
            concurrency.refused(flight, Instant::now(), true);
        }
        assert!(concurrency.has_room());
    }

    #[test]
    fn a_risen_latency_stops_the_growth() {
        let (mut concurrency, begun) = (Concurrency::new(Ceiling::Assumed(1_000)), Instant::now());
        round(&mut concurrency, QUICK);
        round(&mut concurrency, QUICK);
        let before = concurrency.limit();
        for _ in 0..60 {
            let flight = Flight { sent: begun, among: before };
            concurrency.answered(flight, Duration::from_millis(400));
        }
        let stopped = concurrency.limit();
        for _ in 0..60 {
            let flight = Flight { sent: begun, among: stopped };
            concurrency.answered(flight, Duration::from_millis(400));
        }
        assert_eq!(concurrency.limit(), stopped);
    }
}
