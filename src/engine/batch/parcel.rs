//! One batch, from the moment its calls are together until the last of them is settled.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Billed, Key, counted};
use crate::net::{ItemResult, Rejection};
use crate::store::Remembered;

/// Who submitted a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    ThisRun,
    EarlierRun,
}

/// A batch.
pub(super) struct Parcel {
    /// Ours, and unique.
    pub(super) tag: String,
    pub(super) endpoint: Arc<str>,
    pub(super) origin: Origin,
    /// Of calls whose answers have not arrived yet.
    pub(super) keys: Vec<Key>,
    /// All calls that were submitted in it.
    pub(super) requests: usize,
    state: Mutex<State>,
}

struct State {
    /// Microseconds since 1970, just before the last attempt at submitting it.
    since_us: i64,
    id: Option<Id>,
    /// Somebody sees it through.
    under_way: bool,
    /// Calls that nobody has settled yet.
    open: HashSet<Key>,
    end: Option<End>,
    told: bool,
}

/// The provider's name of a batch.
enum Id {
    Sure(String),
    /// Of a batch that may be another's: its results will tell.
    Tried(String),
}

/// Whether a result found somebody who waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    No,
    Yes,
}

/// How it ended.
enum End {
    /// Results that are not settled yet, and whether somebody took them.
    Results(HashMap<Key, (ItemResult, Taken)>),
    Rejected(Rejection, Billed),
}

/// What a call finds in its batch.
pub(super) enum Claim {
    /// To be waited for; `begin`: nobody sees the batch through yet.
    Wait {
        begin: bool,
    },
    Ready(ItemResult, Taken),
    Rejected(Rejection, Billed),
    /// Nothing any more: the call is like a new one.
    Nothing,
}

impl Parcel {
    pub(super) fn new(endpoint: Arc<str>, keys: Vec<Key>, now_us: i64) -> Self {
        let tag = format!("{:032x}", fastrand::u128(..));
        let open = keys.iter().copied().collect();
        // Whoever makes it sees it through.
        let state = State { since_us: now_us, id: None, under_way: true, open, end: None, told: false };
        let requests = keys.len();
        Self { tag, endpoint, origin: Origin::ThisRun, keys, requests, state: Mutex::new(state) }
    }

    pub(super) fn remembered(batch: Remembered) -> Self {
        let Remembered { tag, id, endpoint, since_us, keys, requests } = batch;
        let open = keys.iter().copied().collect();
        let state = State { since_us, id: id.map(Id::Sure), under_way: false, open, end: None, told: false };
        let endpoint = endpoint.into();
        Self { tag, endpoint, origin: Origin::EarlierRun, keys, requests, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn since_us(&self) -> i64 {
        self.state().since_us
    }

    /// An attempt at submitting it begins.
    pub(super) fn begin_attempt(&self, now_us: i64) {
        self.state().since_us = now_us;
    }

    pub(super) fn id(&self) -> Option<String> {
        self.state().id.as_ref().map(|(Id::Sure(id) | Id::Tried(id))| id.clone())
    }

    /// The one that is this batch's for sure.
    pub(super) fn sure_id(&self) -> Option<String> {
        match &self.state().id {
            Some(Id::Sure(id)) => Some(id.clone()),
            Some(Id::Tried(_)) | None => None,
        }
    }

    pub(super) fn set_id(&self, id: &str) {
        self.state().id = Some(Id::Sure(id.to_owned()));
    }

    pub(super) fn try_id(&self, id: &str) {
        self.state().id = Some(Id::Tried(id.to_owned()));
    }

    /// `batch msgbatch_1 (400 requests)`, for messages.
    pub(super) fn name(&self) -> String {
        let requests = counted(self.requests);
        match self.id() {
            Some(id) => format!("batch {id} ({requests})"),
            None => format!("a batch of {requests} whose submission was not confirmed yet"),
        }
    }

    /// True the first time.
    pub(super) fn tell_once(&self) -> bool {
        !std::mem::replace(&mut self.state().told, true)
    }

    /// What is there for a call that arrives.
    pub(super) fn claim(&self, key: &Key) -> Claim {
        let mut state = self.state();
        if !state.open.contains(key) {
            return Claim::Nothing;
        }
        match &mut state.end {
            Some(End::Results(results)) => match results.get_mut(key) {
                Some((result, taken)) => Claim::Ready(result.clone(), std::mem::replace(taken, Taken::Yes)),
                None => Claim::Nothing,
            },
            Some(End::Rejected(rejection, billed)) => Claim::Rejected(rejection.clone(), *billed),
            None => Claim::Wait { begin: !std::mem::replace(&mut state.under_way, true) },
        }
    }

    /// Takes the results, which are there for later calls until they are settled.
    pub(super) fn finish(&self, results: HashMap<Key, (ItemResult, Taken)>) {
        self.state().end = Some(End::Results(results));
    }

    pub(super) fn reject(&self, rejection: Rejection, billed: Billed) {
        self.state().end = Some(End::Rejected(rejection, billed));
    }

    /// One call less; true for the last one.
    pub(super) fn settle(&self, key: &Key) -> bool {
        let mut state = self.state();
        if let Some(End::Results(results)) = &mut state.end {
            results.remove(key);
        }
        state.open.remove(key) && state.open.is_empty()
    }

    /// True where `results` are those of another batch.
    pub(super) fn is_strange_to(&self, results: &HashMap<String, ItemResult>) -> bool {
        !results.is_empty() && !self.keys.iter().any(|key| results.contains_key(&hex(key)))
    }
}

/// A call's id in its batch.
pub(super) fn hex(key: &Key) -> String {
    use std::fmt::Write as _;
    key.iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
