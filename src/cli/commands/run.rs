//! `scoregate run [SUITE]`: the only place that knows what follows what.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cli::args::{GateArgs, HostArgs, LedgerChoice, MeasureArgs, ReportArgs, RunArgs, SuiteInput};
use crate::cli::ending::Ending;
use crate::cli::exit_code::ExitCode;
use crate::cli::failure::Failed;
use crate::cli::prepare::{Prepared, prepare};
use crate::cli::publish::Comment;
use crate::cli::signals::Caught;
use crate::cli::{ledger, publish, reference, reports, screen, signals};
use crate::dataset::Dataset;
use crate::domain::{Decision, Env, Event, EventSink, FailureKind, MetricSpec, RetryClass, Run, Verdict};
use crate::engine::{self, Caller, Cancel, Plan, Stop, cancellation};
use crate::evaluator;
use crate::gate::judge;
use crate::net::{Attempt, BoxFuture, Call, Client, Rejection, Response};
use crate::report;
use crate::report::escape::terminal;
use crate::store::Ledger;
use crate::suite::Suite;

/// Where the reports go if nobody says otherwise.
const FOLDER: &str = "scoregate-out";
/// Characters of a path.
const PATH: usize = 500;

pub(in crate::cli) fn execute(args: &RunArgs, env: &Env) -> Result<Ending, Failed> {
    let RunArgs {
        input: SuiteInput { suite },
        measure: MeasureArgs { workers, ledger },
        gate: GateArgs { baseline },
        report: ReportArgs { out },
        host: HostArgs { no_comment },
    } = args;
    let stop = |failed: Failed| {
        publish::stopped(&failed, env);
        failed
    };
    let mut prepared = prepare(suite, env).map_err(stop)?;
    if let Some(workers) = workers {
        prepared.plan.limits.workers = usize::from(*workers);
    }
    let named = prepared.reports.dir.clone().map(PathBuf::from);
    let folder = out.clone().or(named).unwrap_or_else(|| PathBuf::from(FOLDER));
    let comment = if *no_comment { Comment::No } else { Comment::Yes };
    let redactor = prepared.plan.redactor.clone();
    let ended = carry_out(prepared, baseline.as_deref(), *ledger, &folder, comment, env);
    ended.map_err(|failed| stop(failed.masked(&redactor)))
}

/// Measures, judges, reports, publishes.
fn carry_out(
    prepared: Prepared,
    baseline: Option<&Path>,
    ledger: Option<LedgerChoice>,
    folder: &Path,
    comment: Comment,
    env: &Env,
) -> Result<Ending, Failed> {
    let Prepared { suite, dataset, plan, policy, reports: settings } = prepared;
    let redactor = plan.redactor.clone();
    let baseline = match baseline {
        Some(path) => reference::of_file(path, &scales(&plan.header.metrics))?,
        None => reference::of_suite(&suite, &policy),
    };
    let _alone = reports::hold(folder)?;
    let (run, caught) = measure(&suite, &dataset, plan, ledger, folder, env)?;
    let mut verdict = judge(&run, &baseline, &policy);
    if let Some(code) = caught.code() {
        cancelled(&mut verdict, &run, code);
    } else if let Some(why) = run.completion.as_ref().and_then(|end| end.reason.as_deref()) {
        verdict.headline = format!("could not evaluate: the run is not complete: {why}");
        (verdict.decision, verdict.exit_code) = (Decision::NotEvaluated, ExitCode::NotEvaluated.code());
    }
    let texts = reports::texts(&run)?;
    let view = reports::view(&run, &verdict, &baseline, texts.as_ref(), redactor);
    screen::out(&report::screen(&view, report::Screen::stdout()));
    let written = reports::write(&view, &settings, folder);
    screen::out(&format!("\nreports: {}\n", terminal(&folder.display().to_string(), PATH)));
    let code = match &written {
        Ok(()) => ExitCode::of(verdict.exit_code),
        Err(_) => ExitCode::NotEvaluated,
    };
    let written = written.map_err(|lost| lost.masked(view.redactor()));
    let finished = publish::Finished {
        view: &view,
        suite: &suite,
        settings: &settings,
        folder,
        code,
        written: written.is_ok(),
        comment,
    };
    finished.publish(env);
    match written {
        Ok(()) => Ok(Ending::because(code, view.redactor().redact(&verdict.headline))),
        // The verdict is published with this code.
        Err(lost) => Ok(lost.report()),
    }
}

/// What was measured until then stays in the reports, and none of it is a decision.
fn cancelled(verdict: &mut Verdict, run: &Run, code: ExitCode) {
    let signal = if code == ExitCode::Interrupted { "SIGINT" } else { "SIGTERM or SIGHUP" };
    let measured: usize = run.cases.iter().map(|case| case.trials.len()).sum();
    let planned = run.header.outcomes();
    verdict.headline = format!(
        "cancelled by {signal}: {measured} of {planned} answers are here, and nothing is decided; run again, what was paid for \
         is not paid again"
    );
    (verdict.decision, verdict.exit_code, verdict.partial) = (Decision::NotEvaluated, code.code(), true);
}

/// Runs the engine within a runtime of its own; says which signal came, if one did.
fn measure(
    suite: &Suite,
    dataset: &Dataset,
    plan: Plan,
    choice: Option<LedgerChoice>,
    folder: &Path,
    env: &Env,
) -> Result<(Run, Caught), Failed> {
    // Recorded answers cost nothing, so there is nothing to keep and nobody to call.
    let calls = plan.targets.iter().any(|target| !target.free) || plan.evaluators.iter().any(asks);
    let ledger = if calls { Some(Arc::new(ledger::open(suite, choice, folder)?)) } else { None };
    let attempts: Arc<dyn Attempt> = if calls {
        Arc::new(Client::new(env).map_err(|error| Failed::CouldNot(error.to_string()))?)
    } else {
        Arc::new(Unconnected)
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failed::CouldNot(format!("could not start: {error}")))?;
    runtime.block_on(async {
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
        let seen = Arc::clone(&stopped);
        let events: Arc<dyn EventSink> = Arc::new(move |event: Event| {
            seen.fetch_or(matches!(event, Event::EndpointStopped { .. }), Ordering::Relaxed);
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
        let retry = (suite.run.retry_attempts, suite.run.retry_max_elapsed);
        let caller = Arc::new(Caller::new(
            attempts,
            ledger.clone(),
            plan.limits.workers,
            retry,
            cancel.clone(),
            Arc::clone(&events),
        ));
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
        Ok((run, caught))
    })
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

/// What the metrics are, for lines that say only their names. Such lines do not say what they were measured with.
fn scales(metrics: &[MetricSpec]) -> Vec<MetricSpec> {
    metrics.iter().map(|metric| MetricSpec { fingerprint: None, ..metric.clone() }).collect()
}

fn asks(evaluator: &evaluator::Ready) -> bool {
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
