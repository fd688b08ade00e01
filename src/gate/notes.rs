//! What a reader must know beside the rules: tolerances in use, what the comparison cannot promise, what changed in the cases.

use super::BaselineState;
use super::must_pass::{selected, value_passes};
use super::not_worse::Compared;
use super::policy::{MetricPolicy, Missing};
use super::scene::{Finding, Scene};
use super::settings::{BreaksSetting, FailOrWarn, InconclusiveSetting};
use super::trials::TrialsRule;
use super::word::names;
use crate::domain::{MetricSpec, Reason, RuleKind, Severity};
use crate::stats::{Ratio, flake_rate, must_pass_false_alarm, total};
use crate::text::number::{counted, points, signed_points};

/// Fewer historic trials say nothing about how flaky a case is (statistics §12.3).
const ENOUGH_HISTORY: u64 = 10;

/// All notes, in a fixed order.
pub(crate) fn all(scene: &Scene<'_>, compared: &[Compared<'_>], findings: &[Finding]) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(super::selected::note(scene.run));
    notes.extend(super::base::notes(scene));
    notes.extend(without_baseline(scene, findings));
    notes.extend(nothing_decides(scene));
    notes.extend(of_baseline(scene, findings));
    notes.extend(cases(scene));
    notes.extend(trials(scene, compared));
    notes.extend(composition(scene, compared));
    notes.extend(must_pass(scene));
    notes.extend(tolerances(scene));
    notes
}

/// Limits that read something else than means say so, and that the comparison does not.
fn trials(scene: &Scene<'_>, compared: &[Compared<'_>]) -> Option<String> {
    let read = |(spec, rules): &(MetricSpec, MetricPolicy)| {
        (rules.trials != TrialsRule::Mean)
            .then(|| format!("{} reads {} of a case's trials", spec.name, rules.trials.word()))
    };
    let said: Vec<String> = scene.metrics.iter().filter_map(read).collect();
    if said.is_empty() {
        return None;
    }
    let rest = if compared.is_empty() { "" } else { "; the comparison with the baseline reads their mean" };
    Some(format!("{}{rest}", said.join(", ")))
}

fn without_baseline(scene: &Scene<'_>, findings: &[Finding]) -> Option<String> {
    if let BaselineState::NotAsked = scene.state {
        return Some("no baseline is asked for: nothing is compared with an earlier run".to_owned());
    }
    let baseline = findings.iter().find(|finding| finding.comparison.rule == RuleKind::Baseline)?;
    let missing = baseline.comparison.reason == Reason::NoBaseline;
    missing
        .then(|| format!("NO BASELINE: {}", baseline.phrase.strip_prefix("no baseline: ").unwrap_or(&baseline.phrase)))
}

/// A green run that required nothing says so.
fn nothing_decides(scene: &Scene<'_>) -> Option<String> {
    let any_rule = scene.metrics.iter().any(|(_, rules)| {
        let limits = rules.interval_thresholds() > 0 || rules.case_min.is_some() || rules.case_max.is_some();
        rules.required() && (limits || rules.percentile.is_some())
    });
    // A baseline that may not be missing is required, whether or not it is there.
    let baseline = scene.policy.baseline.as_ref().is_some_and(|baseline| !baseline.may_be_missing())
        || scene.reference.is_some()
        || matches!(scene.state, BaselineState::Broken(_) | BaselineState::Unreachable(_));
    let nothing = !any_rule && !baseline && scene.policy.must_pass.is_empty();
    nothing.then(|| "nothing is required of this run: no threshold, no baseline, no must-pass case".to_owned())
}

