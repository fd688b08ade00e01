//! Shared claims and likeness of meaning, in one number.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::embedding::{Measure, Space, between};
use super::super::pure::Found;
use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::claims;
use super::factual_correctness::{beta_of, tally, words};
use super::settings::{Common, embedder, stepped};
use super::steps::{Conversation, Steps, Stop};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, Failure, FailureKind, Measurement, ScoreKind};
use crate::net::BoxFuture;
use crate::suite::{Block, Draft};
use crate::text::number;

pub const INFO: Info = Info {
    name: "answer_correctness",
    summary: "F1 of the claims that answer and reference share, and similarity of their embeddings, weighted: 0 to 1",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Input, Needs::Answer, Needs::Reference, Needs::Judge, Needs::Embedding],
    version: 1,
    source: "ragas AnswerCorrectness (0.4): weights 0.75 and 0.25; a similarity below 0 counts as 0, and a reference without claims has no score",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// Asks a model which claims are on both sides, and compares embeddings.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Settings {
    #[serde(flatten)]
    common: Common,
    /// The embedding model: a key of `models` with `provider: openai_embeddings`. Needed unless the second weight is 0.
    embedding: Option<String>,
    /// What claims and similarity count for. Default: `[0.75, 0.25]`.
    weights: Option<[f64; 2]>,
    /// What missing claims count for beside wrong ones: 1 as much (default), more than 1 more.
    beta: Option<f64>,
}

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let weights = settings.weights.unwrap_or([0.75, 0.25]);
    let [of_claims, of_similarity] = weights;
    let beta = beta_of(block, settings.beta, diagnostics);
    let fine = weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0) && of_claims > 0.0;
    if !fine {
        let message = format!("`weights` of `{}` must be at least 0, the first above it", block.name);
        let help = "for similarity alone use `answer_similarity`";
        diagnostics.push(block.problem("/weights", "out-of-range", message).help(help));
    }
    let space = match (&settings.embedding, of_similarity > 0.0) {
        (_, false) => Some(None),
        (Some(name), true) => embedder(block, "/embedding", name, context, diagnostics)
            .map(|embedder| Some(Space { embedder, deadlines: context.deadlines })),
        (None, true) if !sound => None,
        (None, true) => {
            let message = format!("`{}` compares embeddings and names no model for them", block.name);
            let problem = block.problem("", "missing-key", message);
            diagnostics.push(problem.help("add `embedding: …`, or leave similarity out: `weights: [1, 0]`"));
            None
        }
    };
    let steps = beta
        .filter(|_| fine)
        .map(|beta| Arc::new(Weighted { weights: (of_claims, of_similarity), beta }) as Arc<dyn Steps>);
    stepped(block, (&INFO, INFO.score), (&settings.common, sound), (steps, space), context, diagnostics)
}

struct Weighted {
    weights: (f64, f64),
    beta: f64,
}

impl Steps for Weighted {
    fn find<'a>(&'a self, talk: &'a Conversation<'a>) -> BoxFuture<'a, Result<Found, Stop>> {
        Box::pin(async move {
            let tally = tally(talk).await?;
            let f = tally.f(self.beta);
            let (of_claims, of_similarity) = self.weights;
            if of_similarity == 0.0 {
                return Ok(Found { value: f, reason: Some(words(tally)) });
            }
            let reference = talk.subject.case.reference.as_deref().unwrap_or_default();
            let vectors = talk.embed(&[&talk.subject.answer.text, reference]).await?;
            let similarity = match vectors.as_slice() {
                [answer, reference] => between(Measure::Cosine, answer, reference),
                _ => Err(Failure::infra(FailureKind::Internal, "a text has no vector")),
            };
            let similarity = similarity.map_err(|failure| Box::new(Measurement::Error(failure)))?.max(0.0);
            let value = (of_claims * f + of_similarity * similarity) / (of_claims + of_similarity);
            let reason = format!("{}; similarity {}", words(tally), number::score(similarity));
            Ok(Found { value, reason: Some(reason) })
        })
    }

    fn prompts(&self) -> Vec<String> {
        claims::prompts()
    }
}
