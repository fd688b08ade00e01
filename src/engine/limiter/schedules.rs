//! Random schedules: whatever comes in whatever order, a place is never lost, never given twice, and whoever waits gets one.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::Limiter;
use super::concurrency::Ceiling;
use super::core::{Admission, Core, Landing, Load};
use crate::domain::{Allowance, Complaint, EndpointLimits, FailureKind, LimiterState, RateHint};

/// One thing that happens.
#[derive(Clone, Debug)]
enum Step {
    /// Somebody wants a place for a call of so many tokens.
    Arrive(u32),
    /// Whoever waits in this place of the line goes away.
    Leave(usize),
    /// A call in flight ends.
    Land(usize, End),
    /// So many milliseconds pass.
    Pass(u64),
    Stop,
}

#[derive(Clone, Debug)]
enum End {
    Answered { latency: u64, tokens: Option<u32>, told: Option<Allowance> },
    Refused { complaint: Complaint, after: Option<u64>, told: Option<Allowance> },
    Lost,
}

fn allowance() -> impl Strategy<Value = Option<Allowance>> {
    let some =
        (proptest::option::of(1_u64..5_000), proptest::option::of(0_u64..5_000), proptest::option::of(0_u64..90_000));
    let some = some.prop_map(|(limit, remaining, reset)| Allowance {
        limit,
        remaining,
        reset: reset.map(Duration::from_millis),
    });
    prop_oneof![3 => Just(None), 1 => some.prop_map(Some)]
}

fn end() -> impl Strategy<Value = End> {
    let complaint = prop_oneof![Just(Complaint::TooFast), Just(Complaint::TooMany), Just(Complaint::Unclear)];
    prop_oneof![
        4 => (0_u64..3_000, proptest::option::of(0_u32..9_000), allowance())
            .prop_map(|(latency, tokens, told)| End::Answered { latency, tokens, told }),
        2 => (complaint, proptest::option::of(0_u64..20_000), allowance())
            .prop_map(|(complaint, after, told)| End::Refused { complaint, after, told }),
        1 => Just(End::Lost),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        60 => (0_u32..5_000).prop_map(Step::Arrive),
        10 => any::<usize>().prop_map(Step::Leave),
        60 => (any::<usize>(), end()).prop_map(|(which, end)| Step::Land(which, end)),
        40 => (0_u64..2_000).prop_map(Step::Pass),
        1 => Just(Step::Stop),
    ]
}

fn limits() -> impl Strategy<Value = EndpointLimits> {
    let rate = || proptest::option::of(1.0_f64..100_000.0);
    (rate(), rate()).prop_map(|(requests_per_minute, tokens_per_minute)| EndpointLimits {
        requests_per_minute,
        tokens_per_minute,
        workers: None,
    })
}

fn stated_or_assumed(ceiling: usize) -> Ceiling {
    if ceiling.is_multiple_of(2) { Ceiling::Stated(ceiling) } else { Ceiling::Assumed(ceiling) }
}

/// The core, those who wait for it in their order, and what must hold.
struct Model {
    core: Core,
    now: Instant,
    waiting: VecDeque<u32>,
    flying: Vec<Load>,
    admitted: usize,
    /// The latest moment that a refusal named.
    named: Instant,
    stopped: bool,
    ceiling: usize,
}

impl Model {
    fn new(limits: EndpointLimits, ceiling: usize) -> Self {
        let now = Instant::now();
        let core = Core::new(limits, stated_or_assumed(ceiling), now);
        Self {
            core,
            now,
            waiting: VecDeque::new(),
            flying: Vec::new(),
            admitted: 0,
            named: now,
            stopped: false,
            ceiling,
        }
    }

