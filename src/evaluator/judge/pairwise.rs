//! Which of two answers is better: this one, or the reference, or the one of an accepted run?

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::Found;
use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::form::{Form, Letters};
use super::prompt::fill;
use super::reading::{JudgeReading, Lenient};
use super::rival::{AnswersSettings, Rivals};
use super::settings::{Common, Compat, stepped};
use super::sheet::Sheet;
use super::steps::{Conversation, Steps, Stop};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, Failure, FailureKind, Measurement, ScoreKind};
use crate::net::BoxFuture;
use crate::suite::{Block, Draft};

pub const INFO: Info = Info {
    name: "pairwise",
    summary: "a model compares the answer with another one, in both orders: 1 better, 0.5 tie, 0 worse; a tie passes",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: Some(0.5),
    needs: &[Needs::Input, Needs::Answer, Needs::Reference, Needs::Judge],
    version: 1,
    source: "LlamaIndex PairwiseComparisonEvaluator (0.14) with enforce_consensus: votes of both orders; a tie and a vote are a vote, which it gets wrong where the second order has the vote",
};

/// With answers of its own, no reference is needed.
const OF_ANSWERS: Info = Info { needs: &[Needs::Input, Needs::Answer, Needs::Judge], ..INFO };

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

const RUBRIC: &str = include_str!("prompts/pairwise.txt");

/// A letter's value is what it says for the answer that is called A.
const LETTERS: Letters = Letters {
    values: &[("A", 1.0), ("B", 0.0), ("C", 0.5)],
    meanings: &["answer A is better", "answer B is better", "neither is better"],
};

/// Asks a model which of two answers is better.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Settings {
    #[serde(flatten)]
    common: Common,
    /// The answers to compare with, by case: a baseline file, the results.jsonl of a run, or a file of recorded answers. Default: the
    /// case's reference.
    answers: Option<AnswersSettings>,
    /// `both` asks twice, with the answers exchanged, so that a preference for the first or second place counts as a tie (default);
    /// `once` asks with this answer first.
    #[serde(default)]
    order: Order,
    /// Whose way of asking, reading and counting: `scoregate` (the default) or `llamaindex`, which has the same number for the same replies
    /// as LlamaIndex, and no word on whether a tie passes.
    #[serde(default)]
    compat: Compat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    #[default]
    Both,
    Once,
}

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let Settings { common, answers, order, compat } = settings;
    let info = if answers.is_some() { &OF_ANSWERS } else { &INFO };
    let rivals = match &answers {
        None => Some(None),
        Some(_) if !sound => None,
        Some(answers) => Rivals::open(answers, block, context.suite, diagnostics).map(Some),
    };
    let steps = rivals.map(|rivals| Arc::new(Compared { rivals, order, compat }) as Arc<dyn Steps>);
    stepped(block, (info, info.score), (&common, sound), (steps, Some(None)), context, diagnostics)
}

struct Compared {
    /// `None`: the reference.
    rivals: Option<Rivals>,
    order: Order,
    compat: Compat,
}

impl Compared {
    fn form(&self) -> Form {
        match self.compat {
            Compat::Scoregate => Form::Letters(&LETTERS),
            Compat::Llamaindex => Form::Compat(Lenient::Brackets),
        }
    }

    async fn asked(&self, talk: &Conversation<'_>, first: &str, second: &str) -> Result<JudgeReading, Stop> {
        let subject = talk.subject;
        // Of two answers one of which is the reference, the reference says nothing.
        let reference = subject.case.reference.as_deref().filter(|_| self.rivals.is_some());
        let with = if reference.is_some() { ", and whether they agree with the reference answer" } else { "" };
        let rubric = fill(RUBRIC, &[("reference", with)]);
        let mut sheet = Sheet::new(&rubric).text("the question", &subject.case.input);
        if let Some(reference) = reference {
            sheet = sheet.text("the reference answer", reference);
        }
        talk.verdict(sheet.text("answer A", first).text("answer B", second), &self.form()).await
    }
}

