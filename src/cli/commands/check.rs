//! `scoregate check [SUITE]`

use crate::cli::args::SuiteArgs;
use crate::cli::exit_code::ExitCode;
use crate::cli::failure::Failed;
use crate::cli::prepare::prepare;
use crate::cli::screen;
use crate::domain::Env;
use crate::report::escape::terminal;
use crate::report::number::counted;

pub(in crate::cli) fn execute(args: &SuiteArgs, env: &Env) -> Result<(ExitCode, String), Failed> {
    let prepared = prepare(&args.suite, env)?;
    let (cases, trials) = (prepared.dataset.len as u64, u64::from(prepared.plan.limits.trials));
    let answers = cases * trials * prepared.plan.targets.len() as u64;
    let metrics = prepared.plan.evaluators.len() as u64;
    let targets = prepared.plan.targets.len() as u64;
    screen::out(&format!(
        "{}: {}, {}, {}, {} a case: {}, {}\n",
        terminal(&prepared.suite.name, 200),
        counted(cases, "case", "cases"),
        counted(targets, "target", "targets"),
        counted(metrics, "metric", "metrics"),
        counted(trials, "trial", "trials"),
        counted(answers, "answer", "answers"),
        counted(answers * metrics, "score", "scores"),
    ));
    Ok((ExitCode::Passed, String::new()))
}
