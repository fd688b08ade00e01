//! Judges that ask more than one question: lists, a verdict on each of several statements, vectors; then a formula.
//!
//! A [`Steps`] says what is asked and how it is put together; needs, payment, range, pass mark and flags are handled around it, once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::embedding::Space;
use super::super::pure::Found;
use super::super::{Asked, Evaluator, Info, Subject, missing};
use super::ask::{AFTER_DATA, SYSTEM, finish, passed};
use super::form::{CODE, Form, YES_OR_NO};
use super::guard::{code, flags, stands_in};
use super::pack::{BEFORE_CODE, pack_demand};
use super::reading::{Grade, JudgeReading, Unusable, Why, read_list_as_said, read_pack};
use super::shape::{list_form, pack_form};
use super::sheet::Sheet;
use super::talk::{Asking, Question, REPAIR, Talk, Took, given_by};
use crate::domain::{Digest, Failure, FailureKind, Measurement, Reading, ScoreKind};
use crate::net::{BoxFuture, Transport};
use crate::provider::{Message, ReplyForm};

const LIST: &str = include_str!("prompts/contract_list.txt");
const ITEMS: &str = include_str!("prompts/items.txt");

/// What stops a measurement before its score.
pub(super) type Stop = Box<Measurement>;

/// The questions and the formula of one evaluator.
pub(super) trait Steps: Send + Sync + 'static {
    /// # Errors
    /// What came instead of a score.
    fn find<'a>(&'a self, talk: &'a Conversation<'a>) -> BoxFuture<'a, Result<Found, Stop>>;

    /// Everything of the prompts that is not a case's text, beside what all steps have.
    fn prompts(&self) -> Vec<String>;

    /// The forms in which single verdicts are asked for; others are refused.
    fn forms(&self) -> Vec<Form> {
        Vec::new()
    }
}

/// Everything that may be sent and is not a case's text.
fn texts(steps: &dyn Steps) -> Vec<String> {
    let own = [SYSTEM, AFTER_DATA, LIST, ITEMS, BEFORE_CODE, CODE, REPAIR].map(str::to_owned);
    let demands = steps.forms().iter().map(|form| form.demand().text).collect::<Vec<_>>();
    let mut all = own.to_vec();
    all.push(pack_demand(&Grade::Words(YES_OR_NO)));
    all.extend(demands);
    all.extend(steps.prompts());
    all
}

/// Steps with one model, ready to ask.
pub(super) struct Stepped {
    pub info: &'static Info,
    pub kind: ScoreKind,
    pub pass_mark: Option<f64>,
    pub talk: Talk,
    pub space: Option<Space>,
    pub steps: Arc<dyn Steps>,
}

impl Stepped {
    pub(super) fn prompt_digest(&self) -> Digest {
        Digest::of(texts(&*self.steps))
    }

    async fn measure(&self, subject: Subject<'_>, transport: &dyn Transport) -> Asked {
        if let Some(nothing) = missing(subject, self.info.needs) {
            return Asked::nobody(nothing);
        }
        let talk = Conversation {
            subject,
            talk: &self.talk,
            space: self.space.as_ref(),
            forms: self.steps.forms(),
            transport,
            took: Mutex::default(),
            repaired: Mutex::default(),
        };
        let found = self.steps.find(&talk).await;
        let (took, repaired) = (talk.took().clone(), *talk.repaired.lock().unwrap_or_else(PoisonError::into_inner));
        let measurement = match found {
            Ok(found) => finish(self.reading(found.value).map(|mut reading| {
                reading.reason = found.reason;
                reading.repaired = repaired;
                reading.flags = flags(subject);
                reading
            })),
            Err(stop) => *stop,
        };
        let Took { spent, attempts, repairs, models } = took;
        Asked { measurement: given_by(measurement, &models), spent, attempts, repairs }
    }

    fn reading(&self, value: f64) -> Result<Reading, Failure> {
        passed(Reading::new(self.kind, value)?, self.info.direction, self.pass_mark)
    }
}

