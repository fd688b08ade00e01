//! Is a metric worse than in the baseline? (statistics §5 to §9, §13) All metrics and targets are one family.

use super::comparable::{Reference, mismatch};
use super::estimate::{Estimate, breaks};
use super::explain;
use super::matchup::{Fill, Joint, Matchup, range};
use super::policy::MetricPolicy;
use super::scene::{Finding, Scene, at_least, at_most, severity};
use super::settings::BreaksSetting;
use super::slices;
use crate::domain::{CaseId, Direction, MetricSpec, Reason, RuleKind, RuleVerdict, Severity};
use crate::stats::{BreakCount, detectable_drop, holm, lone_low};

/// Why a metric is not compared at all.
pub(crate) struct Refusal {
    pub(crate) reason: Reason,
    pub(crate) phrase: String,
    pub(crate) explanation: String,
}

/// One metric of one target.
pub(crate) struct Compared<'s> {
    pub(crate) sheet: usize,
    pub(crate) metric: usize,
    pub(crate) target: &'s str,
    pub(crate) spec: &'s MetricSpec,
    pub(crate) rules: &'s MetricPolicy,
    /// The tag whose cases it is about; `None`: all.
    pub(crate) slice: Option<&'s str>,
    /// Unit scale.
    pub(crate) margin: f64,
    pub(crate) matchup: Option<Matchup<'s>>,
    pub(crate) outcome: Result<Numbers, Refusal>,
}

/// What the verdict is made of.
pub(crate) struct Numbers {
    pub(crate) as_is: Estimate,
    /// With missing scores filled; `None` where none is missing.
    worst: Option<Estimate>,
    best: Option<Estimate>,
    pub(crate) breaks: Option<BreakCount>,
    pub(crate) p_adjusted: f64,
    p_worst: f64,
    p_best: f64,
    p_breaks: f64,
    /// Hypotheses in the family.
    pub(crate) family: usize,
}

/// Compares every metric that a usable baseline has.
pub(crate) fn compare<'s>(scene: &'s Scene<'_>) -> Vec<Compared<'s>> {
    let Some(reference) = &scene.reference else { return Vec::new() };
    let mut all = Vec::new();
    for sheet in 0..scene.sheets.len() {
        for metric in 0..scene.metrics.len() {
            all.extend(one(scene, reference, sheet, metric));
        }
    }
    let gating = slices::gating(scene, &all);
    all.extend(gating);
    adjust(&mut all);
    all
}

fn one<'s>(scene: &'s Scene<'_>, reference: &'s Reference<'_>, sheet: usize, metric: usize) -> Option<Compared<'s>> {
    let (spec, rules) = scene.metrics.get(metric)?;
    let (page, side) = (scene.sheets.get(sheet)?, reference.sides.get(sheet)?);
    let name = scene.label(&spec.name, &page.target);
    let mut compared = Compared {
        sheet,
        metric,
        target: &page.target,
        spec,
        rules,
        slice: None,
        margin: rules.margin,
        matchup: None,
        outcome: Err(explain::nothing_to_compare(&name, side.known)),
    };
    if reference.baseline.cases.is_empty() {
        compared.outcome = Err(explain::nothing_selected(&name));
        return Some(compared);
    }
    let Some(base) = reference.spec(&spec.name).filter(|_| side.known) else { return Some(compared) };
    let parts = mismatch(spec, base);
    if !parts.is_empty() {
        compared.outcome = Err(explain::judge_changed(&name, &parts));
        return Some(compared);
    }
    let matchup = Matchup::build(page, side, metric, spec);
    compared.outcome = numbers(scene, &matchup, spec, &name);
    compared.matchup = Some(matchup);
    Some(compared)
}

fn numbers(scene: &Scene<'_>, matchup: &Matchup<'_>, spec: &MetricSpec, name: &str) -> Result<Numbers, Refusal> {
    let policy = scene.policy;
    // Of a selection, cases that changed are not compared, and nobody has to hear it twice.
    let selected = scene.run.header.selection.is_some();
    let expected = if selected { matchup.kept } else { matchup.baseline_cases };
    // A baseline that knows the metric and lost its scores is no baseline of a new metric.
    let lost = if selected { matchup.missing() } else { matchup.unscored };
    if expected == 0 && matchup.baseline_cases == 0 && lost > 0 {
        return Err(explain::lost_in_the_baseline(name, lost));
    }
    if expected == 0 && selected {
        return Err(explain::nothing_selected(name));
    }
    if expected == 0 {
        return Err(explain::nothing_to_compare(name, false));
    }
    if !at_least(matchup.kept, expected, policy.min_overlap) {
        return Err(explain::too_little_overlap(name, matchup));
    }
    if !at_most(matchup.missing(), matchup.joints.len() as u64, policy.max_missing) {
        return Err(explain::too_much_missing(name, matchup, policy.max_missing));
    }
    measured(scene, matchup, spec, name)
}

