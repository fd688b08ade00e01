//! More trials of some cases of a run that has ended: the next look of a plan, or the attempts of failed must-pass cases.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::caller::Caller;
use super::cancel::Cancel;
use super::pack::Packs;
use super::plan::Plan;
use super::schedule::{EngineError, Pass, Work, jobs};
use crate::diagnostic::Diagnostics;
use crate::domain::{Case, CaseId, Event, EventSink, Run, RunHeader};
use crate::store::EarlierOutcomes;

/// Which trials are to be added.
#[derive(Clone, Debug, PartialEq)]
pub struct More {
    /// Trials that these cases have.
    pub from: u32,
    /// Trials that they are to have.
    pub to: u32,
    /// Under every target.
    pub cases: BTreeSet<CaseId>,
    /// The run's first line with what it is now.
    pub header: RunHeader,
    /// Why, in words.
    pub why: String,
}

/// Asks for the trials and writes the results file anew, what was measured before as it was. Nothing of it is asked again.
///
/// `caller` must be the one of `earlier`, which knows what was spent and holds the budget.
///
/// # Errors
/// [`EngineError`]; the earlier results stay as they are.
pub async fn extend<I>(
    plan: &Arc<Plan>,
    cases: I,
    (earlier, more): (&Run, &More),
    caller: &Arc<Caller>,
    results: &Path,
    cancel: &Cancel,
    events: &dyn EventSink,
) -> Result<Run, EngineError>
where
    I: Iterator<Item = Result<Case, Diagnostics>> + Send,
{
    let begun = Instant::now();
    let before = earlier.completion.clone().unwrap_or_default();
    let each = u64::from(more.to.saturating_sub(more.from)).saturating_mul(plan.targets.len() as u64);
    let planned = before.outcomes.saturating_add(each.saturating_mul(more.cases.len() as u64));
    events.emit(Event::Note { text: more.why.clone() });
    events.emit(Event::Started {
        outcomes_planned: planned,
        cases: more.cases.len() as u64,
        trials: more.to,
        targets: more.header.targets.clone(),
        metrics: plan.evaluators.len(),
    });
    let work = Work { plan, caller, cancel, events };
    let mut pass = Pass::begin(work, results, &more.header, &before)?;
    let wanted = |case: &Result<Case, Diagnostics>| case.as_ref().map_or(true, |case| more.cases.contains(&case.id));
    let jobs = jobs(plan, cases.filter(wanted), more.from..more.to);
    pass.carry_out(jobs, Packs::more(plan, more.from..more.to), Some(EarlierOutcomes::open(results)?)).await?;
    pass.end(planned, begun)
}
