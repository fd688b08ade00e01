//! A mirror of a server's token bucket, for requests or tokens.

use std::time::{Duration, Instant};

use super::learned::Learned;
use crate::domain::Allowance;

/// Periods that limits are stated for, in seconds.
const PERIODS: [f64; 4] = [1.0, MINUTE, 3_600.0, 86_400.0];
const MINUTE: f64 = 60.0;
/// How far a period that was worked out may be from a stated one.
const TOLERANCE: f64 = 0.15;
/// What of a limit is used where the bucket is mirrored without the server's help: clocks differ and answers bunch.
const SHARE: f64 = 0.98;
/// A bucket fills for at most this long where its size is not known.
const FILLS_FOR: f64 = 1.0;
/// Seconds of a learned pace that may be sent at once, where a timer was late.
const LATE: f64 = 0.01;

/// Where the rate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// Refusals showed it.
    Observed,
    /// The server's headers.
    Told,
    /// The suite.
    Stated,
}

/// What a call came to, for a bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Came {
    /// A good answer, which used this much.
    Answered(f64),
    Refused,
    /// Nobody knows.
    Lost,
}

/// The rate that may be used, what is there now, and how that is known.
#[derive(Debug)]
pub(super) struct Bucket {
    rate: Option<(f64, Source)>,
    /// What the suite allows, which no server raises.
    stated: Option<f64>,
    /// The seconds that the server's limit is for, once it said one.
    period: Option<f64>,
    level: f64,
    capacity: f64,
    at: Option<Instant>,
    /// What was sent and not answered.
    unanswered: f64,
    /// What was sent from the beginning on.
    sent: f64,
    learned: Learned,
}

impl Bucket {
    /// `per_minute`: as the suite states it.
    pub(super) fn new(per_minute: Option<f64>) -> Self {
        let stated = per_minute.map(|rate| rate / 60.0);
        let capacity = stated.map_or(f64::INFINITY, |rate| (rate * FILLS_FOR).max(1.0));
        Self {
            rate: stated.map(|rate| (rate, Source::Stated)),
            stated,
            period: None,
            level: capacity,
            capacity,
            at: None,
            unanswered: 0.0,
            sent: 0.0,
            learned: Learned::default(),
        }
    }

    /// True where a pace is held.
    pub(super) fn is_paced(&self) -> bool {
        self.rate.is_some()
    }

    /// A second's allowance.
    pub(super) fn rate(&self) -> Option<f64> {
        self.rate.map(|(rate, _)| rate)
    }

    fn fill(&mut self, now: Instant) {
        let Some((rate, _)) = self.rate else { return };
        let past = self.at.map_or(0.0, |at| now.saturating_duration_since(at).as_secs_f64());
        self.at = Some(now);
        self.level = (self.level + past * rate).min(self.capacity);
    }

    /// How long until `n` may be taken; zero: now. More than the bucket ever holds is let through when it is full.
    pub(super) fn wait(&mut self, n: f64, now: Instant) -> Duration {
        self.fill(now);
        let Some((rate, _)) = self.rate else { return Duration::ZERO };
        let missing = n.min(self.capacity) - self.level;
        if missing <= 1e-9 {
            return Duration::ZERO;
        }
        Duration::try_from_secs_f64(missing / rate).unwrap_or(Duration::MAX).max(Duration::from_micros(100))
    }

    /// Returns the mark of the call for [`Bucket::learn`] and [`Bucket::settle`].
    pub(super) fn take(&mut self, n: f64, now: Instant) -> f64 {
        self.unanswered += n;
        self.sent += n;
        if !matches!(self.rate, Some((_, Source::Told))) {
            self.learned.sent(n, self.sent, now);
            self.follow(now);
        }
        self.level -= n;
        self.sent
    }

    /// The pace that was learned holds, unless the suite states a slower one.
    fn follow(&mut self, now: Instant) {
        let learned = self.learned.rate().filter(|rate| self.stated.is_none_or(|stated| *rate < stated));
        match (learned, self.rate) {
            (Some(rate), before) => {
                self.rate = Some((rate, Source::Observed));
                self.capacity = (rate * LATE).max(self.learned.burst() * 0.5).max(1.0);
                if !matches!(before, Some((_, Source::Observed))) {
                    // Since the refusal that emptied it.
                    self.level = 0.0;
                    self.fill(now);
                }
            }
            (None, Some((_, Source::Observed))) => {
                let fresh = Self::new(self.stated.map(|stated| stated * MINUTE));
                (self.rate, self.capacity, self.level) = (fresh.rate, fresh.capacity, fresh.level);
            }
            (None, _) => {}
        }
    }

