//! A judge with one verdict: what it is shown, and how its verdict becomes a score.

use super::super::{Asked, Evaluator, Info, Packing, Subject, missing};
use super::form::{CODE, Form};
use super::guard::flags;
use super::prompt::{Template, contexts_of, shown};
use super::reading::JudgeReading;
use super::talk::{Asking, Question, REPAIR, Talk, Took, given_by};
use crate::domain::{Digest, Direction, Failure, Measurement, Reading, ScoreKind};
use crate::net::{BoxFuture, Transport};
use crate::provider::{Message, Role};

pub(super) const SYSTEM: &str = include_str!("prompts/system.txt");
pub(super) const AFTER_DATA: &str = include_str!("prompts/after_data.txt");

/// How a verdict becomes a score.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scale {
    /// What was said, divided by this.
    Divided(f64),
    /// The value at the place that was said: of a letter.
    Table(Vec<f64>),
}

/// A judge, ready to ask.
pub(super) struct Judge {
    pub info: &'static Info,
    /// Without contexts the score is the lowest, and nothing is asked.
    pub needs_contexts: bool,
    /// Of the score.
    pub kind: ScoreKind,
    pub form: Form,
    pub scale: Scale,
    pub pass_mark: Option<f64>,
    pub template: Template,
    pub talk: Talk,
    /// Questions in one request at most.
    pub batch_size: usize,
}

impl Evaluator for Judge {
    fn evaluate<'a>(&'a self, subject: Subject<'a>, transport: &'a dyn Transport) -> BoxFuture<'a, Asked> {
        Box::pin(self.judge(subject, Asking::First, transport))
    }

    fn packing(&self) -> Option<Packing> {
        self.packing()
    }

    fn evaluate_together<'a>(
        &'a self,
        subjects: &'a [Subject<'a>],
        transport: &'a dyn Transport,
    ) -> BoxFuture<'a, Vec<Asked>> {
        Box::pin(self.together(subjects, transport))
    }
}

impl Judge {
    /// Everything of the prompt that is not a case's text.
    pub(super) fn prompt_digest(&self) -> Digest {
        let demand = self.form.demand();
        Digest::of([SYSTEM, &self.template.source, AFTER_DATA, &demand.text, CODE, REPAIR])
    }

    pub(super) async fn judge(&self, subject: Subject<'_>, asking: Asking, transport: &dyn Transport) -> Asked {
        let mut took = Took::default();
        let measurement = match self.without_asking(subject) {
            Some(measurement) => measurement,
            None => {
                let texts: Vec<&str> = shown(subject).collect();
                let messages = |demand: &str| self.messages(subject, demand);
                let question = Question { subject, messages: &messages, form: &self.form, texts: &texts, asking };
                match self.talk.verdict(question, transport, &mut took).await {
                    Ok((said, repaired)) => self.measured(subject, said, repaired),
                    Err(measurement) => measurement,
                }
            }
        };
        let Took { spent, attempts, repairs, models } = took;
        Asked { measurement: given_by(measurement, &models), spent, attempts, repairs }
    }

    /// What needs no call.
    pub(super) fn without_asking(&self, subject: Subject<'_>) -> Option<Measurement> {
        if let Some(nothing) = missing(subject, self.info.needs) {
            return Some(nothing);
        }
        if !self.needs_contexts || !self.template.shows_contexts() || !contexts_of(subject).is_empty() {
            return None;
        }
        let (lowest, _) = self.kind.range();
        let why = "no contexts were retrieved, so nothing can support the answer; no model was asked";
        Some(finish(self.reading(lowest).map(|reading| reading.because(why))))
    }

    /// Rubric, data, then rubric and contract once more.
    fn messages(&self, subject: Subject<'_>, demand: &str) -> Vec<Message> {
        let system = format!("{}\n\n{demand}", SYSTEM.trim_end());
        let data = self.template.render(subject);
        let mut parts = vec![data.trim_end(), AFTER_DATA.trim_end()];
        parts.extend(Some(self.template.rubric()).filter(|rubric| !rubric.is_empty()));
        parts.push(demand);
        let user = parts.join("\n\n");
        vec![Message { role: Role::System, text: system }, Message { role: Role::User, text: user }]
    }

    fn reading(&self, value: f64) -> Result<Reading, Failure> {
        passed(Reading::new(self.kind, value)?, self.info.direction, self.pass_mark)
    }

    pub(super) fn measured(&self, subject: Subject<'_>, said: JudgeReading, repaired: bool) -> Measurement {
        let value = match &self.scale {
            Scale::Divided(by) => said.value / by,
            // A letter's value is its place.
            Scale::Table(values) => (0_u32..)
                .zip(values)
                .find(|(place, _)| f64::from(*place) == said.value)
                .map_or(f64::NAN, |(_, value)| *value),
        };
        finish(self.reading(value).map(|mut reading| {
            reading.reason = match &self.form {
                Form::Letters(letters) => {
                    let letter = letters.letter(said.value);
                    Some(said.reason.map_or_else(|| letter.to_owned(), |reason| format!("{letter}: {reason}")))
                }
                Form::Words | Form::Number { .. } | Form::Compat(_) => said.reason,
            };
            reading.repaired = repaired;
            reading.flags = flags(subject);
            reading
        }))
    }
}

/// A reading that passes at the mark or better.
pub(super) fn passed(mut reading: Reading, direction: Direction, mark: Option<f64>) -> Result<Reading, Failure> {
    reading.passed = mark.map(|mark| match direction {
        Direction::Higher => reading.value() >= mark,
        Direction::Lower => reading.value() <= mark,
    });
    Ok(reading)
}

pub(super) fn finish(reading: Result<Reading, Failure>) -> Measurement {
    match reading {
        Ok(reading) => Measurement::Value(reading),
        Err(failure) => Measurement::Error(failure),
    }
}
