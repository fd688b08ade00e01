//! `mode` and `batch` of a model.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::diagnostic::Diagnostics;
use crate::net::Patience;
use crate::suite::{Block, Period};

/// A little longer than the day after which both providers end a batch, so that its end is still seen.
const MAX_WAIT: Duration = Duration::from_secs(25 * 3600);
const POLL: Duration = Duration::from_secs(60);
/// Lists of batches lag behind by seconds.
const APPEARS: Duration = Duration::from_secs(30);
const SHORTEST_POLL: Duration = Duration::from_millis(10);

/// How calls of judges are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::provider) enum Mode {
    /// Each at once.
    #[default]
    Direct,
    /// Many together, through the provider's Batch API.
    Batch,
}

/// How long to wait for batches.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::provider) struct BatchSpec {
    /// How long a batch whose submission was not answered is looked for before it is submitted again (default: 30s).
    appears: Option<Period>,
    /// How long a question waits for its batch, which goes on for a later run then (default: 25h).
    max_wait: Option<Period>,
    /// The longest pause between two looks at a batch (default: 60s).
    poll: Option<Period>,
}

/// How long to wait for batches; `Some(None)` where none are made. Outer `None` after pushing diagnostics.
pub(in crate::provider) fn patience(
    block: &Block,
    mode: Option<Mode>,
    spec: Option<&BatchSpec>,
    diagnostics: &mut Diagnostics,
) -> Option<Option<Patience>> {
    match (mode.unwrap_or_default(), spec) {
        (Mode::Direct, None) => Some(None),
        (Mode::Direct, Some(_)) => {
            let message = "`batch` says how long to wait for batches, and there are none without `mode: batch`";
            diagnostics.push(block.key_problem("/batch", "unused", message.to_owned()));
            None
        }
        (Mode::Batch, spec) => {
            let spec = spec.cloned().unwrap_or_default();
            let period = |written: Option<Period>, default| written.map_or(default, |period| period.0);
            let poll = period(spec.poll, POLL).max(SHORTEST_POLL);
            let appears = period(spec.appears, APPEARS);
            Some(Some(Patience { max_wait: period(spec.max_wait, MAX_WAIT), poll, appears }))
        }
    }
}
