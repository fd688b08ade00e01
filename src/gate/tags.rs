//! Limits on the cases of one tag: a level that the whole must not hide (features of slices beside statistics §14).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::check::Checker;
use super::estimate::Estimate;
use super::matchup::Fill;
use super::not_worse::Compared;
use super::policy::MetricPolicy;
use super::scene::{Finding, Scene};
use super::settings::{FailOrWarn, MetricSettings, ModeSetting, PassRateSettings, SliceSettings};
use super::sheet::Sheet;
use super::single;
use super::slices::{FEWEST, has_tag};
use super::threshold::{self, Asked, Levels};
use super::word::capital;
use crate::domain::{MetricName, MetricSpec, Reason, RuleKind, RuleVerdict, Severity, SliceLine};
use crate::stats::{Ratio, total};
use crate::text::pointer::escape;

/// Limits of one metric on the cases of a tag, in the metric's own scale.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TagMetricSettings {
    /// The mean must be at least this.
    pub min: Option<f64>,
    /// The mean must be at most this.
    pub max: Option<f64>,
    /// The share of cases that pass.
    pub pass_rate: Option<PassRateSettings>,
    /// Every case must score at least this.
    pub case_min: Option<f64>,
    /// Every case must score at most this.
    pub case_max: Option<f64>,
    /// How `min`, `max` and `pass_rate` are read. Default: as for the metric.
    pub mode: Option<ModeSetting>,
    /// `warn`: said, and does not fail the build. Default: as for the metric, with its `shadow_until`; given, it decides despite `gate: false`.
    pub on_fail: Option<FailOrWarn>,
}

/// Tag → metric → its limits, beside what the metric itself says.
pub(crate) type TagLimits = BTreeMap<String, BTreeMap<MetricName, MetricPolicy>>;

pub(crate) fn checked(
    slices: &BTreeMap<String, SliceSettings>,
    metrics: &BTreeMap<MetricName, MetricPolicy>,
    known: &[MetricSpec],
    checker: &mut Checker<'_>,
) -> TagLimits {
    let mut all = TagLimits::new();
    for (tag, slice) in slices.iter().filter(|(_, slice)| !slice.limits.is_empty()) {
        let mut limits = BTreeMap::new();
        for (name, one) in &slice.limits {
            let at = format!("/slices/{}/limits/{}", escape(tag), escape(name));
            let spec = known.iter().find(|spec| *spec.name == **name);
            if spec.is_none() && !known.is_empty() {
                checker.unknown_metric(&at, name, known);
            }
            let whole = metrics.get(name.as_str()).cloned().unwrap_or_default();
            let TagMetricSettings { min, max, pass_rate, case_min, case_max, mode, on_fail } = one.clone();
            let settings = MetricSettings {
                min,
                max,
                pass_rate: pass_rate.clone(),
                case_min,
                case_max,
                mode,
                ..MetricSettings::default()
            };
            let policy = MetricPolicy {
                min,
                max,
                // One judge, so its rates hold for these cases as well where they have none of their own.
                calibration: checker.calibration(&at, pass_rate.as_ref()).or(whole.calibration),
                pass_rate: pass_rate.and_then(|rate| rate.min),
                case_min,
                case_max,
                percentile: None,
                max_drop: None,
                mode: mode.unwrap_or(whole.mode),
                on_fail: on_fail.unwrap_or(whole.on_fail),
                // Who says what a miss does wants these cases to decide, though the metric as a whole does not.
                gate: whole.gate || on_fail.is_some(),
                // Who says what a miss does has said it for every day.
                shadow_until: whole.shadow_until.filter(|_| on_fail.is_none()),
                ..whole
            };
            if policy.interval_thresholds() == 0 && case_min.is_none() && case_max.is_none() {
                checker.push(
                    &at,
                    "missing-key",
                    format!("nothing is asked of `{name}`"),
                    "add `min`, `max`, `pass_rate`, `case_min` or `case_max`",
                );
            }
            checker.metric(&at, name, &settings, &policy, spec);
            limits.insert(name.as_str().into(), policy);
        }
        all.insert(tag.clone(), limits);
    }
    all
}

