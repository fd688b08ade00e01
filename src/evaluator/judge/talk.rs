//! Questions to one model: a call, and at most one more where the reply does not keep its contract.
//!
//! What a question shows and how its reply is read is its owner's; that every reply is paid for once, counted, and never a verdict
//! where it is none, is here.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::super::Subject;
use super::form::Form;
use super::guard::{code, copied, speaks_to_the_judge};
use super::prompt::fill;
use super::reading::{JudgeReading, Unusable, Why, read};
use crate::domain::{Failure, FailureKind, Measurement, MetricName, RetryClass, Side, Spent};
use crate::net::{Call, Deadlines, Purpose, Rejection, Response, Route, Transport, exchange};
use crate::provider::{ChatReply, ChatRequest, Message, Model, ReplyForm, Role};

pub(super) const REPAIR: &str = include_str!("prompts/repair.txt");

/// Most characters of an unreadable reply that are sent back with the request to give it again.
const SENT_BACK: usize = 4_000;

/// A model that is asked for a metric.
#[derive(Clone)]
pub(super) struct Talk {
    pub metric: MetricName,
    pub model: Model,
    pub deadlines: Deadlines,
}

/// Whether a verdict is asked for after a reply, alone or in a pack, that did not hold a usable one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asking {
    First,
    Again,
}

/// What the calls of one measurement took together.
#[derive(Clone, Default)]
pub(super) struct Took {
    pub spent: Spent,
    pub attempts: u32,
    pub repairs: u32,
    /// Who gave the replies that count.
    pub models: BTreeSet<Arc<str>>,
}

/// A question with one verdict.
pub(super) struct Question<'a> {
    pub subject: Subject<'a>,
    /// The messages for a demand.
    pub messages: &'a (dyn Fn(&str) -> Vec<Message> + Sync),
    pub form: &'a Form,
    /// Everything that the judge is shown and might only repeat.
    pub texts: &'a [&'a str],
    pub asking: Asking,
}

/// One request.
struct Request<'a, T> {
    subject: Subject<'a>,
    messages: Vec<Message>,
    read: &'a (dyn Fn(&str) -> Result<T, Unusable> + Send + Sync),
    asking: Asking,
    /// Of a reply in JSON.
    form: Option<ReplyForm>,
}

/// What one call came to.
struct Try<T> {
    result: Result<T, Failure>,
    /// Set where a reply came that says nothing usable.
    why: Option<Why>,
    spent: Spent,
    attempts: u32,
    cached: bool,
    model: Option<Arc<str>>,
}

/// What the reader saw of the last response, usable or not: unusable replies are paid for too.
#[derive(Default)]
struct Seen {
    spent: Spent,
    /// How the response was rejected as a reply that says nothing usable.
    unusable: Option<(FailureKind, Why)>,
    model: Option<Arc<str>>,
}

impl Took {
    fn add<T>(&mut self, one: &Try<T>) {
        self.spent += one.spent;
        self.attempts = self.attempts.saturating_add(one.attempts);
        self.models.extend(one.model.clone().filter(|_| one.result.is_ok()));
    }
}

impl Talk {
    /// The verdict, and whether it had to be asked for again; an error or an unusable reply otherwise.
    pub(super) async fn verdict(
        &self,
        question: Question<'_>,
        transport: &dyn Transport,
        took: &mut Took,
    ) -> Result<(JudgeReading, bool), Measurement> {
        let Question { subject, messages, form, texts, asking } = question;
        let demand = form.demand();
        let reader = |contract| {
            move |reply: &str| {
                let said = read(&contract, reply)?;
                if !form.believes_all() && copied(&said, reply, texts.iter().copied()) {
                    return Err(Unusable::new(Why::Copied, "the same verdict stands in the texts to judge"));
                }
                Ok(said)
            }
        };
        let sent = messages(&demand.text);
        let read = reader(demand.contract);
        let first =
            self.once(Request { subject, messages: sent.clone(), read: &read, asking, form: None }, transport).await;
        took.add(&first);
        let (failure, why) = match settled(subject, first) {
            Ok(Ok(said)) => return Ok((said, false)),
            Ok(Err(doubt)) => doubt,
            Err(measurement) => return Err(measurement),
        };
        let doubtful = why == Why::Copied || texts.iter().any(|text| speaks_to_the_judge(text));
        let again = if doubtful { form.coded(code(texts.iter().copied())) } else { form.demand() };
        let sent = [sent, repair(&failure, why, &again.text).to_vec()].concat();
        let read = reader(again.contract);
        let request = Request { subject, messages: sent, read: &read, asking: Asking::Again, form: None };
        self.second(request, failure, transport, took).await
    }

    /// As [`verdict`](Self::verdict), for replies in JSON that hold more than one; `demand` says how to reply, as `form` does to the service,
    /// and `read` reads it.
    pub(super) async fn ask<T: Send>(
        &self,
        subject: Subject<'_>,
        (messages, demand, form): (Vec<Message>, &str, ReplyForm),
        read: &(dyn Fn(&str) -> Result<T, Unusable> + Send + Sync),
        transport: &dyn Transport,
        took: &mut Took,
    ) -> Result<(T, bool), Measurement> {
        let form = Some(form);
        let request = Request { subject, messages: messages.clone(), read, asking: Asking::First, form: form.clone() };
        let first = self.once(request, transport).await;
        took.add(&first);
        let (failure, why) = match settled(subject, first) {
            Ok(Ok(said)) => return Ok((said, false)),
            Ok(Err(doubt)) => doubt,
            Err(measurement) => return Err(measurement),
        };
        let sent = [messages, repair(&failure, why, demand).to_vec()].concat();
        let request = Request { subject, messages: sent, read, asking: Asking::Again, form };
        self.second(request, failure, transport, took).await
    }

