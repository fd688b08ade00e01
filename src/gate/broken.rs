//! The cases that got worse and those that got better, for "old answer beside new".

use std::collections::{BTreeSet, HashSet};

use super::comparable::Standing;
use super::not_worse::{Compared, moves};
use super::scene::{Finding, Scene};
use super::sheet::Sheet;
use crate::domain::{BrokenCase, CaseId, MetricName, RuleKind, Severity};
use crate::stats::{CaseMean, Ratio};

/// Cases listed for one metric at most.
const LISTED: usize = 10;

/// Metrics whose rules failed first, then in the suite's order; within a metric the cases that decided first, then the largest
/// change.
#[derive(Default)]
pub(crate) struct Moved {
    pub(crate) broken: Vec<BrokenCase>,
    pub(crate) fixed: Vec<BrokenCase>,
    /// Cases that got worse or better, each once, listed or not.
    pub(crate) worse: u64,
    pub(crate) better: u64,
}

pub(crate) fn moved(scene: &Scene<'_>, compared: &[Compared<'_>], findings: &[Finding]) -> Moved {
    let mut broken: Vec<(bool, Vec<BrokenCase>)> = Vec::new();
    let mut all = Moved::default();
    for (at, sheet) in scene.sheets.iter().enumerate() {
        let (mut worse, mut better) = (HashSet::new(), HashSet::new());
        broken.push((true, unanswered(sheet, findings, &mut worse)));
        for metric in 0..scene.metrics.len() {
            let pair = compared.iter().find(|one| (one.sheet, one.metric) == (at, metric));
            let found = of_metric(scene, at, sheet, metric, pair, findings);
            worse.extend(found.ids_worse);
            better.extend(found.ids_better);
            broken.push((found.failed, found.worse));
            all.fixed.extend(found.better);
        }
        all.worse += worse.len() as u64;
        all.better += better.len() as u64;
    }
    // Stable: what failed comes first, the rest keeps its order.
    broken.sort_by_key(|(failed, _)| !failed);
    all.broken = broken.into_iter().flat_map(|(_, cases)| cases).collect();
    all
}

/// One metric's part.
#[derive(Default)]
struct OfMetric {
    failed: bool,
    worse: Vec<BrokenCase>,
    better: Vec<BrokenCase>,
    /// All of them, listed or not.
    ids_worse: HashSet<CaseId>,
    ids_better: HashSet<CaseId>,
}

fn here<'f>(findings: &'f [Finding], sheet: &Sheet<'_>) -> impl Iterator<Item = &'f Finding> {
    let target = sheet.target.clone();
    findings.iter().filter(move |finding| finding.comparison.target == target)
}

/// Cases without an answer that the baseline answered.
fn unanswered(sheet: &Sheet<'_>, findings: &[Finding], all: &mut HashSet<CaseId>) -> Vec<BrokenCase> {
    let errors = here(findings, sheet).filter(|finding| finding.comparison.rule == RuleKind::NewErrors);
    let of_rule = |finding: &Finding| {
        let decisive = finding.comparison.severity == Severity::Fail;
        all.extend(finding.named.iter().map(|(id, _)| id.clone()));
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
) -> OfMetric {
    let Some((spec, _)) = scene.metrics.get(metric) else { return OfMetric::default() };
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
        let row = sheet.row_of(id);
        let current = row.and_then(|row| sheet.column(metric).get(row)?.score());
        let baseline = row.and_then(|row| baseline(scene, at, row, &spec.name));
        entry(sheet, id, &spec.name, baseline.filter(|_| !moves.is_empty()), current, decisive)
    };
    let mut worse: Vec<(bool, &CaseId)> =
        moves.iter().filter(|(change, _)| *change < 0.0).map(|(_, id)| (named.contains(id), id)).collect();
    let mut told: HashSet<&CaseId> = worse.iter().map(|(_, id)| *id).collect();
    // In the order of the rules that name them: the worst first.
    let more = failing.iter().flat_map(|finding| &finding.named).filter(|(_, name)| *name == spec.name);
    worse.extend(more.filter(|(id, _)| told.insert(id)).map(|(id, _)| (true, id)));
    worse.sort_by_key(|(named, _)| !named);
    let ids_worse = worse.iter().map(|(_, id)| (*id).clone()).collect();
    let worse = worse.into_iter().take(LISTED).map(|(named, id)| make(id, named || by_mean)).collect();
    let best = moves.iter().rev().take_while(|(change, _)| *change > 0.0);
    let mut better: Vec<&(f64, CaseId)> = best.collect();
    better.sort_by(|left, right| right.0.total_cmp(&left.0).then_with(|| left.1.cmp(&right.1)));
    let ids_better = better.iter().map(|(_, id)| id.clone()).collect();
    let better = better.into_iter().take(LISTED).map(|(_, id)| make(id, false)).collect();
    OfMetric { failed, worse, better, ids_worse, ids_better }
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
    let place = sheet.row_of(id).and_then(|row| sheet.rows.get(row)?.place.clone());
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
