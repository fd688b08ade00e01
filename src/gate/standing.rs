//! Was the run carried through, was enough measured, and is there a baseline? (security §3, statistics §3.3)

use std::collections::{BTreeSet, HashSet};

use jiff::Timestamp;

use super::BaselineState;
use super::asked::BaselinePolicy;
use super::policy::Policy;
use super::scene::{Finding, Scene, Unusable, at_least, coverage};
use super::sheet::{Sheet, grouped};
use super::word::{capital, names};
use crate::domain::{Baseline, Bound, MetricName, Reason, RuleKind, RuleVerdict, Run, Severity};
use crate::text::number::counted;

/// The run has an end, a case for every one it selected, and none twice.
pub(crate) fn complete(scene: &Scene<'_>) -> Finding {
    let run = scene.run;
    let ids: HashSet<&str> = run.cases.iter().map(|case| &*case.id).collect();
    if let Some((reason, why)) = incomplete(scene, ids.len() as u64) {
        let verdict = RuleVerdict::NotEvaluated;
        return Finding::new(RuleKind::Complete, "", "", verdict, reason).with_severity(Severity::Block).saying(
            &why,
            format!("The run cannot be judged: {why}. Run it again; what was paid for is not paid again."),
        );
    }
    let mut finding = Finding::new(RuleKind::Complete, "", "", RuleVerdict::Met, Reason::Complete);
    finding.comparison.n = ids.len() as u64;
    finding.comparison.planned = run.header.cases.max(ids.len() as u64);
    let text = format!("all {} ran to their end", counted(ids.len() as u64, "case", "cases"));
    finding.saying(text.clone(), format!("The run is complete: {text}."))
}

fn incomplete(scene: &Scene<'_>, cases: u64) -> Option<(Reason, String)> {
    let run = scene.run;
    match &run.completion {
        None => return Some((Reason::Incomplete, "the results end in the middle".to_owned())),
        Some(end) if !end.complete => {
            let why = end.reason.as_deref().unwrap_or("it was stopped before its end");
            return Some((Reason::Incomplete, format!("the run is not complete: {why}")));
        }
        Some(_) => {}
    }
    if cases == 0 {
        return Some((Reason::NoCases, "0 cases were selected".to_owned()));
    }
    if run.header.metrics.is_empty() {
        return Some((Reason::NoScores, "no metric was measured".to_owned()));
    }
    if cases < run.header.cases {
        let planned = run.header.cases;
        return Some((Reason::Incomplete, format!("{cases} of {planned} selected cases have results")));
    }
    for sheet in &scene.sheets {
        let twice = sheet.rows.iter().zip(sheet.rows.iter().skip(1)).find(|(left, right)| left.id == right.id);
        if let Some((case, _)) = twice {
            return Some((Reason::Incomplete, format!("case {} stands in the results twice", case.id)));
        }
        let rows = sheet.rows.len() as u64;
        if rows < cases {
            let text = format!("{rows} of {cases} cases have results for target {}", sheet.target);
            return Some((Reason::Incomplete, text));
        }
        if let Some(case) = sheet.rows.iter().find(|row| row.trials.is_empty()) {
            return Some((Reason::Incomplete, format!("case {} has no trial", case.id)));
        }
    }
    None
}

/// The baseline that was asked for; `None` where none was.
pub(crate) fn baseline(scene: &Scene<'_>) -> Option<Finding> {
    let new = |verdict, reason| Finding::new(RuleKind::Baseline, "", "", verdict, reason);
    let allowed = scene.policy.baseline.as_ref().is_some_and(BaselinePolicy::may_be_missing);
    let absent = if allowed { Severity::Warn } else { Severity::Block };
    let not_evaluated = RuleVerdict::NotEvaluated;
    let broken = |why: &str| {
        let text = format!("the baseline cannot be used: {why}");
        let explanation = format!(
            "{}. It was left as it is. Restore it, or write it anew with scoregate baseline \
                                   update.",
            capital(&text)
        );
        new(not_evaluated, Reason::BaselineUnusable).with_severity(Severity::Block).saying(text, explanation)
    };
    match scene.state {
        BaselineState::NotAsked => None,
        BaselineState::Absent(place) => {
            let text = format!("no baseline: {place}");
            let next = if allowed { "Only thresholds decide" } else { "Nothing can vouch for this run" };
            let explanation =
                format!("NO BASELINE ({place}). {next}. Accept a run as baseline with scoregate baseline update.");
            Some(new(not_evaluated, Reason::NoBaseline).with_severity(absent).saying(text, explanation))
        }
        BaselineState::Unreachable(why) => {
            let text = format!("the baseline could not be fetched: {why}");
            let explanation = format!(
                "{}. Whether it is there is not known, so it is not taken for missing. Run again.",
                capital(&text)
            );
            let finding = new(not_evaluated, Reason::BaselineUnreachable).with_severity(Severity::Block);
            Some(finding.saying(text, explanation))
        }
        BaselineState::Broken(why) => Some(broken(why)),
        BaselineState::Found(baseline) => Some(match &scene.unusable {
            Some(Unusable::Broken(why)) => broken(why),
            Some(Unusable::TooOld(why)) => {
                let explanation = format!("{}; it counts as missing. Refresh it from the main branch.", capital(why));
                new(not_evaluated, Reason::NoBaseline).with_severity(absent).saying(why, explanation)
            }
            None => found(baseline, new(RuleVerdict::Met, Reason::Complete)),
        }),
    }
}

