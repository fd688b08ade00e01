//! A rubric of one's own: yes or no, or a grade on a scale, with examples.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::ask::Scale;
use super::form::Form;
use super::prompt::{Slot, Template, fill, line};
use super::settings::{Common, Single, judged, words};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::suite::{Block, Draft};

pub const INFO: Info = Info {
    name: "rubric",
    summary: "a model judges the answer by a rubric: 1 or 0, or a grade on a scale of your own",
    score: ScoreKind::Binary,
    direction: Direction::Higher,
    pass_mark: Some(1.0),
    needs: &[Needs::Input, Needs::Answer, Needs::Judge],
    version: 1,
    source: "as promptfoo llm-rubric and ragas RubricsScore: a free rubric; the reply is read strictly, and a missing verdict is none",
};

/// On a scale nothing passes unless the suite says when.
const GRADED: Info = Info { pass_mark: None, ..INFO };

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

const RUBRIC: &str = include_str!("prompts/rubric.txt");
/// More would leave no room for the case.
const EXAMPLES: usize = 20;

/// Asks a model to judge by a rubric.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Settings {
    #[serde(flatten)]
    common: Common,
    /// What makes an answer good, in your own words. Nothing in it is a placeholder.
    rubric: String,
    /// Lowest and highest grade, whole numbers, such as `[1, 5]`. Default: no grade but yes (1) or no (0).
    scale: Option<[i32; 2]>,
    /// Answers that are judged already, to show the judge what is meant.
    #[schemars(length(max = 20))]
    examples: Option<Vec<Example>>,
    /// What the judge is shown beside the answer: `input`, `contexts`, `reference`. Default: `[input]`.
    show: Option<Vec<Show>>,
}

/// An answer with its judgement.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// What was asked.
    input: Option<String>,
    /// What was answered.
    answer: String,
    /// Its grade; 1 for yes and 0 for no where there is no `scale`.
    score: f64,
    /// Why.
    reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Show {
    Input,
    Contexts,
    Reference,
}

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let rubric = words(block, "rubric", &settings.rubric, diagnostics);
    let kind = scale(block, settings.scale, diagnostics);
    let examples = settings.examples.unwrap_or_default();
    let in_order = kind.is_some_and(|kind| fit(block, kind, &examples, diagnostics));
    let info = if settings.scale.is_some() { &GRADED } else { &INFO };
    let single = rubric.zip(kind).filter(|_| in_order).map(|(rubric, kind)| {
        let (lo, hi) = kind.range();
        let shown = settings.show.as_deref().unwrap_or(&[Show::Input]);
        let mut text = fill(RUBRIC, &[("rubric", rubric)]);
        let _ = match kind {
            ScoreKind::Binary => {
                write!(text, "\n\nThe verdict is YES if the answer meets the rubric, and NO if it does not.")
            }
            _ => write!(text, "\n\nThe grade goes from {lo}, the worst, to {hi}, the best."),
        };
        told(&mut text, kind, &examples);
        let slots: Vec<Slot> = shown.iter().map(|show| slot(*show)).chain([Slot::Answer]).collect();
        Single {
            needs_contexts: false,
            kind,
            form: if kind == ScoreKind::Binary { Form::Words } else { Form::Number { lo, hi } },
            scale: Scale::Divided(1.0),
            template: Template::of(&text, &slots),
        }
    });
    judged(block, info, (&settings.common, sound), single, context, diagnostics)
}

fn slot(show: Show) -> Slot {
    match show {
        Show::Input => Slot::Input,
        Show::Contexts => Slot::Contexts,
        Show::Reference => Slot::Reference,
    }
}

fn scale(block: &Block, scale: Option<[i32; 2]>, diagnostics: &mut Diagnostics) -> Option<ScoreKind> {
    match scale {
        None => Some(ScoreKind::Binary),
        Some([lo, hi]) if lo < hi => Some(ScoreKind::Ordinal { lo: i64::from(lo), hi: i64::from(hi) }),
        Some([lo, hi]) => {
            let message = format!("the scale of `{}` goes from {lo} to {hi}, which holds no two grades", block.name);
            diagnostics.push(
                block.problem("/scale", "empty-range", message).help("write the lowest grade first: `scale: [1, 5]`"),
            );
            None
        }
    }
}

/// Whether the examples are judgements as they are asked for.
fn fit(block: &Block, kind: ScoreKind, examples: &[Example], diagnostics: &mut Diagnostics) -> bool {
    let mut fine = examples.len() <= EXAMPLES;
    for (at, example) in examples.iter().enumerate().filter(|(_, example)| !kind.admits(example.score)) {
        let (lo, hi) = kind.range();
        let message =
            format!("an example of `{}` has the score {}, which no answer can get", block.name, example.score);
        let help = match kind {
            ScoreKind::Binary => "without a `scale` a score is 1 or 0".to_owned(),
            _ => format!("the scale goes from {lo} to {hi}"),
        };
        diagnostics.push(block.problem(&format!("/examples/{at}/score"), "out-of-range", message).help(help));
        fine = false;
    }
    fine
}

/// The examples, their texts as data.
fn told(text: &mut String, kind: ScoreKind, examples: &[Example]) {
    for (at, Example { input, answer, score, reason }) in examples.iter().enumerate() {
        let _ = write!(text, "\n\nExample {}:", at + 1);
        let mut said = |name: &str, words: &str| {
            text.push('\n');
            line(text, name, words);
        };
        if let Some(input) = input {
            said("its question", input);
        }
        said("its answer", answer);
        let _ = match kind {
            ScoreKind::Binary => write!(text, "\nits verdict: {}", if *score == 1.0 { "YES" } else { "NO" }),
            _ => write!(text, "\nits grade: {score}"),
        };
        if let Some(reason) = reason {
            let _ = write!(text, ", because {}", reason.trim());
        }
    }
}
