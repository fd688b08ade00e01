//! Which cases of a run failed, for who wants to run them again.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::looks::Look;
use super::must_pass::case_passes;
use super::scene::Scene;
use super::sheet::Measured;
use super::{BaselineState, Policy};
use crate::domain::{CaseId, CaseRecord, Cell, MetricSpec, Run, ScoreKind};
use crate::stats::Ratio;

/// What became of a case, over all targets, metrics and trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fared {
    Passed,
    /// Some score does not pass: the metric's pass mark decides, else what its evaluator said (statistics §12.1); or it is beyond `case_min`
    /// or `case_max`. A metric of which nothing says when it passes cannot fail.
    Failed,
    /// The target did not answer, or a score could not be had.
    Errored,
}

/// How every case fared. A metric that never decides counts only where no metric decides.
pub fn fared(run: &Run, policy: &Policy) -> BTreeMap<CaseId, Fared> {
    let state = BaselineState::NotAsked;
    let scene = Scene::new(run, run, &state, policy, Look::only(run, policy.alpha));
    let any = scene.metrics.iter().any(|(_, rules)| rules.gate);
    let mut cases = BTreeMap::new();
    for sheet in &scene.sheets {
        for (at, row) in sheet.rows.iter().enumerate() {
            let mut worst = Fared::Passed;
            if row.trials.iter().any(|trial| trial.answered.is_err()) {
                worst = Fared::Errored;
            }
            for (metric, (spec, rules)) in scene.metrics.iter().enumerate().filter(|(_, (_, rules))| rules.gate || !any)
            {
                let Some(cell) = sheet.levels(metric).get(at).copied() else { continue };
                let beyond = |limit: Option<f64>, wrong: std::cmp::Ordering| {
                    let limit = limit.and_then(Ratio::decimal);
                    cell.score().zip(limit).is_some_and(|(score, limit)| score.exact().compare(limit) == wrong)
                };
                let outside = beyond(rules.case_min, std::cmp::Ordering::Less)
                    || beyond(rules.case_max, std::cmp::Ordering::Greater);
                let failed = || says(row, metric, spec) && case_passes(row, cell, metric, (spec, rules)) == Some(false);
                worst = worst.max(match cell {
                    Measured::Error(_) | Measured::Unusable(_) | Measured::Left => Fared::Errored,
                    Measured::Score(_) if outside || failed() => Fared::Failed,
                    Measured::Score(_) | Measured::NotApplicable => Fared::Passed,
                });
            }
            let case = cases.entry(Arc::clone(&row.id)).or_insert(worst);
            *case = (*case).max(worst);
        }
    }
    cases
}

/// Whether anything says when a case passes this metric: many metrics only have a level, and the middle of a scale is nobody's word.
fn says(row: &CaseRecord, metric: usize, spec: &MetricSpec) -> bool {
    let evaluator = || {
        let cells = row.trials.iter().filter_map(|trial| trial.cells.get(metric).copied().flatten());
        cells.into_iter().any(|cell| matches!(cell, Cell::Value { passed: Some(_), .. }))
    };
    spec.pass_mark.is_some() || spec.kind == ScoreKind::Binary || evaluator()
}
