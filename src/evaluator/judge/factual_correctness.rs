//! Which claims do answer and reference share?

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::Found;
use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::claims::{self, Tally};
use super::settings::{Common, stepped};
use super::steps::{Conversation, Steps, Stop, useless};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::net::BoxFuture;
use crate::suite::{Block, Draft};

pub const INFO: Info = Info {
    name: "factual_correctness",
    summary: "a model takes answer and reference apart into claims; F1, precision or recall of the answer's: 0 to 1",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Input, Needs::Answer, Needs::Reference, Needs::Judge],
    version: 1,
    source: "ragas FactualCorrectness (0.4): claims of each side checked against the other's; not rounded to two digits",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// Asks a model which claims are on both sides.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Settings {
    #[serde(flatten)]
    common: Common,
    /// What is measured: `f1` (default), `precision` (how much of the answer is right) or `recall` (how much of the reference is there).
    #[serde(default)]
    mode: Mode,
    /// What recall counts for beside precision, with `f1`: 1 as much (default), more than 1 more.
    beta: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    F1,
    Precision,
    Recall,
}

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let Settings { common, mode, beta } = settings;
    let beta = beta_of(block, beta, diagnostics);
    let steps = beta.map(|beta| Arc::new(Claims { mode, beta }) as Arc<dyn Steps>);
    stepped(block, (&INFO, INFO.score), (&common, sound), (steps, Some(None)), context, diagnostics)
}

/// `beta`, 1 where it is not given; `None` after pushing a problem.
pub(super) fn beta_of(block: &Block, beta: Option<f64>, diagnostics: &mut Diagnostics) -> Option<f64> {
    let beta = beta.unwrap_or(1.0);
    if beta > 0.0 && beta <= 10.0 {
        return Some(beta);
    }
    let message = format!("`beta` {beta} of `{}` must be above 0 and at most 10", block.name);
    diagnostics.push(block.problem("/beta", "out-of-range", message).help("1 counts precision and recall alike"));
    None
}

struct Claims {
    mode: Mode,
    beta: f64,
}

/// The claims of answer and reference against each other.
pub(super) async fn tally(talk: &Conversation<'_>) -> Result<Tally, Stop> {
    let (answer, reference) = tokio::join!(claims::of_answer(talk), claims::of_reference(talk));
    let (answer, reference) = (answer?, reference?);
    if reference.is_empty() {
        return Err(useless("it finds no claim in the reference"));
    }
    let (of_answer, of_reference) = tokio::join!(
        claims::by_statements(talk, &reference, &answer),
        claims::by_statements(talk, &answer, &reference)
    );
    let (of_answer, of_reference) = (of_answer?, of_reference?);
    let count = |verdicts: &[bool], wanted: bool| verdicts.iter().filter(|said| **said == wanted).count();
    Ok(Tally { right: count(&of_answer, true), wrong: count(&of_answer, false), missing: count(&of_reference, false) })
}

/// The tally in words.
pub(super) fn words(tally: Tally) -> String {
    let Tally { right, wrong, missing } = tally;
    format!(
        "of the answer's claims the reference supports {right} and does not support {wrong}; {missing} of the reference's are missing"
    )
}

impl Steps for Claims {
    fn find<'a>(&'a self, talk: &'a Conversation<'a>) -> BoxFuture<'a, Result<Found, Stop>> {
        Box::pin(async move {
            let tally = tally(talk).await?;
            let value = match self.mode {
                Mode::F1 => tally.f(self.beta),
                Mode::Precision => tally.precision(),
                Mode::Recall => tally.recall(),
            };
            Ok(Found { value, reason: Some(words(tally)) })
        })
    }

    fn prompts(&self) -> Vec<String> {
        claims::prompts()
    }
}
