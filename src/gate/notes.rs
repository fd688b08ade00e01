//! What a reader must know beside the rules: tolerances in use, what the comparison cannot promise, what changed in the cases.

use super::BaselineState;
use super::asked::{BaselineMode, Missing};
use super::comparable::other_judges;
use super::must_pass::{ATTEMPTS, selected, value_passes};
use super::not_worse::Compared;
use super::policy::MetricPolicy;
use super::scene::{Finding, Scene};
use super::settings::{BreaksSetting, FailOrWarn, InconclusiveSetting};
use super::trials::TrialsRule;
use super::word::names;
use crate::domain::{LookEnd, LooksTaken, MetricSpec, Reason, RuleKind, Severity, SliceChange};
use crate::stats::{Ratio, flake_rate, must_pass_false_alarm, total};
use crate::text::number::{counted, p_value, points, signed_points};

/// Fewer historic trials say nothing about how flaky a case is (statistics §12.3).
const ENOUGH_HISTORY: u64 = 10;

/// All notes, in a fixed order.
pub(crate) fn all(
    scene: &Scene<'_>,
    compared: &[Compared<'_>],
    findings: &[Finding],
    looks: Option<&LooksTaken>,
    slices: &[SliceChange],
) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(super::selected::note(scene.run));
    notes.extend(super::base::notes(scene));
    notes.extend(without_baseline(scene, findings));
    notes.extend(nothing_decides(scene));
    notes.extend(of_baseline(scene, findings));
    notes.extend(cases(scene));
    notes.extend(looks.map(followed));
    notes.extend(trials(scene, compared));
    notes.extend(super::duels::notes(scene));
    notes.extend(detectable(findings));
    notes.extend(composition(scene, compared));
    notes.extend(of_slices(scene, compared, slices));
    notes.extend(must_pass(scene));
    notes.extend(flaky(scene));
    notes.extend(scene.policy.quarantine.notes(scene.run));
    notes.extend(tolerances(scene));
    notes
}

/// Metrics whose smallest visible drop is named.
const SEEN: usize = 5;

/// What this run could have seen (statistics §17.5).
fn detectable(findings: &[Finding]) -> Option<String> {
    let rules = findings.iter().map(|finding| &finding.comparison).filter(|rule| rule.rule == RuleKind::NotWorse);
    let seen: Vec<(String, f64)> = rules.filter_map(|rule| Some((rule.metric.to_string(), rule.detectable?))).collect();
    let visible: Vec<String> = seen
        .iter()
        .filter(|(_, drop)| *drop <= 1.0)
        .take(SEEN)
        .map(|(metric, drop)| format!("{} points of {metric}", points(*drop)))
        .collect();
    if visible.is_empty() {
        return None;
    }
    let more = seen.len().saturating_sub(visible.len());
    let more = if more > 0 { format!(" ({more} more in verdict.json)") } else { String::new() };
    Some(format!("in 8 of 10 cases this run would have caught a drop of {} or more{more}", visible.join(", ")))
}

/// How far a plan of trials was followed (statistics §10).
fn followed(looks: &LooksTaken) -> String {
    let plan: Vec<String> = looks.trials.iter().map(ToString::to_string).collect();
    let at = usize::try_from(looks.taken).unwrap_or(1).saturating_sub(1);
    let trials = looks.trials.get(at).copied().unwrap_or(1);
    let why = match looks.ended {
        LookEnd::Breaks => "stable cases broke",
        LookEnd::Mean => "a metric dropped",
        LookEnd::NoSign => "no sign of a drop",
        LookEnd::Last => "the first looks did not settle it",
    };
    format!("trials [{}]: decided on {} a case: {why}", plan.join(", "), counted(u64::from(trials), "trial", "trials"))
}

/// Slices that are only shown listed at most.
const SLICES: usize = 5;

