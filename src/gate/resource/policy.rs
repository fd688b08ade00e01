//! `gate.resources`: as written, and checked.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Resources;
use crate::domain::{Resource, Statistic};
use crate::gate::check::Checker;
use crate::gate::settings::{FailOrWarn, ModeSetting};
use crate::text::duration;

/// Limits on what the answers of the targets take. Judges are not counted: `run.budget` bounds what a run spends as a whole.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ResourcesSettings {
    /// Time from the request to the last byte of the answer. Answers from the ledger were not timed in this run and do not count.
    pub latency: Option<LatencySettings>,
    /// Tokens of an answer, read and written, as the target says them.
    pub tokens: Option<AmountSettings>,
    /// US dollars of an answer, by the model's `price`.
    pub cost: Option<AmountSettings>,
}

/// Limits on durations, such as `800ms` or `2s`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LatencySettings {
    /// The mean over the cases must be at most this.
    pub mean: Option<String>,
    /// Half of the answers must take at most this.
    pub p50: Option<String>,
    /// 95 of 100 answers must take at most this.
    pub p95: Option<String>,
    /// Every answer must take at most this. Needs every answer to be timed.
    pub case_max: Option<String>,
    /// One answer to every case, added up, must take at most this. Needs every answer to be timed.
    pub total: Option<String>,
    /// How much more than in the baseline it may be.
    pub increase: IncreaseSettings,
    /// `warn`: said, and does not fail the build. Default `fail`.
    pub on_fail: Option<FailOrWarn>,
    /// What it does where no answer says it, or too few do. Default `fail` (exit code 3).
    pub on_missing: Option<FailOrWarn>,
    /// `point` (default): the value decides. `confident`: violated only where the whole interval is beyond the limit. `strict`: violated unless
    /// the whole interval is within it. What has no interval (`case_max`, `total`, percentiles of several trials or clusters) is read by its value.
    pub mode: Option<ModeSetting>,
}

/// Limits on tokens or US dollars.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AmountSettings {
    /// The mean over the cases must be at most this.
    pub mean: Option<f64>,
    /// Half of the answers must take at most this.
    pub p50: Option<f64>,
    /// 95 of 100 answers must take at most this.
    pub p95: Option<f64>,
    /// Every answer must take at most this. Needs every answer to say it.
    pub case_max: Option<f64>,
    /// One answer to every case, added up, must take at most this.
    pub total: Option<f64>,
    /// How much more than in the baseline it may be.
    pub increase: IncreaseSettings,
    /// `warn`: said, and does not fail the build. Default `fail`.
    pub on_fail: Option<FailOrWarn>,
    /// What it does where no answer says it, or too few do. Default `fail` (exit code 3).
    pub on_missing: Option<FailOrWarn>,
    /// As for `latency`.
    pub mode: Option<ModeSetting>,
}

/// Shares of the baseline's level, over the cases on both sides: 0.2 allows a fifth more.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct IncreaseSettings {
    pub mean: Option<f64>,
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    pub total: Option<f64>,
}

/// Rules of one resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ResourcePolicy {
    /// In the resource's unit: milliseconds, tokens, dollars.
    pub(crate) limits: BTreeMap<Statistic, f64>,
    /// Shares of the baseline's level.
    pub(crate) increase: BTreeMap<Statistic, f64>,
    pub(crate) on_fail: FailOrWarn,
    pub(crate) on_missing: FailOrWarn,
    pub(crate) mode: ModeSetting,
}

impl IncreaseSettings {
    fn of(&self, statistic: Statistic) -> Option<f64> {
        match statistic {
            Statistic::Mean => self.mean,
            Statistic::P50 => self.p50,
            Statistic::P95 => self.p95,
            Statistic::CaseMax => None,
            Statistic::Total => self.total,
        }
    }
}

