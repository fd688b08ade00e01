//! From a plan to a measured run: opens what the engine needs, runs it, and says how it ended.

use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Runtime;

use super::anew::Shape;
use super::args::LedgerChoice;
use super::events::Events;
use super::failure::Failed;
use super::signals::Caught;
use super::{clock, ledger, screen, signals};
use crate::dataset::Dataset;
use crate::domain::{
    CallCounts, CaseId, Completion, Env, Event, EventSink, FailureKind, Part, Redactor, RetryClass, Run, RunHeader, Usd,
};
use crate::engine::{
    self, Batcher, Caller, CallerSettings, Cancel, Canceller, More, Pace, Plan, RetryPolicy, Stop, Tape, cancellation,
};
use crate::evaluator;
use crate::net::{Attempt, BoxFuture, Call, Client, Rejection, Response};
use crate::report;
use crate::store::{Batches, Ledger, StoreError};
use crate::suite::{Budget, Suite};
use crate::target;
use crate::text::number::counted;

/// What a run is measured with beside its plan.
pub(super) struct Means<'a> {
    pub(super) suite: &'a Suite,
    pub(super) dataset: &'a Dataset,
    pub(super) ledger: Option<LedgerChoice>,
    pub(super) tape: Option<&'a Arc<Tape>>,
    /// Where the results go.
    pub(super) folder: &'a Path,
    pub(super) events: &'a Events,
    /// Which trials are still wanted of what was measured so far.
    pub(super) more: &'a (dyn Fn(&Run) -> Option<More> + Sync),
    /// The cases for which the run would fail.
    pub(super) suspects: &'a (dyn Fn(&Run) -> BTreeSet<CaseId> + Sync),
    pub(super) env: &'a Env,
}

/// What came of it.
pub(super) struct Outcome {
    pub(super) run: Run,
    /// The suspects, as the base's system answers them.
    pub(super) again: Option<Run>,
    /// The signal that ended it, if one did.
    pub(super) caught: Caught,
    pub(super) _held: Held,
}

/// What ends when the command does.
pub(super) struct Held {
    /// Closes its file meanwhile.
    _ledger: Option<Arc<Ledger>>,
    /// While it lives, signals are listened to.
    _listening: Runtime,
}

/// Whether a model is asked.
pub(super) fn asks(evaluator: &evaluator::Ready) -> bool {
    matches!(evaluator.way, evaluator::Way::Asking(_))
}

/// What a shard may spend of what the run may; the time is everybody's.
pub(super) fn budget(whole: Budget, part: Option<Part>) -> Budget {
    let Some(Part { shard, of: _ }) = part else { return whole };
    let Budget { usd, tokens, requests, time } = whole;
    Budget {
        usd: usd.map(|usd| shard.share_of(usd)),
        tokens: tokens.map(|tokens| shard.share(tokens)),
        requests: requests.map(|requests| shard.share(requests)),
        time,
    }
}

/// Runs the engine within a runtime of its own. `confirm` is asked for the suspects of the run, if there are any.
pub(super) fn measure(plan: Plan, confirm: Option<target::Ready>, means: &Means<'_>) -> Result<Outcome, Failed> {
    // Recorded answers cost nothing, so there is nothing to keep and nobody to call.
    let asks = plan.targets.iter().any(|target| !target.free) || plan.evaluators.iter().any(asks);
    let calls = asks && means.tape.is_none_or(|tape| !tape.is_all());
    let (mut ledger, mut anew) = (None, None);
    if calls {
        let shape = Shape::of(&plan, means.dataset);
        let opened = ledger::open(means.suite, means.ledger, means.folder, &shape)?;
        anew = opened.before().and_then(|before| shape.since(before));
        ledger = Some(Arc::new(opened));
    }
    let attempts: Arc<dyn Attempt> = match calls {
        true => Arc::new(Client::new(means.env).map_err(|error| Failed::CouldNot(error.to_string()))?),
        false => Arc::new(Unconnected),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failed::CouldNot(format!("could not start: {error}")))?;
    let way = (ledger.as_ref(), anew);
    let (run, again, caught) = runtime.block_on(carry_out((plan, confirm), means, way, attempts))?;
    if let Some(ledger) = &ledger {
        ledger.close();
    }
    Ok(Outcome { run, again, caught, _held: Held { _ledger: ledger, _listening: runtime } })
}

