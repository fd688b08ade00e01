//! Are the retrieved contexts relevant to the question?

use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::form::Form;
use super::reading::Lenient;
use super::settings::{Rule, Settings, build as ready};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::suite::Block;

pub const INFO: Info = Info {
    name: "context_relevancy",
    summary: "a model grades how relevant the retrieved contexts are to the question: 0 to 1, in parts of 4 points",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Input, Needs::Contexts, Needs::Judge],
    version: 1,
    source: "LlamaIndex ContextRelevancyEvaluator (0.14): inputs and range, points divided by 4, no passing; the reply is read strictly",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// Without contexts none is relevant: 0 without asking. LlamaIndex has an invalid result there.
const RULE: Rule = Rule {
    info: &INFO,
    template: include_str!("prompts/context_relevancy.txt"),
    needs_contexts: true,
    form: Form::Number { lo: 0.0, hi: 4.0 },
    divided: 4.0,
    lenient: Lenient::ResultNumber,
};

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    ready(block, &RULE, context, diagnostics)
}