pub(crate) fn checked(settings: Option<&ResourcesSettings>, checker: &mut Checker<'_>) -> Resources {
    let mut resources = Resources::new();
    let Some(settings) = settings else { return resources };
    if let Some(latency) = &settings.latency {
        let written = |statistic| match statistic {
            Statistic::Mean => latency.mean.as_deref(),
            Statistic::P50 => latency.p50.as_deref(),
            Statistic::P95 => latency.p95.as_deref(),
            Statistic::CaseMax => latency.case_max.as_deref(),
            Statistic::Total => latency.total.as_deref(),
        };
        let mut limits = BTreeMap::new();
        for statistic in Statistic::ALL {
            let Some(text) = written(statistic) else { continue };
            match duration::parse(text) {
                Ok(time) => drop(limits.insert(statistic, time.as_secs_f64() * 1e3)),
                Err(problem) => {
                    let at = format!("/resources/latency/{}", statistic.key());
                    checker.push(&at, "wrong-type", problem.to_string(), "write a number and a unit: 800ms, 2s, 1m30s");
                }
            }
        }
        let rest = (&latency.increase, latency.on_fail, latency.on_missing, latency.mode);
        resources.insert(Resource::Latency, one(Resource::Latency, limits, rest, checker));
    }
    for (resource, amounts) in [(Resource::Tokens, &settings.tokens), (Resource::Cost, &settings.cost)] {
        let Some(amounts) = amounts else { continue };
        let written = |statistic| match statistic {
            Statistic::Mean => amounts.mean,
            Statistic::P50 => amounts.p50,
            Statistic::P95 => amounts.p95,
            Statistic::CaseMax => amounts.case_max,
            Statistic::Total => amounts.total,
        };
        let all = Statistic::ALL.into_iter();
        let limits = all.filter_map(|statistic| Some((statistic, written(statistic)?))).collect();
        let rest = (&amounts.increase, amounts.on_fail, amounts.on_missing, amounts.mode);
        resources.insert(resource, one(resource, limits, rest, checker));
    }
    resources
}

/// The largest limit: sums of it are still exact.
const LARGEST: f64 = 1e9;

type Rest<'s> = (&'s IncreaseSettings, Option<FailOrWarn>, Option<FailOrWarn>, Option<ModeSetting>);

fn one(
    resource: Resource,
    limits: BTreeMap<Statistic, f64>,
    (rises, on_fail, on_missing, mode): Rest<'_>,
    checker: &mut Checker<'_>,
) -> ResourcePolicy {
    let at = format!("/resources/{}", resource.word());
    for (statistic, limit) in &limits {
        if !(*limit >= 0.0 && *limit <= LARGEST) {
            let place = format!("{at}/{}", statistic.key());
            checker.push(&place, "out-of-range", format!("{} is {limit}", statistic.key()), "it must be from 0 to 1e9");
        }
    }
    let all = Statistic::ALL.into_iter();
    let increase: BTreeMap<Statistic, f64> =
        all.filter_map(|statistic| Some((statistic, rises.of(statistic)?))).collect();
    for (statistic, rise) in &increase {
        if !(*rise >= 0.0 && *rise <= 100.0) {
            let place = format!("{at}/increase/{}", statistic.key());
            let message = format!("increase.{} is {rise}", statistic.key());
            checker.push(&place, "out-of-range", message, "a share of the baseline's level: 0.2 allows a fifth more");
        }
    }
    let mode = mode.unwrap_or(ModeSetting::Point);
    if mode == ModeSetting::Exact {
        let help = "there are `point`, `confident` and `strict`";
        checker.push(&format!("{at}/mode"), "wrong-mode", "mode `exact` is for shares of passing cases", help);
    }
    if limits.is_empty() && increase.is_empty() {
        let message = format!("nothing is asked of {}", resource.word());
        checker.push(&at, "missing-key", message, "add `p95`, `mean`, `total`, or `increase: { p95: 0.2 }`");
    }
    ResourcePolicy {
        limits,
        increase,
        on_fail: on_fail.unwrap_or_default(),
        on_missing: on_missing.unwrap_or_default(),
        mode,
    }
}