    /// A call ended that took `n`.
    pub(super) fn settle(&mut self, mark: f64, n: f64, came: Came) {
        self.unanswered = (self.unanswered - n).max(0.0);
        let used = match came {
            Came::Answered(used) => {
                self.learned.answered(used, mark);
                used
            }
            // What was refused was not used up; providers that count it say so in their headers.
            Came::Refused => {
                self.learned.turned_away(n, mark);
                0.0
            }
            Came::Lost => n,
        };
        self.level = (self.level + n - used).min(self.capacity);
    }

    /// What the headers of an answer tell about the moment when its call, marked by `mark`, was let in: what the server has left lies
    /// between what it says and that less what it may not have seen then, answered since or not.
    pub(super) fn learn(&mut self, told: Allowance, mark: f64, now: Instant) {
        #[expect(clippy::cast_precision_loss, reason = "limits below 2^53")]
        let number = |value: Option<u64>| value.map(|value| value as f64);
        self.fill(now);
        if let Some(limit) = number(told.limit).filter(|limit| *limit > 0.0) {
            let period = *self.period.get_or_insert_with(|| period(limit, number(told.remaining), told.reset));
            let rate = limit / period * SHARE;
            self.rate = match self.stated {
                // A server never raises what the suite states.
                Some(stated) if stated <= rate => Some((stated, Source::Stated)),
                Some(_) | None => Some((rate, Source::Told)),
            };
        }
        let Some(remaining) = number(told.remaining) else { return };
        match self.rate {
            Some((_, Source::Observed)) | None => {}
            Some((rate, source)) => {
                if self.capacity.is_infinite() || source == Source::Told {
                    // What it holds is at least what it held.
                    let known = if self.capacity.is_infinite() { 1.0 } else { self.capacity };
                    self.capacity = known.max(remaining).max(rate * 0.01);
                }
                let unseen = self.unanswered + (self.sent - mark).max(0.0);
                let low = (remaining - unseen).min(self.capacity);
                // A level that is right is not disturbed; one that is wrong goes to the nearest that can be.
                self.level = if source == Source::Stated {
                    self.level.min(remaining)
                } else if self.level.is_finite() {
                    self.level.clamp(low, remaining.max(low))
                } else {
                    low
                };
            }
        }
    }

    /// The first refusal of an episode for the pace.
    pub(super) fn refused(&mut self, now: Instant) {
        self.fill(now);
        self.level = self.level.min(0.0);
        self.at = Some(now);
        if let Some((rate, Source::Told)) = self.rate {
            // Others use it as well, until the next answer tells again.
            self.rate = Some((rate * SHARE, Source::Told));
            return;
        }
        self.learned.refused(now);
    }
}

