//! `scoregate check [SUITE]`

use crate::cli::args::SuiteArgs;
use crate::cli::exit_code::ExitCode;
use crate::cli::failure::Failed;
use crate::cli::prepare::prepare;
use crate::cli::screen;
use crate::domain::Env;

pub(in crate::cli) fn execute(args: &SuiteArgs, env: &Env) -> Result<(ExitCode, String), Failed> {
    let prepared = prepare(&args.suite, env)?;
    let (cases, trials) = (prepared.dataset.len as u64, u64::from(prepared.plan.limits.trials));
    let answers = cases * trials * prepared.plan.targets.len() as u64;
    let metrics = prepared.plan.evaluators.len() as u64;
    screen::out(&format!(
        "{}: {cases} cases, {} targets, {metrics} metrics, {trials} trials a case: {answers} answers, {} scores\n",
        prepared.suite.name,
        prepared.plan.targets.len(),
        answers * metrics,
    ));
    Ok((ExitCode::Passed, String::new()))
}
