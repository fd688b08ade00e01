//! `scoregate run [SUITE]`: the only place that knows what follows what.

use std::io::IsTerminal as _;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::Runtime;

use crate::cli::args::{GateArgs, HostArgs, LedgerChoice, MeasureArgs, ReportArgs, RunArgs, SuiteInput};
use crate::cli::cassette::{self, Source};
use crate::cli::conclude::Measured;
use crate::cli::ending::Ending;
use crate::cli::events::Events;
use crate::cli::failure::Failed;
use crate::cli::prepare::{Prepared, divided, prepare};
use crate::cli::publish::Comment;
use crate::cli::signals::Caught;
use crate::cli::{clock, events, ledger, publish, reference, reports, screen, signals};
use crate::dataset::Dataset;
use crate::domain::{Env, Event, EventSink, FailureKind, Part, Redactor, RetryClass, Run};
use crate::engine::{self, Batcher, Caller, CallerSettings, Cancel, Pace, Plan, RetryPolicy, Stop, Tape, cancellation};
use crate::evaluator;
use crate::gate::BaselineState;
use crate::net::{Attempt, BoxFuture, Call, Client, Rejection, Response};
use crate::report;
use crate::store::{Batches, Ledger, StoreError};
use crate::suite::{self, Budget, Suite};

pub(in crate::cli) fn execute(args: &RunArgs, env: &Env) -> Result<Ending, Failed> {
    let RunArgs {
        input: SuiteInput { suite: file },
        select,
        measure: MeasureArgs { workers, ledger, record, record_mode, replay, events },
        gate: GateArgs { baseline },
        report: ReportArgs { out },
        host: HostArgs { no_comment },
    } = args;
    let since = clock::written(clock::now());
    let outlet = events.as_deref().map(events::outlet);
    let comment = if *no_comment { Comment::No } else { Comment::Yes };
    let stop = |failed: Failed| {
        // The comment belongs to who joins the shards.
        let commented = comment == Comment::Yes && select.shard.is_none();
        let key = commented.then(|| suite::name(file, env)).flatten();
        publish::stopped(&failed, publish::Started { key, since: &since }, env);
        failed
    };
    // Nothing is sent in a replay, so credentials may be missing.
    let prepared = match replay {
        Some(_) => prepare(file, select, &env.clone().with_stand_ins()),
        None => prepare(file, select, env),
    };
    let mut prepared = match prepared {
        Ok(prepared) => prepared,
        Err(failed) => {
            // Its texts are masked already.
            let ended = Err(stop(failed));
            Events::open(outlet, &Redactor::default()).end(&ended);
            return ended;
        }
    };
    if let Some(workers) = workers.map(usize::from).and_then(NonZeroUsize::new) {
        prepared.plan.limits.workers = Some(divided(workers, prepared.plan.header.shard));
    }
    let folder = reports::folder(out.as_deref(), &prepared.reports);
    let redactor = prepared.plan.redactor.clone();
    let source = match (replay, record) {
        (Some(path), _) => Source::Cassette(path),
        (None, Some(path)) => Source::Outside { ledger: *ledger, record: Some((path, *record_mode)) },
        (None, None) => Source::Outside { ledger: *ledger, record: None },
    };
    let events = Events::open(outlet, &redactor);
    let to = Destination { folder: &folder, comment, since: &since, events: &events };
    let ended = carry_out(prepared, baseline.as_deref(), source, &to, env);
    let ended = ended.map_err(|failed| stop(failed.masked(&redactor)));
    events.end(&ended);
    ended
}

/// Where the results go.
struct Destination<'a> {
    folder: &'a Path,
    comment: Comment,
    /// When the run began.
    since: &'a str,
    events: &'a Events,
}

/// Measures, judges, reports, publishes.
fn carry_out(
    prepared: Prepared,
    baseline: Option<&Path>,
    source: Source<'_>,
    to: &Destination<'_>,
    env: &Env,
) -> Result<Ending, Failed> {
    let Destination { folder, comment, since, events } = *to;
    let Prepared { suite, dataset, plan, policy, reports: settings } = prepared;
    let redactor = plan.redactor.clone();
    let baseline = match baseline {
        Some(path) => reference::of_file(path, &reference::scales(&plan.header.metrics))?,
        // A shard is compared with nothing.
        None if plan.header.shard.is_some() => BaselineState::NotAsked,
        None => {
            let baseline = reference::of_suite(&suite, &policy);
            let mut told = reference::foretell(&suite, &policy, &baseline);
            if !told.is_empty() {
                told.map_texts(|text| redactor.redact(text));
                screen::diagnostics(&told);
            }
            baseline
        }
    };
    let _alone = reports::hold(folder)?;
    let tape = source.tape(&plan.header, &redactor)?;
    // Signals are heard to the end of the reports.
    let (run, caught, _listening) =
        measure(&suite, &dataset, plan, source.ledger(), tape.as_ref(), (folder, events), env)?;
    let recorded = tape.as_deref().map_or(Ok(()), |tape| cassette::ended(tape, &run));
    let measured = Measured {
        run: &run,
        recorded,
        cancelled: caught.code(),
        suite: &suite,
        policy: &policy,
        baseline: &baseline,
        settings: &settings,
        folder,
        comment: if run.header.shard.is_some() { Comment::NotOfAShard } else { comment },
        since,
        redactor,
    };
    measured.conclude(env)
}