fn found(baseline: &Baseline, mut finding: Finding) -> Finding {
    let runs = baseline.runs.len() as u64;
    finding.comparison.n = runs;
    let newest = baseline.runs.last().map(|run| {
        let commit = run.commit.as_deref().map_or(String::new(), |commit| format!(", commit {commit}"));
        let date = run.date.as_deref().map_or(String::new(), |date| format!(", of {date}"));
        format!("the newest is {}{commit}{date}", run.id)
    });
    let place = &baseline.source.place;
    let digest = baseline.source.digest.map_or(String::new(), |digest| format!(", digest {digest}"));
    let text = format!("compared with {} of {place}", counted(runs, "run", "runs"));
    let explanation = format!("{}: {}{digest}.", capital(&text), newest.unwrap_or_default());
    finding.saying(text, explanation)
}

/// Why the baseline counts as missing although it is there (`max_age`).
pub(crate) fn too_old(run: &Run, baseline: &Baseline, policy: &Policy) -> Option<String> {
    let limit = policy.baseline.as_ref()?.max_age?;
    let time = |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<Timestamp>().ok());
    let newest = baseline.runs.iter().filter_map(|run| time(&run.date)).max();
    let (Some(newest), Some(now)) = (newest, time(&run.header.started)) else {
        return Some("the age of the baseline is not known, and `max_age` is set".to_owned());
    };
    let age = now.as_second().saturating_sub(newest.as_second());
    let days = age / 86_400;
    let old = u64::try_from(age).is_ok_and(|age| age > limit.as_secs());
    old.then(|| format!("the baseline is {} old", counted(days.unsigned_abs(), "day", "days")))
}

/// Enough cells of every required metric were measured, and nothing that the baseline has is gone.
pub(crate) fn covered(scene: &Scene<'_>, at: usize, sheet: &Sheet<'_>) -> Finding {
    let mut gaps = Gaps::default();
    let (mut scored, mut planned, mut worst) = (0, 0, Severity::Ok);
    let mut reason = Reason::Complete;
    for (metric, (spec, rules)) in scene.metrics.iter().enumerate() {
        let (of_metric, out_of) = sheet.share(metric);
        scored += of_metric;
        planned += out_of;
        if !rules.gate {
            continue;
        }
        let troubles = sheet.troubles(metric);
        let troubles = if troubles.is_empty() { String::new() } else { format!(" ({troubles})") };
        let name = &spec.name;
        if of_metric == 0 && out_of == 0 {
            let cases = counted(sheet.rows.len() as u64, "case", "cases");
            gaps.add(format!("0 of {cases} have what is measured by "), name, String::new());
        } else if of_metric == 0 {
            gaps.add(format!("{out_of} of {out_of} cases have no score for "), name, troubles);
        } else if !at_least(of_metric, out_of, scene.policy.min_measured) {
            gaps.add(format!("only {of_metric} of {out_of} measured for "), name, troubles);
        } else {
            let (well, all) = sheet.well_tried(metric, spec);
            if at_least(well, all, scene.policy.min_measured) {
                continue;
            }
            gaps.add(format!("only {well} of {all} cases have a score in half of their trials for "), name, troubles);
        }
        worst = worst.max_by_effect(if rules.required() { Severity::Block } else { Severity::Warn });
        reason = if of_metric == 0 { Reason::NoScores } else { Reason::Coverage };
    }
    let short_of = gaps.metrics();
    let mut short = gaps.told(&scene.of_target(&sheet.target));
    if scored == 0 && short.is_empty() {
        // Nothing gates, and nothing was measured either: still not green.
        let troubles = grouped(sheet.columns.iter().flatten().filter_map(|cell| cell.trouble()));
        short.push(format!("{planned} of {planned} scores are missing ({troubles})"));
        (worst, reason) = (Severity::Block, Reason::NoScores);
    }
    if let Some(what) = removed(scene, at) {
        worst = worst.max_by_effect(coverage(scene.policy));
        reason = if short.is_empty() { Reason::Coverage } else { reason };
        short.push(what);
    }
    let verdict = if short.is_empty() { RuleVerdict::Met } else { RuleVerdict::Inconclusive };
    let mut finding = Finding::new(RuleKind::Coverage, "", &sheet.target, verdict, reason).with_severity(worst);
    finding.short_of = short_of;
    finding.comparison.n = scored;
    finding.comparison.planned = planned;
    finding.comparison.require(scene.policy.min_measured, Bound::AtLeast);
    if short.is_empty() {
        let text = format!("{scored} of {planned} scores measured");
        let lost = planned - scored;
        let lost = if lost == 0 { String::new() } else { format!("; {lost} not measured") };
        if let Some(thin) = lost_trials(scene, sheet) {
            finding.comparison.severity = Severity::Warn;
            let next = "A case is scored by the trials that are there. Run again: what was paid for is not paid again.";
            return finding.saying(thin.clone(), format!("{}{lost}; {thin}. {next}", capital(&text)));
        }
        return finding.saying(text.clone(), format!("{}{lost}.", capital(&text)));
    }
    let text = short.join("; ");
    finding.saying(text.clone(), format!("{}.", capital(&text)))
}

