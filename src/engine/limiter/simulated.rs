//! The limits against simulated servers, in simulated time: how long the calls take, and how many are refused.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use super::concurrency::Ceiling;
use super::core::{Admission, Core, Landing, Load};
use crate::domain::{Allowance, Complaint, EndpointLimits, LimiterState, RateHint};

/// A server with a token bucket and a bound on what is in progress.
struct Server {
    /// Requests a second.
    rate: f64,
    burst: f64,
    at_once: usize,
    latency: Duration,
    headers: bool,
    /// What it says about the time until there is room; `None`: nothing.
    retry_after: Option<fn(Duration) -> Duration>,
}

impl Server {
    fn new(rate: f64, burst: f64) -> Self {
        let latency = Duration::from_millis(50);
        Self { rate, burst, at_once: usize::MAX, latency, headers: true, retry_after: Some(|wait| wait) }
    }
}

/// What driving all calls through came to.
#[derive(Debug)]
struct Figures {
    /// The time it took in relation to what the server allows.
    time: f64,
    refused: usize,
    /// Requests that were sent before a moment which the server had named.
    too_early: usize,
    rate: Option<f64>,
    limit: usize,
}

/// An answer on its way: when, in which order it was sent, and what it says.
struct Coming {
    at: Instant,
    number: usize,
    load: Load,
    landing: Landing,
    hint: RateHint,
}

struct World<'a> {
    server: &'a Server,
    now: Instant,
    level: f64,
    filled: Instant,
    busy: usize,
    not_before: Option<Instant>,
    sent: usize,
    too_early: usize,
}

impl World<'_> {
    /// A request arrives.
    fn ask(&mut self, load: Load) -> Coming {
        let Server { rate, burst, at_once, latency, headers, retry_after } = *self.server;
        self.sent += 1;
        self.too_early += usize::from(self.not_before.is_some_and(|moment| self.now < moment));
        self.level = (self.level + self.now.duration_since(self.filled).as_secs_f64() * rate).min(burst);
        self.filled = self.now;
        let refused = if self.busy >= at_once {
            Some((Complaint::TooMany, Duration::from_millis(100)))
        } else if self.level < 1.0 - 1e-6 {
            Some((Complaint::TooFast, Duration::from_secs_f64((1.0 - self.level) / rate)))
        } else {
            self.level -= 1.0;
            self.busy += 1;
            None
        };
        let mut hint = RateHint::default();
        if headers {
            let reset = Duration::from_secs_f64((burst - self.level) / rate);
            let (limit, remaining) = (Some((rate * 60.0) as u64), Some(self.level as u64));
            hint.requests = Some(Allowance { limit, remaining, reset: Some(reset) });
        }
        let (after, landing) = match refused {
            None => (latency, Landing::Answered { latency, tokens: None }),
            Some((complaint, wait)) => {
                hint.retry_after = retry_after.map(|form| form(wait));
                (Duration::from_millis(1), Landing::Refused(complaint))
            }
        };
        Coming { at: self.now + after, number: self.sent, load, landing, hint }
    }
}

