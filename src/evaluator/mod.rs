//! A case and its answer → a score. One file an evaluator, in the folder of its family; [`KINDS`] lists them all.
//!
//! Pure evaluators compute ([`Scorer`]); asking ones call a model through a [`Transport`] ([`Evaluator`]).
//!
//! Promise: a reply or value that is not exactly a score of the metric's range is an error, never a number.

use std::collections::BTreeMap;

use crate::diagnostic::Diagnostics;
use crate::domain::{Answer, Case, Direction, Env, Fingerprint, Measurement, MetricSpec, ScoreKind};
use crate::net::{BoxFuture, Transport};
use crate::provider::Model;
use crate::suite::Block;

/// What a case and answer must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Input,
    Answer,
    Reference,
    Contexts,
    ExpectedContexts,
    Judge,
}

/// What users read about an evaluator, and what the gate needs to know of its metric.
#[derive(Debug)]
pub struct Info {
    /// The `use` word in the suite.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    pub score: ScoreKind,
    pub direction: Direction,
    /// A case passes at this score or better; `None`: no notion of passing. Settings may override it (`threshold`).
    pub pass_mark: Option<f64>,
    pub needs: &'static [Needs],
    /// Raised whenever the same input may give another score: part of the fingerprint.
    pub version: u32,
    /// Paper or reference implementation.
    pub source: &'static str,
}

/// What is scored.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    pub case: &'a Case,
    pub answer: &'a Answer,
    pub trial: u32,
}

/// Computes a score from texts and ids. Never panics, whatever the texts.
pub trait Scorer: Send + Sync {
    fn score(&self, subject: Subject<'_>) -> Measurement;
}

/// Asks a model or a program for a score.
pub trait Evaluator: Send + Sync {
    fn evaluate<'a>(&'a self, subject: Subject<'a>, transport: &'a dyn Transport) -> BoxFuture<'a, Asked>;
}

/// An asked measurement with what it took.
#[derive(Clone, Debug)]
pub struct Asked {
    pub measurement: Measurement,
    pub usage: crate::domain::Usage,
    pub cost: Option<crate::domain::Usd>,
    /// Requests sent now.
    pub attempts: u32,
    /// Calls that the ledger answered.
    pub cached: u32,
}

pub enum Way {
    Pure(Box<dyn Scorer>),
    Asking(Box<dyn Evaluator>),
}

/// A checked evaluator, ready to use.
pub struct Ready {
    pub spec: MetricSpec,
    pub info: &'static Info,
    pub way: Way,
}

/// What building an evaluator may look at.
pub struct BuildContext<'a> {
    pub env: &'a Env,
    /// By their key under `models`.
    pub models: &'a BTreeMap<String, Model>,
    /// Bounds of one judge call.
    pub deadlines: crate::net::Deadlines,
}

/// One kind of evaluator.
pub struct Kind {
    pub info: &'static Info,
    pub schema: fn() -> schemars::Schema,
    /// `None` after pushing diagnostics.
    pub build: fn(&Block, &BuildContext<'_>, &mut Diagnostics) -> Option<Ready>,
}

/// The usual metric of an evaluator: its info's scale, and a fingerprint of name, version and settings.
pub fn spec(block: &Block, info: &Info, pass_mark: Option<f64>) -> MetricSpec {
    MetricSpec {
        name: block.name.clone(),
        kind: info.score,
        direction: info.direction,
        pass_mark: pass_mark.or(info.pass_mark),
        fingerprint: Some(
            Fingerprint::default()
                .with("evaluator", info.name)
                .with("version", info.version)
                .with("settings", &block.value),
        ),
    }
}

/// Every evaluator there is, in the order of the documentation.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    std::iter::empty()
}
