//! Does the answer meet a criterion?

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::ask::Scale;
use super::form::Form;
use super::guideline::shown;
use super::prompt::{Template, fill};
use super::settings::{Common, Single, judged, words};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::suite::{Block, Draft};

pub const INFO: Info = Info {
    name: "closed_qa",
    summary: "a model judges whether the answer meets a criterion, after reasoning about it: 1 or 0",
    score: ScoreKind::Binary,
    direction: Direction::Higher,
    pass_mark: Some(1.0),
    needs: &[Needs::Input, Needs::Answer, Needs::Judge],
    version: 1,
    source: "OpenAI Evals closedqa, promptfoo model-graded-closedqa: question, answer and criterion, yes or no; the reply is read strictly",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

const RUBRIC: &str = include_str!("prompts/closed_qa.txt");

/// Asks a model whether the answer meets a criterion.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Settings {
    #[serde(flatten)]
    common: Common,
    /// What the answer must meet, in your own words. Nothing in it is a placeholder.
    criterion: String,
    /// Show the judge the contexts as well. Default: false.
    #[serde(default)]
    contexts: bool,
}

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let criterion = words(block, "criterion", &settings.criterion, diagnostics);
    let single = criterion.map(|criterion| Single {
        needs_contexts: false,
        kind: INFO.score,
        form: Form::Words,
        scale: Scale::Divided(1.0),
        template: Template::of(&fill(RUBRIC, &[("criterion", criterion)]), shown(settings.contexts)),
    });
    judged(block, &INFO, (&settings.common, sound), single, context, diagnostics)
}
