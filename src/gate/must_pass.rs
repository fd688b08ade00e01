//! Cases that must pass whatever the means say (statistics §12), on the trials at hand.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::explain;
use super::policy::{MetricPolicy, Policy};
use super::scene::{Finding, Scene};
use super::sheet::{Measured, Sheet};
use super::trials::TrialsRule;
use crate::domain::{
    CaseId, CaseRecord, Cell, Direction, MetricName, MetricSpec, Reason, RuleKind, RuleVerdict, Severity, TrialRecord,
};
use crate::stats::Ratio;

/// Attempts of a case at most: its first trial, and two more where that fails.
pub(crate) const ATTEMPTS: usize = 3;

impl Policy {
    /// How often a case is asked at most before it fails a must-pass rule; 0: nothing must pass.
    pub fn attempts(&self) -> u32 {
        if self.must_pass.is_empty() { 0 } else { ATTEMPTS as u32 }
    }
}

/// What the selected cases came to.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) selected: u64,
    pub(crate) failed: Vec<(CaseId, MetricName)>,
    pub(crate) unmeasured: Vec<CaseId>,
    /// Selectors that match no case.
    pub(crate) unmatched: Vec<String>,
}

/// The rule of one target; `None` where nothing must pass.
pub(crate) fn finding(scene: &Scene<'_>, sheet: &Sheet<'_>) -> Option<Finding> {
    if scene.policy.must_pass.is_empty() {
        return None;
    }
    let found = look(scene, sheet);
    if scene.run.header.selection.is_some() && found.selected == 0 {
        return None;
    }
    let (verdict, reason, severity) = if !found.failed.is_empty() {
        (RuleVerdict::Violated, Reason::MustPassFailed, Severity::Fail)
    } else if !found.unmatched.is_empty() {
        (RuleVerdict::NotEvaluated, Reason::NoCases, Severity::Block)
    } else if !found.unmeasured.is_empty() {
        (RuleVerdict::Inconclusive, Reason::Missing, Severity::Block)
    } else {
        (RuleVerdict::Met, Reason::MustPassHeld, Severity::Ok)
    };
    let mut finding = Finding::new(RuleKind::MustPass, "", &sheet.target, verdict, reason).with_severity(severity);
    finding.comparison.planned = found.selected;
    finding.comparison.n = found.selected - found.unmeasured.len() as u64;
    finding.named.clone_from(&found.failed);
    Some(explain::must_pass(finding, scene, &found))
}