/// Asks `calls` times.
fn drive(server: &Server, ceiling: usize, calls: usize) -> Figures {
    let begun = Instant::now();
    let mut core = Core::new(EndpointLimits::default(), Ceiling::Stated(ceiling), begun);
    let mut world = World {
        server,
        now: begun,
        level: server.burst,
        filled: begun,
        busy: 0,
        not_before: None,
        sent: 0,
        too_early: 0,
    };
    let mut coming: Vec<Option<Coming>> = Vec::new();
    let mut order = BinaryHeap::new();
    let (mut waiting, mut answered, mut refused) = (calls, 0, 0);
    while answered < calls {
        let mut wake = None;
        while waiting > 0 {
            match core.admit(0.0, world.now) {
                Admission::Go(load) => {
                    let answer = world.ask(load);
                    order.push(Reverse((answer.at, answer.number, coming.len())));
                    coming.push(Some(answer));
                    waiting -= 1;
                }
                Admission::At(moment) => {
                    wake = Some(moment);
                    break;
                }
                Admission::Full => break,
            }
        }
        let next = order.peek().map(|Reverse((at, ..))| *at);
        world.now = wake.into_iter().chain(next).min().expect("somebody waits for something");
        while let Some(Reverse((at, _, place))) = order.peek().copied() {
            if at > world.now {
                break;
            }
            order.pop();
            let answer = coming[place].take().expect("each comes once");
            if let Landing::Answered { .. } = answer.landing {
                world.busy -= 1;
                answered += 1;
            } else {
                refused += 1;
                waiting += 1;
                let named = answer.hint.retry_after.map(|wait| at + wait);
                world.not_before = world.not_before.max(named);
            }
            core.land(answer.load, &answer.landing, &answer.hint, world.now);
        }
    }
    let calls = calls as f64;
    let by_rate = ((calls - server.burst) / server.rate).max(0.0);
    let by_count = calls / server.at_once.min(ceiling) as f64 * server.latency.as_secs_f64();
    let ideal = by_rate.max(by_count) + server.latency.as_secs_f64();
    let LimiterState { limit, rate, .. } = core.state();
    let time = world.now.duration_since(begun).as_secs_f64() / ideal;
    Figures { time, refused, too_early: world.too_early, rate, limit }
}

#[test]
fn a_limit_that_is_told_is_held_and_hardly_touched() {
    for (rate, burst, ceiling) in [(50.0, 50.0, 32), (50.0, 10.0, 32), (50.0, 3_000.0, 32), (500.0, 100.0, 64)] {
        let figures = drive(&Server::new(rate, burst), ceiling, 2_000);
        assert!(figures.time < 1.05, "{rate} {burst}: {figures:?}");
        assert!(figures.refused <= 20 && figures.too_early == 0, "{rate} {burst}: {figures:?}");
    }
}

#[test]
fn a_limit_that_is_not_told_is_learned_from_refusals() {
    let whole_seconds = |wait: Duration| Duration::from_secs(wait.as_secs_f64().ceil() as u64);
    let forms: [fn(Duration) -> Duration; 2] = [|wait| wait, whole_seconds];
    for form in forms {
        let figures = drive(&Server { headers: false, retry_after: Some(form), ..Server::new(50.0, 50.0) }, 32, 2_000);
        assert!(figures.time < 1.15 && figures.refused < 100 && figures.too_early == 0, "{figures:?}");
    }
    let figures = drive(&Server { headers: false, retry_after: None, ..Server::new(50.0, 50.0) }, 32, 2_000);
    assert!(figures.time < 1.5 && figures.refused < 200, "{figures:?}");
}

/// Whatever the server's limit, its way to say it and the calls at once: a minute of calls comes to nearly what the server allows.
#[test]
fn limits_of_all_kinds_are_learned_from_refusals() {
    let whole_seconds = |wait: Duration| Duration::from_secs(wait.as_secs_f64().ceil() as u64);
    let exact: fn(Duration) -> Duration = |wait| wait;
    for retry_after in [Some(exact), Some(whole_seconds), None] {
        for (rate, burst) in [(5.0, 10.0), (20.0, 5.0), (50.0, 10.0), (50.0, 100.0), (100.0, 50.0), (300.0, 300.0)] {
            for ceiling in [4, 16, 64] {
                let server = Server { headers: false, retry_after, ..Server::new(rate, burst) };
                let calls = 60 * rate as usize;
                let figures = drive(&server, ceiling, calls);
                let share = figures.refused as f64 / (calls + figures.refused) as f64;
                // A bucket of a few calls overflows in each whole second that has to be waited for.
                assert!(figures.time < if burst < rate { 1.35 } else { 1.2 }, "{rate} {burst} {ceiling}: {figures:?}");
                assert!(share < 0.05 + 60.0 / calls as f64, "{rate} {burst} {ceiling}: {share} {figures:?}");
            }
        }
    }
}

