//! Several questions in one request: each item has a code of its own, and is believed only where its verdict stands under that code.
//!
//! The codes depend on every text of the pack, so no text can hold one; they also give the order of the items, which is therefore no
//! order of the data set's, and the same for the same texts. Whatever is not exactly one verdict on an item is asked alone, as if there
//! were no packs. A subject with a text that speaks to the judge never shares a request: what it says might move its neighbours.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;

use super::super::{Asked, Packing, Subject};
use super::ask::{AFTER_DATA, Judge, SYSTEM};
use super::form::{Form, YES_OR_NO};
use super::guard::{code, copied, speaks_to_the_judge};
use super::prompt::{fill, shown};
use super::reading::{Grade, JudgeReading, read_pack};
use super::shape::pack_form;
use super::talk::{Asking, answered_as, given_by};
use crate::domain::{Digest, FailureKind, Measurement, Side, Spent};
use crate::net::{Call, Purpose, Rejection, Response, Transport, exchange};
use crate::provider::{ChatRequest, Message, Role};

const PACK: &str = include_str!("prompts/pack.txt");
const CONTRACT: &str = include_str!("prompts/contract_pack.txt");
pub(super) const BEFORE_CODE: &str = "Item ";
/// Between the parts of a prompt.
const GAP: &str = "\n\n";
const CODE_LENGTH: usize = 16;

/// A subject in a pack.
struct Item<'a> {
    /// Position among those asked about.
    place: usize,
    code: String,
    subject: Subject<'a>,
}

/// What a reply says of each item, what it took, and whose it is.
type PackRead = (Vec<Option<JudgeReading>>, Spent, Option<Arc<str>>);

/// What became of a pack, parallel to its items.
struct Packed {
    /// `None`: to be asked alone.
    told: Vec<Option<Measurement>>,
    spent: Spent,
    attempts: u32,
}

impl Judge {
    pub(super) fn packing(&self) -> Option<Packing> {
        let grade = self.grade()?;
        if self.batch_size < 2 {
            return None;
        }
        let rubric = self.template.rubric().len();
        let around = |demand: usize| SYSTEM.len() + AFTER_DATA.len() + 2 * (rubric + demand);
        let data = self.template.source.len().saturating_sub(rubric);
        Some(Packing {
            size: self.batch_size,
            alone: around(self.form.demand().text.len()) + data,
            shared: around(pack_demand(&grade).len()) + PACK.len(),
            each: BEFORE_CODE.len() + CODE_LENGTH + 2 * GAP.len() + data,
        })
    }

    /// Everything of a pack's prompt that is not a case's text, and not in the prompt for one case.
    pub(super) fn pack_digest(&self) -> Digest {
        let demand = self.grade().map(|grade| pack_demand(&grade)).unwrap_or_default();
        Digest::of([PACK, &demand, BEFORE_CODE])
    }

