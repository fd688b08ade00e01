//! `scoregate baseline update|show|diff`

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use crate::cli::args::{BaselineArgs, BaselineCommand};
use crate::cli::ending::Ending;
use crate::cli::failure::Failed;
use crate::cli::screen;
use crate::domain::{Baseline, BaselineCase, BaselineRun, Env, MetricName, Run};
use crate::report::escape::terminal;
use crate::store::{
    Lock, Texts, accept, pool, read_baseline, read_results, render_baseline, repeats, tidy, write_atomic,
};
use crate::text::number::{self, NONE, counted};

/// Characters of a name, an id or a path.
const NAME: usize = 200;

pub(in crate::cli) fn execute(args: &BaselineArgs, env: &Env) -> Result<Ending, Failed> {
    match &args.command {
        BaselineCommand::Update { results, to, add } => update(results, to, *add, env)?,
        BaselineCommand::Show { baseline } => screen::out(&shown(&read(baseline)?)),
        BaselineCommand::Diff { old, new } => screen::out(&difference(&read(old)?, &read(new)?)),
    }
    Ok(Ending::printed())
}

fn read(path: &Path) -> Result<Baseline, Failed> {
    Ok(read_baseline(path, &path.display().to_string())?)
}

/// A pull request must not move its own yardstick, and half a run is none (security §9).
fn update(results: &Path, to: &Path, add: bool, env: &Env) -> Result<(), Failed> {
    if of_pull_request(env) {
        return Err(Failed::usage(
            "baseline-in-pull-request",
            "a pull request cannot accept its own results as the baseline",
            "run `scoregate baseline update` on the main branch after the merge",
        ));
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
    let texts = Texts::open(results)?;
    let by = env.get("GITHUB_ACTOR").or_else(|| env.get("BUILD_REQUESTEDFOR")).or_else(|| env.get("GITLAB_USER_LOGIN"));
    let accepted = BaselineRun { by: by.map(str::to_owned), ..BaselineRun::of(&run.header) };
    let mut baseline = accept(&run, accepted, Some(&texts))?;
    let name = to.file_name().unwrap_or_default().to_string_lossy();
    // What is read here must be what is replaced.
    let _alone = Lock::wait(&to.with_file_name(format!(".{name}.lock")))?;
    tidy(to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")));
    if add {
        let known = read(to)?;
        if !asked_anew(&run)
            && let Some(same) = repeats(&known, &baseline)
        {
            let id = terminal(&same.id, NAME);
            return refused(&format!(
                "it repeats run {id}, which is in the baseline: its answers are kept or recorded ones, and a copy would make the \
                 baseline look steadier than the application is; measure again with `scoregate run --ledger refresh`"
            ));
        }
        baseline = pool(known, baseline).map_err(Failed::CouldNot)?;
    }
    write_atomic(to, render_baseline(&baseline)?.as_bytes())?;
    let cases = counted(baseline.cases.len() as u64, "case", "cases");
    let place = terminal(&to.display().to_string(), NAME);
    let of = match &*run.header.id {
        "" => String::new(),
        id => format!(" of run {}", terminal(id, NAME)),
    };
    screen::out(&format!("accepted {cases}{of} into {place}\n"));
    Ok(())
}

/// Whether most of what the run says was asked for it, and not read from the ledger or a file.
fn asked_anew(run: &Run) -> bool {
    run.completion.as_ref().is_some_and(|end| end.calls.requests > end.calls.cache_hits)
}

/// Whether this job is a pull request's, on the hosts that say so in the environment.
fn of_pull_request(env: &Env) -> bool {
    matches!(env.get("GITHUB_EVENT_NAME"), Some("pull_request" | "pull_request_target"))
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