impl Evaluator for Stepped {
    fn evaluate<'a>(&'a self, subject: Subject<'a>, transport: &'a dyn Transport) -> BoxFuture<'a, Asked> {
        Box::pin(self.measure(subject, transport))
    }
}

/// The questions of one measurement.
pub(super) struct Conversation<'a> {
    pub subject: Subject<'a>,
    talk: &'a Talk,
    space: Option<&'a Space>,
    forms: Vec<Form>,
    transport: &'a dyn Transport,
    took: Mutex<Took>,
    /// Some reply had to be asked for again.
    repaired: Mutex<bool>,
}

impl Conversation<'_> {
    fn took(&self) -> MutexGuard<'_, Took> {
        self.took.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, took: Took, repaired: bool) {
        let mut sum = self.took();
        sum.spent += took.spent;
        sum.attempts = sum.attempts.saturating_add(took.attempts);
        sum.repairs = sum.repairs.saturating_add(took.repairs);
        sum.models.extend(took.models);
        *self.repaired.lock().unwrap_or_else(PoisonError::into_inner) |= repaired;
    }

    /// The model that answers.
    pub(super) fn model(&self) -> &Arc<str> {
        &self.talk.model.name
    }

    /// A list of texts; one that stands in what was shown is nobody's.
    pub(super) async fn list(&self, sheet: Sheet<'_>) -> Result<Vec<String>, Stop> {
        self.list_of(self.subject, sheet).await
    }

    /// A list that no case has a part in: the same request, whatever the case and the trial.
    pub(super) async fn list_for_all(&self, sheet: Sheet<'_>) -> Result<Vec<String>, Stop> {
        self.list_of(Subject { trial: 0, ..self.subject }, sheet).await
    }

    async fn list_of(&self, subject: Subject<'_>, sheet: Sheet<'_>) -> Result<Vec<String>, Stop> {
        let demand = LIST.trim_end();
        let read = |reply: &str| -> Result<Vec<String>, Unusable> {
            let (items, said) = read_list_as_said(reply)?;
            if stands_in(&said, sheet.shown().iter().copied()) {
                return Err(Unusable::new(Why::Copied, "the same list stands in the texts to judge"));
            }
            Ok(items)
        };
        self.ask(subject, (sheet.messages(demand), demand, list_form()), &read).await
    }

    /// One verdict in `form`.
    pub(super) async fn verdict(&self, sheet: Sheet<'_>, form: &Form) -> Result<JudgeReading, Stop> {
        if !self.forms.contains(form) {
            let why = "a verdict was asked for in a form that the fingerprint does not know";
            return Err(Box::new(Measurement::Error(Failure::infra(FailureKind::Internal, why))));
        }
        let messages = |demand: &str| sheet.messages(demand);
        let question =
            Question { subject: self.subject, messages: &messages, form, texts: sheet.shown(), asking: Asking::First };
        let mut took = Took::default();
        let said = self.talk.verdict(question, self.transport, &mut took).await;
        self.note(took, said.as_ref().is_ok_and(|(_, repaired)| *repaired));
        said.map(|(said, _)| said).map_err(Box::new)
    }

    /// YES or NO to each of `statements`, which are called `name`; none of them may be without a verdict.
    pub(super) async fn verdicts(
        &self,
        sheet: Sheet<'_>,
        name: &str,
        statements: &[&str],
    ) -> Result<Vec<JudgeReading>, Stop> {
        if statements.is_empty() {
            return Ok(Vec::new());
        }
        let all = Digest::of(sheet.shown().iter().chain(statements)).to_string();
        // Two statements may be the same to the letter.
        let codes: Vec<String> = (0..statements.len()).map(|at| code([all.as_str(), &at.to_string()])).collect();
        let grade = Grade::Words(YES_OR_NO);
        let demand = pack_demand(&grade);
        let mut sheet = sheet.plain(ITEMS.trim_end());
        for (code, statement) in codes.iter().zip(statements) {
            sheet = sheet.plain(&format!("{BEFORE_CODE}{code}")).below(name, statement);
        }
        let read = |reply: &str| -> Result<Vec<JudgeReading>, Unusable> {
            read_pack(&grade, reply, &codes)?.into_iter().collect()
        };
        self.ask(self.subject, (sheet.messages(&demand), &demand, pack_form(&grade)), &read).await
    }

    async fn ask<T: Send>(
        &self,
        subject: Subject<'_>,
        question: (Vec<Message>, &str, ReplyForm),
        read: &(dyn Fn(&str) -> Result<T, Unusable> + Send + Sync),
    ) -> Result<T, Stop> {
        let mut took = Took::default();
        let said = self.talk.ask(subject, question, read, self.transport, &mut took).await;
        self.note(took, said.as_ref().is_ok_and(|(_, repaired)| *repaired));
        said.map(|(said, _)| said).map_err(Box::new)
    }

    /// The vectors of `texts`.
    pub(super) async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f64>>, Stop> {
        let Some(space) = self.space else {
            let why = "no embedding model was given";
            return Err(Box::new(Measurement::Error(Failure::infra(FailureKind::Internal, why))));
        };
        let what = format!("{} of case {}", self.talk.metric, self.subject.case.id);
        let embedded = space.embed(texts, &what, self.transport).await;
        let took = Took { spent: embedded.spent, attempts: embedded.attempts, ..Took::default() };
        self.note(took, false);
        embedded.vectors.map_err(|failure| Box::new(Measurement::Error(failure)))
    }
}

