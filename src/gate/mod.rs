//! A run, a baseline and a policy → a verdict. Pure: no clock, no files, no random numbers.
//!
//! Promise: never green without evidence (security §3); every number as `statistics.md` defines it; same input, same verdict.

use crate::diagnostic::Diagnostics;
use crate::domain::{Baseline, MetricSpec, Run, Verdict};
use crate::suite::Block;

/// `gate:` of the suite, checked.
#[derive(Clone, Debug)]
pub struct Policy {
    pub alpha: f64,
}

impl Policy {
    /// Reads the gate section (or the defaults without one) for the metrics that the suite's evaluators measure.
    pub fn build(_gate: Option<&Block>, _metrics: &[MetricSpec], _diagnostics: &mut Diagnostics) -> Option<Self> {
        None
    }
}

/// What is known about the baseline.
#[derive(Debug)]
pub enum BaselineState {
    /// `from: none`: nothing is asked for.
    NotAsked,
    /// Asked for and not there; the text says where it was looked for.
    Absent(String),
    /// There and unusable, or not fetchable.
    Broken(String),
    Found(Box<Baseline>),
}

/// Decides.
pub fn judge(_run: &Run, _baseline: &BaselineState, _policy: &Policy) -> Option<Verdict> {
    None
}
