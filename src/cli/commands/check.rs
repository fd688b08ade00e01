//! `scoregate check [SUITE]`

use crate::cli::args::SuiteInput;
use crate::cli::ending::Ending;
use crate::cli::failure::Failed;
use crate::cli::prepare::prepare;
use crate::cli::screen;
use crate::domain::Env;
use crate::report::escape::terminal;
use crate::text::number::counted;

/// Characters of the suite's name.
const NAME: usize = 200;

pub(in crate::cli) fn execute(args: &SuiteInput, env: &Env) -> Result<Ending, Failed> {
    let SuiteInput { suite } = args;
    let prepared = prepare(suite, env)?;
    let plan = &prepared.plan;
    let metrics = plan.evaluators.len() as u64;
    screen::out(&format!(
        "{}: {}, {}, {}, {} a case: {}, {}\n",
        terminal(&plan.redactor.redact(&prepared.suite.name), NAME),
        counted(prepared.dataset.len as u64, "case", "cases"),
        counted(plan.targets.len() as u64, "target", "targets"),
        counted(metrics, "metric", "metrics"),
        counted(u64::from(plan.limits.trials), "trial", "trials"),
        counted(plan.header.outcomes(), "answer", "answers"),
        counted(plan.header.outcomes().saturating_mul(metrics), "score", "scores"),
    ));
    Ok(Ending::printed())
}
