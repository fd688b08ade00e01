//! `scoregate compare CURRENT [BASELINE]`: the gate from files.

use std::path::Path;

use crate::cli::args::{CompareArgs, Format, OutputArgs, ReportArgs, ResultsInput};
use crate::cli::base::{self, Subject, Yardstick};
use crate::cli::ending::Ending;
use crate::cli::exit_code::ExitCode;
use crate::cli::failure::{Failed, in_line};
use crate::cli::{reference, reports, screen};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::domain::{Env, MetricSpec, Redactor, Run};
use crate::gate::{BaselineState, Policy, judge_change};
use crate::report;
use crate::store::{StoreError, read_runs};
use crate::suite::{self, Suite};

pub(in crate::cli) fn execute(args: &CompareArgs, env: &Env) -> Result<Ending, Failed> {
    let suite = args.input.suite.as_deref().map(|path| suite::load(path, env)).transpose()?;
    let redactor = suite.as_ref().map_or_else(Redactor::default, |suite| Redactor::new(&suite.secrets));
    judge_files(args, suite.as_ref(), redactor.clone(), env).map_err(|failed| failed.masked(&redactor))
}

fn judge_files(args: &CompareArgs, suite: Option<&Suite>, redactor: Redactor, env: &Env) -> Result<Ending, Failed> {
    let CompareArgs {
        input: ResultsInput { current, baseline, suite: _ },
        base,
        report: ReportArgs { out },
        output: OutputArgs { format },
    } = args;
    let mut problems = Diagnostics::default();
    let policy = Policy::build(suite.and_then(|suite| suite.gate.as_ref()), &[], &mut problems);
    let policy = match policy {
        Some(policy) => policy,
        None => return Err(problems.into()),
    };
    let declared = policy.declared();
    let run = one_run(current, &declared)?;
    let yardstick = match suite {
        Some(suite) => {
            reference::check(suite, &policy, env, &mut problems);
            if problems.has_errors() {
                return Err(problems.into());
            }
            let subject = Subject { suite, policy, metrics: None, cases: base::cases_of(&run) };
            Yardstick::find(subject, base, env)?
        }
        None => Yardstick::own(policy),
    };
    let baseline = match baseline {
        // What the suite asks for is asked for here too: a comparison without it would be green without evidence.
        None => match suite {
            Some(suite) => reference::of_suite(suite, &yardstick, env)?,
            None => BaselineState::NotAsked,
        },
        Some(path) => reference::of_file(path, &declared)?,
    };
    let verdict = judge_change(&run, &baseline, &yardstick.policy, yardstick.record.as_ref());
    let texts = reports::texts(&run)?;
    let view = reports::view(&run, &verdict, &baseline, texts.as_ref(), redactor);
    match format {
        Format::Human => screen::out(&report::screen(&view, report::Screen::stdout())),
        Format::Json => screen::data(&report::verdict_json(&view).map_err(Failed::CouldNot)?),
    }
    if let Some(folder) = out {
        let _alone = reports::hold(folder)?;
        reports::write(&view, &report::ReportSettings::default(), folder)?;
    }
    Ok(Ending::because(ExitCode::of(verdict.exit_code), view.redactor().redact(&verdict.headline)))
}

/// The run under test; a file of several runs leaves open which one.
fn one_run(path: &Path, declared: &[MetricSpec]) -> Result<Run, Failed> {
    let mut runs = read_runs(path, declared).map_err(|error| match error {
        StoreError::Corrupt { path, line, problem } => {
            let message = if line == 0 { format!("{}: {problem}", path.display()) } else { problem };
            let problem = Diagnostic::error("bad-results", message)
                .help("name a results file that scoregate wrote, or lines of case, metric and value");
            Failed::Wrong(in_line(&path, line, None, problem).into())
        }
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
