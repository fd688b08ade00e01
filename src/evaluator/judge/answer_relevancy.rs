//! Does the answer respond to the question?

use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::form::Form;
use super::reading::Lenient;
use super::settings::{Rule, Settings, build as ready};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::suite::Block;

pub const INFO: Info = Info {
    name: "answer_relevancy",
    summary: "a model grades how relevant the answer is to the question: 0 to 1, in parts of 2 points",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Input, Needs::Answer, Needs::Judge],
    version: 1,
    source: "LlamaIndex AnswerRelevancyEvaluator (0.14): inputs and range, points divided by 2, no passing; the reply is read strictly",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

const RULE: Rule = Rule {
    info: &INFO,
    template: include_str!("prompts/answer_relevancy.txt"),
    needs_contexts: false,
    form: Form::Number { lo: 0.0, hi: 2.0 },
    divided: 2.0,
    lenient: Lenient::ResultDigit,
};

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    ready(block, &RULE, context, diagnostics)
}
