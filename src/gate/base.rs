//! A proposed change is judged by the policy and the baseline of the branch it is for, and may not loosen them (security §9).

use super::scene::{Finding, Scene};
use super::word::capital;
use crate::domain::{BaseRecord, JudgedBy, PolicyChange, Reason, RuleKind, RuleVerdict, Severity};
use crate::text::number::counted;

/// Changes named in the headline, in the explanation, and in the notes; all of them are in `verdict.json`.
const NAMED: usize = 2;
const EXPLAINED: usize = 12;
const NOTED: usize = 20;

/// `None` outside of pull requests, and where the workflow does without a base.
pub(crate) fn finding(scene: &Scene<'_>) -> Option<Finding> {
    let base = scene.beside.base?;
    let new = |verdict, reason| Finding::new(RuleKind::Policy, "", "", verdict, reason);
    match base.by {
        JudgedBy::Waived => None,
        JudgedBy::Unknown => {
            let why = base.problem.as_deref().unwrap_or("it was not found");
            let text = format!("the base branch's policy could not be read: {why}");
            let explanation = format!(
                "{}. A pull request is judged by the policy and the baseline of the branch it is for, and its own cannot vouch for it.",
                capital(&text)
            );
            let finding = new(RuleVerdict::NotEvaluated, Reason::BaseUnknown).with_severity(Severity::Block);
            Some(finding.saying(text, explanation))
        }
        JudgedBy::NewSuite => {
            let text =
                format!("the suite is new in this change, and judged by its own policy: {} has none", base.name());
            let explanation = format!("{}. Review its thresholds and its baseline like code.", capital(&text));
            let finding = new(RuleVerdict::Met, Reason::PolicyKept).with_severity(Severity::Warn);
            Some(finding.saying(text, explanation))
        }
        JudgedBy::Base | JudgedBy::Accepted => Some(compared(base)),
    }
}

fn compared(base: &BaseRecord) -> Finding {
    let new = |verdict, reason| Finding::new(RuleKind::Policy, "", "", verdict, reason);
    let loosened: Vec<&PolicyChange> = base.loosened().collect();
    if loosened.is_empty() {
        let text = format!("judged by the policy of {}", base.name());
        return new(RuleVerdict::Met, Reason::PolicyKept).saying(text.clone(), format!("{}.", capital(&text)));
    }
    let accepted = base.by == JudgedBy::Accepted;
    let named = listed(&loosened, NAMED, |change| change.words());
    let text = format!("this change loosens the gate that judges it: {named}");
    let told = listed(&loosened, EXPLAINED, |change| change.words());
    let what = counted(loosened.len() as u64, "change loosens", "changes loosen");
    let next = if accepted {
        "The workflow accepts that (--accept-policy-changes), so the change's own policy and baseline decide."
    } else {
        "The run was judged by the base's policy all the same. Undo it here, or let whoever may decide that accept it in the workflow \
         with --accept-policy-changes."
    };
    let explanation = format!("Compared with {}, {what} the gate: {told}. {next}", base.name());
    let finding = if accepted {
        new(RuleVerdict::Violated, Reason::PolicyLoosened).with_severity(Severity::Warn)
    } else {
        new(RuleVerdict::Violated, Reason::PolicyLoosened).with_severity(Severity::Fail)
    };
    let mut finding = finding.saying(text, explanation);
    finding.comparison.n = loosened.len() as u64;
    finding.comparison.planned = base.changes.len() as u64;
    finding
}

fn listed(changes: &[&PolicyChange], most: usize, words: impl Fn(&PolicyChange) -> String) -> String {
    let mut told: Vec<String> = changes.iter().take(most).map(|change| words(change)).collect();
    if changes.len() > most {
        told.push(format!("and {} more", changes.len() - most));
    }
    told.join("; ")
}

/// Whose policy it was, and every difference, the loosening ones first.
pub(crate) fn notes(scene: &Scene<'_>) -> Vec<String> {
    let Some(base) = scene.beside.base else { return Vec::new() };
    let mut notes = Vec::new();
    match base.by {
        JudgedBy::Base => notes.push(format!("judged by policy and baseline of {}", base.name())),
        JudgedBy::Accepted => notes.push(format!(
            "the changes of the policy are accepted by the workflow (--accept-policy-changes): judged by the change's own policy and \
             baseline, not by those of {}",
            base.name()
        )),
        JudgedBy::Waived => notes.push(
            "judged by the change's own policy and baseline: the workflow asks for no base (--base none), so nothing would show if they \
             were loosened"
                .to_owned(),
        ),
        JudgedBy::NewSuite | JudgedBy::Unknown => {}
    }
    if let Some(moved) = &base.moved_to {
        let short: String = moved.chars().take(10).collect();
        notes.push(format!("the base has moved on to commit {short} since: merge it to be judged by what it asks now"));
    }
    notes.extend(base.remarks.iter().cloned());
    let (loosened, others): (Vec<&PolicyChange>, Vec<&PolicyChange>) =
        base.changes.iter().partition(|change| change.loosens);
    for (changes, what) in [(loosened, "loosened"), (others, "changed, and decides after the merge")] {
        notes.extend(changes.iter().take(NOTED).map(|change| format!("{what}: {}", change.words())));
        if changes.len() > NOTED {
            notes.push(format!("{what}: {} more, in verdict.json", changes.len() - NOTED));
        }
    }
    notes
}
