//! One rule of `verdict.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::{Bound, Comparison, Reason, RuleKind, RuleVerdict, Severity, Statistic, Unit};

#[derive(Serialize, Deserialize)]
pub(super) struct RuleLine {
    metric: String,
    target: String,
    rule: RuleKind,
    verdict: RuleVerdict,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slice: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    statistic: Option<Statistic>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unit: Option<Unit>,
    baseline: Option<f64>,
    current: Option<f64>,
    delta: Option<f64>,
    ci: Option<[f64; 2]>,
    p: Option<f64>,
    n: u64,
    method: String,
    explanation: String,
    reason: Reason,
    severity: Severity,
    p_adjusted: Option<f64>,
    planned: u64,
    limit: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bound: Option<Bound>,
    up: u64,
    down: u64,
    same: u64,
    breaks: Option<u64>,
    breaks_expected: Option<f64>,
    detectable: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    effect: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    p_breaks: Option<f64>,
    improved: bool,
    /// Field → why it is `null`, for the numbers that a reader would look for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    why_null: BTreeMap<String, String>,
}

impl From<&Comparison> for RuleLine {
    fn from(rule: &Comparison) -> Self {
        let number = |value: Option<f64>| value.filter(|value| value.is_finite());
        Self {
            metric: rule.metric.to_string(),
            target: rule.target.to_string(),
            rule: rule.rule,
            verdict: rule.verdict,
            slice: rule.slice.clone(),
            statistic: rule.statistic,
            unit: rule.unit,
            baseline: number(rule.baseline),
            current: number(rule.current),
            delta: number(rule.delta),
            ci: rule.ci.filter(|ends| ends.iter().all(|end| end.is_finite())),
            p: number(rule.p),
            n: rule.n,
            method: rule.method.clone(),
            explanation: rule.explanation.clone(),
            reason: rule.reason,
            severity: rule.severity,
            p_adjusted: number(rule.p_adjusted),
            planned: rule.planned,
            limit: number(rule.limit),
            bound: rule.bound,
            up: rule.up,
            down: rule.down,
            same: rule.same,
            breaks: rule.breaks,
            breaks_expected: number(rule.breaks_expected),
            detectable: number(rule.detectable),
            effect: number(rule.effect),
            p_breaks: number(rule.p_breaks),
            improved: rule.improved,
            why_null: why_null(rule),
        }
    }
}

impl RuleLine {
    pub(super) fn restore(self) -> Comparison {
        Comparison {
            metric: self.metric.into(),
            target: self.target.into(),
            rule: self.rule,
            verdict: self.verdict,
            reason: self.reason,
            severity: self.severity,
            slice: self.slice,
            statistic: self.statistic,
            unit: self.unit,
            baseline: self.baseline,
            current: self.current,
            delta: self.delta,
            ci: self.ci,
            p: self.p,
            p_adjusted: self.p_adjusted,
            n: self.n,
            planned: self.planned,
            method: self.method,
            limit: self.limit,
            bound: self.bound,
            up: self.up,
            down: self.down,
            same: self.same,
            breaks: self.breaks,
            breaks_expected: self.breaks_expected,
            detectable: self.detectable,
            effect: self.effect,
            p_breaks: self.p_breaks,
            improved: self.improved,
            explanation: self.explanation,
        }
    }
}

/// Numbers that a rule of this kind normally has.
fn expected(kind: RuleKind) -> &'static [&'static str] {
    match kind {
        RuleKind::NotWorse | RuleKind::Slice | RuleKind::Anchor => &["baseline", "current", "delta", "ci", "p"],
        RuleKind::MaxDrop | RuleKind::ResourceRise => &["baseline", "current", "delta"],
        RuleKind::Threshold | RuleKind::PassRate => &["current", "ci"],
        RuleKind::EachCase | RuleKind::Percentile | RuleKind::Reported | RuleKind::Resource => &["current"],
        RuleKind::MustPass
        | RuleKind::JudgeTrust
        | RuleKind::Coverage
        | RuleKind::NewErrors
        | RuleKind::Baseline
        | RuleKind::Policy
        | RuleKind::Complete => &[],
    }
}

fn why_null(rule: &Comparison) -> BTreeMap<String, String> {
    let numbers = [
        ("baseline", rule.baseline),
        ("current", rule.current),
        ("delta", rule.delta),
        ("p", rule.p),
        ("p_adjusted", rule.p_adjusted),
        ("ci", rule.ci.map(|[low, high]| low + high)),
        ("limit", rule.limit),
        ("breaks_expected", rule.breaks_expected),
        ("detectable", rule.detectable),
    ];
    let mut why = BTreeMap::new();
    for (name, value) in numbers {
        let reason = match value {
            Some(value) if value.is_finite() => continue,
            Some(_) => "the result is not a finite number",
            None if !expected(rule.rule).contains(&name) => continue,
            None => match (name, rule.reason) {
                (
                    "baseline" | "delta" | "ci" | "p",
                    Reason::NoBaseline | Reason::BaselineUnusable | Reason::BaselineUnreachable,
                ) => "there is no usable baseline",
                ("baseline" | "delta" | "ci" | "p", Reason::JudgeMismatch) => "the two were measured differently",
                (_, Reason::NoScores | Reason::NoCases) => "no case was scored",
                ("ci" | "p", _) => "too few scored cases for an interval or a test",
                _ => "no case has a score on every side that is needed",
            },
        };
        why.insert(name.to_owned(), reason.to_owned());
    }
    why
}
