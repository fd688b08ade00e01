//! A run, a baseline and a policy → a verdict. Pure: no clock, no files, no random numbers.
//!
//! `gate:` of the suite ([`settings`]) is checked once ([`Policy`]). [`judge`] lays run and baseline side by side ([`scene`]:
//! cases by id and content, metrics by fingerprint), asks every rule (one file each), and puts their findings together. Each
//! finding has its numbers, its severity and one paragraph in words.
//!
//! Promise: never green without evidence (security §3); every number as `statistics.md` defines it; same input, same verdict,
//! whatever the order of the cases.

mod acceptable;
mod anchor;
mod asked;
mod base;
mod broken;
mod canary;
mod check;
mod comparable;
mod concurrent;
mod confirm;
mod duels;
mod estimate;
mod explain;
mod failed;
mod flaky;
mod headline;
mod judge;
mod looks;
mod loosened;
mod loosened_more;
mod matchup;
mod max_drop;
mod must_pass;
mod new_errors;
mod not_worse;
mod notes;
mod part;
mod policy;
mod quarantine;
mod ratchet;
mod reported;
mod resource;
mod scene;
mod selected;
mod selectors;
mod settings;
mod sheet;
mod single;
mod slices;
mod standing;
mod tags;
#[cfg(test)]
mod tests;
mod threshold;
mod trials;
mod trust;
mod word;

pub use acceptable::too_little;
pub use asked::{BaselineFrom, BaselineMode, BaselinePolicy, Missing};
pub use canary::JUDGE_DRIFT;
pub use confirm::suspects;
pub(crate) use estimate::floor as variance_floor;
pub use failed::{Fared, fared};
pub use judge::{Beside, judge, judge_beside};
pub use looks::{MoreTrials, more_attempts, next_look};
pub use loosened::{Written, changes, metric_changes};
pub(crate) use matchup::unit;
pub(crate) use must_pass::value_passes;
pub use part::judge_shard;
pub use policy::Policy;
pub use ratchet::{Fallen, Incomparable};
pub use selectors::Unmatched;
pub use trust::{Calibration, Calibrations};

use crate::domain::Baseline;

/// What is known about the baseline.
#[derive(Debug)]
pub enum BaselineState {
    /// `from: none`: nothing is asked for.
    NotAsked,
    /// Asked for and not there; the text says where it was looked for.
    Absent(String),
    /// It may be there, and could not be fetched.
    Unreachable(String),
    /// There and unusable.
    Broken(String),
    Found(Box<Baseline>),
}
