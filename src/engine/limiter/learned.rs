//! The pace of a server that does not tell its limit, learned from when it refuses.
//!
//! Between two episodes of refusals lies an epoch, at whose end the server's bucket is empty. What got through in an epoch, by the time
//! since the bucket was last empty, is never more than the server's rate, so the pace need not fall below it. What the pace was when
//! the epoch ended is too much, soon or late: the next one begins below it, the further the sooner the refusal came, and grows back in
//! twice the time. So each epoch is about twice as long as the one before, and refusals become rare. After AIMD and its growth towards
//! the last maximum in CUBIC (RFC 9438, §4), for a pace in the place of a window.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

// The numbers below were tried against simulated servers of many rates, buckets and ways to refuse (`simulated.rs`): with them a minute of
// calls comes to nearly what the server allows. None is exact; doubling or halving one moves a figure by a few per cent.

/// What of a measured rate is used: clocks differ and answers bunch.
const SHARE: f64 = 0.98;
/// How far below the pace that was too fast the next one begins, for an epoch of a second; for longer ones less.
const STEP_BACK: f64 = 0.3;
/// The step after a long epoch, whose pace was right but for a little.
const LEAST_STEP: f64 = 0.03;
/// The step after a moment, and the first one, from a pace that was nobody's.
const MOST_STEP: f64 = 0.5;
/// Seconds in which the pace grows back at the earliest.
const GROWS_BACK: f64 = 2.0;
/// Growth a second beyond the pace that was too fast once, doubled every [`DOUBLED`] seconds.
const PROBE: f64 = 0.02;
const DOUBLED: f64 = 3.0;
/// The growth a second that the doubling ends at.
const MOST_GROWTH: f64 = 0.5;
/// How much slower the pace grows where two epochs agreed on the rate.
const SURE: f64 = 2.5;
/// Calls that are worth a second.
const CALLS: f64 = 30.0;
/// What is taken to have got through where it was less than one call.
const LEAST: f64 = 0.5;
/// Epochs in a row, at a pace far below what once got through, after which refusals are about something else …
const IN_VAIN: u32 = 3;
const FAR_BELOW: f64 = 0.5;
/// … for this long.
const GIVEN_UP: Duration = Duration::from_secs(60);
/// Epochs whose bursts are remembered.
const REMEMBERED: usize = 8;
/// How far the times may be apart in which the server's bucket was filled to the same level.
const ALIKE: f64 = 0.1;
/// Calls by which two epochs differ, for their rate to be known.
const MANY: f64 = 20.0;
/// Calls that a bucket holds at least, for that.
const FEW: f64 = 6.0;
/// The shortest time that anything is divided by, in seconds.
const INSTANT: f64 = 1e-3;

/// What is known from refusals.
#[derive(Debug, Default)]
pub(super) struct Learned {
    pace: Option<Pace>,
    epoch: Option<Epoch>,
    /// Epochs before it, for how much the server's bucket holds at least.
    past: VecDeque<Epoch>,
    /// When the server's bucket was last known to be empty.
    emptied: Option<Instant>,
    /// The most that is known to have got through in a second.
    got_through: f64,
    in_vain: u32,
    given_up: Option<Instant>,
}

/// The time from the first call after a refusal until the next refusal.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    began: Instant,
    /// The mark of the last call before it.
    before: f64,
    /// The mark of its last call so far.
    sent: f64,
    answered: f64,
    /// What was sent in it and refused.
    refused: f64,
    /// What the last call took.
    unit: f64,
    ended: Option<Instant>,
    /// Seconds from the refusal before it until it began.
    held: Option<f64>,
}

/// A pace and how it grows.
#[derive(Clone, Copy, Debug)]
struct Pace {
    rate: f64,
    /// What was too fast.
    top: f64,
    /// Up to the top, a second.
    growth: f64,
    /// Seconds that count as one.
    scale: f64,
    /// Whether two epochs agree on the rate.
    known: bool,
    at: Instant,
    /// When the top was reached.
    topped: Option<Instant>,
}

impl Learned {
    /// In units a second; `None` while nothing is known.
    pub(super) fn rate(&self) -> Option<f64> {
        self.pace.map(|pace| pace.rate)
    }

    /// How much the server's bucket holds at least: what got through in an epoch and was not filled in meanwhile.
    pub(super) fn burst(&self) -> f64 {
        let Some(pace) = self.pace else { return 0.0 };
        let held = |epoch: &Epoch| epoch.answered - epoch.unit - pace.top.max(pace.rate) * epoch.lasted();
        self.past.iter().map(held).fold(0.0, f64::max)
    }

