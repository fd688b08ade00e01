//! Do the contexts support the answer?

use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::ask::Rule;
use super::settings::{Settings, build as ready};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::suite::Block;

pub const INFO: Info = Info {
    name: "faithfulness",
    summary: "a model judges whether the retrieved contexts support the answer: 1 or 0",
    score: ScoreKind::Binary,
    direction: Direction::Higher,
    pass_mark: Some(1.0),
    needs: &[Needs::Answer, Needs::Contexts, Needs::Judge],
    version: 1,
    source: "LlamaIndex FaithfulnessEvaluator (0.14): inputs, range and passing; the reply is read strictly",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// Without contexts nothing can be supported: 0 without asking, as LlamaIndex has it.
const RULE: Rule = Rule { info: &INFO, template: include_str!("prompts/faithfulness.txt"), needs_contexts: true };

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    ready(block, &RULE, context, diagnostics)
}
