//! `scoregate compare CURRENT [BASELINE]`: the gate from files.

use std::path::Path;

use crate::cli::args::{CompareArgs, Format};
use crate::cli::exit_code::ExitCode;
use crate::cli::failure::Failed;
use crate::cli::{prepare, reports, screen};
use crate::diagnostic::Diagnostics;
use crate::domain::{Baseline, BaselineRun, Env, MetricSpec, Redactor, Run};
use crate::gate::{BaselineState, Policy, judge};
use crate::report;
use crate::store::{StoreError, Texts, accept, pool, read_baseline, read_runs};
use crate::suite;

pub(in crate::cli) fn execute(args: &CompareArgs, env: &Env) -> Result<(ExitCode, String), Failed> {
    let suite = args.suite.as_deref().map(|path| suite::load(path, env)).transpose()?;
    let redactor = suite.as_ref().map_or_else(Redactor::default, |suite| Redactor::new(&suite.secrets));
    let mut problems = Diagnostics::default();
    let gate = suite.as_ref().and_then(|suite| suite.gate.as_ref());
    let Some(policy) = Policy::build(gate, &[], &mut problems) else {
        return Err(Failed::Wrong(problems).masked(&redactor));
    };
    let declared = policy.declared();
    let run = one_run(&args.current, &declared)?;
    let baseline = match &args.baseline {
        // What the suite asks for is asked for here too: a comparison without it would be green without evidence.
        None => suite.as_ref().map_or(BaselineState::NotAsked, |suite| prepare::baseline(suite, &policy)),
        Some(path) => load(path, &declared)?,
    };
    let verdict = judge(&run, &baseline, &policy);
    let texts = reports::texts(&run);
    let found = match &baseline {
        BaselineState::Found(baseline) => Some(&**baseline),
        BaselineState::NotAsked | BaselineState::Absent(_) | BaselineState::Broken(_) => None,
    };
    let view = reports::view(&run, &verdict, found, texts.as_ref(), redactor);
    match args.format {
        Format::Human => screen::out(&report::screen(&view, report::Screen::stdout())),
        Format::Json => screen::out(&report::verdict_json(&view).map_err(Failed::CouldNot)?),
    }
    if let Some(folder) = &args.out {
        let _alone = reports::hold(folder)?;
        reports::write(&view, &report::ReportSettings::default(), folder)?;
    }
    Ok((ExitCode::of_verdict(verdict.exit_code), view.redactor().redact(&verdict.headline)))
}

/// The run under test; a file of several runs leaves open which one.
fn one_run(path: &Path, declared: &[MetricSpec]) -> Result<Run, Failed> {
    let mut runs = read_runs(path, declared).map_err(|error| match error {
        StoreError::Corrupt { .. } => Failed::usage(
            "bad-results",
            error.to_string(),
            "name a results file that scoregate wrote, or lines of case, metric and value",
        ),
        error => error.into(),
    })?;
    match (runs.pop(), runs.is_empty()) {
        (Some(run), true) => Ok(run),
        _ => {
            let message = format!("{} holds several runs, and one is to be judged", path.display());
            Err(Failed::usage("several-runs", message, "keep the lines of one `run`"))
        }
    }
}

/// A baseline file, or the results of earlier runs. A file that was named must be there.
pub(super) fn load(path: &Path, declared: &[MetricSpec]) -> Result<BaselineState, Failed> {
    let shown = path.display().to_string();
    let first = first_line(path);
    if first.contains("\"type\":\"baseline\"") {
        return match read_baseline(path, &shown) {
            Ok(baseline) => Ok(BaselineState::Found(Box::new(baseline))),
            Err(error @ (StoreError::Absent { .. } | StoreError::Newer { .. })) => Err(error.into()),
            Err(error) => Ok(BaselineState::Broken(error.to_string())),
        };
    }
    let runs = match read_runs(path, declared) {
        Ok(runs) => runs,
        Err(error @ (StoreError::Absent { .. } | StoreError::Newer { .. })) => return Err(error.into()),
        Err(error) => return Ok(BaselineState::Broken(error.to_string())),
    };
    let ours = first.contains("\"type\":\"run\"");
    let texts = if ours { Some(Texts::open(path)?) } else { None };
    let mut pooled: Option<Baseline> = None;
    for (at, run) in runs.iter().enumerate() {
        if !run.completion.as_ref().is_some_and(|end| end.complete) {
            return Ok(BaselineState::Broken(format!(
                "{shown}: the run is not complete, so nothing can be compared with it"
            )));
        }
        let newest = accept(run, accepted(run, at), texts.as_ref())?;
        pooled = Some(match pooled {
            None => newest,
            Some(earlier) => match pool(earlier, newest) {
                Ok(pooled) => pooled,
                Err(problem) => return Ok(BaselineState::Broken(format!("{shown}: {problem}"))),
            },
        });
    }
    match pooled {
        None => Ok(BaselineState::Broken(format!("{shown}: the file holds no run"))),
        Some(mut baseline) => {
            baseline.source.place = shown;
            Ok(BaselineState::Found(Box::new(baseline)))
        }
    }
}

fn accepted(run: &Run, at: usize) -> BaselineRun {
    BaselineRun {
        id: if run.header.id.is_empty() { format!("run {}", at + 1) } else { run.header.id.clone() },
        commit: run.header.commit.clone(),
        date: run.header.started.clone(),
        by: None,
        trials: run.header.trials,
    }
}

fn first_line(path: &Path) -> String {
    use std::io::{BufRead as _, BufReader, Read as _};
    let Ok(file) = std::fs::File::open(path) else { return String::new() };
    let mut line = Vec::new();
    let _ = BufReader::new(file).take(1 << 20).read_until(b'\n', &mut line);
    String::from_utf8_lossy(&line).into_owned()
}
