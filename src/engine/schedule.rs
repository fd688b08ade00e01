//! Streams jobs through the workers and writes what they find, in order.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::stream::{self, Stream, StreamExt as _};

use super::caller::Caller;
use super::cancel::Cancel;
use super::job::{Done, Job, broken, carry_out};
use super::pack::Packs;
use super::plan::Plan;
use crate::diagnostic::Diagnostics;
use crate::domain::{
    CallCounts, Case, CaseId, CaseRecord, Completion, Event, EventSink, Run, RunHeader, ScoreCounts, SoFar, Spent, Usd,
};
use crate::store::{EarlierOutcomes, ResultsWriter, RunBuilder, StoreError};

/// What stops a run as a whole. A case's failure is an outcome, never this.
#[derive(Debug)]
pub enum EngineError {
    /// The data changed since it was checked.
    Dataset(Diagnostics),
    Store(StoreError),
}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Runs `cases` and writes the results file. A cancelled run is a run: its completion says so.
///
/// # Errors
/// [`EngineError`]; what was paid for stays in the ledger.
pub async fn run<I>(
    plan: Arc<Plan>,
    cases: I,
    caller: Arc<Caller>,
    results: &Path,
    cancel: &Cancel,
    events: &dyn EventSink,
) -> Result<Run, EngineError>
where
    I: Iterator<Item = Result<Case, Diagnostics>> + Send,
{
    let begun = Instant::now();
    announce(&plan, events);
    let work = Work { plan: &plan, caller: &caller, cancel, events };
    let mut pass = Pass::begin(work, results, &plan.header, &Completion::default())?;
    let jobs = jobs(&plan, cases, 0..plan.limits.trials.max(1));
    pass.carry_out(jobs, Packs::new(&plan), None).await?;
    pass.end(plan.header.outcomes(), begun)
}

/// What jobs are carried out with.
#[derive(Clone, Copy)]
pub(super) struct Work<'a> {
    pub(super) plan: &'a Arc<Plan>,
    pub(super) caller: &'a Arc<Caller>,
    pub(super) cancel: &'a Cancel,
    pub(super) events: &'a dyn EventSink,
}

/// Jobs on their way into a results file.
pub(super) struct Pass<'a> {
    work: Work<'a>,
    results: &'a Path,
    writer: ResultsWriter,
    builder: RunBuilder,
    took: Took,
    /// Milliseconds of what came before.
    before_ms: u64,
}

impl<'a> Pass<'a> {
    /// `before`: the end of the part of the run that this one goes on with; empty where there is none.
    pub(super) fn begin(
        work: Work<'a>,
        results: &'a Path,
        header: &RunHeader,
        before: &Completion,
    ) -> Result<Self, EngineError> {
        let took = Took {
            spent: Spent { usage: before.usage, cost: before.cost },
            repairs: before.calls.repairs,
            scores: before.scores,
        };
        Ok(Self {
            work,
            results,
            writer: ResultsWriter::create(results, header, work.plan.redactor.clone())?,
            builder: RunBuilder::new(header.clone()),
            took,
            before_ms: before.elapsed_ms,
        })
    }

    /// Carries out the jobs in order; the lines of `earlier` come where their cases stand.
    pub(super) async fn carry_out(
        &mut self,
        jobs: impl Iterator<Item = Result<Job, Diagnostics>> + Send,
        packs: Packs,
        mut earlier: Option<EarlierOutcomes>,
    ) -> Result<(), EngineError> {
        let Work { plan, caller, cancel, events } = self.work;
        let jobs = jobs.take_while(|_| cancel.wish().is_none() && caller.ended().is_none());
        let packs = Arc::new(packs);
        let pending = Pending::default();
        let mut done = stream::iter(told(jobs, &packs))
            .map(|job| start(Arc::clone(plan), Arc::clone(caller), job, (pending.clone(), Arc::clone(&packs))))
            .buffered(packs.window(plan.limits.window()));
        while let Some(finished) = next(&mut done, &pending, caller, &self.took, events).await {
            let Done { outcome, spent, repairs: more } = finished?;
            if let Some(earlier) = &mut earlier {
                let new = |last: &CaseRecord| last.id != outcome.case.id || last.target != outcome.target;
                if self.builder.last().is_none_or(new) {
                    let (case, target) = (&outcome.case.id, &outcome.target);
                    earlier.copy_through(case, target, &mut self.writer, &mut self.builder)?;
                }
            }
            let (offset, line) = self.writer.append(&outcome)?;
            self.builder.outcome(&line, offset).map_err(|problem| StoreError::Corrupt {
                path: self.results.to_owned(),
                line: self.writer.outcomes(),
                problem,
            })?;
            self.took.spent += spent;
            self.took.repairs = self.took.repairs.saturating_add(more);
            self.took.scores += ScoreCounts::of(&outcome);
            let so_far = self.took.so_far(caller);
            events.emit(Event::Finished { outcome: Arc::new(outcome), done: self.writer.outcomes(), so_far });
        }
        if let Some(earlier) = earlier {
            earlier.copy_rest(&mut self.writer, &mut self.builder)?;
        }
        Ok(())
    }

    /// Puts the results file in its place. `planned`: outcomes of a complete run.
    pub(super) fn end(self, planned: u64, begun: Instant) -> Result<Run, EngineError> {
        let Self { work: Work { caller, cancel, .. }, results, writer, builder, took, before_ms } = self;
        let reason = incomplete(planned, caller, cancel, writer.outcomes());
        let elapsed_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let completion = Completion {
            complete: reason.is_none(),
            reason,
            outcomes: writer.outcomes(),
            calls: took.calls(caller),
            usage: took.spent.usage,
            cost: took.spent.cost.map(|Usd(sum)| Usd((sum * 1e9).round() / 1e9)),
            scores: took.scores,
            elapsed_ms: before_ms.saturating_add(elapsed_ms),
        };
        writer.finish(&completion)?;
        Ok(builder.finish(Some(completion), Some(results.to_owned())))
    }
}

