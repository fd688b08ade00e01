//! Did any of several other metrics pass?

use super::super::{BuildContext, Info, Kind, Ready, schema};
use super::Rule;
use super::all_of::{Settings, made};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::suite::Block;

pub const INFO: Info = Info {
    name: "any_of",
    summary: "1 if the case passes any of several other metrics of the suite, else 0",
    score: ScoreKind::Binary,
    direction: Direction::Higher,
    pass_mark: Some(1.0),
    needs: &[],
    version: 1,
    source: "disjunction; a part without a score leaves it open unless another part passed",
};

pub(in super::super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    made(block, &INFO, Rule::Any, diagnostics)
}
