//! Who waits for what: calls that arrive, those that are gathered, and the batches they are in.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::gather::{Group, gather};
use super::parcel::{Claim, Parcel, Taken, hex};
use super::voyage::voyage;
use super::{Billed, Delivery, Key, Shared};
use crate::domain::RetryClass;
use crate::net::{BatchApi, BatchItem, Call, ItemResult, Rejection, Request};

/// A call that waits, with all who asked for it.
struct Waiting {
    api: Arc<dyn BatchApi>,
    endpoint: Arc<str>,
    body: Bytes,
    askers: Vec<oneshot::Sender<Delivery>>,
}

#[derive(Default)]
pub(super) struct Desk {
    waiting: HashMap<Key, Waiting>,
    /// Calls that are in no batch yet, by the interface they go to.
    pub(super) groups: HashMap<usize, Group>,
    /// The batch of a call, which stays known until the run ends.
    parcels: HashMap<Key, Arc<Parcel>>,
    /// Calls whose askers waited as long as they may.
    left: HashSet<Key>,
    gathering: bool,
}

/// How many results of a batch are of which kind.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) answered: usize,
    /// With the reason of the first.
    pub(super) refused: (usize, Option<String>),
    /// By reason.
    pub(super) direct: HashMap<String, usize>,
}

impl Desk {
    pub(super) fn add(&mut self, parcel: &Arc<Parcel>) {
        for key in &parcel.keys {
            self.parcels.insert(*key, Arc::clone(parcel));
        }
    }

    pub(super) fn parcel(&self, key: &Key) -> Option<Arc<Parcel>> {
        self.parcels.get(key).cloned()
    }

    /// Whether a batch is known to be that of some parcel; one that is only tried may be another's.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.parcels.values().any(|parcel| parcel.sure_id().as_deref() == Some(id))
    }

    pub(super) fn leave(&mut self, key: Key) {
        self.left.insert(key);
    }

    pub(super) fn settle(&mut self, key: &Key) {
        self.left.remove(key);
    }

    pub(super) fn leaves_calls(&self) -> bool {
        !self.left.is_empty()
    }

    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) fn items(&self, keys: &[Key]) -> Vec<BatchItem> {
        let item = |key: &Key| Some(BatchItem { id: hex(key), body: self.waiting.get(key)?.body.clone() });
        keys.iter().filter_map(item).collect()
    }

    fn gather(&mut self, key: Key) {
        let Some(waiting) = self.waiting.get(&key) else { return };
        let now = Instant::now();
        let place = Arc::as_ptr(&waiting.api).cast::<()>() as usize;
        let group = self.groups.entry(place).or_insert_with(|| Group::new(&waiting.api, &waiting.endpoint, now));
        group.add(key, waiting.body.len(), now);
    }

    /// Gives a result to those who wait for it; false where nobody took it.
    fn deliver(&mut self, key: &Key, delivery: &Delivery) -> bool {
        let Some(Waiting { askers, .. }) = self.waiting.remove(key) else { return false };
        let mut taken = false;
        for asker in askers {
            let delivery = match delivery {
                Delivery::Answer { response, .. } => Delivery::Answer { response: response.clone(), first: !taken },
                other => other.clone(),
            };
            taken |= asker.send(delivery).is_ok();
        }
        taken
    }
}

/// What a result means for the call; `first`: nobody else has it.
fn delivery(result: &ItemResult, first: bool) -> Delivery {
    match result {
        ItemResult::Answer(response) => Delivery::Answer { response: response.clone(), first },
        // This request is wrong, however it is sent.
        ItemResult::Failed(rejection) if rejection.class == RetryClass::Case => {
            Delivery::Rejected(rejection.clone(), Billed::No)
        }
        ItemResult::Failed(_) | ItemResult::Skipped(_) => Delivery::Direct,
    }
}