/// A reply that keeps its form and still is of no use.
pub(super) fn useless(why: impl Into<String>) -> Stop {
    let unusable = Unusable::new(Why::NoVerdict, why);
    let message = format!("the reply of the judge cannot be used: {unusable}");
    Box::new(Measurement::Unusable(Failure::infra(FailureKind::Unusable, message)))
}

/// Share of positive verdicts; `None` without any.
pub(super) fn share(verdicts: &[JudgeReading]) -> Option<f64> {
    let positive = count(verdicts);
    (!verdicts.is_empty()).then(|| positive as f64 / verdicts.len() as f64)
}

/// How many verdicts are positive.
pub(super) fn count(verdicts: &[JudgeReading]) -> usize {
    verdicts.iter().filter(|said| said.value == 1.0).count()
}

/// `3 of 4 claims …; not: "a"; "b"`: what the verdicts say, with the first few that are negative.
pub(super) fn told(verdicts: &[JudgeReading], statements: &[&str], what: &str, not: &str) -> String {
    const SHOWN: usize = 5;
    let mut text = format!("{} of {} {what}", count(verdicts), verdicts.len());
    let negative: Vec<&str> = verdicts
        .iter()
        .zip(statements)
        .filter(|(said, _)| said.value != 1.0)
        .map(|(_, statement)| *statement)
        .collect();
    for (at, statement) in negative.iter().take(SHOWN).enumerate() {
        let start = if at == 0 { format!("; {not}: ") } else { "; ".to_owned() };
        text.push_str(&format!("{start}\"{}\"", crate::text::normalize::excerpt(statement, 200)));
    }
    if let Some(more) = negative.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        text.push_str(&format!("; and {more} more"));
    }
    text
}

/// The same texts, as they are passed on.
pub(super) fn borrowed(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Graded;

    impl Steps for Graded {
        fn find<'a>(&'a self, _: &'a Conversation<'a>) -> BoxFuture<'a, Result<Found, Stop>> {
            Box::pin(async { Err(useless("nothing is asked")) })
        }

        fn prompts(&self) -> Vec<String> {
            vec!["own".to_owned()]
        }

        fn forms(&self) -> Vec<Form> {
            vec![Form::Number { lo: 0.0, hi: 10.0 }]
        }
    }

    /// What changes how a model is asked is another way of measuring.
    #[test]
    fn a_fingerprint_holds_every_contract_that_is_sent() {
        let texts = texts(&Graded);
        let form = Form::Number { lo: 0.0, hi: 10.0 };
        for sent in
            [&*form.demand().text, &*pack_demand(&Grade::Words(YES_OR_NO)), CODE, REPAIR, LIST, ITEMS, SYSTEM, "own"]
        {
            assert!(texts.iter().any(|text| text == sent), "{sent}");
        }
    }
}