impl Steps for Compared {
    fn find<'a>(&'a self, talk: &'a Conversation<'a>) -> BoxFuture<'a, Result<Found, Stop>> {
        Box::pin(async move {
            let case = talk.subject.case;
            let own = talk.subject.answer.text.as_str();
            let other = match &self.rivals {
                None => case.reference.clone().unwrap_or_default(),
                Some(rivals) => rivals
                    .answer(&case.id)
                    .map_err(|why| Box::new(Measurement::Error(Failure::infra(FailureKind::Missing, why))))?,
            };
            if own == other && self.compat == Compat::Scoregate {
                let why = "the answers are the same to the letter; no model was asked";
                return Ok(Found { value: 0.5, reason: Some(why.to_owned()) });
            }
            if self.order == Order::Once {
                let said = self.asked(talk, own, &other).await?;
                return Ok(Found { value: said.value, reason: said.reason });
            }
            let (original, flipped) = tokio::join!(self.asked(talk, own, &other), self.asked(talk, &other, own));
            let (original, flipped) = (original?, flipped?);
            let value = match self.compat {
                Compat::Scoregate => consensus(original.value, flipped.value),
                Compat::Llamaindex => llamaindex(original.value, flipped.value),
            };
            let words = |value: f64| match value {
                1.0 => "better",
                0.0 => "worse",
                _ => "a tie",
            };
            let mut reason =
                format!("shown first: {}; shown second: {}", words(original.value), words(1.0 - flipped.value));
            for said in [&original, &flipped].into_iter().filter_map(|said| said.reason.as_deref()) {
                reason.push_str(&format!("; {said}"));
            }
            Ok(Found { value, reason: Some(reason) })
        })
    }

    fn prompts(&self) -> Vec<String> {
        let answers = self.rivals.as_ref().map_or_else(String::new, |rivals| rivals.digest.to_string());
        vec![RUBRIC.to_owned(), answers]
    }

    fn forms(&self) -> Vec<Form> {
        vec![self.form()]
    }
}

/// The answer with more votes, of both orders; `flipped` is the verdict on the other answer in the first place.
fn consensus(original: f64, flipped: f64) -> f64 {
    let votes = original + (1.0 - flipped);
    match votes.total_cmp(&1.0) {
        std::cmp::Ordering::Greater => 1.0,
        std::cmp::Ordering::Less => 0.0,
        std::cmp::Ordering::Equal => 0.5,
    }
}

/// What `_resolve_results` returns: the score of the first judgement that voted for the winner, as that judgement has it, which for one
/// of the flipped order is the score of the other answer.
fn llamaindex(original: f64, flipped: f64) -> f64 {
    match consensus(original, flipped) {
        1.0 if original == 1.0 => original,
        0.0 if original == 0.0 => original,
        0.5 => 0.5,
        _ => flipped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (first order, flipped order) → ours, LlamaIndex' own (0.14, run with stub models).
    #[test]
    fn votes_of_both_orders_are_counted() {
        for (original, flipped, ours, theirs) in [
            (1.0, 0.0, 1.0, 1.0),
            (1.0, 1.0, 0.5, 0.5),
            (0.0, 0.0, 0.5, 0.5),
            (0.0, 1.0, 0.0, 0.0),
            (0.5, 0.5, 0.5, 0.5),
            (1.0, 0.5, 1.0, 1.0),
            (0.0, 0.5, 0.0, 0.0),
            // The answer wins the second order alone: theirs is the score of the other answer.
            (0.5, 0.0, 1.0, 0.0),
            (0.5, 1.0, 0.0, 1.0),
        ] {
            assert_eq!(
                (consensus(original, flipped), llamaindex(original, flipped)),
                (ours, theirs),
                "{original} {flipped}"
            );
        }
    }
}
