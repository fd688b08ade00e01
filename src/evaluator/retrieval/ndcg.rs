//! Are the most relevant contexts ranked first?

use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::ranking::{Ranking, discount};
use super::settings::{self, Compat, Settings};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::suite::{Block, Draft};

pub const INFO: Info = Info {
    name: "ndcg",
    summary: "discounted gain of the first k retrieved / that of the best order, from 0 to 1; gains may be graded",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Answer, Needs::Contexts, Needs::ExpectedContexts],
    version: 1,
    source: "Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, 2002: gain / log2(rank + 1), the best order cut at k",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let draft: Draft<Settings> = block.draft(diagnostics)?;
    let metric = match draft.settings.compat {
        Compat::Scoregate | Compat::Ragas => ndcg,
        Compat::Llamaindex => ndcg_llamaindex,
    };
    settings::build(block, &INFO, draft, metric, diagnostics)
}

/// DCG / ideal DCG. The ideal has the best min(expected, k) contexts; without k, all expected ones. A passage that holds several
/// expected contexts counts with the largest gain.
pub fn ndcg(ranking: &Ranking) -> f64 {
    let gains = &ranking.found.gains;
    let gain = |index: &usize| gains.get(*index).copied().unwrap_or_default();
    let actual = ranking.found.first_found().into_iter().map(|rank| rank.iter().map(gain).fold(0.0, f64::max));
    let mut best = gains.clone();
    best.sort_by(|left, right| right.total_cmp(left));
    best.truncate(ranking.k.unwrap_or(best.len()));
    // At most 1 but for rounding: each expected context counts once, and the best order is the largest such sum.
    let quotient = quotient(dcg(actual), dcg(best.into_iter()));
    // No `min`: it would turn NaN into a perfect score.
    if quotient > 1.0 { 1.0 } else { quotient }
}

/// As LlamaIndex: gains are 1, the ideal has all expected contexts whatever k is, and a context that is retrieved again counts
/// again, so that the quotient may leave the scale.
pub fn ndcg_llamaindex(ranking: &Ranking) -> f64 {
    let actual = ranking.relevant_again().into_iter().map(|relevant| f64::from(u8::from(relevant)));
    quotient(dcg(actual), dcg(std::iter::repeat_n(1.0, ranking.expected())))
}

fn dcg(gains: impl Iterator<Item = f64>) -> f64 {
    gains.zip(1..).map(|(gain, rank)| gain * discount(rank)).sum()
}

fn quotient(actual: f64, ideal: f64) -> f64 {
    if ideal > 0.0 { actual / ideal } else { 0.0 }
}
