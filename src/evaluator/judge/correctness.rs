//! How correct is the answer, from 1 to 5?

use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::form::Form;
use super::reading::Lenient;
use super::settings::{Rule, Settings, build as ready};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::suite::Block;

pub const INFO: Info = Info {
    name: "correctness",
    summary: "a model grades how correct the answer is, against the reference where there is one: from 1 to 5, 4 passes",
    score: ScoreKind::Ordinal { lo: 1, hi: 5 },
    direction: Direction::Higher,
    pass_mark: Some(4.0),
    needs: &[Needs::Input, Needs::Answer, Needs::Judge],
    version: 1,
    source: "LlamaIndex CorrectnessEvaluator (0.14): inputs, range and threshold; the reply is read strictly",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

const RULE: Rule = Rule {
    info: &INFO,
    template: include_str!("prompts/correctness.txt"),
    needs_contexts: false,
    form: Form::Number { lo: 1.0, hi: 5.0 },
    divided: 1.0,
    lenient: Lenient::FirstLine,
};

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    ready(block, &RULE, context, diagnostics)
}
