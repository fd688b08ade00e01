//! ragas' answer similarity: the cosine alone, without a pass mark.

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::similarity::{Compat, Wanted, build as similarity};
use super::space::Measure;
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::suite::{Block, Draft};

pub const INFO: Info = Info {
    name: "answer_similarity",
    summary: "cosine of the embeddings of answer and reference: -1 to 1",
    score: ScoreKind::Continuous { lo: -1.0, hi: 1.0 },
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Answer, Needs::Reference, Needs::Embedding],
    version: 1,
    source: "ragas SemanticSimilarity (0.4), also called AnswerSimilarity: cosine, a blank text is embedded as one blank",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// Compares the embeddings of answer and reference.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The embedding model: a key of `models` with `provider: openai_embeddings`.
    model: String,
    /// A case passes at this score or better. Default: none.
    threshold: Option<f64>,
}

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let Settings { model, threshold } = &settings;
    let wanted = Wanted { model, measure: Measure::Cosine, compat: Compat::Scoregate, threshold: *threshold, sound };
    similarity(block, &INFO, &wanted, context, diagnostics)
}
