//! Does the judge agree with people well enough to be believed? (statistics §18) Measured by `scoregate judge calibrate`, asked for by
//! `gate.judges`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::check::Checker;
use super::policy::MetricPolicy;
use super::scene::{Finding, Scene};
use super::settings::FailOrWarn;
use super::word::capital;
use crate::domain::{Bound, Fingerprint, MetricName, MetricSpec, Reason, RuleKind, RuleVerdict, Severity};
use crate::stats::Ratio;
use crate::text::number::{beside, counted, limit};
use crate::text::pointer::escape;

/// How far a judge must agree with people.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrustSettings {
    /// What `scoregate judge calibrate … --format json` printed, relative to the suite.
    pub calibration: String,
    /// The share of labelled cases on which judge and people agree must be at least this.
    pub min_accuracy: Option<f64>,
    /// Cohen's kappa, agreement beyond chance, must be at least this.
    pub min_kappa: Option<f64>,
    /// At least so many cases must be labelled. Default 1.
    pub min_labels: Option<u64>,
    /// `warn`: said, and the metric decides all the same. Default `fail`: nothing of the metric decides, and the run ends with exit code 3.
    pub on_fail: Option<FailOrWarn>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TrustPolicy {
    pub(crate) calibration: String,
    pub(crate) min_accuracy: Option<f64>,
    pub(crate) min_kappa: Option<f64>,
    pub(crate) min_labels: u64,
    pub(crate) on_fail: FailOrWarn,
}

impl TrustPolicy {
    pub(crate) fn checked(
        settings: &BTreeMap<String, TrustSettings>,
        known: &[MetricSpec],
        checker: &mut Checker<'_>,
    ) -> BTreeMap<MetricName, Self> {
        let mut judges = BTreeMap::new();
        for (name, one) in settings {
            let at = format!("/judges/{}", escape(name));
            if !known.is_empty() && known.iter().all(|spec| *spec.name != **name) {
                checker.unknown_metric(&at, name, known);
            }
            if let Some(least) = one.min_accuracy {
                checker.share(&format!("{at}/min_accuracy"), "min_accuracy", least, false);
            }
            if let Some(least) = one.min_kappa
                && !(-1.0..=1.0).contains(&least)
            {
                let message = format!("min_kappa is {least}");
                checker.push(&format!("{at}/min_kappa"), "out-of-range", message, "it must be from -1 to 1");
            }
            if one.min_accuracy.is_none() && one.min_kappa.is_none() {
                checker.push(&at, "missing-key", "nothing is asked of the judge", "add `min_kappa` or `min_accuracy`");
            }
            let TrustSettings { calibration, min_accuracy, min_kappa, min_labels, on_fail } = one.clone();
            let (min_labels, on_fail) = (min_labels.unwrap_or(1), on_fail.unwrap_or_default());
            judges.insert(name.as_str().into(), Self { calibration, min_accuracy, min_kappa, min_labels, on_fail });
        }
        judges
    }

    /// In a list of changes.
    pub(crate) fn words(&self) -> String {
        let least = |name: &str, least: Option<f64>| least.map(|least| format!(", {name} {least}")).unwrap_or_default();
        format!(
            "{}{}{}, labels {}, {}",
            self.calibration,
            least("accuracy", self.min_accuracy),
            least("kappa", self.min_kappa),
            self.min_labels,
            if self.on_fail == FailOrWarn::Fail { "fail" } else { "warn" }
        )
    }
}

/// What `judge calibrate` measured. Only what is asked of it is read.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Calibration {
    pub metric: String,
    pub labelled: u64,
    pub accuracy: Option<f64>,
    /// `None`: all labelled cases are of one kind.
    pub kappa: Option<f64>,
    /// Of the judge that was measured; `None`: not known, and then it vouches for none.
    #[serde(default)]
    pub fingerprint: Option<Fingerprint>,
}

/// By metric: the calibration, or why there is none.
pub type Calibrations = BTreeMap<MetricName, Result<Calibration, String>>;

impl super::Policy {
    /// The files of calibrations that the policy asks for, by metric.
    pub fn calibrations(&self) -> impl Iterator<Item = (&MetricName, &str)> {
        self.judges.iter().map(|(metric, policy)| (metric, &*policy.calibration))
    }
}

