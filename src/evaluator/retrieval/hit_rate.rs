//! Was anything relevant retrieved?

use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::ranking::Ranking;
use super::settings::{self, Settings};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::suite::Block;

pub const INFO: Info = Info {
    name: "hit_rate",
    summary: "1 if an expected context is among the first k retrieved, else 0",
    score: ScoreKind::Binary,
    direction: Direction::Higher,
    pass_mark: Some(1.0),
    needs: &[Needs::Answer, Needs::Contexts, Needs::ExpectedContexts],
    version: 1,
    source: "LlamaIndex HitRate; also known as success at k",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    // LlamaIndex defines it alike.
    settings::build(block, &INFO, block.draft(diagnostics)?, hit_rate, diagnostics)
}

/// 1 if any rank is relevant, else 0.
pub fn hit_rate(ranking: &Ranking) -> f64 {
    f64::from(u8::from(ranking.relevant().contains(&true)))
}