/// The seconds that `limit` is for. A bucket says so itself where what is missing and the time until it is full again fit a stated
/// period; else it is a minute, which is what providers state. A bucket that is less than half full may be a small one, which says nothing.
fn period(limit: f64, remaining: Option<f64>, reset: Option<Duration>) -> f64 {
    let (Some(remaining), Some(reset)) = (remaining, reset) else { return MINUTE };
    let missing = limit - remaining;
    if missing <= 0.0 || reset.is_zero() || remaining * 2.0 < limit {
        return MINUTE;
    }
    let worked_out = limit * reset.as_secs_f64() / missing;
    PERIODS.into_iter().find(|period| (worked_out / period - 1.0).abs() <= TOLERANCE).unwrap_or(MINUTE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(limit: u64, remaining: u64, reset_ms: u64) -> Allowance {
        Allowance { limit: Some(limit), remaining: Some(remaining), reset: Some(Duration::from_millis(reset_ms)) }
    }

    #[test]
    fn the_period_of_a_limit_is_worked_out() {
        let of = |limit: f64, remaining: f64, ms| period(limit, Some(remaining), Some(Duration::from_millis(ms)));
        assert_eq!(of(3_500.0, 3_499.0, 17), 60.0);
        assert_eq!(of(14_400.0, 14_370.0, 179_560), 86_400.0);
        assert_eq!(of(10.0, 8.0, 200), 1.0);
        assert_eq!(of(3_000.0, 49.0, 20), 60.0, "a bucket smaller than a minute's worth");
        assert_eq!(period(60.0, None, None), 60.0);
    }

    /// Answered at once, with nothing to correct.
    fn ask(bucket: &mut Bucket, count: u32, now: Instant) {
        for _ in 0..count {
            let mark = bucket.take(1.0, now);
            bucket.settle(mark, 1.0, Came::Answered(1.0));
        }
    }

    #[test]
    fn a_stated_rate_is_kept() {
        let mut bucket = Bucket::new(Some(600.0));
        let begun = Instant::now();
        let (mut now, mut sent) = (begun, 0_u32);
        while now < begun + Duration::from_secs(10) {
            let wait = bucket.wait(1.0, now);
            if wait.is_zero() {
                ask(&mut bucket, 1, now);
                sent += 1;
            } else {
                now += wait;
            }
        }
        assert!((100..=111).contains(&sent), "{sent}");
    }

    #[test]
    fn what_the_server_says_it_has_left_is_believed() {
        let (mut bucket, now) = (Bucket::new(None), Instant::now());
        assert!(bucket.wait(1.0, now).is_zero(), "nothing is known");
        ask(&mut bucket, 1, now);
        bucket.learn(told(600, 2, 59_800), 1.0, now);
        for _ in 0..2 {
            assert!(bucket.wait(1.0, now).is_zero());
            bucket.take(1.0, now);
        }
        let wait = bucket.wait(1.0, now);
        assert!(wait > Duration::from_millis(95) && wait < Duration::from_millis(110), "{wait:?}");
    }

    /// Answers overtake each other: the one that was let in first may be read last.
    #[test]
    fn old_news_does_not_raise_what_is_left() {
        let (mut bucket, now) = (Bucket::new(None), Instant::now());
        let marks: Vec<f64> = (0..4).map(|_| bucket.take(1.0, now)).collect();
        for (mark, left) in marks.iter().zip([49, 48, 47, 46]).rev() {
            bucket.settle(*mark, 1.0, Came::Answered(1.0));
            bucket.learn(told(3_000, left, 20), *mark, now);
        }
        let sent = (0..100).take_while(|_| bucket.wait(1.0, now).is_zero() && bucket.take(1.0, now) > 0.0).count();
        assert!(sent <= 46, "{sent}");
    }

    #[test]
    fn a_server_never_raises_what_the_suite_states() {
        let (mut bucket, now) = (Bucket::new(Some(60.0)), Instant::now());
        bucket.learn(told(60_000, 59_999, 1), 0.0, now);
        assert_eq!(bucket.rate(), Some(1.0));
        bucket.take(1.0, now);
        assert!(bucket.wait(1.0, now) > Duration::from_millis(900));
    }

    #[test]
    fn a_stated_rate_is_no_promise_of_the_server() {
        let (mut bucket, begun) = (Bucket::new(Some(6_000.0)), Instant::now());
        bucket.learn(told(600, 9, 100), 0.0, begun);
        let rate = bucket.rate().unwrap();
        assert!((9.0..=10.0).contains(&rate), "what the server tells is tighter: {rate}");
        let mut bucket = Bucket::new(Some(6_000.0));
        let mut now = begun;
        for _ in 0..3 {
            ask(&mut bucket, 20, now);
            now += Duration::from_secs(1);
            bucket.refused(now);
        }
        ask(&mut bucket, 1, now);
        let rate = bucket.rate().unwrap();
        assert!((9.0..=60.0).contains(&rate), "what it shows is tighter: {rate}");
        // Refusals that a lower pace does not keep away are about something else: the suite's word stands again.
        for _ in 0..60 {
            ask(&mut bucket, 1, now);
            now += Duration::from_secs(1);
            bucket.refused(now);
        }
        ask(&mut bucket, 1, now);
        assert_eq!(bucket.rate(), Some(100.0));
    }

    #[test]
    fn an_estimate_is_corrected_by_what_was_used() {
        let (mut bucket, now) = (Bucket::new(Some(60_000.0)), Instant::now());
        let mark = bucket.take(1_000.0, now);
        bucket.settle(mark, 1_000.0, Came::Answered(200.0));
        assert!(bucket.wait(800.0, now).is_zero());
        assert!(!bucket.wait(801.0, now).is_zero());
    }

    #[test]
    fn a_call_larger_than_the_bucket_goes_when_it_is_full() {
        let (mut bucket, now) = (Bucket::new(Some(60.0)), Instant::now());
        assert!(bucket.wait(50.0, now).is_zero());
        bucket.take(50.0, now);
        let wait = bucket.wait(1.0, now);
        assert!(wait >= Duration::from_secs(49), "{wait:?}");
    }
}