    /// The rate as two epochs show it, `got_through` at least: where both began with the same in the bucket, the longer one let through what
    /// was filled in meanwhile. At the first the bucket was full; where a later one began with less, `got_through` is the rate itself.
    fn slope(&self, epoch: &Epoch, got_through: f64) -> Option<f64> {
        let held = epoch.held?;
        let alike = |other: &&Epoch| other.held.is_none_or(|other| (other / held - 1.0).abs() < ALIKE);
        let apart = |other: &Epoch| (epoch.lasted() - other.lasted()).abs();
        let other =
            self.past.iter().filter(alike).max_by(|one, two| {
                one.held.is_some().cmp(&two.held.is_some()).then(apart(one).total_cmp(&apart(two)))
            })?;
        let more = epoch.answered - other.answered;
        let slope = more / (epoch.lasted() - other.lasted());
        let rate = slope.max(got_through);
        // A bucket of a few calls has overflowed whenever the pace was lower than the rate.
        let in_bucket = epoch.answered - rate * epoch.lasted();
        let known = apart(other) * rate >= MANY * epoch.unit && in_bucket >= FEW * epoch.unit;
        (known && rate.is_finite()).then_some(rate)
    }

    /// A call of `n` is sent; its mark is `mark`.
    pub(super) fn sent(&mut self, n: f64, mark: f64, now: Instant) {
        // Where all was refused that was sent, the hold was too short, or the server is out of order: neither says anything about the pace.
        if let Some(in_vain) = self.epoch.take_if(|epoch| epoch.refused >= epoch.sent - epoch.before) {
            self.emptied = self.emptied.or(in_vain.ended);
        }
        if let Some(mut ended) = self.epoch.take_if(|epoch| epoch.ended.is_some()) {
            ended.held = self.emptied.map(|emptied| seconds(emptied, ended.began));
            self.learn(&ended, now);
            self.past.push_back(ended);
            if self.past.len() > REMEMBERED {
                self.past.pop_front();
            }
        }
        if let Some(pace) = &mut self.pace {
            pace.grow(now);
        }
        let fresh = Epoch {
            began: now,
            before: mark - n,
            sent: mark,
            answered: 0.0,
            refused: 0.0,
            unit: n,
            ended: None,
            held: None,
        };
        let epoch = self.epoch.get_or_insert(fresh);
        epoch.sent = mark;
        epoch.unit = n;
    }

    /// A good answer that used `used` to the call of that mark.
    pub(super) fn answered(&mut self, used: f64, mark: f64) {
        if let Some(epoch) = self.of(mark) {
            epoch.answered += used;
        }
    }

    /// A call of `n` was refused, the first of an episode or not.
    pub(super) fn turned_away(&mut self, n: f64, mark: f64) {
        if let Some(epoch) = self.of(mark) {
            epoch.refused += n;
        }
    }

    /// The epoch that a call was sent in.
    fn of(&mut self, mark: f64) -> Option<&mut Epoch> {
        self.epoch.iter_mut().chain(&mut self.past).find(|epoch| epoch.before < mark && mark <= epoch.sent)
    }

    /// The first refusal of an episode.
    pub(super) fn refused(&mut self, now: Instant) {
        if let Some(epoch) = &mut self.epoch {
            epoch.ended.get_or_insert(now);
        }
    }

    /// Draws the conclusions from an epoch once the next call may be sent.
    fn learn(&mut self, epoch: &Epoch, now: Instant) {
        let Some(ended) = epoch.ended else { return };
        let lasted = epoch.lasted();
        let fastest = self.rate().unwrap_or((epoch.sent - epoch.before) / lasted);
        let got_through = self
            .emptied
            .map_or(0.0, |emptied| (epoch.answered - epoch.unit).max(0.0) / seconds(emptied, ended).max(INSTANT));
        self.emptied = Some(ended);
        let below = fastest < self.got_through * FAR_BELOW;
        self.got_through = self.got_through.max(got_through);
        self.in_vain = if below { self.in_vain.saturating_add(1) } else { 0 };
        if self.given_up.is_some_and(|since| now.saturating_duration_since(since) < GIVEN_UP) {
            return;
        }
        if self.in_vain >= IN_VAIN {
            *self = Self { given_up: Some(now), emptied: self.emptied, ..Self::default() };
            return;
        }
        // Time as the server's pace makes it: a hundred calls say as much whether they take a second or a minute.
        let scale = (CALLS * epoch.unit / fastest).max(1.0);
        let slope = self.slope(epoch, got_through).filter(|slope| *slope <= fastest);
        let rate = match (slope, epoch.held) {
            (Some(slope), _) => slope * SHARE,
            // Too short for anything but the two bounds: the rate is somewhere between them.
            (None, Some(held)) if lasted < held => {
                (fastest * got_through.max(LEAST * epoch.unit / (held + lasted))).sqrt()
            }
            (None, Some(_)) => fastest * (1.0 - (STEP_BACK * scale / lasted).clamp(LEAST_STEP, MOST_STEP)),
            (None, None) => fastest * (1.0 - MOST_STEP),
        };
        let rate = rate.max(got_through * SHARE).min(fastest);
        let top = slope.map_or(fastest, |slope| fastest.min(slope / SHARE));
        let growth = libm::log(top / rate).max(0.0) / (2.0 * lasted).max(GROWS_BACK * scale);
        self.pace = Some(Pace { rate, top, growth, scale, known: slope.is_some(), at: now, topped: None });
    }
}

