//! A case and its answer → a score. One file an evaluator, in the folder of its family; [`kinds`] lists them all.
//!
//! Pure evaluators compute ([`Scorer`]); asking ones call a model, a program or a service through a [`Transport`] ([`Evaluator`]);
//! composites are made of other metrics' scores ([`connect`], [`compose`]). `negate` turns any of them round.
//! `pure` and `judge::ask` check needs, range and pass mark around all of them, so that a family's files hold only definitions.
//!
//! `manual` writes down what each is, needs and reads, for people.
//!
//! Promise: a reply or value that is not exactly a score of the metric's range is an error, never a number.

mod composite;
mod custom;
mod embedding;
mod judge;
mod manual;
mod mark;
mod negate;
mod packing;
mod pure;
mod retrieval;
mod text;

#[cfg(test)]
mod tests;

pub use composite::{Composite, compose, connect};
pub use judge::{CONTEXT_SPEAKS_TO_THE_JUDGE, JUDGES_DISAGREE, SPEAKS_TO_THE_JUDGE};
pub use judge::{Contract, Grade, JudgeReading, Lenient, Unusable, Why, read, read_list, read_pack};
pub use manual::{book, list, page};
pub use packing::Packing;

use std::collections::BTreeMap;

use futures_util::future::join_all;

use crate::diagnostic::Diagnostics;
use crate::domain::{
    Answer, Case, Direction, Env, Failure, FailureKind, Fingerprint, Measurement, MetricSpec, ScoreKind, SkipReason,
    Spent,
};
use crate::net::{BoxFuture, Deadlines, Transport};
use crate::provider::{Embedder, Model};
use crate::suite::{Block, Suite};

/// What a case and answer must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Input,
    Answer,
    Reference,
    Contexts,
    ExpectedContexts,
    Judge,
    /// A model that embeds texts.
    Embedding,
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

    /// How subjects share a request; `None`: each is asked about alone.
    fn packing(&self) -> Option<Packing> {
        None
    }

    /// As [`evaluate`](Self::evaluate) for each of `subjects` of one target and trial, in their order, with as few requests as there can be.
    fn evaluate_together<'a>(
        &'a self,
        subjects: &'a [Subject<'a>],
        transport: &'a dyn Transport,
    ) -> BoxFuture<'a, Vec<Asked>> {
        Box::pin(join_all(subjects.iter().map(|subject| self.evaluate(*subject, transport))))
    }
}

/// An asked measurement with what it took.
#[derive(Clone, Debug)]
pub struct Asked {
    pub measurement: Measurement,
    pub spent: Spent,
    /// Requests sent now.
    pub attempts: u32,
    /// Replies that were asked for again now, in the required form.
    pub repairs: u32,
}

impl Asked {
    /// A measurement for which nobody had to be asked.
    pub fn nobody(measurement: Measurement) -> Self {
        Self { measurement, spent: Spent::default(), attempts: 0, repairs: 0 }
    }
}

pub enum Way {
    Pure(Box<dyn Scorer>),
    Asking(Box<dyn Evaluator>),
    Composite(Composite),
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
    /// Where files are looked for, and programs run.
    pub suite: &'a Suite,
    /// By their key under `models`.
    pub models: &'a BTreeMap<String, Model>,
    /// The models that embed texts, by their key under `models`.
    pub embedders: &'a BTreeMap<String, Embedder>,
    /// Bounds of one judge call.
    pub deadlines: Deadlines,
    /// Questions in one judge call at most.
    pub batch_size: usize,
    /// Of programs and services that score, as far as the checkout tells it; an evaluator's own `version` goes before it.
    pub version: Option<&'a str>,
}

