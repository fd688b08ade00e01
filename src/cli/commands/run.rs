//! `scoregate run [SUITE]`: the only place that knows what follows what.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::args::{LedgerUse, RunArgs};
use crate::cli::exit_code::ExitCode;
use crate::cli::failure::Failed;
use crate::cli::prepare::{Prepared, baseline, prepare};
use crate::cli::{publish, reports, screen, signals};
use crate::domain::{Decision, Env, EventSink, FailureKind, RetryClass, Run, Verdict};
use crate::engine::{Caller, Stop, cancellation};
use crate::gate::{BaselineState, judge};
use crate::net::{Attempt, BoxFuture, Call, Client, Rejection, Response};
use crate::report;
use crate::store::Ledger;

pub(in crate::cli) fn execute(args: &RunArgs, env: &Env) -> Result<(ExitCode, String), Failed> {
    let stop = |failed: Failed| {
        publish::stopped(&failed, env);
        failed
    };
    let mut prepared = prepare(&args.suite.suite, env).map_err(stop)?;
    if let Some(workers) = args.workers {
        prepared.plan.limits.workers = usize::from(workers);
    }
    let named = prepared.reports.dir.clone().map(PathBuf::from);
    let folder = args.out.clone().or(named).unwrap_or_else(|| PathBuf::from("scoregate-out"));
    let redactor = prepared.plan.redactor.clone();
    let outcome = measure_and_judge(args, prepared, &folder, env);
    outcome.map_err(|failed| stop(failed.masked(&redactor)))
}

fn measure_and_judge(
    args: &RunArgs,
    prepared: Prepared,
    folder: &std::path::Path,
    env: &Env,
) -> Result<(ExitCode, String), Failed> {
    let Prepared { suite, dataset, plan, policy, reports: settings } = prepared;
    let redactor = plan.redactor.clone();
    let baseline = match &args.baseline {
        Some(path) => super::compare::load(path, &[])?,
        None => baseline(&suite, &policy),
    };
    let _alone = reports::hold(folder)?;
    // Recorded answers cost nothing, so there is nothing to keep and nobody to call.
    let calls = plan.targets.iter().any(|target| !target.free) || plan.evaluators.iter().any(asks);
    let ledger = match args.ledger {
        LedgerUse::On if calls => Some(Arc::new(Ledger::open(&suite.run.ledger)?)),
        LedgerUse::On | LedgerUse::Off => None,
    };
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
        let events: Arc<dyn EventSink> = Arc::new(report::Progress::stderr(progress_style(env), redactor.clone()));
        let caught = signals::listen(canceller, Arc::clone(&events))
            .map_err(|error| Failed::CouldNot(format!("could not listen for signals: {error}")))?;
        let retry = (suite.run.retry_attempts, suite.run.retry_max_elapsed);
        let workers = plan.limits.workers;
        let caller = Caller::new(attempts, ledger, workers, retry, cancel.clone(), Arc::clone(&events));
        let results = folder.join("results.jsonl");
        let run =
            crate::engine::run(Arc::new(plan), dataset.cases(), Arc::new(caller), &results, &cancel, events.as_ref())
                .await?;
        Ok::<(Run, signals::Caught), Failed>((run, caught))
    })?;
    let mut verdict = judge(&run, &baseline, &policy);
    if let Some(code) = caught.code() {
        cancelled(&mut verdict, &run, code);
    }
    let texts = reports::texts(&run);
    let found = match &baseline {
        BaselineState::Found(baseline) => Some(&**baseline),
        BaselineState::NotAsked | BaselineState::Absent(_) | BaselineState::Broken(_) => None,
    };
    let view = reports::view(&run, &verdict, found, texts.as_ref(), redactor);
    screen::out(&report::screen(&view, report::Screen::stdout()));
    let written = reports::write(&view, &settings, folder);
    screen::out(&format!("\nreports: {}\n", folder.display()));
    let code = match &written {
        Ok(()) => caught.code().unwrap_or(ExitCode::of_verdict(verdict.exit_code)),
        Err(_) => ExitCode::NotEvaluated,
    };
    publish::Finished {
        view: &view,
        suite: &suite,
        settings: &settings,
        folder,
        code,
        written: written.is_ok(),
        comment: !args.no_comment,
    }
    .publish(env);
    match written {
        Ok(()) => Ok((code, view.redactor().redact(&verdict.headline))),
        // The verdict is published with this code.
        Err(lost) => Ok(lost.masked(view.redactor()).report()),
    }
}

/// What was measured until then stays in the reports, and none of it is a decision.
fn cancelled(verdict: &mut Verdict, run: &Run, code: ExitCode) {
    let signal = if code == ExitCode::Interrupted { "SIGINT" } else { "SIGTERM or SIGHUP" };
    let measured: usize = run.cases.iter().map(|case| case.trials.len()).sum();
    let planned = run.header.cases * u64::from(run.header.trials) * run.header.targets.len() as u64;
    verdict.headline = format!(
        "cancelled by {signal}: {measured} of {planned} answers are here, and nothing is decided; run again, what was paid for \
         is not paid again"
    );
    (verdict.decision, verdict.exit_code, verdict.partial) = (Decision::NotEvaluated, code.code(), true);
}

fn asks(evaluator: &crate::evaluator::Ready) -> bool {
    matches!(evaluator.way, crate::evaluator::Way::Asking(_))
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
        let why = format!("{} needs a connection, and this build has none", call.what);
        let rejection = Rejection::new(FailureKind::Internal, RetryClass::Endpoint, why);
        Box::pin(std::future::ready(Err(rejection)))
    }
}
