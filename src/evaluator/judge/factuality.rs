//! How do the facts of the answer stand to those of the reference?

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::ask::Scale;
use super::form::{Form, Letters};
use super::prompt::{Slot, Template};
use super::settings::{Common, Single, judged};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::suite::{Block, Draft};

pub const INFO: Info = Info {
    name: "factuality",
    summary: "a model says how the facts of the answer stand to those of the reference (A to E); 0 where they disagree, else 1",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: Some(0.5),
    needs: &[Needs::Input, Needs::Answer, Needs::Reference, Needs::Judge],
    version: 1,
    source: "OpenAI Evals fact, promptfoo factuality: the five cases and their scores; the letter is read strictly",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

const RUBRIC: &str = include_str!("prompts/factuality.txt");

/// A letter's value is its place among the scores.
const LETTERS: Letters = Letters {
    values: &[("A", 0.0), ("B", 1.0), ("C", 2.0), ("D", 3.0), ("E", 4.0)],
    meanings: &[
        "the answer is a subset of the reference answer and fully consistent with it",
        "the answer is a superset of the reference answer and fully consistent with it",
        "the answer holds all the same details as the reference answer",
        "the answer and the reference answer disagree",
        "they differ, but not in a way that matters for whether the answer is true",
    ],
};

/// Asks a model how the facts of answer and reference stand to each other.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Settings {
    #[serde(flatten)]
    common: Common,
    /// What each case scores, 0 to 1: `subset`, `superset`, `same`, `differ` (1 each) and `disagree` (0).
    #[serde(default)]
    scores: Scores,
}

/// The scores of the five cases.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Scores {
    /// A: less than the reference says, and nothing wrong.
    subset: f64,
    /// B: more than the reference says, and nothing wrong.
    superset: f64,
    /// C: the same.
    same: f64,
    /// D: they disagree.
    disagree: f64,
    /// E: they differ in what does not matter.
    differ: f64,
}

impl Default for Scores {
    fn default() -> Self {
        Self { subset: 1.0, superset: 1.0, same: 1.0, disagree: 0.0, differ: 1.0 }
    }
}

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let Scores { subset, superset, same, disagree, differ } = settings.scores;
    let values = vec![subset, superset, same, disagree, differ];
    let fine = values.iter().all(|value| ScoreKind::UNIT.admits(*value)) && values.iter().any(|value| *value != subset);
    if !fine {
        let message = format!("the scores of `{}` must be from 0 to 1 and not all the same", block.name);
        let help = "for instance `scores: { superset: 0.5 }`, where an answer should not say more than the reference";
        diagnostics.push(block.problem("/scores", "out-of-range", message).help(help));
    }
    let single = fine.then(|| Single {
        needs_contexts: false,
        kind: INFO.score,
        form: Form::Letters(&LETTERS),
        scale: Scale::Table(values),
        template: Template::of(RUBRIC, &[Slot::Input, Slot::Reference, Slot::Answer]),
    });
    judged(block, &INFO, (&settings.common, sound), single, context, diagnostics)
}