/// More trials are without a score than scores may be missing, though every case has some.
fn lost_trials(scene: &Scene<'_>, sheet: &Sheet<'_>) -> Option<String> {
    let several = sheet.rows.iter().filter(|row| row.trials.len() > 1);
    let trials: Vec<_> = several.flat_map(|row| &row.trials).collect();
    let (all, lost) = (trials.len() as u64, trials.iter().filter(|trial| trial.lost()).count() as u64);
    let enough = lost == 0 || at_least(all - lost, all, scene.policy.min_measured);
    (!enough).then(|| format!("{lost} of {all} trials{} were lost", scene.of_target(&sheet.target)))
}

/// What is missing of the metrics; those that lack the same for the same reasons are told together.
#[derive(Default)]
struct Gaps(Vec<(String, Vec<MetricName>, String)>);

impl Gaps {
    fn add(&mut self, before: String, metric: &MetricName, after: String) {
        match self.0.iter_mut().find(|(start, _, end)| *start == before && *end == after) {
            Some((_, metrics, _)) => metrics.push(metric.clone()),
            None => self.0.push((before, vec![metric.clone()], after)),
        }
    }

    fn metrics(&self) -> Vec<MetricName> {
        self.0.iter().flat_map(|(_, metrics, _)| metrics.iter().cloned()).collect()
    }

    fn told(&self, of_target: &str) -> Vec<String> {
        let one = |(before, metrics, after): &(String, Vec<MetricName>, String)| {
            format!("{before}{}{of_target}{after}", names(metrics, 5))
        };
        self.0.iter().map(one).collect()
    }
}

/// Metrics that the policy has rules for and the run does not know at all: only results of another tool can lack one.
pub(crate) fn unmeasured(scene: &Scene<'_>) -> Vec<Finding> {
    let here: Vec<&str> = scene.run.header.metrics.iter().map(|spec| &*spec.name).collect();
    // Where the baseline has it, losing it is said once, by the comparison.
    let said = |name: &str| {
        let known =
            scene.reference.as_ref().is_some_and(|baseline| baseline.specs.iter().any(|spec| *spec.name == *name));
        known && coverage(scene.policy) == Severity::Block
    };
    let absent = |name: &str| scene.run.metric_index(name).is_none() && !said(name);
    let gone = scene.policy.metrics.iter().filter(|(name, rules)| rules.gate && absent(name));
    gone.map(|(name, rules)| {
        let severity = if rules.required() { Severity::Block } else { Severity::Warn };
        let text = format!("no score of {name} is in the results");
        let explanation = format!(
            "{}, and the suite has rules for it under gate.metrics. The results have {}. Measure it, or correct the name.",
            capital(&text),
            names(&here, 8)
        );
        let verdict = RuleVerdict::NotEvaluated;
        Finding::new(RuleKind::Coverage, name, "", verdict, Reason::NoScores).with_severity(severity).saying(text, explanation)
    })
    .collect()
}

/// Cases of the baseline that this target lacks.
fn removed(scene: &Scene<'_>, at: usize) -> Option<String> {
    let reference = scene.reference.as_ref()?;
    let side = reference.sides.get(at)?;
    let mut gone: Vec<&str> = side.removed.iter().map(|case| &*case.id).collect();
    if at == 0 {
        // Targets that the run lacks altogether have no sheet of their own.
        let here: BTreeSet<&str> = scene.sheets.iter().map(|sheet| &*sheet.target).collect();
        gone.extend(reference.baseline.cases.iter().filter(|case| !here.contains(&*case.target)).map(|case| &*case.id));
    }
    gone.sort_unstable();
    gone.dedup();
    if gone.is_empty() {
        return None;
    }
    let added = side.standing.iter().filter(|standing| matches!(standing, super::comparable::Standing::Added)).count();
    let new = if added > 0 && side.known { format!(", {added} new") } else { String::new() };
    let filtered = if scene.run.header.filtered { "; this run selected a part of the cases" } else { "" };
    Some(format!("{} removed{new}: the baseline has {} and this run has not{filtered}", gone.len(), names(&gone, 5)))
}

trait Effect {
    fn max_by_effect(self, other: Self) -> Self;
}

impl Effect for Severity {
    /// The one that does more to the build.
    fn max_by_effect(self, other: Self) -> Self {
        let rank = |severity: Self| match severity {
            Self::Ok => 0,
            Self::Warn => 1,
            Self::Block => 2,
            Self::Fail => 3,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}