fn of_baseline(scene: &Scene<'_>, findings: &[Finding]) -> Vec<String> {
    let Some(reference) = &scene.reference else { return Vec::new() };
    let mut notes = Vec::new();
    if reference.baseline.runs.len() == 1 {
        // A drop that luck makes once in a thousand runs is not the baseline's luck either.
        let failed = findings.iter().map(|finding| &finding.comparison).any(|rule| {
            let close = rule.p_adjusted.is_some_and(|p| p > 0.001);
            rule.reason == Reason::Mean && rule.severity == Severity::Fail && close
        });
        notes.push(if failed {
            "baseline of one run: this alarm may be the baseline's luck; a baseline of several runs has less of it"
                .to_owned()
        } else {
            "baseline of one run: several runs make the comparison sharper".to_owned()
        });
    }
    let mut changed: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.comparison.reason == Reason::JudgeMismatch)
        .map(|finding| &*finding.phrase)
        .collect();
    changed.dedup();
    notes.extend(changed.into_iter().map(|phrase| format!("not comparable: {phrase}")));
    let unknown: Vec<&str> = scene
        .metrics
        .iter()
        .filter(|(spec, _)| {
            let before = reference.spec(&spec.name);
            before.is_some_and(|before| before.fingerprint.is_none() && spec.fingerprint.is_some())
        })
        .map(|(spec, _)| &*spec.name)
        .collect();
    if !unknown.is_empty() {
        notes.push(format!("the baseline does not say how it measured {}", names(&unknown, 5)));
    }
    notes
}

fn cases(scene: &Scene<'_>) -> Vec<String> {
    let Some(reference) = &scene.reference else { return Vec::new() };
    let changes = &reference.changes;
    let mut notes = Vec::new();
    let listed = [
        (&changes.removed, "removed (in the baseline, not in this run)"),
        (&changes.added, "new, no baseline"),
        (&changes.changed, "changed, not compared"),
    ];
    for (ids, what) in listed {
        if !ids.is_empty() {
            notes.push(format!("{} {what}: {}", counted(ids.len() as u64, "case", "cases"), names(ids, 5)));
        }
    }
    for (old, new) in changes.renamed.iter().take(5) {
        notes.push(format!("likely rename: {old} → {new} (equal contents)"));
    }
    notes
}

/// How much of the movement of the overall mean comes from other cases, not from other scores (statistics §3.4).
fn composition(scene: &Scene<'_>, compared: &[Compared<'_>]) -> Vec<String> {
    compared.iter().filter_map(|one| effect(scene, one)).collect()
}

fn effect(scene: &Scene<'_>, compared: &Compared<'_>) -> Option<String> {
    let numbers = compared.outcome.as_ref().ok()?;
    let reference = scene.reference.as_ref()?;
    let column = scene.sheets.get(compared.sheet)?.column(compared.metric);
    let now: Vec<_> = column.iter().filter_map(|cell| cell.score()).collect();
    let side = reference.sides.get(compared.sheet)?;
    let before: Vec<_> = side
        .cases
        .iter()
        .filter_map(|case| {
            let scores: Vec<f64> = case.scores.get(&compared.spec.name)?.iter().flatten().copied().collect();
            crate::stats::CaseMean::of(&scores)
        })
        .collect();
    let overall = total(&now)?.minus(total(&before)?)?.value() / super::matchup::range(compared.spec);
    let overall = match compared.spec.direction {
        crate::domain::Direction::Higher => overall,
        crate::domain::Direction::Lower => -overall,
    };
    let of_cases = overall - numbers.as_is.change(compared.spec);
    (of_cases.abs() >= 0.0005).then(|| {
        let moved = signed_points(of_cases);
        format!(
            "{}: {moved} points of the overall mean come from other cases, not from other scores",
            compared.spec.name
        )
    })
}