/// One rule for each metric whose judge is asked for, as far as the run has it.
pub(crate) fn findings(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, policy) in &scene.policy.judges {
        let Some((spec, rules)) = scene.metrics.iter().find(|(spec, _)| spec.name == *name) else { continue };
        let known = scene.beside.calibrations.and_then(|all| all.get(name));
        let found = match known {
            Some(Ok(found)) => measured(policy, spec, found),
            Some(Err(why)) => Err(format!("its calibration cannot be read: {why}")),
            None => Err(format!("its calibration {} was not read", policy.calibration)),
        };
        let (verdict, reason, severity) = match (&found, policy.on_fail) {
            (Ok(_), _) => (RuleVerdict::Met, Reason::JudgeTrusted, Severity::Ok),
            (Err(_), _) if !decides(scene, name, rules) => {
                (RuleVerdict::Inconclusive, Reason::JudgeUntrusted, Severity::Ok)
            }
            (Err(_), FailOrWarn::Warn) => (RuleVerdict::Inconclusive, Reason::JudgeUntrusted, Severity::Warn),
            (Err(_), FailOrWarn::Fail) => (RuleVerdict::Inconclusive, Reason::JudgeUntrusted, Severity::Block),
        };
        let mut finding = Finding::new(RuleKind::JudgeTrust, name, "", verdict, reason).with_severity(severity);
        if let Some(Ok(found)) = known {
            let comparison = &mut finding.comparison;
            (comparison.n, comparison.planned) = (found.labelled, found.labelled);
            match (policy.min_kappa, policy.min_accuracy) {
                (Some(least), _) => {
                    comparison.current = found.kappa;
                    comparison.require(least, Bound::AtLeast);
                    "kappa".clone_into(&mut comparison.method);
                }
                (None, Some(least)) => {
                    comparison.current = found.accuracy;
                    comparison.require(least, Bound::AtLeast);
                    "accuracy".clone_into(&mut comparison.method);
                }
                (None, None) => {}
            }
        }
        findings.push(match found {
            Ok(words) => {
                let text = format!("the judge of {name} agrees with people as is asked: {words}");
                finding.saying(text.clone(), format!("{}.", capital(&text)))
            }
            Err(why) => {
                let text = format!("the judge of {name} is not to be trusted: {why}");
                let next = "Measure it again with scoregate judge calibrate, or improve it; until then no rule of this metric decides.";
                finding.saying(text.clone(), format!("{}. {next}", capital(&text)))
            }
        });
    }
    findings
}

/// Some rule of the metric can fail the build.
fn decides(scene: &Scene<'_>, name: &MetricName, rules: &MetricPolicy) -> bool {
    let mut of_tags = scene.policy.tag_limits.values().filter_map(|limits| limits.get(name));
    rules.gate || of_tags.any(|rules| rules.gate)
}

fn measured(policy: &TrustPolicy, spec: &MetricSpec, found: &Calibration) -> Result<String, String> {
    if *found.metric != *spec.name {
        return Err(format!("{} is a calibration of {}", policy.calibration, found.metric));
    }
    let Some(then) = &found.fingerprint else {
        return Err(format!(
            "{} does not say which judge was measured; calibrate the scores of a run of this suite (judge calibrate LABELS \
             RESULTS, with its results.jsonl)",
            policy.calibration
        ));
    };
    let Some(now) = &spec.fingerprint else {
        return Err("the results do not say which judge scored them".to_owned());
    };
    let parts: Vec<String> = then.differences(now).into_iter().map(|(part, ..)| part).collect();
    if !parts.is_empty() {
        return Err(format!("another judge was measured, its {} differs", parts.join(", ")));
    }
    let labels = counted(found.labelled, "labelled case", "labelled cases");
    if found.labelled < policy.min_labels {
        return Err(format!("only {labels}, and {} are asked for", policy.min_labels));
    }
    let mut words = Vec::new();
    for (name, least, value) in
        [("kappa", policy.min_kappa, found.kappa), ("accuracy", policy.min_accuracy, found.accuracy)]
    {
        let Some(least) = least else { continue };
        let value = value.ok_or_else(|| format!("its {name} is not known: all labelled cases are of one kind"))?;
        if !reaches(value, least) {
            return Err(format!(
                "its {name} is {}, below the required {} ({labels})",
                beside(value, least),
                limit(least)
            ));
        }
        words.push(format!("{name} {}", beside(value, least)));
    }
    Ok(format!("{} ({labels})", words.join(", ")))
}

/// A share that is the required one but for its last digits is the required one, as `judge calibrate` has it.
fn reaches(value: f64, least: f64) -> bool {
    const ROUNDING: f64 = 1e-12;
    let exactly =
        Ratio::decimal(value).zip(Ratio::decimal(least)).is_some_and(|(value, least)| value.compare(least).is_ge());
    exactly || value + ROUNDING >= least
}

/// What a metric's rules do where its judge is not believed: none of them fails the build, since nothing of it is evidence.
pub(crate) fn disarm(findings: &mut [Finding]) {
    let untrusted: Vec<MetricName> = findings
        .iter()
        .map(|finding| &finding.comparison)
        .filter(|rule| rule.rule == RuleKind::JudgeTrust && rule.severity == Severity::Block)
        .map(|rule| rule.metric.clone())
        .collect();
    let of_it = |finding: &&mut Finding| {
        // Cases that must pass may have failed by this metric alone.
        let named = || !finding.named.is_empty() && finding.named.iter().all(|(_, metric)| untrusted.contains(metric));
        untrusted.contains(&finding.comparison.metric) || finding.comparison.rule == RuleKind::MustPass && named()
    };
    for finding in findings.iter_mut().filter(of_it) {
        if finding.comparison.severity == Severity::Fail {
            finding.comparison.severity = Severity::Block;
            finding.comparison.explanation.push_str(" Its judge is not to be trusted, so this decides nothing.");
        }
    }
}
