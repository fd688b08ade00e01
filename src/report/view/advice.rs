//! What to do next: it comes from the result.

use std::path::Path;

use super::NAME;
use super::trouble::Trouble;
use crate::domain::{Comparison, FailureKind, Reason, RuleKind, Run, Severity, Verdict};
use crate::report::clean::{Clean, Cleaner};
use crate::report::word;

/// More than this nobody reads.
const LINES: usize = 6;

pub(super) fn advice(run: &Run, verdict: &Verdict, troubles: &[Trouble], cleaner: &Cleaner) -> Vec<Clean> {
    let mut advice: Vec<String> = Vec::new();
    let results = results(run);
    let mut say = |text: String| {
        if !advice.contains(&text) {
            advice.push(text);
        }
    };
    if verdict.partial || run.completion.is_none() {
        say("run again: what was paid for is kept and not paid again".to_owned());
    }
    for trouble in troubles.iter().take(3) {
        let remedy = match trouble.kind {
            // Running again is said already.
            FailureKind::Cancelled if verdict.partial => None,
            // The paths are the target's; a judge's reply has the provider's form or none.
            FailureKind::Malformed if !trouble.of_target => {
                Some("check the model's `base_url`: what answers there keeps no form")
            }
            FailureKind::Missing if trouble.of_target => {
                Some("give these cases a recorded answer, or name a target under `targets` that is asked for one")
            }
            kind => word::remedy(kind),
        };
        if let Some(remedy) = remedy {
            say(format!("{} ({}): {remedy}", trouble.kind.word(), trouble.what));
        }
    }
    for rule in verdict.rules.iter().filter(|rule| rule.severity != Severity::Ok) {
        if let Some(text) = of_rule(rule, verdict, &results) {
            say(text);
        }
    }
    if !verdict.comparable {
        say("measure the baseline again on the base branch with the new way of measuring".to_owned());
    }
    advice.iter().take(LINES).map(|text| cleaner.line(text, NAME * 3)).collect()
}

/// The run's results as they are named on the command line.
fn results(run: &Run) -> String {
    let usual = || "scoregate-out/results.jsonl".to_owned();
    let named = run.file.as_deref().and_then(Path::to_str).map_or_else(usual, str::to_owned);
    if named.contains(char::is_whitespace) { format!("\"{named}\"") } else { named }
}

fn of_rule(rule: &Comparison, verdict: &Verdict, results: &str) -> Option<String> {
    let text = match (rule.rule, rule.reason) {
        (RuleKind::Complete, Reason::NoCases) => "check `dataset`, `where` and `sample`: no case was selected",
        (RuleKind::Complete, _) => "run again: what was paid for is kept and not paid again",
        (RuleKind::Anchor, Reason::NoBaseline) => {
            "keep the results of a good run, such as the last release's, where `gate.anchor.path` says; until then a slow slide is not seen"
        }
        // Of selected cases none may be in a baseline that is there.
        (_, Reason::NoBaseline) if verdict.selection.is_some() => return None,
        (_, Reason::NoBaseline) => {
            return Some(format!(
                "accept a good run as the baseline, on the main branch: `scoregate baseline update {results} --to FILE`"
            ));
        }
        (_, Reason::BaselineUnreachable) => {
            "look why the baseline's place does not give it (the rule says what it answered), then run again: what was paid for is kept"
        }
        (_, Reason::PolicyLoosened) => {
            "change the gate in a pull request of its own; whoever may decide that accepts it with `--accept-policy-changes` in the workflow"
        }
        (_, Reason::BaseUnknown) => {
            "let the job have the base commit: `fetch-depth: 2` of actions/checkout, or `--base COMMIT`; `--base none` does without"
        }
        (_, Reason::BaselineUnusable) => {
            "restore the baseline from version control, or write it anew on the main branch"
        }
        (RuleKind::Resource | RuleKind::ResourceRise, Reason::ThresholdMissed) => {
            "look at the answers that took most, in results.jsonl (`latency_ms`, `usage`, `cost`)"
        }
        (RuleKind::Resource | RuleKind::ResourceRise, Reason::NoScores | Reason::Missing) => {
            "let the answers be counted: ask anew (`--ledger refresh`), give the target its `usage`, the model its `price`"
        }
        (RuleKind::JudgeTrust, Reason::JudgeUntrusted) => {
            return Some(format!(
                "label answers of this run and measure the judge: `scoregate judge calibrate LABELS {results} --metric NAME --format json`"
            ));
        }
        (_, Reason::Environment) => {
            "look what changed outside of this change (provider, judge, index), then measure the baseline anew: `scoregate baseline refresh`"
        }
        (RuleKind::Anchor, Reason::Mean) => "find where the level fell: `scoregate drift` over the stored runs",
        (RuleKind::NewErrors, _) => "look at the cases without an answer first: the system under test failed on them",
        (RuleKind::Coverage | RuleKind::NotWorse, Reason::Coverage) if verdict.cases.removed > 0 => {
            "bring the removed cases back; if they are gone for good, accept a run without them on the main branch with \
             `scoregate baseline update`"
        }
        (RuleKind::Coverage, _) => "get the missing scores measured: a verdict needs nearly all of them",
        (RuleKind::MustPass | RuleKind::EachCase, _) if rule.severity == Severity::Fail => {
            "fix the cases named by the rule: their failing alone fails the build, whatever the means say"
        }
        (
            RuleKind::NotWorse | RuleKind::Slice | RuleKind::MaxDrop,
            Reason::Mean | Reason::Breaks | Reason::DropTooLarge,
        ) => {
            "look at the broken cases, worst first; if the new level is wanted, accept it on the main branch with \
             `scoregate baseline update`"
        }
        (RuleKind::Threshold | RuleKind::PassRate | RuleKind::Percentile, Reason::ThresholdMissed) => {
            let rule_text = word::rule(rule);
            return Some(format!(
                "{}: the worst scores in results.jsonl show what keeps it from `{rule_text}`",
                rule.metric
            ));
        }
        (_, Reason::TooFewCases | Reason::NoSign | Reason::Suspicious | Reason::ThresholdUncertain) => {
            "to settle what is inconclusive: more cases, more trials (`run.trials`) or more baseline runs, as each rule says"
        }
        _ => return None,
    };
    Some(text.to_owned())
}
