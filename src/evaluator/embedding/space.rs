//! Asks an embedding model for vectors, and says how alike two of them are.

use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::{Failure, FailureKind, Side, Spent};
use crate::net::{Deadlines, Transport, exchange};
use crate::provider::{Embedder, EmbeddingRequest};

/// By how much rounding may carry a similarity beyond its bounds.
const ROUNDING: f64 = 1e-6;

/// How two vectors are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::evaluator) enum Measure {
    /// The cosine of the angle between them, -1 to 1.
    #[default]
    Cosine,
    /// Their dot product; -1 to 1, for models whose vectors have length 1.
    Dot,
    /// 1 / (1 + the distance between them), 0 to 1.
    Euclidean,
}

/// How alike two vectors are.
///
/// # Errors
/// Of different lengths, or without a direction, or beyond the range of the measure.
pub(in crate::evaluator) fn between(measure: Measure, one: &[f64], other: &[f64]) -> Result<f64, Failure> {
    if one.len() != other.len() {
        return Err(no_score(format!("vectors of {} and {} numbers cannot be compared", one.len(), other.len())));
    }
    let dot = |left: &[f64], right: &[f64]| left.iter().zip(right).map(|(a, b)| a * b).sum::<f64>();
    match measure {
        Measure::Cosine => {
            let lengths = dot(one, one).sqrt() * dot(other, other).sqrt();
            if lengths == 0.0 {
                return Err(no_score("a text has the vector 0, which has no direction".to_owned()));
            }
            Ok(within(dot(one, other) / lengths))
        }
        Measure::Dot => {
            let value = within(dot(one, other));
            if value.abs() > 1.0 {
                let why = format!(
                    "the dot product {value} is not from -1 to 1: the model's vectors are not of length 1; use `cosine`"
                );
                return Err(no_score(why));
            }
            Ok(value)
        }
        Measure::Euclidean => Ok(1.0 / (1.0 + distance(one, other))),
    }
}

/// The distance between two vectors of one length.
pub(super) fn distance(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// 1 for what is above it by rounding alone, and likewise below.
fn within(value: f64) -> f64 {
    if value.abs() > 1.0 && value.abs() <= 1.0 + ROUNDING { value.signum() } else { value }
}

fn no_score(why: String) -> Failure {
    Failure::infra(FailureKind::NotAScore, why)
}

/// An embedding model with what a call of it needs.
#[derive(Clone)]
pub(in crate::evaluator) struct Space {
    pub embedder: Embedder,
    pub deadlines: Deadlines,
}

/// What embedding some texts came to.
pub(in crate::evaluator) struct Embedded {
    /// Parallel to the texts.
    pub vectors: Result<Vec<Vec<f64>>, Failure>,
    pub spent: Spent,
    pub attempts: u32,
}

impl Space {
    /// What the scores depend on: model, parameters and place.
    pub(in crate::evaluator) fn described(&self) -> String {
        let parts = &self.embedder.fingerprint.0;
        let part = |name: &str| parts.get(name).map_or("", String::as_str);
        format!("{} {} {}", part("model"), part("parameters"), part("endpoint"))
    }

    /// The vectors of `texts`, each different text sent once, at most [`Embedder::batch_size`] in a request. A text without any
    /// character but white space is sent as one blank: services refuse an empty one.
    pub(in crate::evaluator) async fn embed(&self, texts: &[&str], what: &str, transport: &dyn Transport) -> Embedded {
        let sent: Vec<&str> = texts.iter().map(|text| if text.trim().is_empty() { " " } else { text }).collect();
        let mut distinct: Vec<&str> = sent.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let parts: Vec<&[&str]> = distinct.chunks(self.embedder.batch_size.max(1)).collect();
        let asked = join_all(parts.iter().map(|part| self.part(part, what, transport))).await;
        let mut embedded = Embedded { vectors: Ok(Vec::new()), spent: Spent::default(), attempts: 0 };
        let mut known: Vec<Vec<f64>> = Vec::with_capacity(distinct.len());
        for one in asked {
            embedded.spent += one.spent;
            embedded.attempts = embedded.attempts.saturating_add(one.attempts);
            match one.vectors {
                Ok(vectors) => known.extend(vectors),
                Err(failure) => {
                    embedded.vectors = embedded.vectors.and(Err(failure));
                }
            }
        }
        let find = |text: &&str| distinct.binary_search(text).ok().and_then(|at| known.get(at)).cloned();
        embedded.vectors = embedded.vectors.and_then(|_| {
            let found: Option<Vec<Vec<f64>>> = sent.iter().map(find).collect();
            found.ok_or_else(|| Failure::infra(FailureKind::Internal, "a text has no vector"))
        });
        embedded
    }

    async fn part(&self, texts: &[&str], what: &str, transport: &dyn Transport) -> Embedded {
        let api = &self.embedder.api;
        let request = EmbeddingRequest { texts, deadlines: self.deadlines, what: what.to_owned() };
        let call = api.call(&request);
        let result = exchange(transport, &call, |response| {
            let reply = api.read(response, texts.len())?;
            Ok(((reply.vectors, reply.spent), reply.spent))
        })
        .await;
        match result {
            Ok(((vectors, spent), receipt)) => {
                let spent = if receipt.cached { Spent::default() } else { spent };
                Embedded { vectors: Ok(vectors), spent, attempts: receipt.attempts }
            }
            Err(failure) => {
                let attempts = failure.attempts;
                Embedded { vectors: Err(failure.on(Side::Infra)), spent: Spent::default(), attempts }
            }
        }
    }
}
