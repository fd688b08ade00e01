//! Is the answer in line with the question and the contexts?

use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::form::Form;
use super::reading::Lenient;
use super::settings::{Rule, Settings, build as ready};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::suite::Block;

pub const INFO: Info = Info {
    name: "relevancy",
    summary: "a model judges whether the answer is in line with the question and the retrieved contexts: 1 or 0",
    score: ScoreKind::Binary,
    direction: Direction::Higher,
    pass_mark: Some(1.0),
    needs: &[Needs::Input, Needs::Answer, Needs::Contexts, Needs::Judge],
    version: 1,
    source: "LlamaIndex RelevancyEvaluator (0.14): inputs, range and passing; the reply is read strictly",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// Without contexts the answer can be in line with none: 0 without asking, as LlamaIndex has it.
const RULE: Rule = Rule {
    info: &INFO,
    template: include_str!("prompts/relevancy.txt"),
    needs_contexts: true,
    form: Form::Words,
    divided: 1.0,
    lenient: Lenient::YesAnywhere,
};

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    ready(block, &RULE, context, diagnostics)
}
