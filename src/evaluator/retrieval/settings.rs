//! The settings that all retrieval metrics share, and what they make of a case.

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::{Found, Measure, ready, threshold};
use super::super::{Info, Ready, Subject};
use super::ranking::Ranking;
use super::relevance::{Same, by_id, by_similarity, by_text};
use crate::diagnostic::Diagnostics;
use crate::domain::Failure;
use crate::suite::{Block, Draft};

/// Compares what was retrieved with the case's expected contexts.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Only the first `k` retrieved contexts count. Default: all of them.
    #[schemars(range(min = 1))]
    pub(super) k: Option<usize>,
    /// How a retrieved context is recognised: by its `id`, because it holds an expected `text` (or is most of one), or by its
    /// `similarity` with an expected text. Default: id.
    #[serde(default)]
    pub(super) by: By,
    /// With `by: similarity`: the least similarity (1 − edits / length of the longer text), above 0 and at most 1. Default: 0.5.
    pub(super) overlap: Option<f64>,
    /// `llamaindex` for the numbers of LlamaIndex's RetrieverEvaluator; `ragas`, for recall and average_precision, for those of its
    /// context metrics without a model. Default: scoregate's own definitions.
    #[serde(default)]
    pub(super) compat: Compat,
    /// A case passes at this score or better, from 0 to 1. Default: none, so that the score has no notion of passing.
    pub(super) threshold: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum By {
    #[default]
    Id,
    Text,
    Similarity,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Compat {
    #[default]
    Scoregate,
    Llamaindex,
    Ragas,
}

/// Least similarity of two texts that are taken for the same, as ragas has it.
const OVERLAP: f64 = 0.5;

struct Retrieval {
    settings: Settings,
    metric: fn(&Ranking) -> f64,
    same: Same,
}

/// Checks the settings and makes the evaluator of `metric`.
pub(super) fn build(
    block: &Block,
    info: &'static Info,
    draft: Draft<Settings>,
    metric: fn(&Ranking) -> f64,
    diagnostics: &mut Diagnostics,
) -> Option<Ready> {
    let Draft { settings, sound } = draft;
    let mark = threshold(block, info, settings.threshold, diagnostics).ok()?;
    let problem = match (settings.by, settings.overlap) {
        (By::Id | By::Text, Some(_)) => block
            .problem("/overlap", "conflicting-keys", "`overlap` is a part of `by: similarity`")
            .help("set `by: similarity`, or leave `overlap` out"),
        (By::Similarity, Some(least)) if !(least > 0.0 && least <= 1.0) => block
            .problem("/overlap", "overlap-out-of-range", format!("`overlap` is {least}"))
            .help("it is above 0 and at most 1"),
        _ if settings.compat == Compat::Ragas && !matches!(info.name, "recall" | "average_precision") => block
            .problem("/compat", "conflicting-keys", format!("ragas has no `{}`", info.name))
            .help("`compat: ragas` is for recall and average_precision"),
        _ => {
            let overlap = settings.overlap.unwrap_or(OVERLAP);
            // ragas' recall wants more than the threshold; its precision, and ours, no less.
            let strict = settings.compat == Compat::Ragas && info.name == "recall";
            let same = if strict { Same::Above(overlap) } else { Same::AtLeast(overlap) };
            return sound.then(|| ready(block, info, mark, Retrieval { settings, metric, same }));
        }
    };
    diagnostics.push(problem);
    None
}

impl Measure for Retrieval {
    fn measure(&self, subject: Subject<'_>) -> Result<Found, Failure> {
        let retrieved = &subject.answer.contexts;
        let limit = self.settings.k.unwrap_or(retrieved.len());
        let retrieved = retrieved.get(..limit).unwrap_or(retrieved);
        let expected = &subject.case.expected_contexts;
        let found = match self.settings.by {
            By::Id => by_id(retrieved, expected)?,
            By::Text => by_text(retrieved, expected)?,
            By::Similarity => by_similarity(retrieved, expected, self.same)?,
        };
        let ranking = Ranking { found, k: self.settings.k };
        let value = (self.metric)(&ranking);
        let hits = ranking.found.hits();
        let reason =
            format!("{hits} of {} expected contexts among {} retrieved", ranking.found.gains.len(), retrieved.len());
        Ok(Found { value, reason: Some(reason) })
    }
}
