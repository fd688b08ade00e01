//! How much of what is relevant was retrieved?

use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::ranking::{Ranking, ratio};
use super::settings::{self, Settings};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::suite::Block;

pub const INFO: Info = Info {
    name: "recall",
    summary: "share of the expected contexts that are among the first k retrieved",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Answer, Needs::Contexts, Needs::ExpectedContexts],
    version: 1,
    source: "relevant retrieved / relevant; LlamaIndex Recall",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    // LlamaIndex defines it alike.
    settings::build(block, &INFO, block.draft(diagnostics)?, recall, diagnostics)
}

/// Expected contexts found / expected.
pub fn recall(ranking: &Ranking) -> f64 {
    ratio(ranking.found.hits(), ranking.expected())
}
