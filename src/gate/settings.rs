//! `gate:` as it is written in the suite. [`super::Policy`] is the checked form; what a setting means stands here, because
//! these comments become the JSON Schema.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::quarantine::QuarantineSettings;
use super::resource::ResourcesSettings;
use super::tags::TagMetricSettings;
use super::trust::TrustSettings;
use crate::domain::Direction;

/// What must hold for a run to pass.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GateSettings {
    /// Rules by metric. A metric without an entry is compared with the baseline under the defaults.
    pub metrics: BTreeMap<String, MetricSettings>,
    /// Cases that must pass whatever the means say.
    pub must_pass: Option<MustPassSettings>,
    /// Cases that are known to be flaky: they count for no limit and need not pass, until a day. The comparison keeps them.
    pub quarantine: Option<QuarantineSettings>,
    /// Targets whose answers are fixed (`recorded`): no rule reads them, and what moves their scores is said to be the judge.
    pub canaries: Vec<String>,
    /// Chance of a false alarm for a run in which nothing changed, over all metrics. Default 0.05.
    pub alpha: Option<f64>,
    /// The part of `alpha` that the break guard may spend (with three or more baseline runs). Default: a fifth of `alpha`.
    pub alpha_breaks: Option<f64>,
    /// What the looks of a plan of trials (`run.trials: [1, 3]`) may spend and when they go on.
    pub sequential: Option<SequentialSettings>,
    /// Cases by tag that are compared by themselves. Tags without an entry are shown where they got worse and never decide.
    pub slices: BTreeMap<String, SliceSettings>,
    /// Limits on what the answers take: time, tokens, money.
    pub resources: Option<ResourcesSettings>,
    /// By metric: how far its judge must agree with people before the metric may decide.
    pub judges: BTreeMap<String, TrustSettings>,
    /// A run that every run is compared with beside the baseline, such as the last release's: many small drops add up there. It only warns.
    pub anchor: Option<AnchorSettings>,
    /// Cases that would fail the build are first asked of the system as the base branch has it.
    pub confirm: Option<ConfirmSettings>,
    /// How far below all other runs a case must fall to count as broken, on the 0 to 1 scale. Default 0.5.
    pub severity: Option<f64>,
    /// What broken stable cases do to the build when their number is more than flakiness explains. Default `fail`.
    pub breaks: Option<BreaksSetting>,
    /// What an inconclusive comparison or an uncertain threshold does. Default `warn`.
    pub inconclusive: Option<InconclusiveSetting>,
    /// What cases or metrics that the baseline has and the run has not do. Default `fail` (exit code 3).
    pub on_coverage: Option<FailOrWarn>,
    /// Share of the planned scores that must have been measured, for every metric that gates. Default 0.98.
    pub min_measured: Option<f64>,
    /// Share of the cases on both sides whose score may be missing before a comparison is refused. Default 0.02.
    pub max_missing: Option<f64>,
    /// Share of the baseline's cases that must be there, unchanged, for a comparison. Default 0.9.
    pub min_overlap: Option<f64>,
    /// Errors of the system under test.
    pub errors: Option<ErrorsSettings>,
    /// The stored run that this one is compared with. Without this block nothing is compared.
    pub baseline: Option<BaselineSettings>,
}

/// Rules of one metric. Thresholds and `max_drop` are in the metric's own scale; `margin` is on the 0 to 1 scale.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MetricSettings {
    /// The mean must be at least this.
    pub min: Option<f64>,
    /// The mean must be at most this.
    pub max: Option<f64>,
    /// The largest drop against the baseline that nobody minds, on the 0 to 1 scale. Default 0.05.
    pub margin: Option<f64>,
    /// The mean may not drop by more than this against the baseline, luck or not.
    pub max_drop: Option<f64>,
    /// `false`: reported, never decides. Default `true`.
    pub gate: Option<bool>,
    /// `warn`: a violated rule of this metric is said and does not fail the build. Default `fail`.
    pub on_fail: Option<FailOrWarn>,
    /// Up to this day (`2026-12-31`, in UTC) as `on_fail: warn`; from the next day on it fails the build.
    pub shadow_until: Option<String>,
    /// How `min`, `max` and `pass_rate` are read. `confident` (default): violated where even the upper end of the interval
    /// misses; with fewer than 20 scored cases no interval can decide, and the value itself does. `point`: the value itself.
    /// `strict`: violated unless the whole interval is on the right side. `exact`: as `confident`, by Clopper and Pearson.
    pub mode: Option<ModeSetting>,
    /// How the trials of a case become the score that its limits read: `mean` (default), `median`, `majority` (what more than half of them
    /// reach), `any` (the best), `all` (the worst), `2-of-3`, `pass^3` (the chance that three all pass). The comparison with the baseline
    /// always reads the mean.
    pub trials: Option<String>,
    /// The share of cases that pass.
    pub pass_rate: Option<PassRateSettings>,
    /// Every case must score at least this.
    pub case_min: Option<f64>,
    /// Every case must score at most this.
    pub case_max: Option<f64>,
    /// A percentile of the cases' scores.
    pub percentile: Option<PercentileSettings>,
    /// Kind of score, for results of other tools; metrics of the suite's own evaluators know theirs.
    pub r#type: Option<KindSetting>,
    /// Lowest and highest score, for results of other tools. Default 0 to 1.
    pub range: Option<(f64, f64)>,
    /// Which way is better. Default: what the evaluator says, else `higher`.
    pub direction: Option<Direction>,
    /// A case passes at this score or better.
    pub pass_mark: Option<f64>,
}

