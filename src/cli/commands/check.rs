//! `scoregate check [SUITE]`

use crate::cli::args::{CheckArgs, SuiteInput};
use crate::cli::ending::Ending;
use crate::cli::failure::Failed;
use crate::cli::prepare::prepare;
use crate::cli::screen;
use crate::domain::Env;
use crate::report::escape::terminal;
use crate::report::number::counted;

/// Characters of the suite's name.
const NAME: usize = 200;

pub(in crate::cli) fn execute(args: &CheckArgs, env: &Env) -> Result<Ending, Failed> {
    let CheckArgs { input: SuiteInput { suite }, select } = args;
    let prepared = prepare(suite, select, env)?;
    let plan = &prepared.plan;
    let metrics = plan.evaluators.len() as u64;
    screen::out(&format!(
        "{}: {}, {}, {}, {} a case: {}, {}\n",
        terminal(&plan.redactor.redact(&prepared.suite.name), NAME),
        counted(plan.header.cases, "case", "cases"),
        counted(plan.targets.len() as u64, "target", "targets"),
        counted(metrics, "metric", "metrics"),
        counted(u64::from(plan.limits.trials), "trial", "trials"),
        counted(plan.header.outcomes(), "answer", "answers"),
        counted(plan.header.outcomes().saturating_mul(metrics), "score", "scores"),
    ));
    let header = &plan.header;
    if let Some(selection) = &header.selection {
        let cases = header.shard.map_or(header.cases, |part| part.of);
        let by = plan.redactor.redact(&selection.by.join(" "));
        screen::out(&format!("{} ({})\n", selection.words(cases), terminal(&by, NAME)));
    }
    if let Some(part) = header.shard {
        let of = counted(part.of, "case", "cases");
        screen::out(&format!("shard {}: {} of {of}, {} at once\n", part.shard, header.cases, plan.limits.workers));
    }
    Ok(Ending::printed())
}
