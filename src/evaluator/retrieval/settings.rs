//! The settings that all retrieval metrics share, and what they make of a case.

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::{Found, Measure, ready, threshold};
use super::super::{Info, Ready, Subject};
use super::ranking::Ranking;
use super::relevance::{by_id, by_text};
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
    /// How a retrieved context is recognised: by its `id`, or because it holds an expected `text` (or is most of one). Default: id.
    #[serde(default)]
    pub(super) by: By,
    /// `llamaindex` for the numbers of LlamaIndex's RetrieverEvaluator. Default: scoregate's own definitions.
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
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Compat {
    #[default]
    Scoregate,
    Llamaindex,
}

struct Retrieval {
    settings: Settings,
    metric: fn(&Ranking) -> f64,
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
    sound.then(|| ready(block, info, mark, Retrieval { settings, metric }))
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
        };
        let ranking = Ranking { found, k: self.settings.k };
        let value = (self.metric)(&ranking);
        let hits = ranking.found.hits();
        let reason =
            format!("{hits} of {} expected contexts among {} retrieved", ranking.found.gains.len(), retrieved.len());
        Ok(Found { value, reason: Some(reason) })
    }
}
