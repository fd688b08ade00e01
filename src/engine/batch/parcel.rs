//! One batch, from the moment its calls are together until the last of them is settled.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Key, counted};
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
    /// Seconds since 1970, just before it is submitted.
    pub(super) since: i64,
    pub(super) origin: Origin,
    pub(super) keys: Vec<Key>,
    state: Mutex<State>,
}

struct State {
    id: Option<String>,
    /// Somebody sees it through.
    under_way: bool,
    /// Calls that nobody has settled yet.
    open: HashSet<Key>,
    end: Option<End>,
    told: bool,
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
    Rejected(Rejection),
}

/// What a call finds in its batch.
pub(super) enum Claim {
    /// To be waited for; `begin`: nobody sees the batch through yet.
    Wait {
        begin: bool,
    },
    Ready(ItemResult, Taken),
    Rejected(Rejection),
    /// Nothing any more: the call is like a new one.
    Nothing,
}

impl Parcel {
    pub(super) fn new(endpoint: Arc<str>, keys: Vec<Key>, since: i64) -> Self {
        let tag = format!("{:032x}", fastrand::u128(..));
        let open = keys.iter().copied().collect();
        // Whoever makes it sees it through.
        let state = State { id: None, under_way: true, open, end: None, told: false };
        Self { tag, endpoint, since, origin: Origin::ThisRun, keys, state: Mutex::new(state) }
    }

    pub(super) fn remembered(batch: Remembered) -> Self {
        let Remembered { tag, id, endpoint, since, keys } = batch;
        let open = keys.iter().copied().collect();
        let state = State { id, under_way: false, open, end: None, told: false };
        Self { tag, endpoint: endpoint.into(), since, origin: Origin::EarlierRun, keys, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn id(&self) -> Option<String> {
        self.state().id.clone()
    }

    pub(super) fn set_id(&self, id: &str) {
        self.state().id = Some(id.to_owned());
    }

    /// `batch msgbatch_1 (400 requests)`, for messages.
    pub(super) fn name(&self) -> String {
        let requests = counted(self.keys.len());
        match self.state().id.as_deref() {
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
            Some(End::Rejected(rejection)) => Claim::Rejected(rejection.clone()),
            None => Claim::Wait { begin: !std::mem::replace(&mut state.under_way, true) },
        }
    }

    /// Takes the results, which are there for later calls until they are settled.
    pub(super) fn finish(&self, results: HashMap<Key, (ItemResult, Taken)>) {
        self.state().end = Some(End::Results(results));
    }

    pub(super) fn reject(&self, rejection: Rejection) {
        self.state().end = Some(End::Rejected(rejection));
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