/// One kind of evaluator.
pub struct Kind {
    pub info: &'static Info,
    /// Its own settings; [`Kind::schema`] has those that all kinds share as well.
    schema: fn() -> schemars::Schema,
    /// Of its own settings; `None` after pushing diagnostics.
    build: fn(&Block, &BuildContext<'_>, &mut Diagnostics) -> Option<Ready>,
}

impl Kind {
    /// The schema of all settings.
    pub fn schema(&self) -> schemars::Schema {
        negate::taught((self.schema)())
    }

    /// The evaluator that a block describes, turned round where it says `negate`; `None` after pushing diagnostics. Composites are to
    /// be [`connect`]ed.
    pub fn build(&self, block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
        let taken = negate::taken(block, &(self.schema)(), diagnostics);
        let ready = (self.build)(&taken.block, context, diagnostics);
        taken.apply(ready, diagnostics)
    }
}

/// The settings that a score does not depend on: a threshold only decides what passes (and stands in the metric's `pass_mark`),
/// `model` and `embedding` are names within the suite (the models themselves have parts of their own).
const NOT_MEASURING: [&str; 3] = ["threshold", "model", "embedding"];

/// The usual metric of an evaluator: its info's scale, and a fingerprint of name, version and settings.
pub fn spec(block: &Block, info: &Info, pass_mark: Option<f64>) -> MetricSpec {
    let mut settings = block.value.clone();
    if let Some(settings) = settings.as_object_mut() {
        settings.retain(|key, _| !NOT_MEASURING.contains(&key.as_str()));
        settings.sort_keys();
    }
    MetricSpec {
        name: block.name.clone(),
        kind: info.score,
        direction: info.direction,
        pass_mark: pass_mark.or(info.pass_mark),
        fingerprint: Some(
            Fingerprint::default()
                .with("evaluator", info.name)
                .with("version", info.version)
                .with("settings", settings),
        ),
    }
}

/// What `case` lacks for good, whatever is answered: to be reported before the first call. Expected contexts are no such
/// need: without them the retrieval metrics do not apply to the case.
///
/// Ask with the `info` of the [`Ready`] evaluator: settings may take a need away (`contains` with a `value`).
pub fn unmet(info: &Info, case: &Case) -> Option<Needs> {
    info.needs.iter().copied().find(|need| *need == Needs::Reference && case.reference.is_none())
}

/// What stands in the way of measuring `subject`, if anything does.
pub(crate) fn missing(subject: Subject<'_>, needs: &[Needs]) -> Option<Measurement> {
    needs.iter().find_map(|need| match need {
        Needs::Reference => subject.case.reference.is_none().then(|| Measurement::Error(no(Needs::Reference))),
        Needs::ExpectedContexts => subject.case.expected_contexts.is_empty().then(|| {
            let why = "the case expects no contexts, so there is nothing to retrieve";
            Measurement::Skipped(SkipReason::NotApplicable, why.to_owned())
        }),
        // Every case has an input and every subject an answer; an answer without contexts has a defined score; models are checked when built.
        Needs::Input | Needs::Answer | Needs::Contexts | Needs::Judge | Needs::Embedding => None,
    })
}

/// The failure of a case without what an evaluator needs.
pub(crate) fn no(need: Needs) -> Failure {
    let message = match need {
        Needs::Input => "the case has no input",
        Needs::Answer => "there is no answer",
        Needs::Reference => "the case has no reference: add one to the data set, or give the evaluator a `value`",
        Needs::Contexts => "the answer has no contexts",
        Needs::ExpectedContexts => "the case has no expected contexts",
        Needs::Judge => "there is no judge",
        Needs::Embedding => "there is no embedding model",
    };
    Failure::infra(FailureKind::Missing, message)
}

/// Every evaluator there is, in the order of the documentation.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    let asking = embedding::KINDS.iter().chain(judge::KINDS).chain(custom::KINDS);
    text::KINDS.iter().chain(retrieval::KINDS).chain(asking).chain(composite::KINDS)
}

/// The schema of a kind's settings.
fn schema<T: schemars::JsonSchema>() -> schemars::Schema {
    schemars::schema_for!(T)
}
