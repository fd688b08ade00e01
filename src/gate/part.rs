//! A part of a run: the results of one shard, which decide nothing.

use super::looks::Look;
use super::scene::{Finding, Scene, at_least};
use super::sheet::Sheet;
use super::{BaselineState, Policy, judge, standing};
use crate::domain::{Bound, Decision, Part, Reason, RuleKind, RuleVerdict, Run, Severity, Verdict};
use crate::text::number::counted;

/// What can be said of one shard: whether it was carried through and enough of it was measured. Thresholds, the baseline and must-pass
/// cases are for all shards together.
///
/// **Returns** a verdict that is never more than `not_evaluated`; its exit code is 0 where every required metric was measured as the
/// policy's `min_measured` asks, else 3. A shard without cases is whole.
pub fn judge_shard(run: &Run, part: Part, policy: &Policy) -> Verdict {
    let state = BaselineState::NotAsked;
    let scene = Scene::new(run, run, &state, policy, Look::only(run, policy.alpha));
    let mut findings = vec![carried_through(&scene)];
    if run.header.cases > 0 {
        findings.extend(scene.sheets.iter().map(|sheet| measured(&scene, sheet)));
    }
    let short: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.comparison.severity == Severity::Block)
        .map(|finding| &*finding.phrase)
        .collect();
    let (here, all) = (run.header.cases, counted(part.of, "case", "cases"));
    let what = format!("shard {}: {here} of {all}", part.shard);
    let headline = if short.is_empty() {
        format!("{what} measured; nothing is decided until all shards are joined by scoregate merge")
    } else {
        format!("{what}, not all measured: {}", short.join("; "))
    };
    Verdict {
        decision: Decision::NotEvaluated,
        exit_code: if short.is_empty() { 0 } else { 3 },
        headline,
        notes: vec![format!(
            "this is shard {}: join the results.jsonl of all {} with scoregate merge, which compares, decides and reports",
            part.shard,
            counted(u64::from(part.shard.total()), "shard", "shards")
        )],
        ..judge::verdict(&scene, findings)
    }
}

fn carried_through(scene: &Scene<'_>) -> Finding {
    if scene.run.header.cases > 0 || !scene.run.completion.as_ref().is_some_and(|end| end.complete) {
        return standing::complete(scene);
    }
    let text = "no case falls into this shard";
    Finding::new(RuleKind::Complete, "", "", RuleVerdict::Met, Reason::Complete)
        .saying(text, "No case falls into this shard.")
}

/// As [`standing::covered`], but that a small part may have no case for some metric.
fn measured(scene: &Scene<'_>, sheet: &Sheet<'_>) -> Finding {
    let mut short = Vec::new();
    let (mut scored, mut planned) = (0, 0);
    for (metric, (spec, rules)) in scene.metrics.iter().enumerate() {
        let (of_metric, out_of) = sheet.share(metric);
        scored += of_metric;
        planned += out_of;
        if rules.required() && out_of > 0 && !at_least(of_metric, out_of, scene.policy.min_measured) {
            let troubles = sheet.troubles(metric);
            short.push(format!("{of_metric} of {out_of} for {} ({troubles})", scene.label(&spec.name, &sheet.target)));
        }
    }
    let (verdict, reason, severity) = if !short.is_empty() {
        (RuleVerdict::Inconclusive, Reason::Coverage, Severity::Block)
    } else if scored == 0 && planned > 0 {
        short.push(format!("none of {planned} scores"));
        (RuleVerdict::Inconclusive, Reason::NoScores, Severity::Block)
    } else {
        (RuleVerdict::Met, Reason::Complete, Severity::Ok)
    };
    let mut finding = Finding::new(RuleKind::Coverage, "", &sheet.target, verdict, reason).with_severity(severity);
    finding.comparison.n = scored;
    finding.comparison.planned = planned;
    finding.comparison.require(scene.policy.min_measured, Bound::AtLeast);
    let text = if short.is_empty() { format!("{scored} of {planned} scores measured") } else { short.join("; ") };
    finding.saying(text.clone(), format!("Measured: {text}."))
}

/// A shard where a whole run is asked for.
pub(crate) fn alone(run: &Run) -> Option<Finding> {
    let part = run.header.shard?;
    let text = format!("this is only shard {} of the run", part.shard);
    let explanation = format!(
        "The results are those of shard {}, {} of {}. Join all shards with scoregate merge, which also decides.",
        part.shard,
        run.header.cases,
        counted(part.of, "case", "cases")
    );
    let finding = Finding::new(RuleKind::Complete, "", "", RuleVerdict::NotEvaluated, Reason::Incomplete);
    Some(finding.with_severity(Severity::Block).saying(text, explanation))
}