impl Tally {
    fn count(&mut self, result: &ItemResult) {
        match (result, delivery(result, true)) {
            (_, Delivery::Answer { .. }) => self.answered += 1,
            (ItemResult::Skipped(why), _) => *self.direct.entry(why.clone()).or_default() += 1,
            (ItemResult::Failed(rejection), Delivery::Rejected(..)) => {
                self.refused.0 += 1;
                self.refused.1.get_or_insert_with(|| rejection.message.clone());
            }
            (ItemResult::Failed(_), _) => *self.direct.entry("failed".to_owned()).or_default() += 1,
            (ItemResult::Answer(_), _) => {}
        }
    }
}

impl Shared {
    /// Takes a call in; what comes of it arrives at the receiver.
    pub(super) fn enter(
        self: &Arc<Self>,
        key: Key,
        call: &Call,
        api: &Arc<dyn BatchApi>,
    ) -> oneshot::Receiver<Delivery> {
        let (asker, answer) = oneshot::channel();
        let Request::Http(request) = &call.request else {
            let _ = asker.send(Delivery::Direct);
            return answer;
        };
        let mut desk = self.desk();
        if let Some(waiting) = desk.waiting.get_mut(&key) {
            waiting.askers.push(asker);
            return answer;
        }
        let claim = desk.parcel(&key).map(|parcel| (parcel.claim(&key), parcel));
        let begun = match claim {
            Some((Claim::Ready(result, taken), _)) => {
                let _ = asker.send(delivery(&result, taken == Taken::No));
                return answer;
            }
            Some((Claim::Rejected(rejection, billed), _)) => {
                let _ = asker.send(Delivery::Rejected(rejection, billed));
                return answer;
            }
            Some((Claim::Wait { begin }, parcel)) => Some((begin, parcel)),
            Some((Claim::Nothing, _)) | None => None,
        };
        let (endpoint, body) = (Arc::clone(&call.endpoint), request.body.clone());
        desk.waiting.insert(key, Waiting { api: Arc::clone(api), endpoint, body, askers: vec![asker] });
        match begun {
            Some((true, parcel)) => drop(tokio::spawn(voyage(Arc::clone(self), parcel, Arc::clone(api)))),
            Some((false, _)) => {}
            None => {
                desk.gather(key);
                self.see_to_groups(&mut desk);
            }
        }
        answer
    }

    /// Hands out the results of a batch; what it does not bring is asked for directly.
    pub(super) fn hand_out(&self, parcel: &Parcel, mut results: HashMap<String, ItemResult>) -> Tally {
        let mut tally = Tally::default();
        let mut given = HashMap::new();
        let mut desk = self.desk();
        for key in &parcel.keys {
            let missing = || ItemResult::Skipped("missing in the results".to_owned());
            let result = results.remove(&hex(key)).unwrap_or_else(missing);
            tally.count(&result);
            let taken = desk.deliver(key, &delivery(&result, true));
            given.insert(*key, (result, if taken { Taken::Yes } else { Taken::No }));
        }
        // Within the same lock: a call that arrives now finds its result.
        parcel.finish(given);
        drop(desk);
        tally
    }

    /// Nothing will come of a batch.
    pub(super) fn give_up(&self, parcel: &Parcel, rejection: &Rejection, billed: Billed) {
        let mut desk = self.desk();
        for key in &parcel.keys {
            desk.deliver(key, &Delivery::Rejected(rejection.clone(), billed));
        }
        parcel.reject(rejection.clone(), billed);
    }

    /// No provider has this batch: its calls are gathered anew.
    pub(super) fn start_over(self: &Arc<Self>, parcel: &Parcel) {
        let mut desk = self.desk();
        for key in &parcel.keys {
            desk.parcels.remove(key);
            desk.gather(*key);
        }
        self.see_to_groups(&mut desk);
    }

    fn see_to_groups(self: &Arc<Self>, desk: &mut Desk) {
        if !std::mem::replace(&mut desk.gathering, true) {
            drop(tokio::spawn(gather(Arc::downgrade(self))));
        }
    }
}