async fn carry_out(
    (plan, confirm): (Plan, Option<target::Ready>),
    means: &Means<'_>,
    (ledger, anew): (Option<&Arc<Ledger>>, Option<String>),
    attempts: Arc<dyn Attempt>,
) -> Result<(Run, Option<Run>, Caught), Failed> {
    let (canceller, cancel) = cancellation();
    if let Some(deadline) = means.suite.run.deadline {
        tokio::spawn(stop_after(deadline, canceller.clone()));
    }
    let stopped = Arc::new(AtomicBool::new(false));
    let events = listeners(means, plan.redactor.clone(), Arc::clone(&stopped));
    if let Some(ledger) = ledger {
        watch(ledger, cancel.clone());
        if let Some(resumed) = ledger.resumed() {
            events.emit(Event::Note { text: ledger::going_on(resumed) });
        }
    }
    if let Some(text) = anew {
        events.emit(Event::Note { text });
    }
    let caught = signals::listen(canceller, Arc::clone(&events))
        .map_err(|error| Failed::CouldNot(format!("could not listen for signals: {error}")))?;
    let batcher = match plan.limits.pace {
        Pace::Slots => None,
        Pace::Batches => {
            let register = ledger.map(|ledger| batches(ledger)).transpose()?;
            Some(Batcher::new(Arc::clone(&attempts), register, cancel.clone(), Arc::clone(&events))?)
        }
    };
    let settings = settings(means.suite, &plan);
    let caller = Caller::new(attempts, ledger.cloned(), settings, cancel.clone(), Arc::clone(&events));
    let caller = caller.with_redactor(plan.redactor.clone()).with_tape(means.tape.cloned()).with_batcher(batcher);
    let caller = Arc::new(caller);
    let results = means.folder.join("results.jsonl");
    let plan = Arc::new(plan);
    let cases = || means.dataset.cases();
    let mut run =
        engine::run(Arc::clone(&plan), cases(), Arc::clone(&caller), &results, &cancel, events.as_ref()).await?;
    while let Some(more) = (means.more)(&run) {
        run = engine::extend(&plan, cases(), (&run, &more), &caller, &results, &cancel, events.as_ref()).await?;
    }
    let again = match confirm {
        Some(target) => ask_base(plan, target, &run, means, (&caller, &cancel, &events)).await?,
        None => None,
    };
    if let (Some(again), Some(end)) = (&again, &mut run.completion) {
        count_in(&again.run, end);
    }
    let again = again.filter(|again| again.whole).map(|again| again.run);
    events.emit(Event::Ended);
    // A run that an endpoint would not answer has not ended, nor has one that left calls in batches: the same command goes on with it.
    let complete = run.completion.as_ref().is_some_and(|end| end.complete);
    if complete && !stopped.load(Ordering::Relaxed) && !caller.leaves_batches() {
        finish(ledger).await;
    }
    Ok((run, again, caught))
}

/// The file of the suspects' answers by the base's system.
pub(super) const CONFIRMED: &str = "confirm.jsonl";

/// What the base's system said of the suspects.
struct Again {
    run: Run,
    /// It answered for all of them: a part excuses nothing, and is counted all the same.
    whole: bool,
}

/// How often it is looked whether others let go of a plan, and how long between: together a second.
const LOOKS: u32 = 100;
const BETWEEN: Duration = Duration::from_millis(10);

/// What nobody else holds any more; `None`: somebody still does.
async fn alone<T>(mut shared: Arc<T>) -> Option<T> {
    for _ in 0..LOOKS {
        match Arc::try_unwrap(shared) {
            Ok(alone) => return Some(alone),
            Err(still) => shared = still,
        }
        // Jobs that have answered may be about to end.
        tokio::time::sleep(BETWEEN).await;
    }
    Arc::into_inner(shared)
}

/// Asks the base's system for the cases for which the run would fail; `None`: there are none, or it could not be asked.
async fn ask_base(
    plan: Arc<Plan>,
    target: target::Ready,
    run: &Run,
    means: &Means<'_>,
    (caller, cancel, events): (&Arc<Caller>, &Cancel, &Arc<dyn EventSink>),
) -> Result<Option<Again>, Failed> {
    let whole = run.completion.as_ref().is_some_and(|end| end.complete);
    let suspects = if whole { (means.suspects)(run) } else { BTreeSet::new() };
    if suspects.is_empty() {
        return Ok(None);
    }
    let Some(plan) = alone(plan).await else {
        // The run is whole and paid for: it is judged without.
        let text =
            format!("{} could not be asked, since the run still holds its plan: it excuses nothing", target.name);
        events.emit(Event::Note { text });
        return Ok(None);
    };
    let words = counted(suspects.len() as u64, "case", "cases");
    events.emit(Event::Note { text: format!("{words} would fail the build: asking {} for them too", target.name) });
    let header = RunHeader {
        id: format!("{}-confirm", plan.header.id),
        targets: vec![target.name.clone()],
        cases: suspects.len() as u64,
        attempts: 0,
        filtered: true,
        ..plan.header
    };
    let plan = Arc::new(Plan { header, targets: vec![target], ..plan });
    let wanted = means.dataset.cases().filter(|case| case.as_ref().map_or(true, |case| suspects.contains(&case.id)));
    let results = means.folder.join(CONFIRMED);
    let again = engine::run(plan, wanted, Arc::clone(caller), &results, cancel, events.as_ref()).await?;
    let whole = again.completion.as_ref().is_some_and(|end| end.complete);
    if !whole {
        let text = "the base's system could not be asked for all of them, so it excuses nothing".to_owned();
        events.emit(Event::Note { text });
    }
    Ok(Some(Again { run: again, whole }))
}