    /// As the shell does it: the first of the line asks until it is told to wait. Returns when it is to ask again, at the latest.
    fn pump(&mut self) -> Option<Instant> {
        while let Some(tokens) = self.waiting.front().copied() {
            if self.core.stopped().is_some() {
                self.waiting.clear();
                return None;
            }
            match self.core.admit(f64::from(tokens), self.now) {
                Admission::Go(load) => {
                    assert!(self.now >= self.named, "a call goes {:?} too early", self.named - self.now);
                    self.waiting.pop_front();
                    self.flying.push(load);
                    self.admitted += 1;
                    let LimiterState { in_flight, limit, .. } = self.core.state();
                    assert!(
                        in_flight <= limit && limit <= self.ceiling,
                        "{in_flight} in flight with a limit of {limit}"
                    );
                }
                Admission::At(moment) => {
                    assert!(moment > self.now, "told to wait for what has passed");
                    return Some(moment);
                }
                Admission::Full => {
                    assert!(!self.flying.is_empty(), "nobody is in flight whose end could wake who waits");
                    return None;
                }
            }
        }
        None
    }

    fn land(&mut self, which: usize, end: &End) {
        if self.flying.is_empty() {
            return;
        }
        let load = self.flying.swap_remove(which % self.flying.len());
        let mut hint = RateHint::default();
        let landing = match end {
            End::Answered { latency, tokens, told } => {
                hint.requests = *told;
                Landing::Answered { latency: Duration::from_millis(*latency), tokens: tokens.map(u64::from) }
            }
            End::Refused { complaint, after, told } => {
                (hint.requests, hint.retry_after) = (*told, after.map(Duration::from_millis));
                self.named = self.named.max(self.now + hint.retry_after.unwrap_or_default());
                Landing::Refused(*complaint)
            }
            End::Lost => Landing::Lost,
        };
        self.core.land(load, &landing, &hint, self.now);
    }

    fn carry_out(&mut self, step: &Step) {
        match step {
            Step::Arrive(tokens) => self.waiting.push_back(*tokens),
            Step::Leave(place) if !self.waiting.is_empty() => {
                self.waiting.remove(place % self.waiting.len());
            }
            Step::Leave(_) => {}
            Step::Land(which, end) => self.land(*which, end),
            Step::Pass(ms) => self.now += Duration::from_millis(*ms),
            Step::Stop => {
                assert_eq!(self.core.stop(FailureKind::Quota, "it is spent"), !self.stopped);
                self.stopped = true;
            }
        }
        self.pump();
        assert_eq!(self.core.state().in_flight, self.flying.len(), "places in use and calls in flight");
        assert_eq!(self.core.stopped().is_some(), self.stopped);
    }

