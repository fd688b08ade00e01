//! What a run would take, without a call: every prompt is made as the run makes it, and looked up in the ledger.
//!
//! What depends on an answer that is not known yet (a judge's question about it) is estimated with a stand-in: the case's reference,
//! else a text of ordinary length. Tries after the first, and replies that have to be given again, are not foreseen.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::assumed::most_at_once;
use super::kept::restore;
use super::key::key_of;
use super::plan::Plan;
use crate::diagnostic::Diagnostics;
use crate::domain::{Answer, Case, CaseId, Context, EndpointLimits, Failure, FailureKind, Usd};
use crate::evaluator::{Subject, Way};
use crate::net::{Accept, BoxFuture, Call, Receipt, Route, Transport};
use crate::store::{Found, Peek, StoreError};

/// Characters of an answer, and of what it rests on, where nothing is known of them.
const ANSWER: usize = 400;
const CONTEXT: usize = 2_000;

/// The least and the most.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Span<T> {
    pub least: T,
    pub most: T,
}

/// What is foreseen for one endpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forecast {
    /// Calls that are to be made.
    pub calls: u64,
    /// Calls that the ledger answers.
    pub kept: u64,
    /// Of `calls`, those that go by batch.
    pub batched: u64,
    /// Of `calls`, those of models: tokens are known of no others.
    pub to_models: u64,
    /// Sent.
    pub prompt_tokens: u64,
    /// Received: from one token a call to [`Expected::longest_reply`](crate::net::Expected::longest_reply).
    pub reply_tokens: Span<u64>,
    /// US dollars of the calls whose price is known.
    pub cost: Span<f64>,
    /// Calls of models without a price.
    pub unpriced: u64,
    /// Calls at once at most, and how long one took where the ledger tells.
    pub at_once: usize,
    pub latency: Option<Duration>,
    /// The time below which its stated limits, and what is known of its latency, do not let it end.
    pub least_time: Option<Duration>,
    limits: EndpointLimits,
    kept_time: Duration,
}

/// What a run would take.
#[derive(Debug, Default)]
pub struct Preview {
    /// By endpoint.
    pub endpoints: BTreeMap<Arc<str>, Forecast>,
    /// Why the ledger could not be looked at to the end.
    pub trouble: Option<StoreError>,
    /// Answers that cannot be asked for as the suite stands.
    pub unaskable: Option<Unaskable>,
}

/// Requests that cannot be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Unaskable {
    /// Answers, of all targets and trials.
    pub answers: u64,
    /// Of the first.
    pub case: CaseId,
    pub why: String,
}

impl Preview {
    fn unaskable(&mut self, case: &Case, failure: Failure) {
        let first = || Unaskable { answers: 0, case: case.id.clone(), why: failure.message };
        let unaskable = self.unaskable.get_or_insert_with(first);
        unaskable.answers = unaskable.answers.saturating_add(1);
    }

    /// Of all endpoints together. They are asked at the same time, so the slowest is the time.
    pub fn total(&self) -> Forecast {
        let mut total = Forecast::default();
        for one in self.endpoints.values() {
            total.calls = total.calls.saturating_add(one.calls);
            total.kept = total.kept.saturating_add(one.kept);
            total.batched = total.batched.saturating_add(one.batched);
            total.to_models = total.to_models.saturating_add(one.to_models);
            total.prompt_tokens = total.prompt_tokens.saturating_add(one.prompt_tokens);
            total.reply_tokens.least = total.reply_tokens.least.saturating_add(one.reply_tokens.least);
            total.reply_tokens.most = total.reply_tokens.most.saturating_add(one.reply_tokens.most);
            total.cost.least += one.cost.least;
            total.cost.most += one.cost.most;
            total.unpriced = total.unpriced.saturating_add(one.unpriced);
            total.least_time = total.least_time.max(one.least_time);
        }
        total
    }
}

