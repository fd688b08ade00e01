//! Asks a model for a verdict on an answer.
//!
//! `prompt` puts a case's texts into a template as escaped data; `ask` sends it, and once more where the reply does not keep
//! its contract; `pack` asks about several cases in one request; `reading` turns a reply into a score or says why it is none; `guard` knows texts that speak to the judge.
//! The judges themselves are a template, a contract and an `INFO` each.
//!
//! Promise: no text that is judged can end its own quotation, and no text but the judge's own reply is read as a verdict.

mod ask;
mod correctness;
mod faithfulness;
mod guard;
mod pack;
mod prompt;
mod reading;
mod relevancy;
mod settings;

#[cfg(test)]
mod tests;

use super::Kind;

pub use guard::SPEAKS_TO_THE_JUDGE;
pub use reading::{Contract, JudgeReading, Unusable, Why, read};

pub(super) const KINDS: &[Kind] = &[faithfulness::KIND, relevancy::KIND, correctness::KIND];
