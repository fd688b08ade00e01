//! Texts compared by their vectors. `space` asks an embedding model and measures; the evaluators are settings and an `INFO`.
//!
//! Promise: a text has one vector in a run and in the ledger; texts that share a request do not change each other's score.

mod answer_similarity;
mod semantic_similarity;
mod similarity;
mod space;

#[cfg(test)]
mod tests;

use super::Kind;

pub(super) use space::{Measure, Space, between};

pub(super) const KINDS: &[Kind] = &[semantic_similarity::KIND, answer_similarity::KIND];
