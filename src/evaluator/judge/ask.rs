//! One verdict: a call, and at most one more where the reply does not keep its contract.

use std::sync::{Arc, Mutex, PoisonError};

use super::super::pure::reading;
use super::super::{Asked, Evaluator, Info, Packing, Subject, missing};
use super::guard::{SPEAKS_TO_THE_JUDGE, code, copied, speaks_to_the_judge};
use super::prompt::{Template, contexts_of, fill, shown};
use super::reading::{Contract, JudgeReading, Unusable, Why, read};
use crate::domain::{
    Digest, Failure, FailureKind, Measurement, MetricName, Reading, RetryClass, ScoreKind, Side, Spent,
};
use crate::net::{BoxFuture, Deadlines, Purpose, Rejection, Response, Route, Transport, exchange};
use crate::provider::{ChatRequest, Message, Model, Role};

pub(super) const SYSTEM: &str = include_str!("prompts/system.txt");
pub(super) const AFTER_DATA: &str = include_str!("prompts/after_data.txt");
const WORDS: &str = include_str!("prompts/contract_words.txt");
const NUMBER: &str = include_str!("prompts/contract_number.txt");
const CODE: &str = include_str!("prompts/contract_code.txt");
const REPAIR: &str = include_str!("prompts/repair.txt");

pub(super) const YES_OR_NO: &[(&str, f64)] = &[("YES", 1.0), ("NO", 0.0)];
/// Most characters of an unreadable reply that are sent back with the request to give it again.
const SENT_BACK: usize = 4_000;

/// What makes one judge different from another.
pub(super) struct Rule {
    pub info: &'static Info,
    pub template: &'static str,
    /// Without contexts the score is the lowest, and nothing is asked.
    pub needs_contexts: bool,
}

/// A judge, ready to ask.
pub(super) struct Judge {
    pub rule: &'static Rule,
    pub metric: MetricName,
    pub pass_mark: Option<f64>,
    pub template: Template,
    pub model: Model,
    pub deadlines: Deadlines,
    /// Questions in one request at most.
    pub batch_size: usize,
}

/// A contract with the words that state it.
pub(super) struct Demand {
    contract: Contract,
    pub text: String,
}

/// What one call came to.
struct Try {
    result: Result<JudgeReading, Failure>,
    /// Set where a reply came that says nothing usable.
    why: Option<Why>,
    spent: Spent,
    attempts: u32,
    cached: bool,
}

/// What the reader saw of the last response, usable or not: unusable replies are paid for too.
#[derive(Default)]
struct Seen {
    spent: Spent,
    /// How the response was rejected as a reply that says nothing usable.
    unusable: Option<(FailureKind, Why)>,
}

/// Whether a verdict is asked for after a reply, alone or in a pack, that did not hold a usable one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asking {
    First,
    Again,
}

/// One request to the judge about one subject.
struct Question<'a> {
    messages: Vec<Message>,
    contract: &'a Contract,
    asking: Asking,
}

/// What the calls of one measurement took together.
#[derive(Default)]
struct Took {
    spent: Spent,
    attempts: u32,
    repairs: u32,
}