/// A third of the requests is refused, whatever the pace: nothing is to be learned from that but to ask again.
#[test]
fn refusals_at_random_do_not_bring_the_calls_to_a_halt() {
    let told = |wait| Some(Duration::from_millis(wait));
    for (complaint, retry_after) in [
        (Complaint::Unclear, None),
        (Complaint::Unclear, told(50)),
        (Complaint::TooFast, told(1_000)),
        (Complaint::TooMany, None),
        (Complaint::TooMany, told(2_000)),
    ] {
        let begun = Instant::now();
        let mut core = Core::new(EndpointLimits::default(), Ceiling::Assumed(16), begun);
        let (mut now, mut answered, mut refused, mut dice) = (begun, 0, 0_u32, 7_u32);
        while answered < 300 {
            match core.admit(0.0, now) {
                Admission::Go(load) => {
                    dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let hint = RateHint { retry_after, ..RateHint::default() };
                    if dice >> 16 & 0xff < 85 {
                        refused += 1;
                        core.land(load, &Landing::Refused(complaint), &hint, now);
                    } else {
                        now += Duration::from_millis(20);
                        answered += 1;
                        let latency = Duration::from_millis(20);
                        core.land(load, &Landing::Answered { latency, tokens: None }, &RateHint::default(), now);
                    }
                }
                Admission::At(moment) => now = moment,
                Admission::Full => panic!("one at a time"),
            }
        }
        // What the server asked for, and as much again: half a second a refusal where it asked for nothing, a minute to find out.
        let asked = retry_after.unwrap_or(Duration::from_millis(750)) * refused;
        let took = now.duration_since(begun);
        assert!(
            took < asked.mul_f64(1.3) + Duration::from_secs(75),
            "{complaint:?} {retry_after:?}: {took:?}, {asked:?}"
        );
    }
}

/// A server that is overloaded now and then, and refuses one in twenty for no reason: what it asks for is waited for, and little more.
#[test]
fn troubles_of_many_kinds_do_not_bring_the_calls_to_a_halt() {
    let begun = Instant::now();
    let mut core = Core::new(EndpointLimits::default(), Ceiling::Assumed(20), begun);
    let (mut now, mut answered, mut asked, mut dice) = (begun, 0, Duration::ZERO, 11_u32);
    while answered < 400 {
        match core.admit(0.0, now) {
            Admission::Go(load) => {
                dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                now += Duration::from_millis(5);
                let (complaint, wait) = match dice >> 16 & 0xff {
                    0..26 => (Complaint::TooMany, None),
                    26..52 => (Complaint::TooMany, Some(Duration::from_secs(2))),
                    52..65 => (Complaint::Unclear, None),
                    _ => {
                        answered += 1;
                        let latency = Duration::from_millis(5);
                        core.land(load, &Landing::Answered { latency, tokens: None }, &RateHint::default(), now);
                        continue;
                    }
                };
                asked += wait.unwrap_or(Duration::from_millis(500));
                let hint = RateHint { retry_after: wait, ..RateHint::default() };
                core.land(load, &Landing::Refused(complaint), &hint, now);
            }
            Admission::At(moment) => now = moment,
            Admission::Full => panic!("one at a time"),
        }
    }
    let took = now.duration_since(begun);
    assert!(took < asked.mul_f64(1.3) + Duration::from_secs(60), "{took:?}, {asked:?}");
}

