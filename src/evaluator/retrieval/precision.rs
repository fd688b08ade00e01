//! How much of what was retrieved is relevant?

use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::ranking::{Ranking, ratio};
use super::settings::{self, Compat, Settings};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::suite::{Block, Draft};

pub const INFO: Info = Info {
    name: "precision",
    summary: "share of expected contexts among k retrieved",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Answer, Needs::Contexts, Needs::ExpectedContexts],
    version: 1,
    source: "relevant retrieved / k (without k: / retrieved); compat llamaindex: distinct relevant / distinct retrieved",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let draft: Draft<Settings> = block.draft(diagnostics)?;
    let metric = match draft.settings.compat {
        Compat::Scoregate | Compat::Ragas => precision,
        Compat::Llamaindex => precision_of_distinct,
    };
    settings::build(block, &INFO, draft, metric, diagnostics)
}

/// Relevant ranks / k, where fewer than k were retrieved as well; without k, / retrieved.
pub fn precision(ranking: &Ranking) -> f64 {
    let relevant = ranking.relevant();
    let hits = relevant.iter().filter(|relevant| **relevant).count();
    ratio(hits, ranking.k.unwrap_or(relevant.len()))
}

/// Distinct relevant / distinct retrieved.
pub fn precision_of_distinct(ranking: &Ranking) -> f64 {
    let hits = ranking.relevant().iter().filter(|relevant| **relevant).count();
    ratio(hits, ranking.found.distinct)
}
