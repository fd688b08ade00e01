//! Why a metric is not compared.

use super::super::matchup::Matchup;
use super::super::not_worse::Refusal;
use super::super::word::capital;
use crate::domain::Reason;
use crate::text::number::{counted, limit};

pub(crate) fn nothing_to_compare(name: &str, target_known: bool) -> Refusal {
    let what = if target_known { "the metric" } else { "it" };
    let phrase = format!("{name} is new, no baseline");
    let explanation = format!("{}: the baseline does not have {what}, so nothing is compared yet.", name);
    Refusal { reason: Reason::NoBaseline, phrase, explanation }
}

pub(crate) fn lost_in_the_baseline(name: &str, cases: u64) -> Refusal {
    let phrase = format!("{name}: its scores are missing in the baseline");
    let explanation = format!(
        "{name} cannot be judged: the baseline has it, and no score of it for any of {}. The run that was accepted did not measure it. \
         Measure anew and accept that run with scoregate baseline update.",
        counted(cases, "case", "cases")
    );
    Refusal { reason: Reason::Missing, phrase, explanation }
}

/// A metric's name with the tag it is narrowed to.
pub(crate) fn sliced(name: &str, tag: Option<&str>) -> String {
    tag.map_or_else(|| name.to_owned(), |tag| format!("{name} [{tag}]"))
}

pub(crate) fn no_such_tag(name: &str, tag: &str) -> Refusal {
    let phrase = format!("{name}: no case on both sides has the tag {tag}");
    let explanation = format!(
        "{phrase}, and gate.slices asks for it. Correct the tag, or give it to the cases in the data set and measure the baseline with them."
    );
    Refusal { reason: Reason::NoCases, phrase, explanation }
}

pub(crate) fn small_slice(name: &str, cases: u64, fewest: u64) -> Refusal {
    let cases = counted(cases, "paired case", "paired cases");
    let phrase = format!("{name}: {cases} are too few for a slice");
    let explanation = format!(
        "{name} is not compared: {cases} have the tag, and a slice needs {fewest}. Add cases, or take the slice out."
    );
    Refusal { reason: Reason::TooFewCases, phrase, explanation }
}

/// Without a baseline: a tag that would not be compared with one either.
pub(crate) fn no_slice(tag: &str, of_target: &str, cases: u64, fewest: u64) -> Refusal {
    if cases == 0 {
        let phrase = format!("no case{of_target} has the tag {tag}, and gate.slices lets it gate");
        let explanation = format!("{}. Correct the tag, or give it to the cases in the data set.", capital(&phrase));
        return Refusal { reason: Reason::NoCases, phrase, explanation };
    }
    let cases = counted(cases, "case", "cases");
    let phrase = format!("the tag {tag} has {cases}{of_target}, too few for a slice that gates");
    let explanation = format!(
        "{}: it needs {fewest}, so nothing would be compared with a baseline either. Add cases, or take the slice out.",
        capital(&phrase)
    );
    Refusal { reason: Reason::TooFewCases, phrase, explanation }
}

pub(crate) fn nothing_selected(name: &str) -> Refusal {
    let phrase = format!("{name}: no selected case is in the baseline unchanged");
    let explanation = format!("{phrase}, so nothing is compared.");
    Refusal { reason: Reason::NoBaseline, phrase, explanation }
}

pub(crate) fn judge_changed(name: &str, parts: &[String]) -> Refusal {
    let what = what_changed(parts);
    let phrase = format!("{what} changed for {}: {}", name, parts.join("; "));
    let explanation = format!(
        "{} was measured differently in the baseline, so the two are not compared. {} changed: {}. Measure the baseline again \
         with the new way, or accept this run as baseline with scoregate baseline update.",
        name,
        capital(what),
        parts.join("; ")
    );
    Refusal { reason: Reason::JudgeMismatch, phrase, explanation }
}

/// Whether it is the judge, the scale or the evaluator that differs.
fn what_changed(parts: &[String]) -> &'static str {
    let begins = |names: &[&str]| parts.iter().any(|part| names.iter().any(|name| part.starts_with(name)));
    if begins(&["model:", "prompt:", "parameters:", "endpoint:"]) {
        "judge"
    } else if begins(&["scale:", "direction:"]) {
        "scale"
    } else {
        "evaluator"
    }
}

pub(crate) fn too_little_overlap(name: &str, matchup: &Matchup<'_>) -> Refusal {
    let (kept, of) = (matchup.kept, matchup.baseline_cases);
    let phrase = format!("{}: only {kept} of {of} baseline cases are still there unchanged", name);
    let explanation = format!(
        "{} cannot be judged: only {kept} of {of} cases of the baseline are in this run with the same content. Comparing what is \
         left would hide what the others would have caught.",
        name
    );
    Refusal { reason: Reason::Coverage, phrase, explanation }
}

pub(crate) fn too_much_missing(name: &str, matchup: &Matchup<'_>, allowed: f64) -> Refusal {
    let (missing, of) = (matchup.missing(), matchup.joints.len());
    let phrase = format!("{name}: {missing} of {of} cases have no usable score on both sides");
    let explanation = format!(
        "{name} cannot be judged: {missing} of {of} cases have no usable score on one of the two sides, and the policy allows a \
         share of {}. Measure them again; what was paid for is not paid again.",
        limit(allowed)
    );
    Refusal { reason: Reason::Missing, phrase, explanation }
}