/// Foresees a run of `cases`. `ledger`: what it may find there; `shards`: machines that share the endpoints.
///
/// # Errors
/// The data changed since it was checked.
pub async fn preview<I>(plan: &Plan, cases: I, ledger: Option<Peek>, shards: usize) -> Result<Preview, Diagnostics>
where
    I: Iterator<Item = Result<Case, Diagnostics>>,
{
    let oracle = Oracle {
        ledger: ledger.map(Mutex::new),
        workers: plan.limits.workers,
        shards,
        seen: Mutex::new(Preview::default()),
    };
    let mut packs = Packs::default();
    for (place, case) in cases.enumerate() {
        let case = Arc::new(case?);
        for (of, target) in plan.targets.iter().enumerate() {
            for trial in 0..plan.limits.trials.max(1) {
                let answer = match target.target.ask(&case, trial, &oracle).await {
                    Ok(answer) => answer,
                    // What a recorded target lacks will be lacking.
                    Err(_) if target.free => continue,
                    Err(failure) if failure.kind == UNKNOWN => stand_in(&case, target.target.brings_contexts()),
                    Err(failure) => {
                        oracle.seen().unaskable(&case, failure);
                        continue;
                    }
                };
                let one = Known { case: Arc::clone(&case), answer: Arc::new(answer), trial };
                for (at, evaluator) in plan.evaluators.iter().enumerate() {
                    let Way::Asking(asking) = &evaluator.way else { continue };
                    match asking.packing() {
                        None => drop(asking.evaluate(one.subject(), &oracle).await),
                        Some(_) => packs.add((at, of, trial), &one),
                    }
                }
            }
        }
        packs.ask(plan, Some(place.saturating_add(1)), &oracle).await;
    }
    packs.ask(plan, None, &oracle).await;
    let mut preview = oracle.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    preview.endpoints.values_mut().for_each(Forecast::settle);
    Ok(preview)
}

/// An answer that is known, or taken to be.
#[derive(Clone)]
struct Known {
    case: Arc<Case>,
    answer: Arc<Answer>,
    trial: u32,
}

impl Known {
    fn subject(&self) -> Subject<'_> {
        Subject { case: &self.case, answer: &self.answer, trial: self.trial }
    }
}

/// Who will be judged together, by evaluator, target and trial: as in a run, neighbours in its plan.
#[derive(Default)]
struct Packs(BTreeMap<(usize, usize, u32), Vec<Known>>);

impl Packs {
    fn add(&mut self, whose: (usize, usize, u32), one: &Known) {
        self.0.entry(whose).or_default().push(one.clone());
    }

    /// Asks about the packs that the first `places` cases complete; `None`: about all.
    async fn ask(&mut self, plan: &Plan, places: Option<usize>, oracle: &Oracle) {
        for ((evaluator, ..), pack) in &mut self.0 {
            let Some(Way::Asking(asking)) = plan.evaluators.get(*evaluator).map(|evaluator| &evaluator.way) else {
                continue;
            };
            let size = asking.packing().map_or(1, |packing| packing.size.max(1));
            if pack.is_empty() || places.is_some_and(|places| !places.is_multiple_of(size)) {
                continue;
            }
            let subjects: Vec<Subject<'_>> = pack.iter().map(Known::subject).collect();
            drop(asking.evaluate_together(&subjects, oracle).await);
            drop(subjects);
            pack.clear();
        }
    }
}

/// How the oracle says that a call would have to be made.
const UNKNOWN: FailureKind = FailureKind::NotRecorded;

/// Takes note of calls instead of making them.
struct Oracle {
    ledger: Option<Mutex<Peek>>,
    workers: Option<NonZeroUsize>,
    shards: usize,
    seen: Mutex<Preview>,
}

impl Oracle {
    fn seen(&self) -> MutexGuard<'_, Preview> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The latency of the kept answer, where there is one that would be used.
    fn kept(&self, call: &Call, accept: &Accept<'_>) -> Option<Duration> {
        let ledger = self.ledger.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match ledger.find(&key_of(call)) {
            Ok(found) => found,
            Err(error) => {
                self.seen().trouble.get_or_insert(error);
                return None;
            }
        };
        match found {
            Found::Kept(kept) => restore(kept).filter(|response| accept(response).is_ok()).map(|found| found.latency),
            Found::Nothing | Found::Altered => None,
        }
    }

    fn look(&self, call: &Call, accept: &Accept<'_>) -> Result<Receipt, Failure> {
        let kept = self.kept(call, accept);
        let mut seen = self.seen();
        let forecast = seen.endpoints.entry(Arc::clone(&call.endpoint)).or_default();
        forecast.limits = call.limits.share(self.shards);
        let stated = forecast.limits.workers.or(self.workers);
        forecast.at_once = stated.map_or_else(|| most_at_once(call), NonZeroUsize::get);
        if let Some(latency) = kept {
            forecast.kept = forecast.kept.saturating_add(1);
            forecast.kept_time = forecast.kept_time.saturating_add(latency);
            return Ok(Receipt { attempts: 0, cached: true, latency });
        }
        forecast.add(call);
        Err(Failure::infra(UNKNOWN, "it would have to be asked"))
    }
}