    async fn second<T: Send>(
        &self,
        request: Request<'_, T>,
        first: Failure,
        transport: &dyn Transport,
        took: &mut Took,
    ) -> Result<(T, bool), Measurement> {
        let subject = request.subject;
        let second = self.once(request, transport).await;
        took.add(&second);
        took.repairs = took.repairs.saturating_add(u32::from(!second.cached));
        match second.result {
            Ok(said) => Ok((said, true)),
            Err(later) => Err(unusable(subject, both(first, &later))),
        }
    }

    async fn once<T: Send>(&self, request: Request<'_, T>, transport: &dyn Transport) -> Try<T> {
        let Request { subject, messages, read, asking, form } = request;
        let asked = ChatRequest {
            messages,
            trial: subject.trial,
            purpose: Purpose::Judge,
            deadlines: self.deadlines,
            what: format!("{} of case {}", self.metric, subject.case.id),
            form,
        };
        let mut call = self.model.chat.call(&asked);
        if asking == Asking::Again {
            // Another day for one reply would be too long.
            call.route = Route::Direct;
        }
        let seen = Mutex::new(Seen::default());
        let result = exchange(transport, &call, |response| {
            let (now, result) = self.look(read, &call, response);
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
                Try {
                    result: Ok(said),
                    why: None,
                    spent,
                    attempts: receipt.attempts,
                    cached: receipt.cached,
                    model: seen.model,
                }
            }
            Err(failure) => {
                // What was seen last is what failed, unless a kept reply was read before a call that failed otherwise.
                let known = seen.unusable.filter(|(kind, _)| *kind == failure.kind).map(|(_, why)| why);
                let why = known.or_else(|| why_of(failure.kind));
                let attempts = failure.attempts;
                Try {
                    result: Err(failure.on(Side::Infra)),
                    why,
                    spent: seen.spent,
                    attempts,
                    cached: false,
                    model: None,
                }
            }
        }
    }

    /// Reads one response.
    fn look<T>(
        &self,
        read: &(dyn Fn(&str) -> Result<T, Unusable> + Send + Sync),
        call: &Call,
        response: &Response,
    ) -> (Seen, Result<T, Rejection>) {
        let reply = match self.model.chat.read(call, response) {
            Ok(reply) => reply,
            Err(rejection) => {
                // A prompt that was cut would be cut again.
                let is_reply = rejection.class == RetryClass::Unusable && rejection.kind != FailureKind::TooLong;
                let unusable = is_reply.then(|| (rejection.kind, why_of_rejection(&rejection)));
                return (Seen { spent: rejection.spent, unusable, model: None }, Err(rejection));
            }
        };
        let found = read(&reply.text);
        let unusable = found.as_ref().err().map(|unusable| (unusable.why.kind(), unusable.why));
        let seen = Seen { spent: Spent { usage: reply.usage, cost: reply.cost }, unusable, model: answered_as(&reply) };
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
}

/// The model as its service named it. A name from outside has an end.
pub(super) fn answered_as(reply: &ChatReply) -> Option<Arc<str>> {
    const LONGEST: usize = 100;
    let name: String = reply.model.as_deref()?.trim().chars().take(LONGEST).collect();
    (!name.is_empty()).then(|| name.into())
}

/// The same measurement, given by `models`.
pub(super) fn given_by(measurement: Measurement, models: &BTreeSet<Arc<str>>) -> Measurement {
    match measurement {
        Measurement::Value(mut reading) if !models.is_empty() => {
            let names: Vec<&str> = models.iter().map(|model| &**model).collect();
            reading.model = Some(names.join(", ").into());
            Measurement::Value(reading)
        }
        other => other,
    }
}

/// The first reply, or the failure and its reason where asking again may help; an error where nothing more is to be asked.
fn settled<T>(subject: Subject<'_>, first: Try<T>) -> Result<Result<T, (Failure, Why)>, Measurement> {
    match (first.result, first.why) {
        (Ok(said), _) => Ok(Ok(said)),
        (Err(failure), None) => Err(Measurement::Error(failure)),
        (Err(failure), Some(Why::Declined | Why::Filtered)) => Err(unusable(subject, failure)),
        (Err(failure), Some(why)) => Ok(Err((failure, why))),
    }
}

/// The unreadable reply, and what was wrong with it in our own words.
fn repair(failure: &Failure, why: Why, demand: &str) -> [Message; 2] {
    let raw = failure.raw.as_deref().map(str::trim).filter(|raw| !raw.is_empty()).unwrap_or("(no text)");
    let raw = raw.chars().take(SENT_BACK).collect();
    let text = fill(REPAIR, &[("why", why.words()), ("contract", demand)]);
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