/// The rules of one target.
pub(crate) fn findings(scene: &Scene<'_>, sheet: &Sheet<'_>, levels: Levels) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (tag, limits) in &scene.policy.tag_limits {
        let part = sheet.of_tag(tag);
        for (name, rules) in limits {
            let Some(metric) = scene.metrics.iter().position(|(spec, _)| spec.name == *name) else { continue };
            let Some((spec, _)) = scene.metrics.get(metric) else { continue };
            if part.rows.is_empty() {
                findings.extend(nobody(scene, sheet, tag, spec, rules));
                continue;
            }
            let asked = Asked { spec, rules, slice: Some(tag) };
            findings.extend(threshold::of(scene, &part, metric, asked, levels));
            findings.extend(single::each(scene, &part, metric, asked));
        }
    }
    findings
}

/// A tag that nobody has is never green in silence; of a selection it may be nobody's.
fn nobody(scene: &Scene<'_>, sheet: &Sheet<'_>, tag: &str, spec: &MetricSpec, rules: &MetricPolicy) -> Option<Finding> {
    if scene.run.header.selection.is_some() {
        return None;
    }
    let severity = match (rules.gate, rules.on_fail) {
        (false, _) => Severity::Ok,
        (true, FailOrWarn::Warn) => Severity::Warn,
        (true, FailOrWarn::Fail) => Severity::Block,
    };
    let verdict = RuleVerdict::NotEvaluated;
    let mut finding = Finding::new(RuleKind::Threshold, &spec.name, &sheet.target, verdict, Reason::NoCases);
    finding.comparison.slice = Some(tag.to_owned());
    let text = format!("no case has the tag {tag}, and gate.slices has limits for it");
    let next = "Correct the tag, or give it to the cases in the data set.";
    Some(finding.with_severity(severity).saying(text.clone(), format!("{}. {next}", capital(&text))))
}

/// Every tag that the policy names, by metric: the table of tags.
pub(crate) fn table(scene: &Scene<'_>, compared: &[Compared<'_>]) -> Vec<SliceLine> {
    let mut lines = Vec::new();
    for tag in &scene.policy.tags {
        for (at, sheet) in scene.sheets.iter().enumerate() {
            for (metric, (spec, _)) in scene.metrics.iter().enumerate() {
                let whole = compared.iter().find(|one| (one.sheet, one.metric, one.slice) == (at, metric, None));
                lines.extend(line(scene, sheet, metric, spec, tag, whole));
            }
        }
    }
    lines
}

fn line(
    scene: &Scene<'_>,
    sheet: &Sheet<'_>,
    metric: usize,
    spec: &MetricSpec,
    tag: &str,
    whole: Option<&Compared<'_>>,
) -> Option<SliceLine> {
    let policy = scene.policy;
    let gates = policy.slices.get(tag).is_some_and(|slice| match &slice.metrics {
        Some(names) => names.iter().any(|name| **name == *spec.name),
        None => policy.metric(&spec.name).gate,
    });
    let limited = policy.tag_limits.get(tag).is_some_and(|limits| limits.contains_key(&spec.name));
    let decides = gates || limited;
    let of_tag = whole.and_then(|one| one.matchup.as_ref()).map(|all| all.of(|joint| has_tag(sheet, joint.row, tag)));
    let estimate = of_tag.and_then(|matchup| Estimate::of(&matchup, spec, Fill::None, policy.alpha));
    let line = SliceLine {
        tag: tag.to_owned(),
        target: sheet.target.clone(),
        metric: spec.name.clone(),
        n: 0,
        baseline: None,
        current: None,
        delta: None,
        p: None,
        decides,
    };
    if let Some(estimate) = estimate {
        return Some(SliceLine {
            n: estimate.cases,
            baseline: Some(estimate.baseline.value()),
            current: Some(estimate.current.value()),
            delta: estimate.current.minus(estimate.baseline).map(Ratio::value),
            p: (estimate.cases >= FEWEST as u64).then_some(estimate.p),
            ..line
        });
    }
    let part = sheet.of_tag(tag);
    let scores: Vec<_> = part.column(metric).iter().filter_map(|cell| cell.score()).collect();
    let current = total(&scores)?.value();
    Some(SliceLine { n: scores.len() as u64, current: Some(current), ..line })
}
