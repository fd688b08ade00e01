//! `scoregate compare CURRENT [BASELINE]`: the gate from files.

use std::path::Path;

use crate::cli::args::{CompareArgs, Format};
use crate::cli::exit_code::ExitCode;
use crate::cli::failure::Failed;
use crate::cli::{reports, screen};
use crate::diagnostic::Diagnostics;
use crate::domain::{Baseline, BaselineRun, Env, Redactor};
use crate::gate::{BaselineState, Policy, judge};
use crate::report;
use crate::store::{StoreError, Texts, accept, read_baseline, read_results};
use crate::suite;

pub(in crate::cli) fn execute(args: &CompareArgs, env: &Env) -> Result<(ExitCode, String), Failed> {
    let run = read_results(&args.current)?;
    let suite = args.suite.as_deref().map(|path| suite::load(path, env)).transpose()?;
    let redactor = suite.as_ref().map_or_else(Redactor::default, |suite| Redactor::new(&suite.secrets));
    let mut problems = Diagnostics::default();
    let gate = suite.as_ref().and_then(|suite| suite.gate.as_ref());
    let Some(policy) = Policy::build(gate, &[], &mut problems) else {
        return Err(Failed::Wrong(problems).masked(&redactor));
    };
    let baseline = match &args.baseline {
        None => BaselineState::NotAsked,
        Some(path) => load(path)?,
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
        reports::write(&view, &report::ReportSettings::default(), folder)?;
    }
    Ok((ExitCode::of_verdict(verdict.exit_code), view.redactor().redact(&verdict.headline)))
}

/// A baseline file, or a results file of an earlier run. A file that was named must be there.
pub(super) fn load(path: &Path) -> Result<BaselineState, Failed> {
    let shown = path.display().to_string();
    let first = first_line(path);
    if first.contains("\"type\":\"baseline\"") {
        return match read_baseline(path, &shown) {
            Ok(baseline) => Ok(BaselineState::Found(Box::new(baseline))),
            Err(error @ (StoreError::Absent { .. } | StoreError::Newer { .. })) => Err(error.into()),
            Err(error) => Ok(BaselineState::Broken(error.to_string())),
        };
    }
    let run = match read_results(path) {
        Ok(run) => run,
        Err(error @ (StoreError::Absent { .. } | StoreError::Newer { .. })) => return Err(error.into()),
        Err(error) => return Ok(BaselineState::Broken(error.to_string())),
    };
    if !run.completion.as_ref().is_some_and(|end| end.complete) {
        return Ok(BaselineState::Broken(format!(
            "{shown}: the run is not complete, so nothing can be compared with it"
        )));
    }
    let texts = Texts::open(path)?;
    let texts = (!run.header.metrics.is_empty() && first.contains("\"type\":\"run\"")).then_some(texts);
    let accepted = BaselineRun {
        id: run.header.id.clone(),
        commit: run.header.commit.clone(),
        date: run.header.started.clone(),
        by: None,
        trials: run.header.trials,
    };
    let mut baseline: Baseline = accept(&run, accepted, texts.as_ref())?;
    baseline.source.place = shown;
    Ok(BaselineState::Found(Box::new(baseline)))
}

fn first_line(path: &Path) -> String {
    use std::io::{BufRead as _, BufReader, Read as _};
    let Ok(file) = std::fs::File::open(path) else { return String::new() };
    let mut line = Vec::new();
    let _ = BufReader::new(file).take(1 << 20).read_until(b'\n', &mut line);
    String::from_utf8_lossy(&line).into_owned()
}
