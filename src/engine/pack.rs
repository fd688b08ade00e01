//! Who is judged together, known before anybody answers: neighbours in the run's plan.
//!
//! For an evaluator that packs k subjects into one request, the cases at places 0 to k-1 of the run are one pack, the next k another, each
//! under one target and in one trial. A job that has its answer waits for the others of its pack; one without an answer says so by being
//! dropped. The last to be heard of makes the pack complete, and one of those who wait asks for all. Nothing depends on time or order, so
//! the same run asks the same questions again and finds their answers in the ledger.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::plan::{Plan, WINDOW};
use crate::domain::{Answer, Case};
use crate::evaluator::{Asked, Evaluator, Subject, Way};
use crate::net::Transport;

/// A job's place in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    /// Position of the case among those of this run.
    pub(super) place: usize,
    /// Position in `Plan::targets`.
    pub(super) target: usize,
    pub(super) trial: u32,
}

/// The packs of a run.
pub(super) struct Packs {
    /// Parallel to `Plan::evaluators`; 1: each subject alone.
    sizes: Vec<usize>,
    targets: usize,
    trials: usize,
    /// The first of them.
    first: usize,
    /// Jobs begun so far, in the order of the plan.
    begun: AtomicUsize,
    desk: Mutex<Desk>,
}

#[derive(Default)]
struct Desk {
    open: HashMap<Key, Gathering>,
    /// How many jobs there are, once no more will begin.
    end: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    evaluator: usize,
    target: usize,
    trial: u32,
    pack: usize,
}

#[derive(Default)]
struct Gathering {
    waiting: Vec<Waiting>,
    /// Members heard of: those who wait, and those who will not come.
    heard: usize,
}

/// A member with its answer.
struct Waiting {
    place: usize,
    case: Arc<Case>,
    answer: Arc<Answer>,
    turn: oneshot::Sender<Turn>,
}

/// What becomes of a member that waits.
enum Turn {
    /// It is to ask for all of these, itself among them.
    Lead(Vec<Waiting>),
    Told(Box<Asked>),
}

impl Packs {
    pub(super) fn new(plan: &Plan) -> Self {
        Self::more(plan, 0..plan.limits.trials.max(1))
    }

    /// Those of some of the trials.
    pub(super) fn more(plan: &Plan, trials: Range<u32>) -> Self {
        let size = |way: &Way| match way {
            Way::Pure(_) => 1,
            Way::Asking(asking) => asking.packing().map_or(1, |packing| packing.size),
        };
        let count = usize::try_from(trials.end.saturating_sub(trials.start)).unwrap_or(usize::MAX);
        let sizes = plan.evaluators.iter().map(|evaluator| size(&evaluator.way)).collect();
        let first = usize::try_from(trials.start).unwrap_or(usize::MAX);
        Self { first, ..Self::of(sizes, plan.targets.len(), count) }
    }

    fn of(sizes: Vec<usize>, targets: usize, trials: usize) -> Self {
        Self { sizes, targets, trials, first: 0, begun: AtomicUsize::new(0), desk: Mutex::default() }
    }

    fn largest(&self) -> usize {
        self.sizes.iter().copied().max().unwrap_or(1).max(1)
    }

    pub(super) fn is_any(&self) -> bool {
        self.largest() > 1
    }

    /// Jobs in flight: as many requests as without packs, and always more than one whole pack of everything, which waits for its members.
    pub(super) fn window(&self, alone: usize) -> usize {
        if !self.is_any() {
            return alone;
        }
        let whole = self.largest().saturating_mul(self.targets).saturating_mul(self.trials);
        alone.saturating_mul(self.largest()).min(WINDOW).max(whole.saturating_mul(2))
    }

