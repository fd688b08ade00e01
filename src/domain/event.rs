//! What happens during a run, told as it happens. `engine` emits, `report::console` draws, `report::events` writes, tests read.

use std::sync::Arc;
use std::time::Duration;

use super::{CallCounts, CaseId, LimiterState, Outcome, TargetName, Usage, Usd};

#[derive(Clone, Debug)]
pub enum Event {
    /// Known before the first call.
    Started { outcomes_planned: u64, cases: u64, trials: u32, targets: Vec<TargetName>, metrics: usize },
    /// An outcome is complete and on disk. In the order of the data set.
    Finished { outcome: Arc<Outcome>, done: u64, so_far: SoFar },
    /// An attempt failed and will be repeated.
    Retried { endpoint: Arc<str>, what: String, wait: Duration },
    /// An endpoint will be called no more.
    EndpointStopped { endpoint: Arc<str>, why: String },
    /// Nothing finished for a while; the cases that are waited for.
    Waiting { silent: Duration, cases: Vec<CaseId>, so_far: SoFar },
    /// A signal came.
    Cancelled { signal: &'static str },
    /// Something a person should know that does not change the verdict.
    Note { text: String },
    /// No more events.
    Ended,
}

/// What a run took until a moment, and how its endpoints stand then.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SoFar {
    pub calls: CallCounts,
    /// What was paid for.
    pub usage: Usage,
    /// `None` where no price is known.
    pub cost: Option<Usd>,
    pub limits: LimiterState,
}

/// Where events go. Must not block.
pub trait EventSink: Send + Sync {
    fn emit(&self, event: Event);
}

impl<F: Fn(Event) + Send + Sync> EventSink for F {
    fn emit(&self, event: Event) {
        self(event);
    }
}
