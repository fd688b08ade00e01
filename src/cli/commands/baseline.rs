//! `scoregate baseline update|refresh|show|diff`

mod enough;
mod refresh;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use crate::cli::args::{BaselineArgs, BaselineCommand};
use crate::cli::ending::Ending;
use crate::cli::exit_code::ExitCode;
use crate::cli::failure::Failed;
use crate::cli::{keep, reference, screen};
use crate::diagnostic::Diagnostics;
use crate::domain::{Baseline, BaselineCase, BaselineRun, Env, MetricName, Run, RunHeader};
use crate::gate::{Fallen, Incomparable, Policy};
use crate::report::escape::terminal;
use crate::store::{
    Mark, Place, StoreError, Texts, accept, parse_baseline, pool, read_results, render_baseline, repeats,
};
use crate::suite::{self, Suite};
use crate::text::number::{self, NONE, counted};
use enough::{enough, lost, policy_of};

/// Characters of a name, an id or a path.
const NAME: usize = 200;
/// How often a place that others write to is tried.
const ATTEMPTS: u32 = 5;
/// The suite file where the command line names none.
const SUITE: &str = "scoregate.yaml";
/// The path in a branch where nothing says another.
const USUAL: &str = "baseline.jsonl";

pub(in crate::cli) fn execute(args: &BaselineArgs, env: &Env) -> Result<Ending, Failed> {
    match &args.command {
        BaselineCommand::Update { results, to, suite, add, ratchet, allow_lower } => {
            not_in_pull_request(env)?;
            let kept = Ratchet { stated: *ratchet, allowed: *allow_lower };
            return update(results, (to.as_deref(), suite), *add, kept, env);
        }
        BaselineCommand::Refresh { suite, to, runs, out } => {
            not_in_pull_request(env)?;
            return refresh::refresh(suite, to.as_deref(), *runs, out, env);
        }
        BaselineCommand::Show { baseline } => screen::out(&shown(&read(baseline, env)?)),
        BaselineCommand::Diff { old, new } => screen::out(&difference(&read(old, env)?, &read(new, env)?)),
    }
    Ok(Ending::printed())
}

fn read(place: &str, env: &Env) -> Result<Baseline, Failed> {
    let place = keep::named(place, USUAL, env).map_err(no_place)?;
    let stored = keep::wait(place.load()).map_err(Failed::CouldNot)??;
    Ok(parse_baseline(&stored.bytes, Path::new(&place.name()), &place.name())?)
}

/// What the command line says of lower levels.
#[derive(Clone, Copy)]
struct Ratchet {
    stated: Option<f64>,
    allowed: bool,
}

/// What a step of `refresh` came to.
enum Step {
    /// To a pool of so many.
    Added(usize),
    /// The pool has as many runs as are wanted.
    Full(usize),
    Ended(Ending),
}

