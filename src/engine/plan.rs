//! Everything a run needs, checked, before the first call.

use std::num::NonZeroUsize;

use crate::domain::{Redactor, RunHeader};
use crate::{evaluator, target};

/// How much at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Calls in flight at most, per endpoint; `None`: as many as the endpoint keeps up with.
    pub workers: Option<NonZeroUsize>,
    /// Repetitions of every case, at least 1.
    pub trials: u32,
    pub pace: Pace,
}

/// What calls wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// Their turn.
    #[default]
    Slots,
    /// Some of them wait for a batch, which is to be as large as memory allows.
    Batches,
}

/// Cases in flight at most.
pub(super) const WINDOW: usize = 4096;

impl Limits {
    /// Cases in flight: enough that a slow one at the front does not starve the workers, bounded so that memory is.
    pub fn window(&self) -> usize {
        match self.pace {
            Pace::Slots => self.workers.map_or(64, NonZeroUsize::get).saturating_mul(4).clamp(32, WINDOW),
            Pace::Batches => WINDOW,
        }
    }
}

/// What to run.
pub struct Plan {
    pub header: RunHeader,
    /// In the suite's order.
    pub targets: Vec<target::Ready>,
    /// Parallel to `header.metrics`.
    pub evaluators: Vec<evaluator::Ready>,
    pub limits: Limits,
    pub redactor: Redactor,
}
