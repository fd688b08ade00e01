//! `scoregate check [SUITE]`

use crate::cli::args::{CheckArgs, SuiteInput};
use crate::cli::ending::Ending;
use crate::cli::failure::Failed;
use crate::cli::prepare::prepare;
use crate::cli::{reference, screen};
use crate::domain::Env;
use crate::report::escape::terminal;
use crate::text::number::counted;

/// Characters of the suite's name.
const NAME: usize = 200;

pub(in crate::cli) fn execute(args: &CheckArgs, env: &Env) -> Result<Ending, Failed> {
    let CheckArgs { input: SuiteInput { suite }, select } = args;
    let prepared = prepare(suite, select, env)?;
    let plan = &prepared.plan;
    let baseline = reference::of_suite(&prepared.suite, &prepared.policy);
    let mut told = reference::foretell(&prepared.suite, &prepared.policy, &baseline);
    if !told.is_empty() {
        told.map_texts(|text| plan.redactor.redact(text));
        screen::diagnostics(&told);
    }
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
        let workers = plan.limits.workers;
        let at_once =
            workers.map_or_else(String::new, |workers| format!(", {workers} calls at once for each endpoint"));
        screen::out(&format!("shard {}: {} of {of}{at_once}\n", part.shard, header.cases));
    }
    Ok(Ending::printed())
}
