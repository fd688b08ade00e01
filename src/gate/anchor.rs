//! Is it worse than in the run that is kept as the anchor? Many small drops that the margin tolerates add up there and nowhere else
//! (statistics §16.2). It only warns.

use super::BaselineState;
use super::comparable::{Reference, mismatch, unusable};
use super::estimate::Estimate;
use super::matchup::{Fill, Matchup, range};
use super::scene::{Finding, Scene};
use super::word::capital;
use crate::domain::{Baseline, Direction, Reason, RuleKind, RuleVerdict, Severity};
use crate::stats::Ratio;
use crate::text::number::{counted, odds, pair, signed_points};

/// The level of the test, without Holm.
const ALPHA: f64 = 0.01;

/// One rule a metric that gates; one alone where the anchor cannot be used.
pub(crate) fn findings(scene: &Scene<'_>) -> Vec<Finding> {
    let anchor = match scene.beside.anchor {
        None | Some(BaselineState::NotAsked) => return Vec::new(),
        Some(BaselineState::Absent(place)) => return vec![none(&format!("there is no {place}"))],
        Some(BaselineState::Unreachable(why) | BaselineState::Broken(why)) => return vec![none(why)],
        Some(BaselineState::Found(anchor)) => anchor,
    };
    if let Some(why) = unusable(scene.run, anchor, scene.policy) {
        return vec![none(&why)];
    }
    let reference = Reference::build(anchor, &scene.sheets, scene.policy);
    let mut findings = Vec::new();
    for sheet in 0..scene.sheets.len() {
        for metric in 0..scene.metrics.len() {
            findings.extend(one(scene, &reference, anchor, sheet, metric));
        }
    }
    let anything = scene.metrics.iter().any(|(_, rules)| rules.gate) && scene.run.header.selection.is_none();
    if findings.is_empty() && anything {
        return vec![none("no case of this run is in it unchanged with a score of a metric that gates")];
    }
    findings
}

fn none(why: &str) -> Finding {
    let text = format!("the anchor cannot be compared with: {why}");
    let explanation = format!("{}. A slide of many small drops would not be seen.", capital(&text));
    Finding::new(RuleKind::Anchor, "", "", RuleVerdict::NotEvaluated, Reason::NoBaseline)
        .with_severity(Severity::Warn)
        .saying(text, explanation)
}

fn one(
    scene: &Scene<'_>,
    reference: &Reference<'_>,
    anchor: &Baseline,
    sheet: usize,
    metric: usize,
) -> Option<Finding> {
    let (spec, _) = scene.metrics.get(metric).filter(|(_, rules)| rules.gate)?;
    let (page, side) = (scene.sheets.get(sheet)?, reference.sides.get(sheet)?);
    let name = scene.label(&spec.name, &page.target);
    let new = |verdict, reason| Finding::new(RuleKind::Anchor, &spec.name, &page.target, verdict, reason);
    // What the anchor does not have is compared by nobody.
    let base = reference.spec(&spec.name).filter(|_| side.known)?;
    let parts = mismatch(spec, base);
    if !parts.is_empty() {
        let text = format!("{name} is not compared with the anchor: measured differently ({})", parts.join("; "));
        let finding = new(RuleVerdict::NotEvaluated, Reason::NoBaseline).with_severity(Severity::Warn);
        return Some(finding.saying(text.clone(), format!("{text}. Mark a newer run as the anchor.")));
    }
    let matchup = Matchup::build(page, side, metric, spec);
    let estimate = Estimate::of(&matchup, spec, Fill::None, ALPHA)?;
    let worse = estimate.p <= ALPHA;
    let mut finding = if worse {
        new(RuleVerdict::Violated, Reason::Mean).with_severity(Severity::Warn)
    } else {
        new(RuleVerdict::Met, Reason::Complete)
    };
    let comparison = &mut finding.comparison;
    comparison.baseline = Some(estimate.baseline.value());
    comparison.current = Some(estimate.current.value());
    comparison.delta = estimate.current.minus(estimate.baseline).map(Ratio::value);
    let width = range(spec);
    comparison.ci = estimate.shown_interval(spec).map(|(lower, upper)| match spec.direction {
        Direction::Higher => [lower * width, upper * width],
        Direction::Lower => [-upper * width, -lower * width],
    });
    comparison.p = Some(estimate.p);
    comparison.n = estimate.units;
    comparison.planned = matchup.joints.len() as u64;
    (comparison.up, comparison.down, comparison.same) = (estimate.up, estimate.down, estimate.same);
    estimate.flip.method.word().clone_into(&mut comparison.method);
    let scores = pair(estimate.baseline.value(), estimate.current.value());
    let moved = signed_points(estimate.change(spec));
    let cases = counted(estimate.cases, "case", "cases");
    let since = since(anchor);
    let text = if worse {
        format!("{name} has slid since the anchor{since}: {moved} points ({scores})")
    } else {
        format!("{name} has not slid since the anchor{since}: {moved} points ({scores})")
    };
    let luck = if worse {
        format!(" If nothing had changed since, this would appear {}.", odds(estimate.p, "runs"))
    } else {
        String::new()
    };
    Some(finding.saying(text.clone(), format!("{text}, over {cases}.{luck}")))
}

/// ` of 2026-05-01, commit 1a2b3c4d5e`.
fn since(anchor: &Baseline) -> String {
    let Some(run) = anchor.runs.last() else { return String::new() };
    let day = run.date.as_deref().and_then(|date| date.get(..10)).map(|day| format!(" of {day}"));
    let commit =
        run.commit.as_deref().map(|commit| format!(", commit {}", commit.chars().take(10).collect::<String>()));
    format!("{}{}", day.unwrap_or_default(), commit.unwrap_or_default())
}