/// What the outcomes so far took and came to.
#[derive(Default)]
struct Took {
    spent: Spent,
    repairs: u64,
    scores: ScoreCounts,
}

impl Took {
    /// The caller knows requests; that one of them asks for another form, only the judge knows.
    fn calls(&self, caller: &Caller) -> CallCounts {
        CallCounts { repairs: self.repairs, ..caller.counts() }
    }

    fn so_far(&self, caller: &Caller) -> SoFar {
        let Spent { usage, cost } = self.spent;
        SoFar { calls: self.calls(caller), usage, cost, limits: caller.limits() }
    }
}

/// Why a run is not complete; `None`: it is. What was planned is the sum of what came of it.
fn incomplete(planned: u64, caller: &Caller, cancel: &Cancel, outcomes: u64) -> Option<String> {
    if let Some(why) = cancel.wish() {
        return Some(why.words().to_owned());
    }
    if let Some(why) = caller.ended() {
        return Some(why);
    }
    (outcomes != planned).then(|| format!("{planned} outcomes were planned, {outcomes} came"))
}

/// Silence after which the cases that are waited for are named.
const SILENCE: Duration = Duration::from_secs(10);
/// Cases named at once.
const NAMED: usize = 5;

/// The next outcome; says what is waited for while there is none.
async fn next<S: Stream + Unpin>(
    done: &mut S,
    pending: &Pending,
    caller: &Caller,
    took: &Took,
    events: &dyn EventSink,
) -> Option<S::Item> {
    let mut silent = Duration::ZERO;
    loop {
        match tokio::time::timeout(SILENCE, done.next()).await {
            Ok(finished) => return finished,
            // Of batches, their own news is told.
            Err(_) if caller.waits_for_batches() => silent = Duration::ZERO,
            Err(_) => {
                silent += SILENCE;
                events.emit(Event::Waiting { silent, cases: pending.first(NAMED), so_far: took.so_far(caller) });
            }
        }
    }
}

/// A job's place: case, target, trial.
type JobKey = (usize, usize, u32);

/// Jobs that have begun and not ended, in the data set's order.
#[derive(Clone, Default)]
struct Pending(Arc<Mutex<BTreeMap<JobKey, CaseId>>>);

impl Pending {
    fn enter(&self, job: &Job) -> Entered {
        let key = (job.case.index, job.target, job.trial);
        self.lock().insert(key, job.case.id.clone());
        Entered { pending: self.clone(), key }
    }

    fn first(&self, count: usize) -> Vec<CaseId> {
        self.lock().values().take(count).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<JobKey, CaseId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Leaves the list when dropped, however the job ends.
struct Entered {
    pending: Pending,
    key: JobKey,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.pending.lock().remove(&self.key);
    }
}

fn announce(plan: &Plan, events: &dyn EventSink) {
    events.emit(Event::Started {
        outcomes_planned: plan.header.outcomes(),
        cases: plan.header.cases,
        trials: plan.limits.trials,
        targets: plan.header.targets.clone(),
        metrics: plan.evaluators.len(),
    });
}

/// Every case under every target, trial by trial: a case's lines stand together in the results.
pub(super) fn jobs<'a, I>(
    plan: &'a Plan,
    cases: I,
    trials: Range<u32>,
) -> impl Iterator<Item = Result<Job, Diagnostics>> + Send + 'a
where
    I: Iterator<Item = Result<Case, Diagnostics>> + Send + 'a,
{
    let targets = plan.targets.len();
    cases.enumerate().flat_map(move |(place, case)| -> Box<dyn Iterator<Item = Result<Job, Diagnostics>> + Send> {
        match case {
            Err(problems) => Box::new(std::iter::once(Err(problems))),
            Ok(case) => {
                let (case, trials) = (Arc::new(case), trials.clone());
                Box::new((0..targets).flat_map(move |target| {
                    let case = Arc::clone(&case);
                    trials.clone().map(move |trial| Ok(Job { case: Arc::clone(&case), place, target, trial }))
                }))
            }
        }
    })
}

/// The same jobs; the packs are told of each, and when there are no more.
fn told<'a, T: Send + 'a>(
    jobs: impl Iterator<Item = T> + Send + 'a,
    packs: &'a Packs,
) -> impl Iterator<Item = T> + Send + 'a {
    let end = std::iter::once_with(move || {
        packs.close();
        None
    });
    jobs.inspect(move |_| packs.begin()).map(Some).chain(end).flatten()
}

/// A task of its own: a panic in it is one broken outcome.
async fn start(
    plan: Arc<Plan>,
    caller: Arc<Caller>,
    job: Result<Job, Diagnostics>,
    (pending, packs): (Pending, Arc<Packs>),
) -> Result<Done, EngineError> {
    let job = job.map_err(EngineError::Dataset)?;
    let _waited_for = pending.enter(&job);
    let member = packs.member(job.spot());
    let task = {
        let (plan, job) = (Arc::clone(&plan), job.clone());
        tokio::spawn(async move {
            let target = plan.targets.get(job.target).map(|target| Arc::clone(&target.name)).unwrap_or_default();
            carry_out(&plan, &job, member, &caller.seat(&target)).await
        })
    };
    match task.await {
        Ok(done) => Ok(done),
        Err(error) => Ok(broken(&plan, &job, &error.to_string())),
    }
}
