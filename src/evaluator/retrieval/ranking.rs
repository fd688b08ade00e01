//! A retrieved list, seen as ranks at which something expected was found.

use super::relevance::Relevance;

#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    pub found: Relevance,
    /// As set; `None`: all that was retrieved.
    pub k: Option<usize>,
}

impl Ranking {
    /// Rank by rank, whether something expected was found there for the first time.
    pub fn relevant(&self) -> Vec<bool> {
        self.found.first_found().iter().map(|rank| !rank.is_empty()).collect()
    }

    /// Rank by rank, whether the passage is or holds something expected, found before or not.
    pub fn relevant_again(&self) -> Vec<bool> {
        self.found.ranks.iter().map(|rank| !rank.is_empty()).collect()
    }

    /// Number of distinct expected contexts, at least 1 in every ranking that is scored.
    pub fn expected(&self) -> usize {
        self.found.gains.len()
    }
}

/// `part / whole`, and 0 where there is no whole.
pub fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// 1 / log2(rank + 1), for ranks from 1.
pub fn discount(rank: usize) -> f64 {
    1.0 / libm::log2(rank as f64 + 1.0)
}
