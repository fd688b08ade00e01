//! `scoregate baseline update|show|diff`

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use crate::cli::args::{BaselineArgs, BaselineCommand};
use crate::cli::exit_code::ExitCode;
use crate::cli::failure::Failed;
use crate::cli::screen;
use crate::domain::{Baseline, BaselineCase, BaselineRun, Env};
use crate::report::escape::terminal;
use crate::store::{Lock, Texts, accept, pool, read_baseline, read_results, render_baseline, write_atomic};

pub(in crate::cli) fn execute(args: &BaselineArgs, env: &Env) -> Result<(ExitCode, String), Failed> {
    match &args.command {
        BaselineCommand::Update { results, to, add } => update(results, to, *add, env),
        BaselineCommand::Show { baseline } => show(baseline),
        BaselineCommand::Diff { old, new } => diff(old, new),
    }
}

/// A pull request must not move its own yardstick, and half a run is none (security §9).
fn update(results: &Path, to: &Path, add: bool, env: &Env) -> Result<(ExitCode, String), Failed> {
    if matches!(env.get("GITHUB_EVENT_NAME"), Some("pull_request" | "pull_request_target")) {
        return Err(Failed::usage(
            "baseline-in-pull-request",
            "a pull request cannot accept its own results as the baseline",
            "run `scoregate baseline update` on the main branch after the merge",
        ));
    }
    let run = read_results(results)?;
    let end = run.completion.as_ref();
    if !end.is_some_and(|end| end.complete) {
        return Err(Failed::CouldNot(format!(
            "{}: the run is not complete, so it cannot be a baseline",
            results.display()
        )));
    }
    if run.header.filtered {
        return Err(Failed::CouldNot(format!("{}: a filtered run cannot be a baseline", results.display())));
    }
    let texts = Texts::open(results)?;
    let by = env.get("GITHUB_ACTOR").or_else(|| env.get("BUILD_REQUESTEDFOR")).or_else(|| env.get("GITLAB_USER_LOGIN"));
    let accepted = BaselineRun {
        id: run.header.id.clone(),
        commit: run.header.commit.clone(),
        date: run.header.started.clone(),
        by: by.map(str::to_owned),
        trials: run.header.trials,
    };
    let mut baseline = accept(&run, accepted, Some(&texts))?;
    let name = to.file_name().unwrap_or_default().to_string_lossy();
    // What is read here must be what is replaced.
    let _alone = Lock::wait(&to.with_file_name(format!(".{name}.lock")))?;
    if add {
        baseline = pool(read(to)?, baseline).map_err(Failed::CouldNot)?;
    }
    write_atomic(to, render_baseline(&baseline)?.as_bytes())?;
    let cases = baseline.cases.len();
    screen::out(&format!("accepted {cases} cases of run {} into {}\n", shown(&run.header.id), to.display()));
    Ok((ExitCode::Passed, String::new()))
}

fn show(path: &Path) -> Result<(ExitCode, String), Failed> {
    let baseline = read(path)?;
    let mut text = String::new();
    let _ = writeln!(text, "suite   {}", shown(&baseline.suite));
    for run in &baseline.runs {
        let part = |value: &Option<String>| value.as_deref().map_or_else(|| "–".to_owned(), shown);
        let (commit, date, by) = (part(&run.commit), part(&run.date), part(&run.by));
        let _ =
            writeln!(text, "run     {}  commit {commit}  date {date}  by {by}  trials {}", shown(&run.id), run.trials);
    }
    let _ = writeln!(text, "cases   {}", baseline.cases.len());
    for metric in &baseline.metrics {
        let (mean, n) = mean_of(&baseline, &metric.name);
        let mean = mean.map_or_else(|| "none".to_owned(), |mean| format!("{mean:.4}"));
        let _ = writeln!(text, "metric  {:<24} mean {mean} over {n} cases", shown(&metric.name));
    }
    screen::out(&text);
    Ok((ExitCode::Passed, String::new()))
}

/// A name out of a file, for the screen.
fn shown(name: &str) -> String {
    terminal(name, 200)
}

fn read(path: &Path) -> Result<Baseline, Failed> {
    Ok(read_baseline(path, &path.display().to_string())?)
}

/// Mean of all trials of a case.
fn case_mean(case: &BaselineCase, metric: &str) -> Option<f64> {
    let values: Vec<f64> = case.scores.get(metric)?.iter().flatten().copied().collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn mean_of(baseline: &Baseline, metric: &str) -> (Option<f64>, usize) {
    let means: Vec<f64> = baseline.cases.iter().filter_map(|case| case_mean(case, metric)).collect();
    ((!means.is_empty()).then(|| means.iter().sum::<f64>() / means.len() as f64), means.len())
}

fn diff(old: &Path, new: &Path) -> Result<(ExitCode, String), Failed> {
    let (old, new) = (read(old)?, read(new)?);
    let key = |case: &BaselineCase| (case.id.to_string(), case.target.to_string());
    let before: BTreeMap<_, _> = old.cases.iter().map(|case| (key(case), case)).collect();
    let after: BTreeMap<_, _> = new.cases.iter().map(|case| (key(case), case)).collect();
    let mut text = String::new();
    for (id, _) in before.keys().filter(|key| !after.contains_key(*key)) {
        let _ = writeln!(text, "- {}", shown(id));
    }
    for (id, _) in after.keys().filter(|key| !before.contains_key(*key)) {
        let _ = writeln!(text, "+ {}", shown(id));
    }
    for (key, case) in &after {
        let Some(earlier) = before.get(key) else { continue };
        let id = shown(&key.0);
        if earlier.content != case.content {
            let _ = writeln!(text, "~ {id}  the case itself changed");
        }
        for metric in case.scores.keys() {
            let (from, to) = (case_mean(earlier, metric), case_mean(case, metric));
            if from != to {
                let show = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |value| format!("{value}"));
                let _ = writeln!(text, "  {id}  {}  {} → {}", shown(metric), show(from), show(to));
            }
        }
    }
    if text.is_empty() {
        text.push_str("no difference\n");
    }
    screen::out(&text);
    Ok((ExitCode::Passed, String::new()))
}