/// Runs the engine within a runtime of its own; says which signal came, if one did. While the runtime lives, signals are listened to.
fn measure(
    suite: &Suite,
    dataset: &Dataset,
    plan: Plan,
    choice: Option<LedgerChoice>,
    tape: Option<&Arc<Tape>>,
    (folder, stream): (&Path, &Events),
    env: &Env,
) -> Result<(Run, Caught, Runtime), Failed> {
    // Recorded answers cost nothing, so there is nothing to keep and nobody to call.
    let asks = plan.targets.iter().any(|target| !target.free) || plan.evaluators.iter().any(asks);
    let calls = asks && tape.is_none_or(|tape| !tape.is_all());
    let ledger = if calls { Some(Arc::new(ledger::open(suite, choice, folder)?)) } else { None };
    let attempts: Arc<dyn Attempt> = if calls {
        Arc::new(Client::new(env).map_err(|error| Failed::CouldNot(error.to_string()))?)
    } else {
        Arc::new(Unconnected)
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failed::CouldNot(format!("could not start: {error}")))?;
    let (run, caught) = runtime.block_on(async {
        let (canceller, cancel) = cancellation();
        if let Some(deadline) = suite.run.deadline {
            let canceller = canceller.clone();
            tokio::spawn(async move {
                tokio::time::sleep(deadline).await;
                canceller.cancel(Stop::Deadline);
            });
        }
        let progress = report::Progress::stderr(progress_style(env), plan.redactor.clone());
        // A run that an endpoint would not answer has not ended: the same command goes on with it.
        let stopped = Arc::new(AtomicBool::new(false));
        let (seen, stream) = (Arc::clone(&stopped), stream.clone());
        let events: Arc<dyn EventSink> = Arc::new(move |event: Event| {
            seen.fetch_or(matches!(event, Event::EndpointStopped { .. }), Ordering::Relaxed);
            stream.emit(event.clone());
            progress.emit(event);
        });
        if let Some(ledger) = &ledger {
            watch(ledger, cancel.clone());
            if let Some(resumed) = ledger.resumed() {
                events.emit(Event::Note { text: ledger::going_on(resumed) });
            }
        }
        let caught = signals::listen(canceller, Arc::clone(&events))
            .map_err(|error| Failed::CouldNot(format!("could not listen for signals: {error}")))?;
        let batcher = match plan.limits.pace {
            Pace::Slots => None,
            Pace::Batches => {
                let register = ledger.as_ref().map(|ledger| batches(ledger)).transpose()?;
                Some(Batcher::new(Arc::clone(&attempts), register, cancel.clone(), Arc::clone(&events))?)
            }
        };
        let settings = CallerSettings {
            workers: plan.limits.workers,
            retry: RetryPolicy { attempts: suite.run.retry_attempts, max_elapsed: suite.run.retry_max_elapsed },
            budget: budget(suite.run.budget, plan.header.shard),
            shards: plan.header.shard.map_or(1, |part| part.shard.total() as usize),
        };
        let caller = Caller::new(attempts, ledger.clone(), settings, cancel.clone(), Arc::clone(&events));
        let caller = Arc::new(caller.with_tape(tape.cloned()).with_batcher(batcher));
        let results = folder.join("results.jsonl");
        let run = engine::run(Arc::new(plan), dataset.cases(), caller, &results, &cancel, events.as_ref()).await?;
        let ended = run.completion.as_ref().is_some_and(|end| end.complete) && !stopped.load(Ordering::Relaxed);
        if let Some(ledger) = ledger.filter(|_| ended)
            && let Err(error) = ledger.finish().await
        {
            screen::message(&format!(
                "warning: the end of this run was not kept, so the next one may go on with it: {error}"
            ));
        }
        Ok::<_, Failed>((run, caught))
    })?;
    Ok((run, caught, runtime))
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

/// The batches that earlier runs with this ledger left behind.
fn batches(ledger: &Ledger) -> Result<Batches, Failed> {
    match Batches::open(ledger.path(), clock::now().as_second()) {
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

pub(super) fn asks(evaluator: &evaluator::Ready) -> bool {
    matches!(evaluator.way, evaluator::Way::Asking(_))
}

/// A bar where somebody watches; lines in a log.
fn progress_style(env: &Env) -> report::ProgressStyle {
    let watched = std::io::stderr().is_terminal() && env.get("CI").is_none() && env.get("TERM") != Some("dumb");
    if watched { report::ProgressStyle::Bar } else { report::ProgressStyle::Lines }
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