    /// One more job begins, in the plan's order.
    pub(super) fn begin(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    /// No more jobs begin: packs wait no longer for those that did not.
    pub(super) fn close(&self) {
        let ready = {
            let mut desk = self.desk();
            desk.end = Some(self.begun.load(Ordering::Relaxed));
            let open: Vec<Key> = desk.open.keys().copied().collect();
            open.into_iter().filter_map(|key| self.complete(&mut desk, key)).collect::<Vec<_>>()
        };
        ready.into_iter().for_each(call_a_leader);
    }

    /// The membership of a job that has begun; to be held until it has asked, dropped where it will not.
    pub(super) fn member(self: &Arc<Self>, spot: Spot) -> Member {
        let count = if self.is_any() { self.sizes.len() } else { 0 };
        let arrived = std::iter::repeat_with(AtomicBool::default).take(count).collect();
        Member { packs: Arc::clone(self), spot, arrived }
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn size(&self, evaluator: usize) -> usize {
        self.sizes.get(evaluator).copied().unwrap_or(1).max(1)
    }

    fn key(&self, evaluator: usize, spot: Spot) -> Key {
        let pack = spot.place.checked_div(self.size(evaluator)).unwrap_or_default();
        Key { evaluator, target: spot.target, trial: spot.trial, pack }
    }

    /// Notes a member, with `waiting` if it waits; returns who is to be asked about where that completes its pack.
    fn hear(&self, evaluator: usize, spot: Spot, waiting: Option<Waiting>) -> Option<Vec<Waiting>> {
        let key = self.key(evaluator, spot);
        let mut desk = self.desk();
        let gathering = desk.open.entry(key).or_default();
        gathering.heard = gathering.heard.saturating_add(1);
        gathering.waiting.extend(waiting);
        self.complete(&mut desk, key)
    }

    /// Takes a pack from the desk if all its members are heard of.
    fn complete(&self, desk: &mut Desk, key: Key) -> Option<Vec<Waiting>> {
        let wanted = self.members(key, desk.end);
        if desk.open.get(&key)?.heard < wanted {
            return None;
        }
        let mut waiting = desk.open.remove(&key)?.waiting;
        waiting.sort_by_key(|member| member.place);
        Some(waiting)
    }

    /// Members of a pack that have begun or will.
    fn members(&self, key: Key, end: Option<usize>) -> usize {
        let size = self.size(key.evaluator);
        let Some(end) = end else { return size };
        let trial = usize::try_from(key.trial).unwrap_or(usize::MAX).saturating_sub(self.first);
        let job = |place: usize| {
            place
                .saturating_mul(self.targets)
                .saturating_add(key.target)
                .saturating_mul(self.trials)
                .saturating_add(trial)
        };
        let first = key.pack.saturating_mul(size);
        (first..first.saturating_add(size)).filter(|place| job(*place) < end).count()
    }
}

/// Tells one of those who wait to ask for all; who has ended meanwhile cannot.
fn call_a_leader(mut pack: Vec<Waiting>) {
    let mut place = 0;
    while let Some(member) = pack.get_mut(place) {
        let (nobody, _) = oneshot::channel();
        let turn = std::mem::replace(&mut member.turn, nobody);
        match turn.send(Turn::Lead(pack)) {
            Err(Turn::Lead(back)) => pack = back,
            Ok(()) | Err(Turn::Told(_)) => return,
        }
        place += 1;
    }
}

/// A job as its packs know it. Dropping it tells those packs that it has not asked in that it will not.
pub(super) struct Member {
    packs: Arc<Packs>,
    spot: Spot,
    /// Parallel to the evaluators; empty where nobody packs.
    arrived: Vec<AtomicBool>,
}

impl Member {
    /// The answer, in the form in which it can be handed to those who ask for it as well; `None` where nobody packs.
    pub(super) fn shared(&self, answer: &Answer) -> Option<Arc<Answer>> {
        (!self.arrived.is_empty()).then(|| Arc::new(answer.clone()))
    }

    /// What `asking` (in this position of the plan) says of the job's answer, asked together with its pack.
    pub(super) async fn ask(
        &self,
        evaluator: usize,
        asking: &dyn Evaluator,
        case: &Arc<Case>,
        answer: &Arc<Answer>,
        transport: &dyn Transport,
    ) -> Asked {
        let alone = Subject { case, answer, trial: self.spot.trial };
        let Some(arrived) = self.arrived.get(evaluator).filter(|_| self.packs.size(evaluator) > 1) else {
            return asking.evaluate(alone, transport).await;
        };
        let (turn, told) = oneshot::channel();
        let (case, answer) = (Arc::clone(case), Arc::clone(answer));
        arrived.store(true, Ordering::Relaxed);
        let waiting = Waiting { place: self.spot.place, case, answer, turn };
        let told = match self.packs.hear(evaluator, self.spot, Some(waiting)) {
            Some(pack) => self.lead(pack, asking, transport).await,
            None => match told.await {
                Ok(Turn::Lead(pack)) => self.lead(pack, asking, transport).await,
                Ok(Turn::Told(asked)) => Some(*asked),
                Err(_) => None,
            },
        };
        match told {
            Some(asked) => asked,
            // Whoever asked for all broke down: one bad job never costs another.
            None => asking.evaluate(alone, transport).await,
        }
    }

    /// Asks for all of a pack; returns what concerns this job.
    async fn lead(&self, pack: Vec<Waiting>, asking: &dyn Evaluator, transport: &dyn Transport) -> Option<Asked> {
        let trial = self.spot.trial;
        let subjects: Vec<Subject<'_>> =
            pack.iter().map(|member| Subject { case: &member.case, answer: &member.answer, trial }).collect();
        let asked = asking.evaluate_together(&subjects, transport).await;
        drop(subjects);
        let mut own = None;
        for (member, asked) in pack.into_iter().zip(asked) {
            if member.place == self.spot.place {
                own = Some(asked);
            } else {
                // Whoever does not wait any more has ended.
                let _gone = member.turn.send(Turn::Told(Box::new(asked)));
            }
        }
        own
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        for (evaluator, arrived) in self.arrived.iter().enumerate() {
            if self.packs.size(evaluator) > 1
                && !arrived.load(Ordering::Relaxed)
                && let Some(pack) = self.packs.hear(evaluator, self.spot, None)
            {
                call_a_leader(pack);
            }
        }
    }
}

#[cfg(test)]
mod tests;