/// Refused for a while, whatever the pace, and then no more: the pace that was tried meanwhile says nothing about the time after.
#[test]
fn calls_go_on_soon_after_a_time_in_which_everything_was_refused() {
    for refused_for in [25, 60, 120] {
        let begun = Instant::now();
        let mut core = Core::new(EndpointLimits::default(), Ceiling::Assumed(16), begun);
        let (mut now, mut answered) = (begun, 0);
        while answered < 200 {
            match core.admit(0.0, now) {
                Admission::Go(load) => {
                    now += Duration::from_millis(20);
                    let refused = now < begun + Duration::from_secs(refused_for);
                    let landing = match refused {
                        true => Landing::Refused(Complaint::Unclear),
                        false => Landing::Answered { latency: Duration::from_millis(20), tokens: None },
                    };
                    answered += u32::from(!refused);
                    core.land(load, &landing, &RateHint::default(), now);
                }
                Admission::At(moment) => now = moment,
                Admission::Full => panic!("one at a time"),
            }
        }
        let more = now.duration_since(begun).as_secs_f64() - refused_for as f64;
        assert!(more < 40.0, "{more} s after {refused_for} s");
    }
}

#[test]
fn too_many_at_once_is_another_complaint_than_too_fast() {
    let server = Server { headers: false, at_once: 25, retry_after: None, ..Server::new(1e9, 1e9) };
    let figures = drive(&server, 64, 2_000);
    assert!(figures.time < 1.3 && figures.refused < 150, "{figures:?}");
    assert_eq!(figures.rate, None);
    assert!((10..=30).contains(&figures.limit), "{figures:?}");
}

#[test]
fn those_who_wait_for_a_hold_to_end_do_not_meet_there() {
    let begun = Instant::now();
    let mut core = Core::new(EndpointLimits::default(), Ceiling::Assumed(8), begun);
    let Admission::Go(load) = core.admit(0.0, begun) else { panic!("there is room") };
    let hint = RateHint { retry_after: Some(Duration::from_secs(2)), ..RateHint::default() };
    core.land(load, &Landing::Refused(Complaint::TooFast), &hint, begun);
    let (mut now, mut sent) = (begun, Vec::new());
    while sent.len() < 4 {
        match core.admit(0.0, now) {
            Admission::Go(_) => sent.push(now.duration_since(begun)),
            Admission::At(moment) => now = moment,
            Admission::Full => break,
        }
    }
    let first = sent.first().expect("one was let in").as_secs_f64();
    assert!((2.0..2.25).contains(&first), "{first}");
    let gaps: Vec<Duration> = sent.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| *gap >= Duration::from_millis(10)), "{gaps:?}");
}

#[test]
fn a_refusal_holds_everybody_until_the_moment_that_was_named() {
    let begun = Instant::now();
    let mut core = Core::new(EndpointLimits::default(), Ceiling::Assumed(8), begun);
    let loads: Vec<Load> = (0..3)
        .map(|_| match core.admit(0.0, begun) {
            Admission::Go(load) => load,
            other => panic!("{other:?}"),
        })
        .collect();
    // The longest of several wishes stands, also of one that belongs to the same episode.
    for (load, secs) in loads.iter().zip([1, 5, 2]) {
        let hint = RateHint { retry_after: Some(Duration::from_secs(secs)), ..RateHint::default() };
        core.land(*load, &Landing::Refused(Complaint::Unclear), &hint, begun);
    }
    assert_eq!(core.admit(0.0, begun), Admission::At(begun + Duration::from_secs(5)));
}

/// A server that names a time which is far too short: the pace is learned nonetheless.
#[test]
fn a_wait_that_is_named_too_short_does_not_lead_to_a_flood() {
    let short: fn(Duration) -> Duration = |_| Duration::from_millis(50);
    for (rate, burst, most) in [(1.0, 5.0, 0.6), (5.0, 10.0, 0.1), (50.0, 50.0, 0.02)] {
        let server = Server { headers: false, retry_after: Some(short), ..Server::new(rate, burst) };
        let calls = 60 * rate as usize;
        let figures = drive(&server, 16, calls);
        let share = figures.refused as f64 / (calls + figures.refused) as f64;
        assert!(share < most && figures.time < 1.1, "{rate} {burst}: {share} {figures:?}");
    }
}
