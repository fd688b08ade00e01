//! One sentence: what was decided and why.

use super::scene::{Finding, Scene};
use crate::domain::{Decision, Reason, RuleKind, RuleVerdict, Severity};
use crate::text::number::counted;

/// Rules named before the rest is only counted.
const NAMED: usize = 3;

/// The decision and its exit code (security §2): what is violated comes before what could not be evaluated.
pub(crate) fn decision(findings: &[Finding]) -> (Decision, u8) {
    let any = |severity| findings.iter().any(|finding| finding.comparison.severity == severity);
    if any(Severity::Fail) {
        return (Decision::Failed, 1);
    }
    if any(Severity::Block) {
        let blocking = findings.iter().filter(|finding| finding.comparison.severity == Severity::Block);
        let by_policy = blocking.into_iter().all(undecided);
        return (if by_policy { Decision::Inconclusive } else { Decision::NotEvaluated }, 3);
    }
    let open = |finding: &Finding| finding.comparison.severity == Severity::Warn && undecided(finding);
    (if findings.iter().any(open) { Decision::Inconclusive } else { Decision::Passed }, 0)
}

/// The evidence is there and says neither yes nor no.
fn undecided(finding: &Finding) -> bool {
    let reasons = [Reason::Suspicious, Reason::NoSign, Reason::TooFewCases, Reason::ThresholdUncertain];
    finding.comparison.verdict == RuleVerdict::Inconclusive && reasons.contains(&finding.comparison.reason)
}

pub(crate) fn sentence(scene: &Scene<'_>, findings: &[Finding], decision: Decision, exit_code: u8) -> String {
    let of = |severity| findings.iter().filter(move |finding| finding.comparison.severity == severity);
    match (decision, exit_code) {
        (Decision::Failed, _) => format!("failed: {}", listed(of(Severity::Fail))),
        (Decision::NotEvaluated, _) => format!("could not evaluate: {}", listed(of(Severity::Block))),
        (Decision::Inconclusive, 0) => {
            let open = of(Severity::Warn).filter(|finding| undecided(finding));
            format!("inconclusive, which the policy lets pass: {}{}", listed(open), no_baseline(findings))
        }
        (Decision::Inconclusive, _) => {
            format!("inconclusive, which the policy does not let pass: {}", listed(of(Severity::Block)))
        }
        (Decision::Passed, _) => passed(scene, findings),
    }
}

/// The first few phrases, each once; a rule that only repeats another's is not said again.
fn listed<'f>(findings: impl Iterator<Item = &'f Finding>) -> String {
    let findings: Vec<&Finding> = findings.collect();
    let mut phrases: Vec<&str> = Vec::new();
    for finding in &findings {
        if told_already(finding, &findings) {
            continue;
        }
        if !phrases.contains(&&*finding.phrase) {
            phrases.push(&finding.phrase);
        }
    }
    let more = phrases.len().saturating_sub(NAMED);
    let rest = format!("and {more} more");
    phrases.truncate(NAMED);
    if more > 0 {
        phrases.push(&rest);
    }
    phrases.join("; ")
}

/// What only repeats that a metric's scores are missing, where the coverage rule in the same list says so.
fn told_already(finding: &Finding, all: &[&Finding]) -> bool {
    let rule = &finding.comparison;
    let missing = matches!(rule.reason, Reason::NoScores | Reason::Missing) && rule.rule != RuleKind::Coverage;
    missing && all.iter().any(|one| one.comparison.target == rule.target && one.short_of.contains(&rule.metric))
}

fn passed(scene: &Scene<'_>, findings: &[Finding]) -> String {
    let of = |rules: &[RuleKind], keep: fn(&Finding) -> bool| {
        findings.iter().filter(|finding| rules.contains(&finding.comparison.rule) && keep(finding)).count() as u64
    };
    let not_worse = of(&[RuleKind::NotWorse], |finding| finding.comparison.verdict == RuleVerdict::Met);
    let identical = of(&[RuleKind::NotWorse], |finding| finding.comparison.reason == Reason::Identical);
    let limits = [
        RuleKind::Threshold,
        RuleKind::PassRate,
        RuleKind::EachCase,
        RuleKind::Percentile,
        RuleKind::MaxDrop,
        RuleKind::Resource,
        RuleKind::ResourceRise,
    ];
    let met = of(&limits, |finding| finding.comparison.verdict == RuleVerdict::Met);
    let mut parts = Vec::new();
    if not_worse > 0 {
        parts.push(counted(
            not_worse,
            "metric is not worse than the baseline",
            "metrics are not worse than the baseline",
        ));
    }
    if identical > 0 {
        parts.push(counted(identical, "metric scored exactly as before", "metrics scored exactly as before"));
    }
    if met > 0 {
        parts.push(counted(met, "limit holds", "limits hold"));
    }
    if of(&[RuleKind::MustPass], |finding| finding.comparison.verdict == RuleVerdict::Met) > 0 {
        parts.push("the must-pass cases passed".to_owned());
    }
    let warnings = findings.iter().filter(|finding| {
        finding.comparison.severity == Severity::Warn && finding.comparison.rule != RuleKind::Baseline
    });
    let warnings = listed(warnings);
    if parts.is_empty() && warnings.is_empty() {
        let cases = scene.sheets.first().map_or(0, |sheet| sheet.rows.len() as u64);
        parts.push(format!("{} measured, and nothing is required of them", counted(cases, "case", "cases")));
    }
    if warnings.is_empty() {
        return format!("passed: {}{}", parts.join("; "), no_baseline(findings));
    }
    let all: Vec<String> = std::iter::once(warnings).chain(parts).collect();
    format!("passed with a warning: {}{}", all.join("; "), no_baseline(findings))
}

fn no_baseline(findings: &[Finding]) -> &'static str {
    let missing = findings.iter().any(|finding| {
        finding.comparison.rule == RuleKind::Baseline && finding.comparison.reason == Reason::NoBaseline
    });
    if missing { "; NO BASELINE" } else { "" }
}
