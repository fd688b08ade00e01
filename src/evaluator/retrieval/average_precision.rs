//! Are the relevant contexts ranked first?

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::ranking::Ranking;
use super::settings::{self, By, Compat, Settings};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::suite::{Block, Draft};

pub const INFO: Info = Info {
    name: "average_precision",
    summary: "mean over the expected contexts of the precision at the rank where each was found, 0 for those not found",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Answer, Needs::Contexts, Needs::ExpectedContexts],
    version: 1,
    source: "TREC (trec_eval map); LlamaIndex AveragePrecision; ragas context precision; with cut_at_k: divided by the smaller of their number and k",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<AveragePrecision>, build };

/// Compares the order of what was retrieved with the case's expected contexts.
// Written out: the other metrics' `Settings` refuse unknown keys themselves, and so cannot be flattened.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AveragePrecision {
    /// Only the first `k` retrieved contexts count. Default: all of them.
    #[schemars(range(min = 1))]
    k: Option<usize>,
    /// How a retrieved context is recognised: by its `id`, because it holds an expected `text` (or is most of one), or by its
    /// `similarity` with an expected text. Default: id.
    #[serde(default)]
    by: By,
    /// With `by: similarity`: the least similarity (1 − edits / length of the longer text), above 0 and at most 1. Default: 0.5.
    overlap: Option<f64>,
    /// Divide by the smaller of the number of expected contexts and `k`, so that k perfect contexts score 1. Default: false.
    #[serde(default)]
    cut_at_k: bool,
    /// `llamaindex`: a context retrieved twice counts twice. `ragas`: the same, divided by the number of relevant contexts that were
    /// retrieved, as its context precision. Default: scoregate's own definitions.
    #[serde(default)]
    compat: Compat,
    /// A case passes at this score or better, from 0 to 1. Default: none, so that the score has no notion of passing.
    threshold: Option<f64>,
}

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<AveragePrecision>(diagnostics)?;
    let AveragePrecision { k, by, overlap, cut_at_k, compat, threshold } = settings;
    let metric = match (compat, cut_at_k) {
        (Compat::Scoregate, false) => average_precision,
        (Compat::Scoregate, true) => average_precision_cut,
        (Compat::Llamaindex, false) => average_precision_again,
        (Compat::Ragas, false) => context_precision,
        (Compat::Llamaindex | Compat::Ragas, true) => {
            let message = "LlamaIndex and ragas never cut at k";
            let problem = block.problem("/cut_at_k", "conflicting-keys", message);
            diagnostics.push(problem.help("leave out `cut_at_k` or `compat`"));
            return None;
        }
    };
    let draft = Draft { settings: Settings { k, by, overlap, compat, threshold }, sound };
    settings::build(block, &INFO, draft, metric, diagnostics)
}

/// Sum of the precision at each relevant rank / expected.
pub fn average_precision(ranking: &Ranking) -> f64 {
    divided(precisions(&counts(ranking)), ranking.expected())
}

/// The same / the smaller of expected and k.
pub fn average_precision_cut(ranking: &Ranking) -> f64 {
    let whole = ranking.k.map_or(ranking.expected(), |k| k.min(ranking.expected()));
    divided(precisions(&counts(ranking)), whole)
}

/// As LlamaIndex: a context that is retrieved again counts again, so that the sum may leave the scale.
pub fn average_precision_again(ranking: &Ranking) -> f64 {
    let counts: Vec<usize> = ranking.relevant_again().into_iter().map(usize::from).collect();
    divided(precisions(&counts), ranking.expected())
}

/// As ragas: the mean, over the relevant ranks, of the precision there; 0 without one.
///
/// **Source**: ragas 0.4.3, `NonLLMContextPrecisionWithReference`, without the 1e-10 in its denominator.
pub fn context_precision(ranking: &Ranking) -> f64 {
    let counts: Vec<usize> = ranking.relevant_again().into_iter().map(usize::from).collect();
    divided(precisions(&counts), counts.iter().sum())
}

/// Rank by rank, how many expected contexts were found there for the first time.
fn counts(ranking: &Ranking) -> Vec<usize> {
    ranking.found.first_found().iter().map(Vec::len).collect()
}

/// Sum over all that was found of the precision at its rank; a passage that holds two expected contexts counts for both, and
/// precision never exceeds 1.
fn precisions(counts: &[usize]) -> f64 {
    let mut sum = 0.0;
    let mut found = 0usize;
    for (index, count) in counts.iter().enumerate() {
        found += count;
        sum += *count as f64 * (found as f64 / (index as f64 + 1.0)).min(1.0);
    }
    sum
}

fn divided(sum: f64, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { sum / whole as f64 }
}
