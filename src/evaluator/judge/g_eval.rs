//! G-Eval: criteria, the steps that follow from them, a grade.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::OnceCell;

use super::super::pure::Found;
use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::form::Form;
use super::prompt::{contexts_of, fill};
use super::settings::{Common, stepped, words};
use super::sheet::Sheet;
use super::steps::{Conversation, Steps, Stop, useless};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, ScoreKind};
use crate::net::BoxFuture;
use crate::suite::{Block, Draft};

pub const INFO: Info = Info {
    name: "g_eval",
    summary: "a model grades the answer by criteria and the steps that follow from them: 0 to 1 in tenths, 0.7 passes",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: Some(0.7),
    needs: &[Needs::Input, Needs::Answer, Needs::Judge],
    version: 1,
    source: "G-Eval (Liu and others, 2023) as promptfoo has it: grade 0 to 10, divided by 10, threshold 0.7; no token probabilities",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

const RUBRIC: &str = include_str!("prompts/g_eval.txt");
const STEPS: &str = include_str!("prompts/g_eval_steps.txt");
const GRADE: Form = Form::Number { lo: 0.0, hi: 10.0 };

/// Asks a model to grade by criteria, step by step.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Settings {
    #[serde(flatten)]
    common: Common,
    /// What the answer is graded by, in your own words. Nothing in it is a placeholder.
    criteria: String,
    /// The steps to follow. Without them the judge writes them first, in one call that is kept for all cases and later runs; write them
    /// down for scores that do not depend on it.
    #[schemars(length(min = 1, max = 20))]
    steps: Option<Vec<String>>,
    /// Show the judge the contexts as well. Default: false.
    #[serde(default)]
    contexts: bool,
    /// Show the judge the reference as well. Default: false.
    #[serde(default)]
    reference: bool,
}

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let criteria = words(block, "criteria", &settings.criteria, diagnostics);
    let steps = criteria.map(|criteria| {
        let written = Mutex::default();
        let Settings { steps, contexts, reference, .. } = settings.clone();
        Arc::new(Graded { criteria: criteria.to_owned(), steps, contexts, reference, written }) as Arc<dyn Steps>
    });
    stepped(block, (&INFO, INFO.score), (&settings.common, sound), (steps, Some(None)), context, diagnostics)
}

struct Graded {
    criteria: String,
    steps: Option<Vec<String>>,
    contexts: bool,
    reference: bool,
    /// By model: of a panel, each judge follows its own.
    written: Mutex<BTreeMap<Arc<str>, Arc<Written>>>,
}

/// The steps that a model wrote, or why there are none: asked for once, by the case that comes first, for all cases and trials.
type Written = OnceCell<Result<Vec<String>, Stop>>;

impl Graded {
    async fn steps(&self, talk: &Conversation<'_>) -> Result<Vec<String>, Stop> {
        if let Some(steps) = &self.steps {
            return Ok(steps.clone());
        }
        let cell = {
            let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(written.entry(Arc::clone(talk.model())).or_default())
        };
        cell.get_or_init(|| self.write(talk)).await.clone()
    }

    async fn write(&self, talk: &Conversation<'_>) -> Result<Vec<String>, Stop> {
        let rubric = fill(STEPS, &[("criteria", &self.criteria), ("shown", &self.shown())]);
        let steps = talk.list_for_all(Sheet::new(&rubric)).await?;
        if steps.is_empty() { Err(useless("it lists no steps")) } else { Ok(steps) }
    }

    fn shown(&self) -> String {
        let more = [("contexts", self.contexts), ("reference answer", self.reference)];
        let more = more.into_iter().filter(|(_, shown)| *shown).map(|(name, _)| format!(", {name}"));
        format!("question{} and answer", more.collect::<String>())
    }
}

impl Steps for Graded {
    fn find<'a>(&'a self, talk: &'a Conversation<'a>) -> BoxFuture<'a, Result<Found, Stop>> {
        Box::pin(async move {
            let steps = self.steps(talk).await?;
            let steps: Vec<String> = steps.iter().enumerate().map(|(at, step)| format!("{}. {step}", at + 1)).collect();
            let rubric = fill(RUBRIC, &[("criteria", &self.criteria), ("steps", &steps.join("\n"))]);
            let subject = talk.subject;
            let mut sheet = Sheet::new(&rubric).text("the question", &subject.case.input);
            if self.contexts {
                sheet = sheet.contexts(contexts_of(subject));
            }
            if let Some(reference) = subject.case.reference.as_deref().filter(|_| self.reference) {
                sheet = sheet.text("the reference answer", reference);
            }
            let said = talk.verdict(sheet.text("the answer", &subject.answer.text), &GRADE).await?;
            Ok(Found { value: said.value / 10.0, reason: said.reason })
        })
    }

    fn prompts(&self) -> Vec<String> {
        let steps = self.steps.as_deref().map_or_else(|| STEPS.to_owned(), |steps| steps.join("\n"));
        vec![RUBRIC.to_owned(), self.criteria.clone(), steps, self.shown()]
    }

    fn forms(&self) -> Vec<Form> {
        vec![GRADE]
    }
}