/// The numbers of cases that may be compared.
pub(crate) fn measured(
    scene: &Scene<'_>,
    matchup: &Matchup<'_>,
    spec: &MetricSpec,
    name: &str,
) -> Result<Numbers, Refusal> {
    let policy = scene.policy;
    let missing = matchup.missing();
    let estimate = |fill| Estimate::of(matchup, spec, fill, policy.alpha);
    let as_is = estimate(Fill::None).ok_or_else(|| explain::too_much_missing(name, matchup, policy.max_missing))?;
    let filled = |fill| (missing > 0).then(|| estimate(fill)).flatten();
    let breaks = match policy.breaks {
        BreaksSetting::Off => None,
        BreaksSetting::Fail | BreaksSetting::Warn => breaks(matchup, spec, policy.severity),
    };
    Ok(Numbers {
        as_is,
        worst: filled(Fill::Worst),
        best: filled(Fill::Best),
        breaks,
        p_adjusted: 1.0,
        p_worst: 1.0,
        p_best: 1.0,
        p_breaks: 1.0,
        family: 1,
    })
}

/// Holm over the gating metrics and slices; a metric that never decides stands alone (statistics §8.2).
fn adjust(all: &mut [Compared<'_>]) {
    let mut family: Vec<&mut Numbers> = Vec::new();
    for compared in all {
        let Ok(numbers) = &mut compared.outcome else { continue };
        if compared.rules.gate || compared.slice.is_some() {
            family.push(numbers);
        } else {
            adjust_family(&mut [numbers]);
        }
    }
    adjust_family(&mut family);
}

fn adjust_family(family: &mut [&mut Numbers]) {
    let adjusted = |p: &dyn Fn(&Numbers) -> f64| {
        let unadjusted: Vec<f64> = family.iter().map(|numbers| p(numbers)).collect();
        holm(&unadjusted)
    };
    let filled = |estimate: &Option<Estimate>, numbers: &Numbers| estimate.as_ref().map_or(numbers.as_is.p, |e| e.p);
    let as_is = adjusted(&|numbers| numbers.as_is.p);
    let worst = adjusted(&|numbers| filled(&numbers.worst, numbers));
    let best = adjusted(&|numbers| filled(&numbers.best, numbers));
    let breaks = adjusted(&|numbers| numbers.breaks.map_or(1.0, |count| count.p_mid));
    let size = family.len();
    for (at, numbers) in family.iter_mut().enumerate() {
        let pick = |values: &[f64]| values.get(at).copied().unwrap_or(1.0);
        numbers.p_adjusted = pick(&as_is);
        numbers.p_worst = pick(&worst);
        numbers.p_best = pick(&best);
        numbers.p_breaks = pick(&breaks);
        numbers.family = size;
    }
}

/// The levels of both guards.
struct Levels {
    alpha: f64,
    mean: f64,
    breaks: Option<f64>,
}

/// Rows 3 to 8 of statistics §9.1.
fn by_the_mean(estimate: &Estimate, p: f64, margin: f64, levels: &Levels) -> (RuleVerdict, Reason) {
    let rejects = p <= levels.mean;
    let certified = estimate.certified(margin, levels.alpha);
    if rejects && !certified {
        return (RuleVerdict::Violated, Reason::Mean);
    }
    if certified {
        return (RuleVerdict::Met, if rejects { Reason::SmallDrop } else { Reason::WithinMargin });
    }
    let reason = if estimate.up + estimate.down == 0 {
        Reason::Identical
    } else if p <= 0.5 {
        Reason::Suspicious
    } else if estimate.units < crate::stats::smallest_certifying_n(margin, levels.alpha) {
        Reason::TooFewCases
    } else {
        Reason::NoSign
    };
    (RuleVerdict::Inconclusive, reason)
}

/// All rows of statistics §9.1, and what missing scores could change (§13.5).
fn decide(numbers: &Numbers, margin: f64, levels: &Levels) -> (RuleVerdict, Reason) {
    if levels.breaks.is_some_and(|level| numbers.breaks.is_some() && numbers.p_breaks <= level) {
        return (RuleVerdict::Violated, Reason::Breaks);
    }
    let (verdict, reason) = by_the_mean(&numbers.as_is, numbers.p_adjusted, margin, levels);
    let filled = |estimate: &Option<Estimate>, p| {
        estimate.as_ref().map_or(verdict, |estimate| by_the_mean(estimate, p, margin, levels).0)
    };
    let (worst, best) = (filled(&numbers.worst, numbers.p_worst), filled(&numbers.best, numbers.p_best));
    let holds = match verdict {
        RuleVerdict::Met => worst == RuleVerdict::Met,
        RuleVerdict::Violated => best == RuleVerdict::Violated,
        RuleVerdict::Inconclusive | RuleVerdict::NotEvaluated => worst != RuleVerdict::Violated,
    };
    if holds { (verdict, reason) } else { (RuleVerdict::Inconclusive, Reason::Missing) }
}

fn levels(scene: &Scene<'_>) -> Levels {
    // The break guard reads first trials: a later look has nothing new for it (statistics §10.3).
    let breaks = scene.look.first && scene.breaks_decide();
    Levels { alpha: scene.policy.alpha, mean: scene.look.mean, breaks: breaks.then_some(scene.policy.alpha_breaks) }
}

/// More trials may still vouch for it or reject it (statistics §10.5).
pub(crate) fn undecided(scene: &Scene<'_>, compared: &Compared<'_>) -> bool {
    let levels = levels(scene);
    compared.outcome.as_ref().is_ok_and(|numbers| {
        let open = decide(numbers, compared.margin, &levels).0 == RuleVerdict::Inconclusive;
        open && numbers.as_is.units >= crate::stats::smallest_certifying_n(compared.margin, levels.alpha)
    })
}

fn new(compared: &Compared<'_>, verdict: RuleVerdict, reason: Reason) -> Finding {
    let rule = if compared.slice.is_some() { RuleKind::Slice } else { RuleKind::NotWorse };
    let mut finding = Finding::new(rule, &compared.spec.name, compared.target, verdict, reason);
    finding.comparison.slice = compared.slice.map(str::to_owned);
    finding.comparison.limit = Some(compared.margin);
    finding
}

/// The rule's finding.
pub(crate) fn finding(scene: &Scene<'_>, compared: &Compared<'_>) -> Finding {
    let numbers = match &compared.outcome {
        Ok(numbers) => numbers,
        Err(refusal) => return refused(scene, compared, refusal),
    };
    let levels = levels(scene);
    let (verdict, reason) = decide(numbers, compared.margin, &levels);
    let mut finding =
        new(compared, verdict, reason).with_severity(severity(verdict, reason, compared.rules, scene.policy));
    fill_in(&mut finding, compared, numbers, scene.alpha_mean());
    let named: Vec<CaseId> = match reason {
        Reason::Breaks => broke(scene, compared),
        Reason::Mean => drops(scene, compared).into_iter().take(10).map(|(_, id)| id).collect(),
        _ => Vec::new(),
    };
    finding.named = named.into_iter().map(|id| (id, compared.spec.name.clone())).collect();
    let finding = explain::comparison(finding, scene, compared, numbers, scene.alpha_mean());
    warn_of_breaks(finding, scene, compared, numbers)
}

/// `breaks: warn`: more stable cases broke than flakiness explains, and that is only said (statistics §7.5).
fn warn_of_breaks(mut finding: Finding, scene: &Scene<'_>, compared: &Compared<'_>, numbers: &Numbers) -> Finding {
    let warns = scene.policy.breaks == BreaksSetting::Warn && compared.rules.gate;
    let quiet = matches!(finding.comparison.severity, Severity::Ok | Severity::Warn);
    if let Some(guard) = numbers.breaks.filter(|_| warns && quiet && numbers.p_breaks <= scene.policy.alpha_breaks) {
        finding.comparison.severity = Severity::Warn;
        let name = explain::sliced(&scene.label(&compared.spec.name, compared.target), compared.slice);
        finding.phrase =
            format!("{} stable cases broke on {name} ({:.1} expected by luck)", guard.breaks, guard.expected);
    }
    finding
}

fn refused(scene: &Scene<'_>, compared: &Compared<'_>, refusal: &Refusal) -> Finding {
    let verdict = match refusal.reason {
        Reason::NoBaseline | Reason::NoCases => RuleVerdict::NotEvaluated,
        _ => RuleVerdict::Inconclusive,
    };
    let mut finding = new(compared, verdict, refusal.reason)
        .with_severity(severity(verdict, refusal.reason, compared.rules, scene.policy))
        .saying(&refusal.phrase, &refusal.explanation);
    if let Some(matchup) = &compared.matchup {
        finding.comparison.n = matchup.paired().count() as u64;
        finding.comparison.planned = matchup.joints.len() as u64;
    }
    finding
}

fn fill_in(finding: &mut Finding, compared: &Compared<'_>, numbers: &Numbers, alpha_mean: f64) {
    let (estimate, spec) = (&numbers.as_is, compared.spec);
    let width = range(spec);
    let (lower_is_better, down) = match spec.direction {
        Direction::Higher => (false, 1.0),
        Direction::Lower => (true, -1.0),
    };
    let comparison = &mut finding.comparison;
    comparison.baseline = Some(estimate.baseline.value());
    comparison.current = Some(estimate.current.value());
    comparison.delta = estimate.current.minus(estimate.baseline).map(crate::stats::Ratio::value);
    comparison.ci = estimate.shown_interval(spec).map(|(lower, upper)| {
        let ends = if lower_is_better { (upper, lower) } else { (lower, upper) };
        [ends.0 * width * down, ends.1 * width * down]
    });
    comparison.p = Some(estimate.p);
    comparison.p_adjusted = Some(numbers.p_adjusted);
    comparison.n = estimate.units;
    comparison.planned = compared.matchup.as_ref().map_or(0, |matchup| matchup.joints.len() as u64);
    estimate.flip.method.word().clone_into(&mut comparison.method);
    (comparison.up, comparison.down, comparison.same) = (estimate.up, estimate.down, estimate.same);
    comparison.breaks = numbers.breaks.map(|count| count.breaks);
    comparison.breaks_expected = numbers.breaks.map(|count| count.expected);
    comparison.p_breaks = numbers.breaks.map(|_| numbers.p_breaks);
    let sd = estimate.deviation.filter(|deviation| *deviation > 0.0);
    comparison.effect = sd.map(|deviation| estimate.change(spec) / deviation);
    let level = alpha_mean / numbers.family as f64;
    comparison.detectable = estimate.deviation.map(|deviation| detectable_drop(deviation, estimate.units, level));
    comparison.improved = estimate.up + estimate.down > 0 && 1.0 - estimate.flip.p_mid <= 0.05;
}

/// Stable cases that broke, worst drop first.
pub(crate) fn broke(scene: &Scene<'_>, compared: &Compared<'_>) -> Vec<CaseId> {
    let Some(matchup) = &compared.matchup else { return Vec::new() };
    let mut found: Vec<(f64, CaseId)> = matchup
        .first_trials(compared.spec)
        .into_iter()
        .filter(|(_, scores)| lone_low(scores, scene.policy.severity).is_some_and(|low| low + 1 == scores.len()))
        .filter_map(|(joint, scores)| {
            let (candidate, runs) = scores.split_last()?;
            let drop = runs.iter().copied().fold(f64::INFINITY, f64::min) - candidate;
            Some((drop, scene.sheets.get(compared.sheet)?.rows.get(joint.row)?.id.clone()))
        })
        .collect();
    found.sort_by(|left, right| right.0.total_cmp(&left.0).then_with(|| left.1.cmp(&right.1)));
    found.into_iter().map(|(_, id)| id).collect()
}

/// Paired cases that scored worse, with their drop on the unit scale, the largest first.
pub(crate) fn drops(scene: &Scene<'_>, compared: &Compared<'_>) -> Vec<(f64, CaseId)> {
    moves(scene, compared).into_iter().filter(|(change, _)| *change < 0.0).map(|(change, id)| (-change, id)).collect()
}

/// Every paired case with its change on the unit scale, the worst first.
pub(crate) fn moves(scene: &Scene<'_>, compared: &Compared<'_>) -> Vec<(f64, CaseId)> {
    let (Some(matchup), Some(sheet)) = (&compared.matchup, scene.sheets.get(compared.sheet)) else { return Vec::new() };
    let change = |joint: &Joint<'_>| {
        let own = joint.candidate?.exact().minus(joint.baseline?.exact())?.value() / range(compared.spec);
        let better = match compared.spec.direction {
            Direction::Higher => own,
            Direction::Lower => -own,
        };
        Some((better, sheet.rows.get(joint.row)?.id.clone()))
    };
    let mut moves: Vec<(f64, CaseId)> = matchup.joints.iter().filter_map(change).collect();
    moves.sort_by(|left, right| left.0.total_cmp(&right.0).then_with(|| left.1.cmp(&right.1)));
    moves
}

/// Metrics of the baseline that the run lacks: each is a loss of coverage (statistics §3.3).
pub(crate) fn vanished(scene: &Scene<'_>) -> Vec<Finding> {
    let Some(reference) = &scene.reference else { return Vec::new() };
    let gone = |spec: &&MetricSpec| scene.run.metric_index(&spec.name).is_none();
    let mut findings = Vec::new();
    for spec in reference.specs.iter().filter(gone) {
        for sheet in &scene.sheets {
            let rules = scene.policy.metric(&spec.name);
            let text = format!("{} is in the baseline, not in this run", spec.name);
            let explanation = format!(
                "{text}: what it would have caught is not measured any more. Measure it again, or accept a run without \
                 it with scoregate baseline update."
            );
            let verdict = RuleVerdict::Inconclusive;
            findings.push(
                Finding::new(RuleKind::NotWorse, &spec.name, &sheet.target, verdict, Reason::Coverage)
                    .with_severity(severity(verdict, Reason::Coverage, &rules, scene.policy))
                    .saying(text, explanation),
            );
        }
    }
    findings
}
