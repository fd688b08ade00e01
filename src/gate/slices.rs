//! Cases by tag (statistics §14): those that the policy names join the family of the gate, the others are only shown.

use std::collections::BTreeMap;

use super::estimate::Estimate;
use super::explain;
use super::matchup::{Fill, Matchup};
use super::not_worse::{Compared, measured};
use super::scene::{Finding, Scene};
use super::sheet::Sheet;
use crate::domain::{RuleKind, RuleVerdict, Severity, SliceChange};
use crate::stats::{Ratio, benjamini_hochberg};

/// Fewer paired cases than this are no slice (statistics §14.1).
pub(crate) const FEWEST: usize = 20;
/// A slice is shown up to this adjusted p.
const SHOWN: f64 = 0.10;

/// The slices that gate, of every metric that is compared.
pub(crate) fn gating<'s>(scene: &'s Scene<'_>, compared: &[Compared<'s>]) -> Vec<Compared<'s>> {
    let mut slices = Vec::new();
    for (tag, slice) in &scene.policy.slices {
        for one in compared.iter().filter(|one| one.outcome.is_ok()) {
            let wanted = match &slice.metrics {
                Some(names) => names.iter().any(|name| **name == *one.spec.name),
                None => one.rules.gate,
            };
            let (Some(whole), Some(sheet)) = (&one.matchup, scene.sheets.get(one.sheet)) else { continue };
            if wanted {
                slices.push(of_tag(scene, one, whole, sheet, tag, slice.margin.unwrap_or(one.margin)));
            }
        }
    }
    slices
}

/// Tags that are to gate and that nothing is compared for, since there is no baseline: those that never could be are said.
pub(crate) fn unseen(scene: &Scene<'_>) -> Vec<Finding> {
    if scene.reference.is_some() || scene.run.header.selection.is_some() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for tag in scene.policy.slices.keys() {
        for sheet in &scene.sheets {
            let cases = sheet.of_tag(tag).rows.len();
            if cases < FEWEST {
                let (fewest, of) = (FEWEST as u64, scene.of_target(&sheet.target));
                let refusal = explain::no_slice(tag, &of, cases as u64, fewest);
                let verdict = RuleVerdict::NotEvaluated;
                let mut finding = Finding::new(RuleKind::Slice, "", &sheet.target, verdict, refusal.reason)
                    .with_severity(Severity::Warn)
                    .saying(refusal.phrase, refusal.explanation);
                finding.comparison.slice = Some(tag.clone());
                (finding.comparison.n, finding.comparison.planned) = (cases as u64, cases as u64);
                findings.push(finding);
            }
        }
    }
    findings
}

fn of_tag<'s>(
    scene: &'s Scene<'_>,
    one: &Compared<'s>,
    whole: &Matchup<'s>,
    sheet: &Sheet<'_>,
    tag: &'s str,
    margin: f64,
) -> Compared<'s> {
    let matchup = whole.of(|joint| has_tag(sheet, joint.row, tag));
    let name = explain::sliced(&scene.label(&one.spec.name, one.target), Some(tag));
    let paired = matchup.paired().count();
    let outcome = if paired == 0 && scene.run.header.selection.is_none() {
        Err(explain::no_such_tag(&name, tag))
    } else if paired < FEWEST {
        Err(explain::small_slice(&name, paired as u64, FEWEST as u64))
    } else {
        measured(scene, &matchup, one.spec, &name)
    };
    let Compared { sheet, metric, target, spec, rules, .. } = *one;
    Compared { sheet, metric, target, spec, rules, slice: Some(tag), margin, matchup: Some(matchup), outcome }
}

pub(crate) fn has_tag(sheet: &Sheet<'_>, row: usize, tag: &str) -> bool {
    sheet.rows.get(row).is_some_and(|row| row.tags.iter().any(|has| **has == *tag))
}

/// Tags whose cases got worse while nobody asked, the smallest p first.
pub(crate) fn explored(scene: &Scene<'_>, compared: &[Compared<'_>]) -> Vec<SliceChange> {
    let mut found: Vec<SliceChange> = Vec::new();
    for one in compared.iter().filter(|one| one.slice.is_none() && one.outcome.is_ok()) {
        let (Some(whole), Some(sheet)) = (&one.matchup, scene.sheets.get(one.sheet)) else { continue };
        let asked =
            |tag: &str| compared.iter().any(|other| other.slice == Some(tag) && other.spec.name == one.spec.name);
        let all = whole.paired().count();
        for (tag, count) in tags(whole, sheet) {
            // The tag of all cases is the metric itself.
            if count >= FEWEST && count < all && !asked(tag) {
                found.extend(change(scene, one, whole, sheet, tag));
            }
        }
    }
    let p: Vec<f64> = found.iter().map(|slice| slice.p).collect();
    for (slice, adjusted) in found.iter_mut().zip(benjamini_hochberg(&p)) {
        slice.p_adjusted = adjusted;
    }
    found.retain(|slice| slice.p_adjusted <= SHOWN);
    found.sort_by(|left, right| left.p_adjusted.total_cmp(&right.p_adjusted).then_with(|| left.tag.cmp(&right.tag)));
    found
}

fn tags<'s>(whole: &Matchup<'_>, sheet: &'s Sheet<'_>) -> BTreeMap<&'s str, usize> {
    let mut tags: BTreeMap<&str, usize> = BTreeMap::new();
    for row in whole.paired().filter_map(|joint| sheet.rows.get(joint.row)) {
        for tag in &row.tags {
            *tags.entry(tag).or_default() += 1;
        }
    }
    tags
}

fn change(
    scene: &Scene<'_>,
    one: &Compared<'_>,
    whole: &Matchup<'_>,
    sheet: &Sheet<'_>,
    tag: &str,
) -> Option<SliceChange> {
    let matchup = whole.of(|joint| has_tag(sheet, joint.row, tag));
    let estimate = Estimate::of(&matchup, one.spec, Fill::None, scene.policy.alpha)?;
    Some(SliceChange {
        tag: tag.to_owned(),
        target: one.target.into(),
        metric: one.spec.name.clone(),
        n: estimate.cases,
        delta: estimate.current.minus(estimate.baseline).map_or(0.0, Ratio::value),
        p: estimate.p,
        p_adjusted: 1.0,
    })
}
