//! A metric made of others: their weighted mean, or whether all or any of them passed.
//!
//! [`connect`] finds the parts of every composite among the suite's other metrics; [`compose`] makes their scores, once those of the
//! parts are there. Nothing is measured twice, and nothing is asked.
//!
//! Promise: a part without a score never counts as a good or a bad one. The composite then has no score either, unless the other parts
//! decide it whatever that part would have been.

mod all_of;
mod any_of;
mod part;
mod weighted_mean;

#[cfg(test)]
mod tests;

pub use part::{compose, connect};

use super::Kind;
use super::negate::Turn;
use crate::domain::Measurement;
use part::Part;

pub(super) const KINDS: &[Kind] = &[weighted_mean::KIND, all_of::KIND, any_of::KIND];

/// How the parts become one score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Sum of weight × score on the scale from 0 to 1 / sum of weights.
    WeightedMean,
    All,
    Any,
}

/// A composite that knows its parts.
#[derive(Clone, Debug)]
pub struct Composite {
    rule: Rule,
    parts: Vec<Part>,
    pass_mark: Option<f64>,
    turn: Option<Turn>,
}

impl Composite {
    pub(super) fn new(rule: Rule, parts: Vec<(String, f64)>, pass_mark: Option<f64>) -> Self {
        let parts = parts.into_iter().map(|(name, weight)| Part::named(name, weight)).collect();
        Self { rule, parts, pass_mark, turn: None }
    }

    /// The same, its scores turned round.
    pub(super) fn turned(self, turn: Turn) -> Self {
        Self { turn: Some(turn), ..self }
    }

    fn finished(&self, measurement: Measurement) -> Measurement {
        match self.turn {
            Some(turn) => turn.measurement(measurement),
            None => measurement,
        }
    }
}
