//! How early is the first relevant context?

use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::ranking::Ranking;
use super::settings::{self, Settings};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::suite::Block;

pub const INFO: Info = Info {
    name: "mrr",
    summary: "1 / rank of the first expected context among the first k retrieved, 0 without; its mean over cases is the MRR",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Answer, Needs::Contexts, Needs::ExpectedContexts],
    version: 1,
    source: "Voorhees, The TREC-8 Question Answering Track Report, 1999; LlamaIndex MRR",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    // LlamaIndex defines it alike.
    settings::build(block, &INFO, block.draft(diagnostics)?, mrr, diagnostics)
}

/// Reciprocal rank of the first relevant rank; 0 without one.
pub fn mrr(ranking: &Ranking) -> f64 {
    ranking.relevant().iter().position(|relevant| *relevant).map_or(0.0, |index| 1.0 / (index as f64 + 1.0))
}