/// The looks of a plan of trials.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SequentialSettings {
    /// The part of `alpha` that the first of two looks may spend on a drop. Default: a fifth of `alpha`. With more looks it is divided
    /// after O'Brien and Fleming, and this is not used.
    pub alpha1: Option<f64>,
    /// A look stops where the smallest adjusted p is above this: no sign of a drop. Default 0.5.
    pub phi: Option<f64>,
    /// When a look goes on: `suspicion` of a drop (default), or `inconclusive`, also where a metric can be neither vouched for nor rejected.
    pub extend_on: Option<ExtendOn>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ExtendOn {
    #[default]
    Suspicion,
    Inconclusive,
}

/// The cases of one tag.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SliceSettings {
    /// `true`: a metric of these cases that got worse fails the build. Each such slice costs some power everywhere. Default `false`: shown only.
    pub gate: Option<bool>,
    /// The largest drop of these cases that nobody minds, on the 0 to 1 scale. Default: the metric's.
    pub margin: Option<f64>,
    /// The metrics that are compared. Default: every metric that gates.
    pub metrics: Option<Vec<String>>,
    /// By metric: limits on these cases alone.
    pub limits: BTreeMap<String, TagMetricSettings>,
}

/// The run that is kept.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnchorSettings {
    /// A baseline file, or the results of a run, relative to the suite.
    pub path: String,
}

/// Whom suspects are asked of.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfirmSettings {
    /// A key of `targets` that is asked for nothing else: the system as the base branch has it. Where it does no better on the same cases today,
    /// the change is not blamed, and nothing is decided (exit code 3).
    pub target: String,
}

/// Cases that must pass.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MustPassSettings {
    /// Every case with one of these tags.
    pub tags: Vec<String>,
    /// These cases.
    pub ids: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ErrorsSettings {
    /// Cases that the baseline answered and this run did not: more than this many fail the build. Default 0.
    pub max_new: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PassRateSettings {
    /// At least this share of the cases must pass, 0 to 1.
    pub min: Option<f64>,
    /// How the judge did on cases that people labelled, as `judge calibrate` counts them: `min` is then asked of the pass rate corrected for
    /// the judge's errors (Rogan and Gladen).
    pub calibration: Option<CalibrationSettings>,
}

/// Labelled cases by what people and the judge said.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CalibrationSettings {
    /// Both pass them.
    pub both_pass: u64,
    /// The judge passes them, people do not.
    pub judge_only: u64,
    /// People pass them, the judge does not.
    pub people_only: u64,
    /// Neither passes them.
    pub both_fail: u64,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PercentileSettings {
    /// Which percentile, above 0 and below 100: the smallest score that at least this many per cent of the cases do not exceed.
    pub at: Option<f64>,
    /// It must be at least this.
    pub min: Option<f64>,
    /// It must be at most this.
    pub max: Option<f64>,
}

/// Where the baseline is and what its absence means.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BaselineSettings {
    /// `file` (default): a committed file. `git` or `git:BRANCH`: a file on a branch of its own (default `scoregate-baselines`). An
    /// address: `https://…` (pre-signed or with `headers`), `s3://bucket/key`, `gs://bucket/key`, `az://container/key`. `none`: nothing
    /// is compared.
    pub from: Option<String>,
    /// The baseline file: relative to the suite, or in the branch of `from: git`.
    pub path: Option<String>,
    /// Where `scoregate baseline update` writes, if it is another address than `from`: a pre-signed address for PUT.
    pub put: Option<String>,
    /// Headers for `from: https://…`, such as `Authorization: "Bearer ${TOKEN}"`.
    pub headers: BTreeMap<String, String>,
    /// The digest of the only baseline that may be used (32 hexadecimal digits, as reports show it).
    pub digest: Option<String>,
    /// How many accepted runs to compare with, 1 to 10. Default 5.
    pub runs: Option<u32>,
    /// What an absent baseline does: `fail` (default, exit code 3), `warn` (thresholds decide) or `seed` (as `warn` on branches, so that a
    /// first run can be accepted there, and as `fail` in pull requests). One that cannot be fetched or is damaged is always exit code 3.
    pub missing: Option<Missing>,
    /// `baseline update` takes no run whose metrics' means are lower than the baseline's by more than this, on the 0 to 1 scale.
    pub ratchet: Option<f64>,
    /// `stored` (default), or `concurrent`: the baseline is what `target` answers in this same run, so that a day's drift of provider or judge
    /// moves both sides.
    pub mode: Option<BaselineMode>,
    /// Of `mode: concurrent`: a key of `targets`, the system as the base branch has it.
    pub target: Option<String>,
    /// A baseline older than this counts as missing: `30d`, `12h`, `2w`.
    pub max_age: Option<String>,
}

/// Where the other side of the comparison comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BaselineMode {
    /// Accepted runs.
    #[default]
    Stored,
    /// Another target of the same run.
    Concurrent,
}

/// What an absent baseline does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// Nothing can vouch for the run.
    #[default]
    Fail,
    /// Thresholds decide.
    Warn,
    /// Thresholds decide, except in pull requests.
    Seed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FailOrWarn {
    #[default]
    Fail,
    Warn,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BreaksSetting {
    #[default]
    Fail,
    Warn,
    Off,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InconclusiveSetting {
    Pass,
    #[default]
    Warn,
    Fail,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ModeSetting {
    #[default]
    Confident,
    Point,
    Strict,
    Exact,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KindSetting {
    Binary,
    Ordinal,
    Continuous,
}