/// The cases that the policy selects.
pub(crate) fn selected<'s, 'r>(
    scene: &Scene<'_>,
    sheet: &'s Sheet<'r>,
) -> impl Iterator<Item = (usize, &'r CaseRecord)> + 's {
    let must = scene.policy.must_pass.clone();
    sheet.rows.iter().copied().enumerate().filter(move |(_, row)| {
        must.ids.iter().any(|id| **id == *row.id)
            || row.tags.iter().any(|tag| must.tags.iter().any(|wanted| **wanted == **tag))
    })
}

fn look(scene: &Scene<'_>, sheet: &Sheet<'_>) -> Found {
    let mut found = Found { unmatched: unmatched(scene, sheet), ..Found::default() };
    // Attempts that no look reads are read here.
    let whole = scene.whole.cases.iter().filter(|case| case.target == sheet.target);
    let whole: HashMap<&CaseId, &CaseRecord> = whole.map(|case| (&case.id, case)).collect();
    for (at, row) in selected(scene, sheet) {
        found.selected += 1;
        let (mut measured, mut missing, mut excused) = (false, false, false);
        for (metric, (spec, rules)) in scene.metrics.iter().enumerate() {
            if !rules.required() || !sheet.column(metric).get(at).is_some_and(|cell| cell.planned()) {
                continue;
            }
            if scene.policy.quarantine.excuses(scene.run, &row.id, &spec.name) {
                excused = true;
                continue;
            }
            match passes(whole.get(&row.id).copied().unwrap_or(row), metric, spec) {
                Some(true) => measured = true,
                Some(false) => {
                    measured = true;
                    found.failed.push((row.id.clone(), spec.name.clone()));
                }
                None => missing = true,
            }
        }
        if missing || !(measured || excused) {
            found.unmeasured.push(row.id.clone());
        }
    }
    found
}

fn unmatched(scene: &Scene<'_>, sheet: &Sheet<'_>) -> Vec<String> {
    let must = &scene.policy.must_pass;
    // What a selection leaves out is left out on purpose.
    if scene.run.header.selection.is_some() {
        return Vec::new();
    }
    let no_id = |id: &&String| !sheet.rows.iter().any(|row| *row.id == ***id);
    let no_tag = |tag: &&String| !sheet.rows.iter().any(|row| row.tags.iter().any(|has| **has == ***tag));
    let ids = must.ids.iter().filter(no_id).map(|id| format!("id {id}"));
    let tags = must.tags.iter().filter(no_tag).map(|tag| format!("tag {tag}"));
    ids.chain(tags).collect()
}

/// Whether a case holds on its trials: a failed first trial is final where it is the only one, else another has to fail too.
/// `None`: nothing was measured.
fn passes(row: &CaseRecord, metric: usize, spec: &MetricSpec) -> Option<bool> {
    let mut trials: Vec<&TrialRecord> = row.trials.iter().collect();
    trials.sort_by_key(|trial| trial.trial);
    let outcomes = trials.into_iter().take(ATTEMPTS).filter_map(|trial| trial_passes(trial, metric, spec));
    let outcomes: Vec<bool> = outcomes.collect();
    let (first, more) = outcomes.split_first()?;
    let failed_again = more.is_empty() || more.iter().any(|passed| !passed);
    Some(*first || !failed_again)
}

/// Some metric that gates did not pass the case's first trial.
pub(crate) fn failed_first(scene: &Scene<'_>, row: &CaseRecord) -> bool {
    let Some(first) = row.trials.iter().min_by_key(|trial| trial.trial) else { return false };
    let gating = scene.metrics.iter().enumerate().filter(|(_, (_, rules))| rules.required());
    gating.into_iter().any(|(metric, (spec, _))| trial_passes(first, metric, spec) == Some(false))
}

pub(crate) fn trial_passes(trial: &TrialRecord, metric: usize, spec: &MetricSpec) -> Option<bool> {
    match trial.cells.get(metric).copied().flatten() {
        Some(Cell::Value { value, passed }) if spec.kind.admits(value) => {
            Some(value_passes(Ratio::decimal(value)?, passed, spec))
        }
        _ => None,
    }
}

/// A case's score passes: the pass mark decides, else (of a mean) what the evaluator said of all its trials, else the middle of the scale.
pub(crate) fn case_passes(
    row: &CaseRecord,
    cell: Measured,
    metric: usize,
    (spec, rules): (&MetricSpec, &MetricPolicy),
) -> Option<bool> {
    let mean = cell.score()?;
    let said: Vec<Option<bool>> = row
        .trials
        .iter()
        .filter_map(|trial| match trial.cells.get(metric).copied().flatten() {
            Some(Cell::Value { value, passed }) if spec.kind.admits(value) => Some(passed),
            _ => None,
        })
        .collect();
    let all = said.iter().all(Option::is_some).then(|| said.iter().all(|passed| *passed == Some(true)));
    Some(value_passes(mean.exact(), all.filter(|_| rules.trials == TrialsRule::Mean), spec))
}

/// Statistics §12.1; an exact comparison, and equal to the mark passes.
pub(crate) fn value_passes(value: Ratio, said: Option<bool>, spec: &MetricSpec) -> bool {
    let (lo, hi) = spec.kind.range();
    let mark = match (spec.pass_mark, said) {
        (Some(mark), _) => mark,
        (None, Some(said)) => return said,
        (None, None) => 0.5 * (lo + hi),
    };
    let Some(mark) = Ratio::decimal(mark) else { return false };
    match spec.direction {
        Direction::Higher => value.compare(mark) != Ordering::Less,
        Direction::Lower => value.compare(mark) != Ordering::Greater,
    }
}
