//! Would the answer be an answer to the question? Questions are written from the answer, and compared with the one that was asked.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::embedding::{Measure, Space, between};
use super::super::pure::Found;
use super::super::{BuildContext, Info, Kind, Needs, Ready, schema};
use super::form::Form;
use super::prompt::fill;
use super::settings::{Common, embedder, stepped};
use super::sheet::Sheet;
use super::steps::{Conversation, Steps, Stop, useless};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, Measurement, ScoreKind};
use crate::net::BoxFuture;
use crate::suite::{Block, Draft};

pub const INFO: Info = Info {
    name: "response_relevancy",
    summary: "mean cosine of the question and questions that a model writes from the answer: -1 to 1; 0 for an answer that commits itself to nothing",
    score: ScoreKind::Continuous { lo: -1.0, hi: 1.0 },
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Input, Needs::Answer, Needs::Judge, Needs::Embedding],
    version: 1,
    source: "ragas ResponseRelevancy (0.4), also called answer_relevancy, promptfoo answer-relevance: 3 questions, mean cosine; one call writes them all",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

const QUESTIONS: &str = include_str!("prompts/questions.txt");
const COMMITTAL: &str = include_str!("prompts/committal.txt");

/// Asks a model for questions that the answer answers, and compares embeddings.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Settings {
    #[serde(flatten)]
    common: Common,
    /// The embedding model: a key of `models` with `provider: openai_embeddings`.
    embedding: String,
    /// How many questions are written. Default: 3.
    #[schemars(range(min = 1, max = 10))]
    questions: Option<usize>,
}

fn build(block: &Block, context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let embedder = embedder(block, "/embedding", &settings.embedding, context, diagnostics);
    let space = embedder.map(|embedder| Some(Space { embedder, deadlines: context.deadlines }));
    let steps: Arc<dyn Steps> = Arc::new(Questions(settings.questions.unwrap_or(3)));
    stepped(block, (&INFO, INFO.score), (&settings.common, sound), (Some(steps), space), context, diagnostics)
}

struct Questions(usize);

impl Steps for Questions {
    fn find<'a>(&'a self, talk: &'a Conversation<'a>) -> BoxFuture<'a, Result<Found, Stop>> {
        Box::pin(async move {
            let answer = talk.subject.answer.text.as_str();
            if answer.trim().is_empty() {
                return Ok(Found { value: 0.0, reason: Some("the answer is empty; no model was asked".to_owned()) });
            }
            let asked = talk.subject.case.input.as_str();
            let sheet = Sheet::new(COMMITTAL).text("the question", asked).text("the answer", answer);
            let said = talk.verdict(sheet, &Form::Words).await?;
            if said.value == 0.0 {
                let why = said.reason.map_or_else(String::new, |reason| format!(": {reason}"));
                return Ok(Found { value: 0.0, reason: Some(format!("the answer commits itself to nothing{why}")) });
            }
            let rubric = fill(QUESTIONS, &[("count", &self.0.to_string())]);
            let questions = talk.list(Sheet::new(&rubric).text("the answer", answer)).await?;
            if questions.is_empty() || questions.len() > self.0 {
                return Err(useless(format!("{} questions were asked for, {} came", self.0, questions.len())));
            }
            let texts: Vec<&str> = std::iter::once(asked).chain(questions.iter().map(String::as_str)).collect();
            let vectors = talk.embed(&texts).await?;
            let (first, rest) = vectors.split_first().ok_or_else(|| useless("no vector came"))?;
            let mut sum = 0.0;
            for vector in rest {
                sum +=
                    between(Measure::Cosine, first, vector).map_err(|failure| Box::new(Measurement::Error(failure)))?;
            }
            let shown: Vec<String> = questions.iter().map(|question| format!("\"{question}\"")).collect();
            let reason = format!("the answer would answer {}", shown.join(", "));
            Ok(Found { value: sum / rest.len() as f64, reason: Some(reason) })
        })
    }

    fn prompts(&self) -> Vec<String> {
        vec![QUESTIONS.to_owned(), COMMITTAL.to_owned(), self.0.to_string()]
    }

    fn forms(&self) -> Vec<Form> {
        vec![Form::Words]
    }
}
