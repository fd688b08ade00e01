//! `scoregate check [SUITE]`

use crate::cli::args::{CheckArgs, SuiteInput};
use crate::cli::ending::Ending;
use crate::cli::failure::Failed;
use crate::cli::prepare::prepare;
use crate::cli::{reference, screen};
use crate::domain::Env;
use crate::engine::Plan;
use crate::evaluator::Way;
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
    packs(plan);
    Ok(Ending::printed())
}

/// What `run.batch_size` saves, as far as that is known before anybody answers.
fn packs(plan: &Plan) {
    let sides = (plan.targets.len() as u64).saturating_mul(u64::from(plan.limits.trials));
    for evaluator in &plan.evaluators {
        let Way::Asking(asking) = &evaluator.way else { continue };
        let Some(packing) = asking.packing() else { continue };
        let alone = plan.header.outcomes();
        let packed = packing.requests(plan.header.cases).saturating_mul(sides);
        let name = plan.redactor.redact(&evaluator.spec.name);
        screen::out(&format!(
            "{}: {} questions in a request: {} instead of {alone}, about {} less; what a pack leaves in doubt is asked \
             again alone\n",
            terminal(&name, NAME),
            packing.size,
            counted(packed, "judge call", "judge calls"),
            counted(packing.saved_tokens(alone, packed), "prompt token", "prompt tokens"),
        ));
    }
}