    /// Everything comes to its end: calls are answered, moments are waited for.
    fn settle(&mut self) {
        let most = 10 * (self.waiting.len() + self.flying.len()) + 100;
        for _ in 0..most {
            let wake = self.pump();
            if self.waiting.is_empty() && self.flying.is_empty() {
                return;
            }
            match wake {
                Some(moment) => self.now = moment,
                None => self.land(0, &End::Answered { latency: 10, tokens: None, told: None }),
            }
        }
        panic!("{} still wait, {} are in flight, after {most} steps", self.waiting.len(), self.flying.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn any_schedule_keeps_the_limit_and_serves_everybody(
        limits in limits(),
        ceiling in 1_usize..40,
        steps in proptest::collection::vec(step(), 1..160),
    ) {
        let mut model = Model::new(limits, ceiling);
        for step in &steps {
            model.carry_out(step);
        }
        model.settle();
        prop_assert_eq!(model.core.state().in_flight, 0);
        // All places are there again, once nothing holds them back.
        if !model.stopped {
            model.waiting.extend(std::iter::repeat_n(0, ceiling));
            let before = model.admitted;
            model.settle();
            prop_assert_eq!(model.admitted - before, ceiling);
        }
    }
}

/// Counts those who hold a place, however they end.
struct Holding(Arc<AtomicUsize>);

impl Holding {
    fn begin(count: &Arc<AtomicUsize>, ceiling: usize) -> Self {
        let now = count.fetch_add(1, Ordering::SeqCst) + 1;
        let holding = Self(Arc::clone(count));
        assert!(now <= ceiling, "{now} at once with a ceiling of {ceiling}");
        holding
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Calls of a few tasks at once, which are answered, refused, forgotten or cancelled at random, on several threads.
async fn storm(seed: u64, tasks: usize, ceiling: usize, stops: bool) {
    let limiter = Arc::new(Limiter::new(EndpointLimits::default(), stated_or_assumed(ceiling)));
    let served = Arc::new(AtomicUsize::new(0));
    let in_use = Arc::new(AtomicUsize::new(0));
    let mut all = Vec::new();
    for task in 0..tasks {
        let (limiter, served, in_use) = (Arc::clone(&limiter), Arc::clone(&served), Arc::clone(&in_use));
        let mut random = fastrand::Rng::with_seed(seed.wrapping_mul(0x9e37_79b9).wrapping_add(task as u64));
        let abort = random.u8(..) < 30;
        let handle = tokio::spawn(async move {
            let pause = |micros: u64| tokio::time::sleep(Duration::from_micros(micros));
            for _ in 0..4 {
                let patience = Duration::from_micros(random.u64(1..3_000));
                let waits = random.u8(..) < 60;
                // A wait that is given up is a future that is dropped wherever it is.
                let permit = match waits {
                    true => tokio::time::timeout(patience, limiter.admit(1)).await.ok(),
                    false => Some(limiter.admit(1).await),
                };
                let Some(Ok(permit)) = permit else { continue };
                // Dropped before the permit: it counts less than is held, never more.
                let holding = Holding::begin(&in_use, ceiling);
                match random.u8(..) {
                    ..100 => tokio::task::yield_now().await,
                    100..230 => pause(random.u64(0..800)).await,
                    _ => std::thread::yield_now(),
                }
                drop(holding);
                served.fetch_add(1, Ordering::SeqCst);
                let latency = Duration::from_millis(1);
                match random.u8(..) {
                    ..180 => permit.land(&Landing::Answered { latency, tokens: None }, &RateHint::default()),
                    180..190 => {
                        let retry_after = Some(Duration::from_millis(random.u64(0..4)));
                        let hint = RateHint { retry_after, ..RateHint::default() };
                        permit.land(&Landing::Refused(Complaint::TooMany), &hint);
                    }
                    190..220 => permit.land(&Landing::Lost, &RateHint::default()),
                    _ => drop(permit),
                }
            }
        });
        all.push((handle, abort));
    }
    for (at, (handle, abort)) in all.iter().enumerate() {
        if *abort {
            tokio::task::yield_now().await;
            handle.abort();
        }
        if stops && at == all.len() / 2 {
            limiter.stop(FailureKind::Auth, "the key was refused");
        }
    }
    for (handle, abort) in all {
        let ended = handle.await;
        assert!(abort || ended.is_ok(), "{ended:?}");
    }
    assert_eq!(limiter.state().in_flight, 0, "places that nobody gave back");
    match stops {
        true => assert!(limiter.admit(1).await.is_err()),
        false => {
            let mut permits = Vec::new();
            for _ in 0..limiter.state().limit {
                permits.push(limiter.admit(1).await);
            }
            assert!(permits.iter().all(Result::is_ok));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn tasks_that_are_cancelled_anywhere_leave_no_place_taken_and_nobody_waiting(
        seed in any::<u64>(),
        tasks in 1_usize..60,
        ceiling in 1_usize..9,
        stops in proptest::bool::weighted(0.2),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build();
        let ended = runtime.expect("a runtime").block_on(async {
            let storm = tokio::spawn(storm(seed, tasks, ceiling, stops));
            tokio::time::timeout(Duration::from_secs(60), storm).await
        });
        match ended {
            Ok(Ok(())) => {}
            Ok(Err(error)) => prop_assert!(false, "{error}"),
            Err(_) => prop_assert!(false, "somebody waits for ever"),
        }
    }
}
