//! Whether enough of a run was measured to be accepted, and what it lost all the same.

use std::collections::BTreeSet;
use std::path::Path;

use super::NAME;
use crate::diagnostic::Diagnostics;
use crate::domain::{CaseRecord, Env, Run, RunHeader};
use crate::gate::{Policy, too_little};
use crate::report::escape::terminal;
use crate::suite;
use crate::text::number::counted;

/// Cases that are named.
const NAMED: usize = 5;

/// The gate of the run's own suite, as far as it can be told; else the usual one.
pub(super) fn policy_of(suite: &Path, run: &RunHeader, env: &Env) -> Policy {
    let suite = Some(suite).filter(|suite| suite.exists()).and_then(|suite| suite::load(suite, env).ok());
    let own = suite.filter(|suite| suite.name == run.suite);
    let policy = own.and_then(|own| Policy::build(own.gate.as_ref(), &run.metrics, &mut Diagnostics::default()));
    policy.unwrap_or_default()
}

/// What was not measured, no later run can be found worse than.
pub(super) fn enough(run: &Run, policy: &Policy) -> Result<(), String> {
    let lacks: Vec<String> = too_little(run, policy).iter().map(|lack| terminal(lack, NAME)).collect();
    if lacks.is_empty() {
        return Ok(());
    }
    Err(format!(
        "too little was measured for a baseline, so that later runs would be compared with nothing: {}; run again: what was paid for is kept \
         and not paid again",
        lacks.join("; ")
    ))
}

/// How many answers the run lost: where they are lost again, that is no new error.
pub(super) fn lost(run: &Run) -> Option<String> {
    let none = |case: &&CaseRecord| case.trials.iter().all(|trial| trial.answered.is_err());
    let (all, lost) = (run.cases.len() as u64, run.cases.iter().filter(none).count() as u64);
    let ids: BTreeSet<&str> = run.cases.iter().filter(none).map(|case| &*case.id).collect();
    let mut ids: Vec<String> = ids.into_iter().map(|id| terminal(id, NAME)).collect();
    let more = ids.len().saturating_sub(NAMED);
    ids.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (lost > 0).then(|| {
        format!(
            "note: {lost} of {} had no answer in this run ({}{more}): the baseline has no score for them, and an answer that is lost again \
             there is no new error; to have them, run again and accept that run",
            counted(all, "case", "cases"),
            ids.join(", ")
        )
    })
}