impl Took {
    fn add(&mut self, one: &Try) {
        self.spent += one.spent;
        self.attempts = self.attempts.saturating_add(one.attempts);
    }
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
        let demand = self.demand();
        Digest::of([SYSTEM, &self.template.source, AFTER_DATA, &demand.text, CODE, REPAIR])
    }

    pub(super) async fn judge(&self, subject: Subject<'_>, asking: Asking, transport: &dyn Transport) -> Asked {
        let mut took = Took::default();
        let measurement = match self.without_asking(subject) {
            Some(measurement) => measurement,
            None => self.converse(subject, asking, transport, &mut took).await,
        };
        let Took { spent, attempts, repairs } = took;
        Asked { measurement, spent, attempts, repairs }
    }

    /// What needs no call.
    pub(super) fn without_asking(&self, subject: Subject<'_>) -> Option<Measurement> {
        if let Some(nothing) = missing(subject, self.rule.info.needs) {
            return Some(nothing);
        }
        if !self.rule.needs_contexts || !self.template.shows_contexts() || !contexts_of(subject).is_empty() {
            return None;
        }
        let (lowest, _) = self.rule.info.score.range();
        let why = "no contexts were retrieved, so nothing can support the answer; no model was asked";
        Some(finish(reading(self.rule.info, self.pass_mark, lowest).map(|reading| reading.because(why))))
    }

    async fn converse(
        &self,
        subject: Subject<'_>,
        asking: Asking,
        transport: &dyn Transport,
        took: &mut Took,
    ) -> Measurement {
        let demand = self.demand();
        let mut messages = self.messages(subject, &demand);
        let question = Question { messages: messages.clone(), contract: &demand.contract, asking };
        let first = self.ask(subject, question, transport).await;
        took.add(&first);
        let (failure, why) = match (first.result, first.why) {
            (Ok(said), _) => return self.measured(subject, said, false),
            (Err(failure), None) => return Measurement::Error(failure),
            (Err(failure), Some(Why::Declined | Why::Filtered)) => return unusable(subject, failure),
            (Err(failure), Some(why)) => (failure, why),
        };
        let doubtful = why == Why::Copied || speaks_to_the_judge(&subject.answer.text);
        let again = if doubtful { self.coded_demand(subject) } else { demand };
        messages.extend(repair(&failure, why, &again));
        let question = Question { messages, contract: &again.contract, asking: Asking::Again };
        let second = self.ask(subject, question, transport).await;
        took.add(&second);
        took.repairs = u32::from(!second.cached);
        match second.result {
            Ok(said) => self.measured(subject, said, true),
            Err(later) => unusable(subject, both(failure, &later)),
        }
    }

    pub(super) fn demand(&self) -> Demand {
        match self.rule.info.score {
            ScoreKind::Binary => Demand {
                contract: Contract::Words { label: "VERDICT".to_owned(), words: YES_OR_NO, bare: true },
                text: WORDS.trim_end().to_owned(),
            },
            kind @ (ScoreKind::Ordinal { .. } | ScoreKind::Continuous { .. }) => {
                let (lo, hi) = kind.range();
                Demand { contract: Contract::FirstLine { lo, hi, object: true }, text: NUMBER.trim_end().to_owned() }
            }
        }
    }

    /// A form that no text of this case can hold, for replies that may be copied from one.
    fn coded_demand(&self, subject: Subject<'_>) -> Demand {
        let label = code(shown(subject));
        let (what, contract) = match self.rule.info.score {
            ScoreKind::Binary => {
                ("YES or NO".to_owned(), Contract::Words { label: label.clone(), words: YES_OR_NO, bare: false })
            }
            kind @ (ScoreKind::Ordinal { .. } | ScoreKind::Continuous { .. }) => {
                let (lo, hi) = kind.range();
                (format!("the grade from {lo} to {hi} in digits"), Contract::Labelled { label: label.clone(), lo, hi })
            }
        };
        Demand { contract, text: fill(CODE, &[("code", &label), ("what", &what)]) }
    }

    /// Rubric, data, then rubric and contract once more.
    fn messages(&self, subject: Subject<'_>, demand: &Demand) -> Vec<Message> {
        let system = format!("{}\n\n{}", SYSTEM.trim_end(), demand.text);
        let data = self.template.render(subject);
        let mut parts = vec![data.trim_end(), AFTER_DATA.trim_end()];
        parts.extend(Some(self.template.rubric()).filter(|rubric| !rubric.is_empty()));
        parts.push(&demand.text);
        let user = parts.join("\n\n");
        vec![Message { role: Role::System, text: system }, Message { role: Role::User, text: user }]
    }

    async fn ask(&self, subject: Subject<'_>, question: Question<'_>, transport: &dyn Transport) -> Try {
        let Question { messages, contract, asking } = question;
        let request = ChatRequest {
            messages,
            trial: subject.trial,
            purpose: Purpose::Judge,
            deadlines: self.deadlines,
            what: format!("{} of case {}", self.metric, subject.case.id),
        };
        let mut call = self.model.chat.call(&request);
        if asking == Asking::Again {
            // Another day for one reply would be too long.
            call.route = Route::Direct;
        }
        let seen = Mutex::new(Seen::default());
        let result = exchange(transport, &call, |response| {
            let (now, result) = self.look(subject, contract, response);
            let spent = now.spent;
            *seen.lock().unwrap_or_else(PoisonError::into_inner) = now;
            result.map(|said| (said, spent))
        })
        .await;
        let seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok((said, receipt)) => {
                // An answer from the ledger was paid for in an earlier run.
                let spent = if receipt.cached { Spent::default() } else { seen.spent };
                Try { result: Ok(said), why: None, spent, attempts: receipt.attempts, cached: receipt.cached }
            }
            Err(failure) => {
                // What was seen last is what failed, unless a kept reply was read before a call that failed otherwise.
                let known = seen.unusable.filter(|(kind, _)| *kind == failure.kind).map(|(_, why)| why);
                let why = known.or_else(|| why_of(failure.kind));
                let attempts = failure.attempts;
                Try { result: Err(failure.on(Side::Infra)), why, spent: seen.spent, attempts, cached: false }
            }
        }
    }

    /// Reads one response.
    fn look(
        &self,
        subject: Subject<'_>,
        contract: &Contract,
        response: &Response,
    ) -> (Seen, Result<JudgeReading, Rejection>) {
        let reply = match self.model.chat.read(response) {
            Ok(reply) => reply,
            Err(rejection) => {
                let unusable =
                    (rejection.class == RetryClass::Unusable).then(|| (rejection.kind, why_of_rejection(&rejection)));
                return (Seen { spent: rejection.spent, unusable }, Err(rejection));
            }
        };
        let found = read(contract, &reply.text).and_then(|said| {
            if copied(&said, &reply.text, shown(subject)) {
                return Err(Unusable::new(Why::Copied, "the same verdict stands in the texts to judge"));
            }
            Ok(said)
        });
        let unusable = found.as_ref().err().map(|unusable| (unusable.why.kind(), unusable.why));
        let seen = Seen { spent: Spent { usage: reply.usage, cost: reply.cost }, unusable };
        let result = found.map_err(|unusable| Rejection {
            raw: Some(reply.text.clone()),
            spent: seen.spent,
            ..Rejection::new(
                unusable.why.kind(),
                RetryClass::Unusable,
                format!("the reply of the judge cannot be used: {unusable}"),
            )
        });
        (seen, result)
    }

    pub(super) fn measured(&self, subject: Subject<'_>, said: JudgeReading, repaired: bool) -> Measurement {
        finish(reading(self.rule.info, self.pass_mark, said.value).map(|mut reading| {
            reading.reason = said.reason;
            reading.repaired = repaired;
            if speaks_to_the_judge(&subject.answer.text) {
                reading.flags.push(Arc::from(SPEAKS_TO_THE_JUDGE));
            }
            reading
        }))
    }
}

