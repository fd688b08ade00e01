//! Does the answer keep a guideline?

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::ask::Scale;
use super::form::Form;
use super::prompt::{Slot, Template, fill};
use super::reading::Lenient;
use super::settings::{Common, Compat, Single, judged, words};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::suite::{Block, Draft};

pub const INFO: Info = Info {
    name: "guideline",
    summary: "a model judges whether the answer keeps a guideline: 1 or 0",
    score: ScoreKind::Binary,
    direction: Direction::Higher,
    pass_mark: Some(1.0),
    needs: &[Needs::Input, Needs::Answer, Needs::Judge],
    version: 1,
    source: "LlamaIndex GuidelineEvaluator (0.14): inputs, range and passing; the reply is read strictly",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

const RUBRIC: &str = include_str!("prompts/guideline.txt");

/// Asks a model whether the answer keeps a guideline.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Settings {
    #[serde(flatten)]
    common: Common,
    /// What the answer must keep, in your own words. Nothing in it is a placeholder.
    guideline: String,
    /// Show the judge the contexts as well. Default: false.
    #[serde(default)]
    contexts: bool,
    /// Whose way of asking for and reading a reply: `scoregate` (strict, the default) or `llamaindex`, which has the same number for the
    /// same reply as LlamaIndex.
    #[serde(default)]
    compat: Compat,
}

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let guideline = words(block, "guideline", &settings.guideline, diagnostics);
    let single = guideline.map(|guideline| Single {
        needs_contexts: false,
        kind: INFO.score,
        form: match settings.compat {
            Compat::Scoregate => Form::Words,
            Compat::Llamaindex => Form::Compat(Lenient::Passing),
        },
        scale: Scale::Divided(1.0),
        template: Template::of(&fill(RUBRIC, &[("guideline", guideline)]), shown(settings.contexts)),
    });
    judged(block, &INFO, (&settings.common, sound), single, context, diagnostics)
}

/// Question and answer, with the contexts between them where they are wanted.
pub(super) fn shown(contexts: bool) -> &'static [Slot] {
    if contexts { &[Slot::Input, Slot::Contexts, Slot::Answer] } else { &[Slot::Input, Slot::Answer] }
}