fn must_pass(scene: &Scene<'_>) -> Vec<String> {
    let Some(reference) = &scene.reference else { return Vec::new() };
    if scene.policy.must_pass.is_empty() {
        return Vec::new();
    }
    let mut rates = Vec::new();
    let (mut cases, mut young, mut flaky) = (0_u64, 0_u64, Vec::new());
    let mut attempts = 1;
    for (sheet, side) in scene.sheets.iter().zip(&reference.sides) {
        for (at, row) in selected(scene, sheet) {
            cases += 1;
            attempts = attempts.max(u32::try_from(row.trials.len()).unwrap_or(1));
            let Some(super::comparable::Standing::Same(case)) = side.standing.get(at) else {
                young += 1;
                continue;
            };
            let (mut trials, mut failures) = (0, 0);
            for (spec, _) in scene.metrics.iter().filter(|(_, rules)| rules.required()) {
                let scores = case.scores.get(&spec.name).into_iter().flatten().flatten();
                let outcomes: Vec<bool> = scores.filter_map(|score| passed(*score, spec)).collect();
                trials = trials.max(outcomes.len() as u64);
                failures = failures.max(outcomes.iter().filter(|passed| !**passed).count() as u64);
            }
            if trials < ENOUGH_HISTORY {
                young += 1;
                continue;
            }
            let rate = flake_rate(failures, trials);
            if rate > 0.05 {
                flaky.push(row.id.clone());
            }
            rates.push(rate);
        }
    }
    let mut notes = Vec::new();
    if young > 0 {
        notes.push(format!(
            "must-pass: {young} of {} have fewer than {ENOUGH_HISTORY} recorded trials, so their false-alarm rate is not known",
            counted(cases, "case", "cases")
        ));
    }
    if !flaky.is_empty() {
        notes.push(format!("must-pass: not stable enough for it: {}", names(&flaky, 5)));
    }
    let family = must_pass_false_alarm(&rates, attempts).1;
    if family > 0.01 {
        notes
            .push(format!("must-pass: an unchanged run fails about {} times in a hundred by bad luck", points(family)));
    }
    notes
}

fn passed(score: f64, spec: &MetricSpec) -> Option<bool> {
    Some(value_passes(Ratio::decimal(score)?, None, spec))
}

/// Every allowance in use stands in every report (security §3).
fn tolerances(scene: &Scene<'_>) -> Option<String> {
    let policy = scene.policy;
    let mut used = Vec::new();
    let default = super::Policy::default();
    if policy.min_measured < default.min_measured {
        used.push(format!("min_measured {}", policy.min_measured));
    }
    if policy.max_missing > default.max_missing {
        used.push(format!("max_missing {}", policy.max_missing));
    }
    if policy.min_overlap < default.min_overlap {
        used.push(format!("min_overlap {}", policy.min_overlap));
    }
    if policy.max_new_errors > 0 {
        used.push(format!("errors.max_new {}", policy.max_new_errors));
    }
    if policy.on_coverage == FailOrWarn::Warn {
        used.push("on_coverage warn".to_owned());
    }
    match policy.breaks {
        BreaksSetting::Fail => {}
        BreaksSetting::Warn => used.push("breaks warn".to_owned()),
        BreaksSetting::Off => used.push("breaks off".to_owned()),
    }
    if policy.inconclusive == InconclusiveSetting::Pass {
        used.push("inconclusive pass".to_owned());
    }
    match policy.baseline.as_ref().map(|baseline| baseline.missing) {
        None | Some(Missing::Fail) => {}
        Some(Missing::Warn) => used.push("baseline.missing warn".to_owned()),
        Some(Missing::Seed) => used.push("baseline.missing seed".to_owned()),
    }
    let of = |keep: fn(&super::policy::MetricPolicy) -> bool| {
        let names: Vec<&str> =
            scene.metrics.iter().filter(|(_, rules)| keep(rules)).map(|(spec, _)| &*spec.name).collect();
        names.join(", ")
    };
    let reported = of(|rules| !rules.gate);
    if !reported.is_empty() {
        used.push(format!("reported only: {reported}"));
    }
    for (spec, rules) in scene.metrics.iter().filter(|(_, rules)| rules.gate) {
        if let Some(day) = rules.shadow_until {
            let shadow = rules.on_fail == FailOrWarn::Warn;
            used.push(format!(
                "{} {} {day}",
                spec.name,
                if shadow { "only warns until" } else { "decides: its shadow ended on" }
            ));
        }
    }
    let warned = of(|rules| rules.gate && rules.on_fail == FailOrWarn::Warn && rules.shadow_until.is_none());
    if !warned.is_empty() {
        used.push(format!("warn only: {warned}"));
    }
    (!used.is_empty()).then(|| format!("tolerances in use: {}", used.join("; ")))
}
