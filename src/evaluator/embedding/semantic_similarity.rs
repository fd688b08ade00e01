//! How near is the answer to the reference in meaning?

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::similarity::{Compat, Wanted, build as similarity};
use super::space::Measure;
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::suite::{Block, Draft};

pub const INFO: Info = Info {
    name: "semantic_similarity",
    summary: "similarity of the embeddings of answer and reference: -1 to 1, 0.8 passes",
    score: ScoreKind::Continuous { lo: -1.0, hi: 1.0 },
    direction: Direction::Higher,
    pass_mark: Some(0.8),
    needs: &[Needs::Answer, Needs::Reference, Needs::Embedding],
    version: 1,
    source: "LlamaIndex SemanticSimilarityEvaluator (0.14): cosine, threshold 0.8; euclidean as promptfoo has it, 1 / (1 + distance)",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// Compares the embeddings of answer and reference.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The embedding model: a key of `models` with `provider: openai_embeddings`.
    model: String,
    /// How the vectors are compared: `cosine` (default), `dot`, or `euclidean`: 1 / (1 + distance), 0 to 1, which passes only with a
    /// `threshold`.
    #[serde(default)]
    similarity: Measure,
    /// A case passes at this score or better. Default: 0.8, for cosine and dot.
    threshold: Option<f64>,
    /// `llamaindex`: with `similarity: euclidean` the score is the negative distance, -2 to 0 for vectors of length 1.
    #[serde(default)]
    compat: Compat,
}

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let Settings { model, similarity: measure, threshold, compat } = &settings;
    let wanted = Wanted { model, measure: *measure, compat: *compat, threshold: *threshold, sound };
    similarity(block, &INFO, &wanted, context, diagnostics)
}