    pub(super) async fn together(&self, subjects: &[Subject<'_>], transport: &dyn Transport) -> Vec<Asked> {
        let items = self.items(subjects);
        let mut told: Vec<Option<Asked>> = vec![None; subjects.len()];
        let mut packed = None;
        if let Some(grade) = self.grade().filter(|_| items.len() > 1) {
            let pack = self.ask_pack(&items, &grade, transport).await;
            for (item, measurement) in items.iter().zip(pack.told) {
                if let Some(place) = told.get_mut(item.place) {
                    *place = measurement.map(Asked::nobody);
                }
            }
            packed = Some((pack.spent, pack.attempts));
        }
        // Whoever shared the request and is not told has to be asked again.
        let again = |place: usize| packed.is_some() && items.iter().any(|item| item.place == place);
        let rest = told.into_iter().zip(subjects).enumerate().map(|(place, (told, subject))| async move {
            match told {
                Some(asked) => asked,
                None => self.alone(*subject, again(place), transport).await,
            }
        });
        let mut asked = join_all(rest).await;
        // The request is counted once: where the first of those who share it stands.
        let first = items.iter().map(|item| item.place).min().and_then(|place| asked.get_mut(place));
        if let (Some(first), Some((spent, attempts))) = (first, packed) {
            first.spent += spent;
            first.attempts = first.attempts.saturating_add(attempts);
        }
        asked
    }

    async fn alone(&self, subject: Subject<'_>, again: bool, transport: &dyn Transport) -> Asked {
        let asking = if again { Asking::Again } else { Asking::First };
        let mut asked = self.judge(subject, asking, transport).await;
        if again && asked.attempts > 0 {
            asked.repairs = asked.repairs.saturating_add(1);
        }
        asked
    }

    /// Those of `subjects` that may share a request, in the order in which they are put.
    fn items<'a>(&self, subjects: &[Subject<'a>]) -> Vec<Item<'a>> {
        let sharing = |subject: &Subject<'_>| {
            self.without_asking(*subject).is_none() && !shown(*subject).any(speaks_to_the_judge)
        };
        let sharing: Vec<(usize, Subject<'a>)> =
            subjects.iter().copied().enumerate().filter(|(_, subject)| sharing(subject)).collect();
        let trial = sharing.first().map_or(0, |(_, subject)| subject.trial).to_string();
        let texts = sharing.iter().map(|(_, subject)| Digest::of(shown(*subject)).to_string());
        let all = Digest::of(texts.chain(std::iter::once(trial))).to_string();
        let mut items: Vec<Item<'a>> = sharing
            .into_iter()
            .enumerate()
            // Two items may be the same to the letter.
            .map(|(at, (place, subject))| Item { place, code: code([all.as_str(), &at.to_string()]), subject })
            .collect();
        items.sort_by(|one, other| one.code.cmp(&other.code));
        items
    }

    async fn ask_pack(&self, items: &[Item<'_>], grade: &Grade, transport: &dyn Transport) -> Packed {
        let request = ChatRequest {
            messages: self.pack_messages(items, grade),
            trial: items.first().map_or(0, |item| item.subject.trial),
            purpose: Purpose::Judge,
            deadlines: self.talk.deadlines,
            what: self.pack_name(items),
            form: Some(pack_form(grade)),
        };
        let call = self.talk.model.chat.call(&request);
        let seen = Mutex::new((Spent::default(), BTreeSet::new()));
        let result = exchange(transport, &call, |response| {
            let read = self.look_at_pack((items, grade), &call, response);
            let now = match &read {
                Ok((_, spent, model)) => (*spent, model.iter().cloned().collect()),
                Err(rejection) => (rejection.spent, BTreeSet::new()),
            };
            *seen.lock().unwrap_or_else(PoisonError::into_inner) = now;
            read.map(|(said, spent, _)| (said, spent))
        })
        .await;
        let (seen, models) = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok((said, receipt)) => {
                let spent = if receipt.cached { Spent::default() } else { seen };
                let measured = |(item, said): (&Item<'_>, Option<JudgeReading>)| {
                    said.map(|said| given_by(self.measured(item.subject, said, false), &models))
                };
                Packed { told: items.iter().zip(said).map(measured).collect(), spent, attempts: receipt.attempts }
            }
            Err(failure) => {
                let attempts = failure.attempts;
                let failed = (!may_do_better_alone(failure.kind)).then(|| Measurement::Error(failure.on(Side::Infra)));
                Packed { told: vec![failed; items.len()], spent: seen, attempts }
            }
        }
    }

    /// Every complete reply is paid for and kept, whatever it says: what it does not say is asked alone, in a later run too.
    fn look_at_pack(
        &self,
        (items, grade): (&[Item<'_>], &Grade),
        call: &Call,
        response: &Response,
    ) -> Result<PackRead, Rejection> {
        let reply = self.talk.model.chat.read(call, response)?;
        let codes: Vec<String> = items.iter().map(|item| item.code.clone()).collect();
        let said = match read_pack(grade, &reply.text, &codes) {
            Err(_) => vec![None; items.len()],
            Ok(read) => items
                .iter()
                .zip(read)
                .map(|(item, said)| said.ok().filter(|said| !copied(said, &reply.text, shown(item.subject))))
                .collect(),
        };
        Ok((said, Spent { usage: reply.usage, cost: reply.cost }, answered_as(&reply)))
    }

    /// `None` where this judge's verdicts cannot stand side by side.
    fn grade(&self) -> Option<Grade> {
        match self.form {
            Form::Words => Some(Grade::Words(YES_OR_NO)),
            Form::Number { lo, hi } => Some(Grade::Number { lo, hi }),
            Form::Letters(_) | Form::Compat(_) => None,
        }
    }

    /// Rubric, items, then rubric and contract once more.
    fn pack_messages(&self, items: &[Item<'_>], grade: &Grade) -> Vec<Message> {
        let demand = pack_demand(grade);
        let rubric = Some(self.template.rubric()).filter(|rubric| !rubric.is_empty());
        let mut parts: Vec<String> = rubric.map(str::to_owned).into_iter().collect();
        parts.push(fill(PACK, &[("count", &items.len().to_string())]));
        parts.extend(
            items
                .iter()
                .map(|item| format!("{BEFORE_CODE}{}\n{}", item.code, self.template.render_data(item.subject).trim())),
        );
        parts.push(AFTER_DATA.trim_end().to_owned());
        parts.extend(rubric.map(str::to_owned));
        parts.push(demand.clone());
        let system = format!("{}{GAP}{demand}", SYSTEM.trim_end());
        vec![Message { role: Role::System, text: system }, Message { role: Role::User, text: parts.join(GAP) }]
    }

    /// For messages: `faithfulness of 5 cases from q1 to q5`.
    fn pack_name(&self, items: &[Item<'_>]) -> String {
        let id = |item: Option<&Item<'_>>| item.map(|item| item.subject.case.id.to_string()).unwrap_or_default();
        let first = id(items.iter().min_by_key(|item| item.place));
        let last = id(items.iter().max_by_key(|item| item.place));
        format!("{} of {} cases from {first} to {last}", self.talk.metric, items.len())
    }
}

/// How to reply about several items.
pub(super) fn pack_demand(grade: &Grade) -> String {
    let (form, what) = match grade {
        Grade::Words(_) => (
            "\"verdict\": \"YES or NO\"".to_owned(),
            "the verdict is one word, YES if it is positive, NO if it is negative".to_owned(),
        ),
        Grade::Number { lo, hi } => {
            ("\"score\": 0.0".to_owned(), format!("the score is the grade, a number from {lo} to {hi}"))
        }
    };
    fill(CONTRACT, &[("form", &form), ("what", &what)])
}

/// Whether a shorter request may succeed where a pack failed in this way. What ended for all (an endpoint, a budget, the run) or came
/// of the network after all retries is no better alone; what is still in its batch will be paid for there.
pub(in crate::evaluator) fn may_do_better_alone(kind: FailureKind) -> bool {
    match kind {
        FailureKind::Timeout
        | FailureKind::Truncated
        | FailureKind::BadRequest
        | FailureKind::TooLong
        | FailureKind::Malformed
        | FailureKind::Empty
        | FailureKind::Filtered
        | FailureKind::Declined
        | FailureKind::Unusable => true,
        FailureKind::Connection
        | FailureKind::RateLimited
        | FailureKind::Quota
        | FailureKind::Auth
        | FailureKind::NotFound
        | FailureKind::Server
        | FailureKind::Redirect
        | FailureKind::Forbidden
        | FailureKind::Command
        | FailureKind::Missing
        | FailureKind::NotAScore
        | FailureKind::Budget
        | FailureKind::Cancelled
        | FailureKind::InBatch
        | FailureKind::NoAnswer
        | FailureKind::Internal
        | FailureKind::Recorded
        | FailureKind::NotRecorded => false,
    }
}

#[cfg(test)]
mod tests;
