//! `scoregate evaluators [show NAME]`

use crate::cli::args::{EvaluatorsArgs, EvaluatorsCommand, ListFormat};
use crate::cli::ending::Ending;
use crate::cli::failure::Failed;
use crate::cli::screen;
use crate::evaluator;
use crate::text::suggest::did_you_mean;

pub(in crate::cli) fn execute(args: &EvaluatorsArgs) -> Result<Ending, Failed> {
    match (&args.command, args.format) {
        (Some(EvaluatorsCommand::Show { name }), _) => match evaluator::page(name) {
            Some(page) => screen::data(&page),
            None => return Err(unknown(name)),
        },
        (None, ListFormat::Human) => screen::data(&evaluator::list()),
        (None, ListFormat::Markdown) => screen::data(&evaluator::book()),
    }
    Ok(Ending::printed())
}

fn unknown(name: &str) -> Failed {
    let names = evaluator::kinds().map(|kind| kind.info.name);
    let help = did_you_mean(name, names).unwrap_or_else(|| "`scoregate evaluators` lists them".to_owned());
    Failed::usage("unknown-evaluator", format!("there is no evaluator `{name}`"), help)
}