fn finish(reading: Result<Reading, Failure>) -> Measurement {
    match reading {
        Ok(reading) => Measurement::Value(reading),
        Err(failure) => Measurement::Error(failure),
    }
}

/// The unreadable reply, and what was wrong with it in our own words.
fn repair(failure: &Failure, why: Why, demand: &Demand) -> [Message; 2] {
    let raw = failure.raw.as_deref().map(str::trim).filter(|raw| !raw.is_empty()).unwrap_or("(no text)");
    let raw = raw.chars().take(SENT_BACK).collect();
    let text = fill(REPAIR, &[("why", why.words()), ("contract", &demand.text)]);
    [Message { role: Role::Assistant, text: raw }, Message { role: Role::User, text }]
}

/// The first failure, with its raw reply, and what came of asking again.
fn both(mut first: Failure, later: &Failure) -> Failure {
    first.message = format!("{}; asked again: {}", first.message, later.message);
    first.attempts = first.attempts.saturating_add(later.attempts);
    first.raw = first.raw.or_else(|| later.raw.clone());
    first
}

fn unusable(subject: Subject<'_>, mut failure: Failure) -> Measurement {
    if speaks_to_the_judge(&subject.answer.text) {
        failure.message.push_str("; the answer speaks to the judge");
    }
    Measurement::Unusable(failure)
}

/// Failures that are replies, whoever found them out.
fn why_of(kind: FailureKind) -> Option<Why> {
    match kind {
        FailureKind::Empty => Some(Why::Empty),
        FailureKind::Declined => Some(Why::Declined),
        FailureKind::Filtered => Some(Why::Filtered),
        FailureKind::Unusable => Some(Why::NoVerdict),
        _ => None,
    }
}

/// A complete reply that its dialect rejected.
fn why_of_rejection(rejection: &Rejection) -> Why {
    match rejection.kind {
        FailureKind::Truncated => Why::Truncated,
        FailureKind::Malformed if rejection.message.contains("tool") => Why::ToolCall,
        other => why_of(other).unwrap_or(Why::NoVerdict),
    }
}