/// What the suspects took is part of what the run took: no call is silent. The caller counts its requests from its beginning.
fn count_in(again: &Run, end: &mut Completion) {
    let Some(more) = &again.completion else { return };
    // Who sent nothing paid nothing; else an unknown part makes the sum unknown.
    let paid = |cost: Option<Usd>, requests: u64| if requests == 0 { cost.or(Some(Usd(0.0))) } else { cost };
    let before = paid(end.cost, end.calls.requests);
    let after = paid(more.cost, more.calls.requests.saturating_sub(end.calls.requests));
    let any = end.cost.is_some() || more.cost.is_some();
    end.cost = match (before, after) {
        (Some(Usd(before)), Some(Usd(after))) if any => Some(Usd(((before + after) * 1e9).round() / 1e9)),
        _ => None,
    };
    let repairs = end.calls.repairs.saturating_add(more.calls.repairs);
    end.calls = CallCounts { repairs, ..more.calls };
    end.usage += more.usage;
    end.elapsed_ms = end.elapsed_ms.saturating_add(more.elapsed_ms);
}

fn settings(suite: &Suite, plan: &Plan) -> CallerSettings {
    CallerSettings {
        workers: plan.limits.workers,
        retry: RetryPolicy { attempts: suite.run.retry_attempts, max_elapsed: suite.run.retry_max_elapsed },
        budget: budget(suite.run.budget, plan.header.shard),
        shards: plan.header.shard.map_or(1, |part| part.shard.total() as usize),
    }
}

async fn stop_after(deadline: Duration, canceller: Canceller) {
    tokio::time::sleep(deadline).await;
    canceller.cancel(Stop::Deadline);
}

/// Everyone who hears what happens: the screen, the stream of `--events`, and `stopped`, which notes that an endpoint was given up.
fn listeners(means: &Means<'_>, redactor: Redactor, stopped: Arc<AtomicBool>) -> Arc<dyn EventSink> {
    let progress = report::Progress::stderr(progress_style(means.env), redactor);
    let stream = means.events.clone();
    Arc::new(move |event: Event| {
        stopped.fetch_or(matches!(event, Event::EndpointStopped { .. }), Ordering::Relaxed);
        stream.emit(event.clone());
        progress.emit(event);
    })
}

/// A bar where somebody watches; lines in a log.
fn progress_style(env: &Env) -> report::ProgressStyle {
    let watched = std::io::stderr().is_terminal() && env.get("CI").is_none() && env.get("TERM") != Some("dumb");
    if watched { report::ProgressStyle::Bar } else { report::ProgressStyle::Lines }
}

/// Whoever wants to stop does not wait for a locked ledger.
fn watch(ledger: &Arc<Ledger>, cancel: Cancel) {
    let ledger = Arc::downgrade(ledger);
    tokio::spawn(async move {
        cancel.cancelled().await;
        if let Some(ledger) = ledger.upgrade() {
            ledger.hurry();
        }
    });
}

/// The batches that earlier runs with this ledger left behind.
fn batches(ledger: &Ledger) -> Result<Batches, Failed> {
    match Batches::open(ledger, clock::now().as_microsecond()) {
        Err(StoreError::Busy { holder, .. }) => {
            let path = ledger.path().display();
            let message = format!("another run waits for the batches of the ledger `{path}`: {holder}");
            Err(Failed::usage(
                "ledger-in-use",
                message,
                "wait for it to end, or give this run a ledger of its own: `run.ledger`",
            ))
        }
        other => Ok(other?),
    }
}

/// The next run begins anew.
async fn finish(ledger: Option<&Arc<Ledger>>) {
    let Some(ledger) = ledger else { return };
    if let Err(error) = ledger.finish().await {
        screen::message(&format!(
            "warning: the end of this run was not kept, so the next one may go on with it: {error}"
        ));
    }
}

/// Recorded answers and computed scores need no connection; whoever asks for one is told so.
struct Unconnected;

impl Attempt for Unconnected {
    fn attempt<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Response, Rejection>> {
        let why = format!("{} needs a connection, and this run has none", call.what);
        let rejection = Rejection::new(FailureKind::Internal, RetryClass::Endpoint, why);
        Box::pin(std::future::ready(Err(rejection)))
    }
}

#[cfg(test)]
mod tests;