impl Epoch {
    fn lasted(&self) -> f64 {
        self.ended.map_or(0.0, |ended| seconds(self.began, ended)).max(INSTANT)
    }
}

impl Pace {
    fn grow(&mut self, now: Instant) {
        // Time in which nothing was sent says nothing about the pace.
        let past = seconds(self.at, now).min(1.0);
        self.at = now;
        if self.rate < self.top {
            self.rate = (self.rate * libm::exp(self.growth * past)).min(self.top);
            return;
        }
        let since = *self.topped.get_or_insert(now);
        // Where the rate is known, feeling for more is less urgent.
        let scale = if self.known { SURE * self.scale } else { self.scale };
        let growth = (PROBE * libm::exp2(seconds(since, now) / (DOUBLED * scale))).min(MOST_GROWTH) / scale;
        self.rate *= libm::exp(growth * past);
    }
}

fn seconds(from: Instant, to: Instant) -> f64 {
    to.saturating_duration_since(from).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server whose bucket holds `burst` and fills at `rate`, asked at the learned pace without latency; it holds for a second.
    fn episodes(rate: f64, burst: f64, count: usize) -> Learned {
        let (mut learned, begun) = (Learned::default(), Instant::now());
        let (mut now, mut level, mut mark) = (begun, burst, 0.0);
        for _ in 0..count {
            let mut sent = 0;
            loop {
                mark += 1.0;
                learned.sent(1.0, mark, now);
                sent += 1;
                assert!(sent < 1_000_000, "it is never refused");
                if level < 1.0 {
                    learned.refused(now);
                    break;
                }
                level -= 1.0;
                learned.answered(1.0, mark);
                let gap = 1.0 / learned.rate().unwrap_or(1_000.0);
                level = (level + gap * rate).min(burst);
                now += Duration::from_secs_f64(gap);
            }
            level = (level + rate).min(burst);
            now += Duration::from_secs(1);
        }
        mark += 1.0;
        learned.sent(1.0, mark, now);
        learned
    }

    #[test]
    fn a_few_episodes_tell_the_rate_and_what_the_bucket_holds() {
        for (rate, burst) in [(100.0, 50.0), (50.0, 100.0), (20.0, 60.0), (400.0, 200.0)] {
            let learned = episodes(rate, burst, 7);
            let found = learned.rate().unwrap();
            assert!((found / rate - 0.97).abs() < 0.05, "{found} for {rate}");
            assert!(learned.burst() <= burst + 1.0, "{} for {burst}", learned.burst());
        }
        // A bucket that is full at once tells nothing of its rate but by being refused.
        let found = episodes(50.0, 1.0, 8).rate().unwrap();
        assert!((25.0..=52.0).contains(&found), "{found}");
    }

    #[test]
    fn refusals_that_no_pace_keeps_away_are_about_something_else() {
        let (mut learned, mut now, mut mark) = (Learned::default(), Instant::now(), 0.0);
        for asked in 0..300 {
            mark += 1.0;
            learned.sent(1.0, mark, now);
            if asked % 3 == 0 {
                learned.refused(now);
                now += Duration::from_millis(50);
            } else {
                learned.answered(1.0, mark);
                now += Duration::from_millis(20).max(Duration::from_secs_f64(1.0 / learned.rate().unwrap_or(1e9)));
            }
        }
        assert!(learned.rate().is_none_or(|rate| rate > 20.0), "{:?}", learned.rate());
    }

    #[test]
    fn the_pace_grows_where_nothing_is_refused() {
        let mut learned = episodes(50.0, 50.0, 4);
        let (before, begun) = (learned.rate().unwrap(), Instant::now() + Duration::from_secs(60));
        for step in 1..=600 {
            learned.sent(1.0, 1e6 + f64::from(step), begun + Duration::from_millis(100 * u64::from(step as u32)));
        }
        assert!(learned.rate().unwrap() > before * 2.0, "{:?} after a minute, from {before}", learned.rate());
    }
}
