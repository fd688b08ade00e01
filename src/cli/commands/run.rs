//! `scoregate run [SUITE]`: the only place that knows what follows what.

use std::num::NonZeroUsize;
use std::path::Path;

use crate::cli::args::{BaseArgs, GateArgs, HostArgs, MeasureArgs, ReportArgs, RunArgs, SelectArgs, SuiteInput};
use crate::cli::base::{self, Subject, Yardstick};
use crate::cli::beside::Gathered;
use crate::cli::cassette::{self, Source};
use crate::cli::conclude::Measured;
use crate::cli::ending::Ending;
use crate::cli::events::Events;
use crate::cli::failure::Failed;
use crate::cli::measure::{Means, Outcome, measure};
use crate::cli::prepare::{Prepared, divided, prepare};
use crate::cli::publish::Comment;
use crate::cli::{alarm, clock, events, publish, reference, reports, screen};
use crate::domain::{Env, Redactor, Run, RunHeader};
use crate::engine::More;
use crate::gate::{BaselineState, MoreTrials, Policy, judge_beside, more_attempts, next_look, suspects};
use crate::host::CheckForm;
use crate::{suite, target};

pub(in crate::cli) fn execute(args: &RunArgs, env: &Env) -> Result<Ending, Failed> {
    let RunArgs {
        input: SuiteInput { suite: file },
        select,
        measure: MeasureArgs { workers, ledger, record, record_mode, replay, events },
        gate: GateArgs { baseline, base },
        report: ReportArgs { out },
        host: HostArgs { no_comment, check },
    } = args;
    let since = clock::written(clock::now());
    let outlet = events.as_deref().map(events::outlet);
    let comment = if *no_comment { Comment::No } else { Comment::Yes };
    let stop = |failed: Failed| {
        // Comment and check belong to who joins the shards.
        let whole = select.shard.is_none();
        let check = check.filter(|_| whole).map(Into::into);
        let comment = comment == Comment::Yes && whole;
        let key = (comment || check.is_some()).then(|| suite::name(file, env)).flatten();
        publish::stopped(&failed, publish::Started { key, comment, check, since: &since }, env);
        if whole && replay.is_none() {
            alarm::stopped(file, &failed, env);
        }
        failed
    };
    // Nothing is sent in a replay, so credentials may be missing.
    let prepared = compared_whole(select, baseline.as_deref()).and_then(|()| match replay {
        Some(_) => prepare(file, select, &env.clone().with_stand_ins()),
        None => prepare(file, select, env),
    });
    let mut prepared = match prepared {
        Ok(prepared) => prepared,
        Err(failed) => {
            reports::clear_unbegun(out.as_deref(), file, env);
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
    if let Err(failed) = cassette::kept_apart(record.as_deref(), *record_mode, events.as_deref(), &folder) {
        reports::clear_unbegun(Some(&folder), file, env);
        return Err(stop(failed));
    }
    let events = Events::open(outlet, &redactor);
    let check = check.map(Into::into);
    let to = Destination { folder: &folder, comment, check, since: &since, events: &events };
    let ended = carry_out(prepared, (baseline.as_deref(), base), source, &to, env);
    let ended = ended.map_err(|failed| stop(failed.masked(&redactor)));
    events.end(&ended);
    ended
}

/// A part of a run is no evidence about a baseline.
fn compared_whole(select: &SelectArgs, baseline: Option<&Path>) -> Result<(), Failed> {
    match (select.shard, baseline) {
        (Some(_), Some(_)) => Err(Failed::usage(
            "shard",
            "`--baseline` with `--shard`: a shard is compared with nothing",
            "give the baseline to who joins them: `scoregate merge … --baseline FILE`",
        )),
        (None, _) | (_, None) => Ok(()),
    }
}

/// Where the results go.
struct Destination<'a> {
    folder: &'a Path,
    comment: Comment,
    check: Option<CheckForm>,
    /// When the run began.
    since: &'a str,
    events: &'a Events,
}

/// Measures, judges, reports, publishes.
fn carry_out(
    prepared: Prepared,
    (baseline, base): (Option<&Path>, &BaseArgs),
    source: Source<'_>,
    to: &Destination<'_>,
    env: &Env,
) -> Result<Ending, Failed> {
    let Destination { folder, comment, check, since, events } = *to;
    let Prepared { suite, dataset, plan, confirm, policy, reports: settings } = prepared;
    let redactor = plan.redactor.clone();
    let subject = Subject {
        suite: &suite,
        policy,
        metrics: Some(&plan.header.metrics),
        cases: match plan.header.selection {
            Some(_) => None,
            None => Some(base::cases_in(&dataset)?),
        },
    };
    // A shard is judged by who joins all of them.
    let yardstick = match plan.header.shard {
        Some(_) => Yardstick::own(subject.policy),
        None => Yardstick::find(subject, (base, baseline.as_slice()), env)?,
    };
    let baseline = match baseline {
        Some(path) => reference::of_file(path, &reference::scales(&plan.header.metrics))?,
        // A shard is compared with nothing.
        None if plan.header.shard.is_some() => BaselineState::NotAsked,
        None => {
            let baseline = reference::of_suite(&suite, &yardstick, env)?;
            let mut told = reference::foretell(&suite, &yardstick.policy, &baseline, folder);
            if !told.is_empty() {
                told.map_texts(|text| redactor.redact(text));
                screen::diagnostics(&told);
            }
            baseline
        }
    };
    let gathered = match plan.header.shard {
        Some(_) => Gathered::nothing(),
        None => Gathered::of(&suite, &yardstick, &reference::scales(&plan.header.metrics))?,
    };
    let _alone = reports::hold(folder)?;
    reports::clear(folder);
    let replayed = matches!(source, Source::Cassette(_));
    let tape = source.tape(&plan.header, &redactor)?;
    // Recorded answers are there once.
    let asks = plan.targets.iter().all(|target| !target.free);
    let more = |run: &Run| if asks { more_trials(run, &baseline, &yardstick.policy) } else { None };
    let (ledger, tape) = (source.ledger(), tape.as_ref());
    let judged = |run: &Run| {
        let beside = gathered.beside(yardstick.record.as_ref(), None);
        suspects(&judge_beside(run, &baseline, &yardstick.policy, beside))
    };
    // The base's policy says whether and whom; a part of a run decides nothing.
    let named = |target: &target::Ready| yardstick.policy.confirm.as_deref() == Some(&*target.name);
    let confirm = confirm.filter(|target| plan.header.shard.is_none() && named(target));
    let means =
        Means { suite: &suite, dataset: &dataset, ledger, tape, folder, events, more: &more, suspects: &judged, env };
    // Signals are heard to the end of the reports.
    let Outcome { run, again, caught, _held } = measure(plan, confirm, &means)?;
    let recorded = tape.map_or(Ok(()), |tape| cassette::ended(tape, &run));
    let measured = Measured {
        run: &run,
        recorded,
        cancelled: caught.code(),
        suite: &suite,
        yardstick: &yardstick,
        baseline: &baseline,
        gathered: &gathered,
        again: again.as_ref(),
        settings: &settings,
        folder,
        comment: if run.header.shard.is_some() { Comment::NotOfAShard } else { comment },
        check: check.filter(|_| run.header.shard.is_none()),
        // A shard decides nothing, and a replay sends nothing anywhere.
        tell: run.header.shard.is_none() && !replayed,
        since,
        redactor,
    };
    measured.conclude(env)
}

/// What the plan of trials asks for next, then the further attempts of failed must-pass cases.
fn more_trials(run: &Run, baseline: &BaselineState, policy: &Policy) -> Option<More> {
    let from = run.header.trials;
    let header = run.header.clone();
    if let Some(MoreTrials { trials, cases, why }) = next_look(run, baseline, policy) {
        return Some(More { from, to: trials, cases, header: RunHeader { trials, ..header }, why });
    }
    let MoreTrials { trials, cases, why } = more_attempts(run, policy)?;
    Some(More { from, to: trials, cases, header, why })
}