/// Tags that share alpha with the metrics, and tags that got worse while nobody asked (statistics §14).
fn of_slices(scene: &Scene<'_>, compared: &[Compared<'_>], slices: &[SliceChange]) -> Vec<String> {
    let mut notes = Vec::new();
    let (gating, metrics): (Vec<_>, Vec<_>) = compared
        .iter()
        .filter(|one| one.outcome.is_ok() && (one.rules.gate || one.slice.is_some()))
        .partition(|one| one.slice.is_some());
    if !gating.is_empty() {
        let metrics = counted(metrics.len() as u64, "metric", "metrics");
        let slices = counted(gating.len() as u64, "slice", "slices");
        notes.push(format!("{metrics} and {slices} share alpha: each slice makes every drop a little harder to see"));
    }
    for slice in slices.iter().take(SLICES) {
        let spec = scene.metrics.iter().find(|(spec, _)| spec.name == slice.metric).map(|(spec, _)| spec);
        let range = spec.map_or(1.0, super::matchup::range);
        let lower = spec.is_some_and(|spec| spec.direction == crate::domain::Direction::Lower);
        let moved = slice.delta / range * if lower { -1.0 } else { 1.0 };
        notes.push(format!(
            "{} [{}]: {} points over {} with this tag (adjusted p {}); shown only, it does not decide",
            scene.label(&slice.metric, &slice.target),
            slice.tag,
            signed_points(moved),
            counted(slice.n, "case", "cases"),
            p_value(slice.p_adjusted)
        ));
    }
    let more = slices.len().saturating_sub(SLICES);
    if more > 0 {
        notes.push(format!("{} more got worse, see slices in verdict.json", counted(more as u64, "tag", "tags")));
    }
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
    let policy = scene.policy;
    let other = !policy.must_pass.is_empty() || !policy.resources.is_empty() || !policy.tag_limits.is_empty();
    let nothing = !any_rule && !baseline && !other;
    nothing.then(|| "nothing is required of this run: no threshold, no baseline, no must-pass case".to_owned())
}

fn of_baseline(scene: &Scene<'_>, findings: &[Finding]) -> Vec<String> {
    let Some(reference) = &scene.reference else { return Vec::new() };
    let mut notes = Vec::new();
    // Of the same day's other half there is one.
    let stored = scene.policy.baseline.as_ref().is_none_or(|asked| asked.mode == BaselineMode::Stored);
    if stored && reference.baseline.runs.len() == 1 {
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
    notes.extend(
        other_judges(scene.run, reference.baseline).into_iter().map(|change| format!("not comparable: {change}")),
    );
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
    compared.iter().filter(|one| one.slice.is_none()).filter_map(|one| effect(scene, one)).collect()
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
    // What the run was asked for, or what is there of it.
    let mut attempts = scene.run.header.attempts.max(1);
    let most = scene.whole.cases.iter().map(|case| case.trials.len()).max().unwrap_or(1).min(ATTEMPTS);
    attempts = attempts.max(u32::try_from(most).unwrap_or(1));
    for (sheet, side) in scene.sheets.iter().zip(&reference.sides) {
        for (at, row) in selected(scene, sheet) {
            cases += 1;
            let Some(super::comparable::Standing::Same(case)) = side.standing.get(at) else {
                young += 1;
                continue;
            };
            let (mut trials, mut failures) = (0, 0);
            for (spec, _) in scene.metrics.iter().filter(|(_, rules)| rules.required()) {
                let outcomes: Vec<bool> = case.history(&spec.name).filter_map(|score| passed(score, spec)).collect();
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

/// Cases that end differently without a change, which the gate keeps and a person should know of.
fn flaky(scene: &Scene<'_>) -> Option<String> {
    const SHOWN: usize = 5;
    // Of two or three trials every second case would be named.
    const TRIALS: u64 = 5;
    let mut found = super::flaky::flaky(scene.reference.as_ref()?.baseline, scene.policy);
    found.retain(|case| case.trials >= TRIALS);
    let one = |case: &crate::domain::FlakyCase| {
        format!("{} ({} passed {} of {})", case.case, case.metric, case.passes, case.trials)
    };
    let shown: Vec<String> = found.iter().take(SHOWN).map(one).collect();
    let more = found.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(", {more} more") } else { String::new() };
    (!shown.is_empty()).then(|| format!("flaky in the baseline's runs: {}{more}", shown.join(", ")))
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
    for (resource, rules) in &policy.resources {
        if rules.on_fail == FailOrWarn::Warn {
            used.push(format!("{} only warns", resource.word()));
        }
        if rules.on_missing == FailOrWarn::Warn {
            used.push(format!("{} may be unknown", resource.word()));
        }
    }
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
