//! The cases that got worse and those that got better, for "old answer beside new".

use std::collections::BTreeSet;

use super::comparable::Standing;
use super::not_worse::{Compared, moves};
use super::scene::{Finding, Scene};
use super::sheet::Sheet;
use crate::domain::{BrokenCase, CaseId, MetricName, RuleKind, Severity};
use crate::stats::{CaseMean, Ratio};

/// Cases listed for one metric at most.
const LISTED: usize = 10;

/// (broken, fixed): metrics whose rules failed first, then in the suite's order; within a metric the cases that decided first,
/// then the largest change.
pub(crate) fn lists(
    scene: &Scene<'_>,
    compared: &[Compared<'_>],
    findings: &[Finding],
) -> (Vec<BrokenCase>, Vec<BrokenCase>) {
    let mut broken: Vec<(bool, Vec<BrokenCase>)> = Vec::new();
    let mut fixed = Vec::new();
    for (at, sheet) in scene.sheets.iter().enumerate() {
        broken.push((true, unanswered(sheet, findings)));
        for metric in 0..scene.metrics.len() {
            let pair = compared.iter().find(|one| (one.sheet, one.metric) == (at, metric));
            let (failed, worse, better) = of_metric(scene, at, sheet, metric, pair, findings);
            broken.push((failed, worse));
            fixed.extend(better);
        }
    }
    // Stable: what failed comes first, the rest keeps its order.
    broken.sort_by_key(|(failed, _)| !failed);
    (broken.into_iter().flat_map(|(_, cases)| cases).collect(), fixed)
}

fn here<'f>(findings: &'f [Finding], sheet: &Sheet<'_>) -> impl Iterator<Item = &'f Finding> {
    let target = sheet.target.clone();
    findings.iter().filter(move |finding| finding.comparison.target == target)
}

/// Cases without an answer that the baseline answered.
fn unanswered(sheet: &Sheet<'_>, findings: &[Finding]) -> Vec<BrokenCase> {
    let errors = here(findings, sheet).filter(|finding| finding.comparison.rule == RuleKind::NewErrors);
    let of_rule = |finding: &Finding| {
        let decisive = finding.comparison.severity == Severity::Fail;
        let cases: Vec<BrokenCase> = finding
            .named
            .iter()
            .take(LISTED)
            .map(|(id, metric)| entry(sheet, id, metric, None, None, decisive))
            .collect();
        cases
    };
    errors.flat_map(of_rule).collect()
}

fn of_metric(
    scene: &Scene<'_>,
    at: usize,
    sheet: &Sheet<'_>,
    metric: usize,
    compared: Option<&Compared<'_>>,
    findings: &[Finding],
) -> (bool, Vec<BrokenCase>, Vec<BrokenCase>) {
    let Some((spec, _)) = scene.metrics.get(metric) else { return (false, Vec::new(), Vec::new()) };
    let failing: Vec<&Finding> =
        here(findings, sheet).filter(|finding| finding.comparison.severity == Severity::Fail).collect();
    let named: BTreeSet<&CaseId> = failing
        .iter()
        .flat_map(|finding| &finding.named)
        .filter(|(_, name)| *name == spec.name)
        .map(|(id, _)| id)
        .collect();
    let by_mean = failing.iter().any(|finding| {
        let rule = finding.comparison.rule;
        finding.comparison.metric == spec.name && matches!(rule, RuleKind::NotWorse | RuleKind::MaxDrop)
    });
    let failed = by_mean || failing.iter().any(|finding| finding.comparison.metric == spec.name) || !named.is_empty();
    let moves = compared.map(|compared| moves(scene, compared)).unwrap_or_default();
    let make = |id: &CaseId, decisive: bool| {
        let row = sheet.rows.iter().position(|row| row.id == *id);
        let current = row.and_then(|row| sheet.column(metric).get(row)?.score());
        let baseline = row.and_then(|row| baseline(scene, at, row, &spec.name));
        entry(sheet, id, &spec.name, baseline.filter(|_| !moves.is_empty()), current, decisive)
    };
    let mut worse: Vec<(bool, &CaseId)> =
        moves.iter().filter(|(change, _)| *change < 0.0).map(|(_, id)| (named.contains(id), id)).collect();
    let listed: BTreeSet<&CaseId> = worse.iter().map(|(_, id)| *id).collect();
    worse.extend(named.difference(&listed).map(|id| (true, *id)));
    worse.sort_by_key(|(named, _)| !named);
    let worse = worse.into_iter().take(LISTED).map(|(named, id)| make(id, named || by_mean)).collect();
    let best = moves.iter().rev().take_while(|(change, _)| *change > 0.0);
    let mut better: Vec<&(f64, CaseId)> = best.collect();
    better.sort_by(|left, right| right.0.total_cmp(&left.0).then_with(|| left.1.cmp(&right.1)));
    let better = better.into_iter().take(LISTED).map(|(_, id)| make(id, false)).collect();
    (failed, worse, better)
}

/// A case's baseline mean, where it is compared.
fn baseline(scene: &Scene<'_>, sheet: usize, row: usize, metric: &MetricName) -> Option<CaseMean> {
    match scene.reference.as_ref()?.sides.get(sheet)?.standing.get(row)? {
        Standing::Same(case) => CaseMean::of(&case.scores.get(metric)?.iter().flatten().copied().collect::<Vec<f64>>()),
        Standing::Changed | Standing::Added => None,
    }
}

fn entry(
    sheet: &Sheet<'_>,
    id: &CaseId,
    metric: &MetricName,
    baseline: Option<CaseMean>,
    current: Option<CaseMean>,
    decisive: bool,
) -> BrokenCase {
    let place = sheet.rows.iter().find(|row| row.id == *id).and_then(|row| row.place.clone());
    let delta = baseline.zip(current).and_then(|(old, new)| new.exact().minus(old.exact())).map(Ratio::value);
    BrokenCase {
        case: id.clone(),
        target: sheet.target.clone(),
        metric: metric.clone(),
        place,
        baseline: baseline.map(CaseMean::value),
        current: current.map(CaseMean::value),
        delta,
        decisive,
    }
}