impl Transport for Oracle {
    fn send<'a>(&'a self, call: &'a Call, accept: &'a Accept<'a>) -> BoxFuture<'a, Result<Receipt, Failure>> {
        Box::pin(std::future::ready(self.look(call, accept)))
    }
}

impl Forecast {
    fn add(&mut self, call: &Call) {
        self.calls = self.calls.saturating_add(1);
        self.batched = self.batched.saturating_add(u64::from(matches!(call.route, Route::Batch(_))));
        let expected = &call.expected;
        if expected.prompt_tokens == 0 {
            return;
        }
        self.to_models = self.to_models.saturating_add(1);
        self.prompt_tokens = self.prompt_tokens.saturating_add(expected.prompt_tokens);
        self.reply_tokens.least = self.reply_tokens.least.saturating_add(1);
        self.reply_tokens.most = self.reply_tokens.most.saturating_add(expected.longest_reply());
        match (expected.least_cost, expected.cost) {
            (Some(Usd(least)), Some(Usd(most))) => {
                self.cost.least += least;
                self.cost.most += most;
            }
            (None, _) | (_, None) => self.unpriced = self.unpriced.saturating_add(1),
        }
    }

    /// Once all calls are known: what they take at least.
    fn settle(&mut self) {
        self.latency = u32::try_from(self.kept).ok().filter(|kept| *kept > 0).map(|kept| self.kept_time / kept);
        let direct = self.calls.saturating_sub(self.batched);
        // Of an endpoint whose calls partly go by batch, it is not known which tokens do.
        let tokens = if self.batched == 0 { self.prompt_tokens.saturating_add(self.reply_tokens.least) } else { 0 };
        let paced = [(direct, self.limits.requests_per_minute), (tokens, self.limits.tokens_per_minute)];
        let by_limits = paced.into_iter().filter_map(|(count, rate)| at_rate(count, rate?));
        let rounds = direct.div_ceil(self.at_once.max(1) as u64);
        let by_latency = self.latency.and_then(|latency| latency.checked_mul(u32::try_from(rounds).ok()?));
        self.least_time = by_limits.chain(by_latency).max().filter(|time| !time.is_zero());
    }
}

/// How long `count` of something take at a rate a minute, of which a second's worth is there at once.
fn at_rate(count: u64, per_minute: f64) -> Option<Duration> {
    let each_second = per_minute / 60.0;
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
    let wanted = (count as f64 - each_second.max(1.0)).max(0.0);
    Duration::try_from_secs_f64(wanted / each_second).ok()
}

/// What a target may say: as long as the reference, else as an ordinary answer.
fn stand_in(case: &Case, brings_contexts: bool) -> Answer {
    let recorded = case.recorded.as_ref();
    let text = case.reference.clone().or_else(|| recorded.map(|answer| answer.text.clone()));
    let text = text.unwrap_or_else(|| "x".repeat(ANSWER));
    let mut contexts = recorded.map(|answer| answer.contexts.clone()).unwrap_or_default();
    if contexts.is_empty() {
        contexts.clone_from(&case.contexts);
    }
    if contexts.is_empty() && brings_contexts {
        contexts.push(Context { text: "x".repeat(CONTEXT), ..Context::default() });
    }
    Answer { text, contexts, ..Answer::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_lets_a_second_s_worth_through_at_once() {
        assert_eq!(at_rate(60, 600.0), Some(Duration::from_secs(5)));
        assert_eq!(at_rate(10, 600.0), Some(Duration::ZERO));
        assert_eq!(at_rate(3, 30.0), Some(Duration::from_secs(4)));
    }

    #[test]
    fn the_slowest_of_what_holds_an_endpoint_is_its_time() {
        let mut forecast = Forecast {
            calls: 100,
            kept: 2,
            kept_time: Duration::from_secs(4),
            at_once: 10,
            limits: EndpointLimits { requests_per_minute: Some(600.0), ..EndpointLimits::default() },
            ..Forecast::default()
        };
        forecast.settle();
        // 100 calls of two seconds, ten at once; the rate alone would take nine.
        assert_eq!(forecast.least_time, Some(Duration::from_secs(20)));
        forecast.limits.requests_per_minute = Some(60.0);
        forecast.settle();
        assert_eq!(forecast.least_time, Some(Duration::from_secs(99)));
        forecast.batched = 100;
        forecast.settle();
        assert_eq!(forecast.least_time, None, "batches have limits of their own");
    }
}
