//! What the answers take: time, tokens and money, beside a limit and beside the baseline.
//!
//! Mean and total read a case's mean over its trials, percentiles and the largest read single answers, so that neither the number of trials nor
//! that of baseline runs moves them. Answers from the ledger were timed in an earlier run, and have no latency here.

mod explain;
mod limit;
mod policy;
mod rise;
mod sample;

pub(crate) use policy::{ResourcePolicy, ResourcesSettings, checked};

use std::collections::BTreeMap;

use super::policy::{MetricPolicy, Policy};
use super::scene::{Finding, Scene, severity};
use super::settings::FailOrWarn;
use super::sheet::Sheet;
use crate::domain::{Bound, Reason, Resource, RuleKind, RuleVerdict, Severity, Statistic};
use sample::Sample;

/// Fewer cases than this decide by the value itself, as for thresholds.
const FEWEST_FOR_AN_INTERVAL: usize = 20;

/// The rules of one target.
pub(crate) fn findings(scene: &Scene<'_>, at: usize, sheet: &Sheet<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (resource, rules) in &scene.policy.resources {
        let sample = Sample::of(sheet, *resource);
        let limits = rules.limits.iter();
        findings
            .extend(limits.map(|(statistic, limit)| limit::finding(scene, sheet, &sample, rules, *statistic, *limit)));
        let rises = rules.increase.iter();
        findings
            .extend(rises.map(|(statistic, most)| rise::finding(scene, at, sheet, &sample, rules, *statistic, *most)));
    }
    findings
}

/// A rule of this room without its numbers.
struct Asked<'a> {
    rule: RuleKind,
    resource: Resource,
    statistic: Statistic,
    rules: &'a ResourcePolicy,
    limit: f64,
}

impl Asked<'_> {
    fn finding(&self, policy: &Policy, sheet: &Sheet<'_>, verdict: RuleVerdict, reason: Reason) -> Finding {
        let rules = MetricPolicy { on_fail: self.rules.on_fail, ..MetricPolicy::default() };
        let full = severity(verdict, reason, &rules, policy);
        let missing = matches!(reason, Reason::Missing | Reason::NoScores);
        let full = match (full, self.rules.on_missing) {
            (Severity::Block, FailOrWarn::Warn) if missing => Severity::Warn,
            (full, _) => full,
        };
        let mut finding =
            Finding::new(self.rule, self.resource.word(), &sheet.target, verdict, reason).with_severity(full);
        finding.comparison.statistic = Some(self.statistic);
        finding.comparison.unit = Some(self.resource.unit());
        finding.comparison.require(self.limit, Bound::AtMost);
        finding
    }
}

/// By resource; empty: nothing is asked.
pub(crate) type Resources = BTreeMap<Resource, ResourcePolicy>;
