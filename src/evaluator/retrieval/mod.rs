//! Compares what was retrieved with what should have been, rank by rank.
//!
//! `relevance` says at which rank which expected context was found; each metric is then a function of those ranks.
//! Defined once for all: a case without expected contexts is skipped (not applicable); nothing retrieved scores 0; a
//! passage retrieved twice takes up a rank and counts once; only the first `k` passages count (default: all).

mod average_precision;
mod hit_rate;
mod mrr;
mod ndcg;
mod precision;
mod ranking;
mod recall;
mod relevance;
mod settings;

use super::Kind;

pub(super) const KINDS: &[Kind] =
    &[hit_rate::KIND, mrr::KIND, precision::KIND, recall::KIND, average_precision::KIND, ndcg::KIND];

#[cfg(test)]
mod tests;