/// The baseline that is there now; `None`: there is none.
fn stored_in(place: &dyn Place) -> Result<Option<Baseline>, Failed> {
    match keep::wait(place.load()).map_err(Failed::CouldNot)? {
        Ok(stored) => Ok(Some(parse_baseline(&stored.bytes, Path::new(&place.name()), &place.name())?)),
        Err(StoreError::Absent { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn no_place(why: String) -> Failed {
    Failed::usage("unknown-baseline", why, "name a file, `git:BRANCH`, or an address: https://, s3://, gs://, az://")
}

/// Where the run is accepted: as the command line says, else as the suite does.
fn destination(to: Option<&str>, suite: &Path, run: &RunHeader, env: &Env) -> Result<Box<dyn Place>, Failed> {
    if let Some(to) = to {
        return named(to, &run.suite, env);
    }
    let suite = suite::load(suite, env)?;
    let mut problems = Diagnostics::default();
    match Policy::build(suite.gate.as_ref(), &run.metrics, &mut problems) {
        Some(policy) => of_suite(&suite, &policy, env),
        None => Err(problems.into()),
    }
}

/// The place that the command line names; `suite` names the path where it names none.
fn named(to: &str, suite: &str, env: &Env) -> Result<Box<dyn Place>, Failed> {
    keep::named(to, &reference::place(None, suite), env).map_err(no_place)
}

/// The place that the suite names.
fn of_suite(suite: &Suite, policy: &Policy, env: &Env) -> Result<Box<dyn Place>, Failed> {
    let asked = policy.baseline.as_ref().ok_or_else(|| {
        let message = format!("the suite {} asks for no baseline", suite.path.display());
        Failed::usage(
            "no-baseline",
            message,
            "say where to with `--to PLACE`, or add `gate: { baseline: { from: … } }`",
        )
    })?;
    let place = reference::place(asked.path.as_deref(), &suite.name);
    keep::of_suite(suite, asked, &place, env).map_err(no_place)
}

/// Over what is there now, and nothing else: whoever was first is not overwritten unseen.
///
/// `anew`: its answers were asked for; else a run that repeats one of the pool is refused.
async fn keep_in(place: &dyn Place, newest: Baseline, add: bool, anew: bool) -> Result<Baseline, Failed> {
    for _ in 0..ATTEMPTS {
        let (earlier, over) = match place.load().await {
            Ok(stored) => (Some(stored.bytes), stored.mark),
            Err(StoreError::Absent { .. }) if !add => (None, Mark::Nothing),
            Err(error) => return Err(error.into()),
        };
        let baseline = match earlier.filter(|_| add) {
            Some(bytes) => {
                let earlier = parse_baseline(&bytes, Path::new(&place.name()), &place.name())?;
                if !anew && let Some(same) = repeats(&earlier, &newest) {
                    let id = terminal(&same.id, NAME);
                    return Err(Failed::CouldNot(format!(
                        "it repeats run {id}, which is in the baseline: its answers are kept or recorded ones, and a copy would make the \
                         baseline look steadier than the application is; measure again with `scoregate run --ledger refresh`"
                    )));
                }
                pool(earlier, newest.clone()).map_err(Failed::CouldNot)?
            }
            None => newest.clone(),
        };
        match place.save(render_baseline(&baseline)?.as_bytes(), &over).await {
            Ok(()) => return Ok(baseline),
            Err(StoreError::Moved { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(StoreError::Moved { place: place.name() }.into())
}

/// A pull request must not move its own yardstick, nor a change that waits in a merge queue (security §9).
fn not_in_pull_request(env: &Env) -> Result<(), Failed> {
    if !of_proposal(env) {
        return Ok(());
    }
    Err(Failed::usage(
        "baseline-in-pull-request",
        "a pull request, or a change in a merge queue, cannot accept its own results as the baseline",
        "run `scoregate baseline update` on the main branch after the merge",
    ))
}

/// Half a run is no baseline (security §9).
fn update(
    results: &Path,
    (to, suite): (Option<&str>, &Path),
    add: bool,
    ratchet: Ratchet,
    env: &Env,
) -> Result<Ending, Failed> {
    if ratchet.stated.is_some_and(|tolerance| !(0.0..=1.0).contains(&tolerance)) {
        return Err(Failed::usage("out-of-range", "--ratchet is out of its range", "it must be from 0 to 1"));
    }
    let run = read_results(results)?;
    let refused = |why: &str| Err(Failed::CouldNot(format!("{}: {why}", results.display())));
    if !run.completion.as_ref().is_some_and(|end| end.complete) {
        return refused("the run is not complete, so it cannot be a baseline");
    }
    if let Some(part) = run.header.shard {
        return refused(&format!("this is only shard {} of a run; join all shards with `scoregate merge`", part.shard));
    }
    if let Some(selection) = &run.header.selection {
        let words = selection.words(run.header.cases);
        return refused(&format!("a run of some cases cannot be a baseline ({words})"));
    }
    if run.header.filtered {
        return refused("a filtered run cannot be a baseline");
    }
    if run.cases.is_empty() || run.header.metrics.is_empty() {
        return refused("the run measured nothing, so it cannot be a baseline");
    }
    enough(&run, &policy_of(suite, &run.header, env)).map_err(|why| {
        let file = suite.display();
        Failed::CouldNot(format!(
            "{}: {why}. Where its gate asks for less, name the suite: --suite {file}",
            results.display()
        ))
    })?;
    let place = destination(to, suite, &run.header, env)?;
    let newest = newest(&run, results, env)?;
    // What is read here must be what is replaced.
    let _alone = place.hold()?;
    if let Some(reason) = lowers(&*place, &newest, suite, ratchet, env)? {
        return Ok(Ending::because(ExitCode::Failed, reason));
    }
    let baseline = keep::wait(keep_in(&*place, newest, add, asked_anew(&run))).map_err(Failed::CouldNot)??;
    said(&run, &baseline, &*place);
    Ok(Ending::printed())
}

/// A run of `refresh`, which was judged already.
fn take(run: &Run, results: &Path, place: &dyn Place, env: &Env) -> Result<(), Failed> {
    if !run.completion.as_ref().is_some_and(|end| end.complete) {
        let why = run.completion.as_ref().and_then(|end| end.reason.clone()).unwrap_or_default();
        return Err(Failed::CouldNot(format!("the run is not complete, so it was not added: {why}")));
    }
    if run.header.filtered || run.cases.is_empty() {
        return Err(Failed::CouldNot("a filtered run, or one of no cases, cannot be a baseline".to_owned()));
    }
    let newest = newest(run, results, env)?;
    let _alone = place.hold()?;
    let there = !matches!(keep::wait(place.load()).map_err(Failed::CouldNot)?, Err(StoreError::Absent { .. }));
    let baseline = keep::wait(keep_in(place, newest, there, true)).map_err(Failed::CouldNot)??;
    said(run, &baseline, place);
    Ok(())
}

/// The run as a baseline of its own.
fn newest(run: &Run, results: &Path, env: &Env) -> Result<Baseline, Failed> {
    let texts = Texts::open(results)?;
    let by = env.get("GITHUB_ACTOR").or_else(|| env.get("BUILD_REQUESTEDFOR")).or_else(|| env.get("GITLAB_USER_LOGIN"));
    let accepted = BaselineRun { by: by.map(str::to_owned), ..BaselineRun::of(run) };
    Ok(accept(run, accepted, Some(&texts))?)
}

fn said(run: &Run, baseline: &Baseline, place: &dyn Place) {
    let cases = counted(baseline.cases.len() as u64, "case", "cases");
    let place = terminal(&place.name(), NAME);
    let of = match &*run.header.id {
        "" => String::new(),
        id => format!(" of run {}", terminal(id, NAME)),
    };
    screen::out(&format!("accepted {cases}{of} into {place}\n"));
    if let Some(note) = lost(run) {
        screen::message(&note);
    }
}

/// Why the ratchet does not let the run in; `None`: it does.
///
/// The suite's own applies with `--to`, too, as far as there is a suite.
fn lowers(
    place: &dyn Place,
    newest: &Baseline,
    suite: &Path,
    ratchet: Ratchet,
    env: &Env,
) -> Result<Option<String>, Failed> {
    if ratchet.allowed {
        return Ok(None);
    }
    // Where nothing is yet, nothing is lowered.
    let Some(earlier) = stored_in(place)? else { return Ok(None) };
    let policy = match (rules(suite, newest, env), ratchet.stated) {
        (Ok(policy), _) => policy,
        // What the command line says goes before the suite's.
        (Err(_), Some(_)) => Policy::default(),
        (Err(why), None) => {
            let message = format!("whether the baseline {} may be lowered is not known: {why}", place.name());
            return Err(Failed::usage(
                "unknown-ratchet",
                message,
                "name the run's suite with `--suite FILE`, or say it here: `--ratchet TOLERANCE`, or `--allow-lower`",
            ));
        }
    };
    let stated = policy.baseline.as_ref().and_then(|asked| asked.ratchet);
    let Some(tolerance) = ratchet.stated.or(stated) else { return Ok(None) };
    let several = earlier.cases.iter().map(|case| &case.target).collect::<BTreeSet<_>>().len() > 1;
    let one = |fallen: &Fallen| {
        let of = if several { format!(" ({})", terminal(&fallen.target, NAME)) } else { String::new() };
        let cases = counted(fallen.cases, "case", "cases");
        let levels = number::pair(fallen.baseline, fallen.current);
        format!("{}{of} {levels} over {cases}", terminal(&fallen.metric, NAME))
    };
    let unknown: Vec<String> = policy
        .incomparable(&earlier, newest)
        .iter()
        .map(|Incomparable { metric, target, gone }| {
            let of = if several { format!(" ({})", terminal(target, NAME)) } else { String::new() };
            let why = if *gone { "is not in this run" } else { "has no score on a case that both have unchanged" };
            format!("{}{of} {why}", terminal(metric, NAME))
        })
        .collect();
    if !unknown.is_empty() {
        return Ok(Some(format!(
            "the baseline only moves up (tolerance {tolerance}), and whether this run would lower it cannot be told: {}; the baseline is as it \
             was. Where that is wanted: --allow-lower",
            unknown.join("; ")
        )));
    }
    let fallen: Vec<String> = policy.fallen(&earlier, newest, tolerance).iter().map(one).collect();
    Ok((!fallen.is_empty()).then(|| {
        format!(
            "the baseline only moves up (tolerance {tolerance}), and this run would lower it: {}; the baseline is as it was. Where the lower \
             level is wanted: --allow-lower",
            fallen.join("; ")
        )
    }))
}

/// The policy of the run's suite; none where there is no suite at all, and nobody named one.
fn rules(suite: &Path, newest: &Baseline, env: &Env) -> Result<Policy, String> {
    let shown = suite.display();
    if !suite.exists() {
        let usual = suite == Path::new(SUITE);
        return if usual { Ok(Policy::default()) } else { Err(format!("there is no {shown}")) };
    }
    let unreadable = |problems: &Diagnostics| {
        let first = problems.iter().next().map_or_else(String::new, |problem| format!(": {}", problem.message));
        format!("the suite {shown} is not right{first}")
    };
    let suite = suite::load(suite, env).map_err(|problems| unreadable(&problems))?;
    if suite.name != newest.suite {
        return Err(format!("{shown} is the suite `{}`, and the run is one of `{}`", suite.name, newest.suite));
    }
    let mut problems = Diagnostics::default();
    Policy::build(suite.gate.as_ref(), &newest.metrics, &mut problems).ok_or_else(|| unreadable(&problems))
}

/// Whether most of what the run says was asked for it, and not read from the ledger or a file.
fn asked_anew(run: &Run) -> bool {
    run.completion.as_ref().is_some_and(|end| end.calls.requests > end.calls.cache_hits)
}

/// Whether this job is a pull request's or a merge queue's, on the hosts that say so in the environment.
fn of_proposal(env: &Env) -> bool {
    let event = env.get("GITHUB_EVENT_NAME").unwrap_or_default();
    event.starts_with("pull_request")
        || event == "merge_group"
        // A merge train tests the change before it is merged, as a merge request's pipeline.
        || env.get("CI_MERGE_REQUEST_EVENT_TYPE").is_some()
        || env.get("SYSTEM_PULLREQUEST_PULLREQUESTID").is_some()
        || env.get("CI_MERGE_REQUEST_IID").is_some()
}

fn shown(baseline: &Baseline) -> String {
    let suite = if baseline.suite.is_empty() { NONE.to_owned() } else { terminal(&baseline.suite, NAME) };
    let mut text = format!("suite   {suite}\n");
    for run in &baseline.runs {
        let part =
            |value: &Option<String>| value.as_deref().map_or_else(|| NONE.to_owned(), |text| terminal(text, NAME));
        let _ = writeln!(
            text,
            "run     {}  commit {}  date {}  by {}  trials {}",
            if run.id.is_empty() { NONE.to_owned() } else { terminal(&run.id, NAME) },
            part(&run.commit),
            part(&run.date),
            part(&run.by),
            run.trials
        );
    }
    let _ = writeln!(text, "cases   {}", number::count(baseline.cases.len() as u64));
    let targets: BTreeSet<&str> = baseline.cases.iter().map(|case| &*case.target).collect();
    for metric in &baseline.metrics {
        for target in &targets {
            let cases = baseline.cases.iter().filter(|case| *case.target == **target);
            let means: Vec<f64> = cases.filter_map(|case| case_mean(case, &metric.name)).collect();
            let mean = mean(&means).map_or_else(|| NONE.to_owned(), number::score);
            let name = terminal(&metric.name, NAME);
            let of = if targets.len() > 1 { format!(" ({})", terminal(target, NAME)) } else { String::new() };
            let cases = counted(means.len() as u64, "case", "cases");
            let _ = writeln!(text, "metric  {:<24} mean {mean} over {cases}", format!("{name}{of}"));
        }
    }
    text
}

/// Mean of all trials of a case, in all runs.
fn case_mean(case: &BaselineCase, metric: &str) -> Option<f64> {
    let values: Vec<f64> = case.scores.get(metric)?.iter().flatten().copied().collect();
    mean(&values)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Cases that went (`-`), came (`+`) or are asked otherwise (`~`), and the scores that moved.
fn difference(old: &Baseline, new: &Baseline) -> String {
    type Key<'b> = (&'b str, &'b str);
    fn by_name(baseline: &Baseline) -> BTreeMap<Key<'_>, &BaselineCase> {
        baseline.cases.iter().map(|case| ((&*case.id, &*case.target), case)).collect()
    }
    let (before, after) = (by_name(old), by_name(new));
    let targets: BTreeSet<&str> = before.keys().chain(after.keys()).map(|(_, target)| *target).collect();
    let name = |(id, target): &Key<'_>| {
        let id = terminal(id, NAME);
        if targets.len() > 1 { format!("{id} ({})", terminal(target, NAME)) } else { id }
    };
    let mut text = String::new();
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        let _ = writeln!(text, "- {}", name(key));
    }
    for key in after.keys().filter(|key| !before.contains_key(*key)) {
        let _ = writeln!(text, "+ {}", name(key));
    }
    for (key, case) in &after {
        let Some(earlier) = before.get(key) else { continue };
        if earlier.content != case.content {
            let _ = writeln!(text, "~ {}  the case itself changed", name(key));
        }
        let metrics: BTreeSet<&MetricName> = earlier.scores.keys().chain(case.scores.keys()).collect();
        for metric in metrics {
            let moved = match (case_mean(earlier, metric), case_mean(case, metric)) {
                (from, to) if from == to => continue,
                (Some(from), Some(to)) => number::pair(from, to),
                (from, to) => {
                    let show = |value: Option<f64>| value.map_or_else(|| NONE.to_owned(), number::score);
                    format!("{} → {}", show(from), show(to))
                }
            };
            let _ = writeln!(text, "  {}  {}  {moved}", name(key), terminal(metric, NAME));
        }
    }
    if text.is_empty() { "no difference\n".to_owned() } else { text }
}

#[cfg(test)]
mod tests;
