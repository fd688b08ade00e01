//! The checked policy: every number inside its bounds, every name known.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::asked::{BaselinePolicy, Missing};
use super::check::Checker;
use super::quarantine::Quarantine;
use super::resource::{self, Resources};
use super::settings::{
    BreaksSetting, ExtendOn, FailOrWarn, GateSettings, InconclusiveSetting, MetricSettings, ModeSetting,
};
use super::tags::TagLimits;
use super::trials::TrialsRule;
use super::trust::TrustPolicy;
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, MetricName, MetricSpec, ScoreKind};
use crate::stats::JudgeRates;
use crate::suite::{Block, Draft};
use crate::text::pointer::escape;

/// Runs that a comparison uses where the suite does not say (statistics §1.5).
pub(crate) const DEFAULT_RUNS: usize = 5;

/// `gate:` of the suite, checked, with defaults (statistics §1.5).
#[derive(Clone, Debug)]
pub struct Policy {
    /// Chance of a false alarm over the whole run, 0 < alpha < 0.5.
    pub alpha: f64,
    pub(crate) alpha_breaks: f64,
    pub(crate) sequential: Sequential,
    /// By tag; only those that gate.
    pub(crate) slices: BTreeMap<String, SlicePolicy>,
    /// Limits on the cases of a tag.
    pub(crate) tag_limits: TagLimits,
    /// Every tag that the suite names: lines of the table of tags.
    pub(crate) tags: Vec<String>,
    pub(crate) resources: Resources,
    /// By metric: how far its judge must agree with people.
    pub(crate) judges: BTreeMap<MetricName, TrustPolicy>,
    /// The file of the run that every run is compared with beside the baseline.
    pub anchor: Option<String>,
    /// The target that suspects are asked of again before the change is blamed.
    pub confirm: Option<String>,
    pub(crate) severity: f64,
    pub(crate) breaks: BreaksSetting,
    pub(crate) inconclusive: InconclusiveSetting,
    pub(crate) on_coverage: FailOrWarn,
    pub(crate) min_measured: f64,
    pub(crate) max_missing: f64,
    pub(crate) min_overlap: f64,
    pub(crate) max_new_errors: u64,
    pub(crate) must_pass: MustPass,
    pub(crate) quarantine: Quarantine,
    /// Targets whose answers are fixed.
    pub(crate) canaries: Vec<String>,
    pub(crate) metrics: BTreeMap<MetricName, MetricPolicy>,
    /// `None`: no baseline is asked for.
    pub baseline: Option<BaselinePolicy>,
}

/// How a plan of trials is followed (statistics §10).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sequential {
    /// Trials at each look, as the suite's `run.trials` has them; empty or one: all trials are read at once.
    pub(crate) plan: Vec<u32>,
    pub(crate) alpha1: f64,
    pub(crate) phi: f64,
    pub(crate) extend_on: ExtendOn,
}

/// A tag whose cases gate by themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SlicePolicy {
    /// Unit scale; `None`: the metric's.
    pub(crate) margin: Option<f64>,
    /// `None`: every metric that gates.
    pub(crate) metrics: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MustPass {
    pub(crate) tags: Vec<String>,
    pub(crate) ids: Vec<String>,
}

impl MustPass {
    pub(crate) fn is_empty(&self) -> bool {
        self.tags.is_empty() && self.ids.is_empty()
    }
}

/// Rules of one metric.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MetricPolicy {
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
    /// Unit scale.
    pub(crate) margin: f64,
    /// In the metric's own scale.
    pub(crate) max_drop: Option<f64>,
    pub(crate) gate: bool,
    pub(crate) on_fail: FailOrWarn,
    /// The last day on which it only warns.
    pub(crate) shadow_until: Option<Date>,
    pub(crate) mode: ModeSetting,
    pub(crate) trials: TrialsRule,
    pub(crate) pass_rate: Option<f64>,
    /// `pass_rate` is asked of the rate corrected by these.
    pub(crate) calibration: Option<JudgeRates>,
    pub(crate) case_min: Option<f64>,
    pub(crate) case_max: Option<f64>,
    pub(crate) percentile: Option<Percentile>,
    pub(crate) kind: Option<ScoreKind>,
    pub(crate) direction: Option<Direction>,
    pub(crate) pass_mark: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Percentile {
    pub(crate) at: f64,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
}

impl Default for MetricPolicy {
    fn default() -> Self {
        Self {
            min: None,
            max: None,
            margin: 0.05,
            max_drop: None,
            gate: true,
            on_fail: FailOrWarn::Fail,
            shadow_until: None,
            mode: ModeSetting::Confident,
            trials: TrialsRule::Mean,
            pass_rate: None,
            calibration: None,
            case_min: None,
            case_max: None,
            percentile: None,
            kind: None,
            direction: None,
            pass_mark: None,
        }
    }
}

impl MetricPolicy {
    /// Green needs this metric to be measured and to hold.
    pub(crate) fn required(&self) -> bool {
        self.gate && self.on_fail == FailOrWarn::Fail
    }

    /// Number of thresholds that an interval reads.
    pub(crate) fn interval_thresholds(&self) -> usize {
        [self.min, self.max, self.pass_rate].iter().flatten().count()
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            alpha: 0.05,
            alpha_breaks: 0.01,
            sequential: Sequential { plan: Vec::new(), alpha1: 0.01, phi: 0.5, extend_on: ExtendOn::Suspicion },
            slices: BTreeMap::new(),
            tag_limits: TagLimits::new(),
            tags: Vec::new(),
            resources: Resources::new(),
            judges: BTreeMap::new(),
            anchor: None,
            confirm: None,
            severity: 0.5,
            breaks: BreaksSetting::Fail,
            inconclusive: InconclusiveSetting::Warn,
            on_coverage: FailOrWarn::Fail,
            min_measured: 0.98,
            max_missing: 0.02,
            min_overlap: 0.9,
            max_new_errors: 0,
            must_pass: MustPass::default(),
            quarantine: Quarantine::default(),
            canaries: Vec::new(),
            metrics: BTreeMap::new(),
            baseline: None,
        }
    }
}

impl Policy {
    /// Reads the gate section (or the defaults without one) for the metrics that the suite's evaluators measure.
    ///
    /// **Inputs**: `metrics` of the evaluators; empty where they are not known (`compare` of results of another tool): then
    /// every name is accepted, and the policy says what the metrics are.
    /// **Errors**: `None` after pushing every problem.
    pub fn build(gate: Option<&Block>, metrics: &[MetricSpec], diagnostics: &mut Diagnostics) -> Option<Self> {
        let Some(block) = gate else { return Some(Self::default()) };
        let Draft { settings, sound } = block.draft::<GateSettings>(diagnostics)?;
        let mut checker = Checker::new(block, sound);
        let policy = Self::checked(settings, metrics, &mut checker);
        (checker.finish(diagnostics) && sound).then_some(policy)
    }

    /// The policy for a suite that asks its cases by a plan of looks: trials at each, rising. One look or none reads all trials at once.
    #[must_use]
    pub fn with_plan(mut self, looks: &[u32]) -> Self {
        self.sequential.plan = looks.to_vec();
        self
    }

    /// JSON Schema of the section as written.
    pub fn schema() -> schemars::Schema {
        schemars::schema_for!(GateSettings)
    }

    /// The metrics that the policy itself describes, for results of other tools.
    pub fn declared(&self) -> Vec<MetricSpec> {
        let described = self.metrics.iter().filter(|(_, policy)| policy.kind.is_some() || policy.direction.is_some());
        described
            .map(|(name, policy)| {
                policy.apply(MetricSpec {
                    name: Arc::clone(name),
                    kind: ScoreKind::UNIT,
                    direction: Direction::Higher,
                    pass_mark: None,
                    fingerprint: None,
                })
            })
            .collect()
    }

    /// The same on the day of a run: metrics whose shadow has not ended only warn, on the cases of a tag as on all of them. Where the day is
    /// not known, all of them decide.
    #[must_use]
    pub(crate) fn on(mut self, started: Option<&str>) -> Self {
        let day =
            started.and_then(|text| text.parse::<Timestamp>().ok()).map(|time| time.to_zoned(TimeZone::UTC).date());
        let of_tags = self.tag_limits.values_mut().flat_map(BTreeMap::values_mut);
        for rules in self.metrics.values_mut().chain(of_tags) {
            if let (Some(until), Some(day)) = (rules.shadow_until, day)
                && day <= until
            {
                rules.on_fail = FailOrWarn::Warn;
            }
        }
        self
    }

    /// The same for a run whose other half was taken away as its baseline.
    #[must_use]
    pub(crate) fn without_other_half(mut self) -> Self {
        if let Some(baseline) = &mut self.baseline {
            baseline.mode = super::asked::BaselineMode::Stored;
        }
        self
    }

    /// The same in a pull request, where a baseline that is to be seeded must be there.
    #[must_use]
    pub fn of_change(mut self) -> Self {
        if let Some(baseline) = self.baseline.as_mut().filter(|baseline| baseline.missing == Missing::Seed) {
            baseline.missing = Missing::Fail;
        }
        self
    }

    /// With the rules that `other` has for metrics which are `new`.
    #[must_use]
    pub fn with_rules_of(mut self, other: &Self, new: impl Fn(&str) -> bool) -> Self {
        for (name, rules) in other.metrics.iter().filter(|(name, _)| new(name)) {
            self.metrics.entry(Arc::clone(name)).or_insert_with(|| rules.clone());
        }
        self
    }

    /// Whether rules read the target: it is no canary.
    pub fn judges_target(&self, name: &str) -> bool {
        !self.canaries.iter().any(|canary| canary == name)
    }

    /// Whether `must_pass` names the case.
    pub fn must_pass(&self, id: &str, tags: &[Arc<str>]) -> bool {
        self.must_pass.ids.iter().any(|named| named == id)
            || tags.iter().any(|tag| self.must_pass.tags.iter().any(|named| **named == **tag))
    }

    /// What the metrics are, without any rule but their margin.
    pub(crate) fn scales(&self) -> BTreeMap<MetricName, MetricPolicy> {
        let scale = |policy: &MetricPolicy| MetricPolicy {
            margin: policy.margin,
            kind: policy.kind,
            direction: policy.direction,
            pass_mark: policy.pass_mark,
            ..MetricPolicy::default()
        };
        self.metrics.iter().map(|(name, policy)| (Arc::clone(name), scale(policy))).collect()
    }

    /// The rules of a metric; the defaults for one without an entry.
    pub(crate) fn metric(&self, name: &str) -> MetricPolicy {
        self.metrics.get(name).cloned().unwrap_or_default()
    }

    fn checked(settings: GateSettings, known: &[MetricSpec], checker: &mut Checker<'_>) -> Self {
        let default = Self::default();
        let alpha = settings.alpha.unwrap_or(default.alpha);
        checker.between("/alpha", "alpha", alpha, 0.0, 0.5);
        let alpha_breaks = settings.alpha_breaks.unwrap_or(alpha / 5.0);
        checker.between("/alpha_breaks", "alpha_breaks", alpha_breaks, 0.0, alpha);
        let sequential = checker.sequential(settings.sequential.as_ref(), alpha, alpha_breaks);
        let slices = checker.slices(&settings.slices, known);
        let resources = resource::checked(settings.resources.as_ref(), checker);
        let judges = TrustPolicy::checked(&settings.judges, known, checker);
        let severity = settings.severity.unwrap_or(default.severity);
        checker.share("/severity", "severity", severity, true);
        let min_measured = settings.min_measured.unwrap_or(default.min_measured);
        checker.share("/min_measured", "min_measured", min_measured, false);
        let max_missing = settings.max_missing.unwrap_or(default.max_missing);
        checker.share("/max_missing", "max_missing", max_missing, false);
        let min_overlap = settings.min_overlap.unwrap_or(default.min_overlap);
        checker.share("/min_overlap", "min_overlap", min_overlap, false);
        let metrics: BTreeMap<MetricName, MetricPolicy> = settings
            .metrics
            .iter()
            .map(|(name, metric)| (name.as_str().into(), MetricPolicy::checked(name, metric, known, checker)))
            .collect();
        let tag_limits = super::tags::checked(&settings.slices, &metrics, known, checker);
        let anchor = settings.anchor.map(|anchor| anchor.path);
        if anchor.as_deref().is_some_and(|path| path.trim().is_empty()) {
            checker.push("/anchor/path", "empty", "`path` is empty", "name a baseline file or the results of a run");
        }
        let must_pass = settings.must_pass.map_or_else(MustPass::default, |must| {
            if must.tags.is_empty() && must.ids.is_empty() {
                checker.push("/must_pass", "nothing-selected", "must_pass selects nothing", "list `tags` or `ids`");
            }
            MustPass { tags: must.tags, ids: must.ids }
        });
        Self {
            alpha,
            alpha_breaks,
            sequential,
            slices,
            tag_limits,
            tags: settings.slices.into_keys().collect(),
            resources,
            judges,
            anchor,
            confirm: settings.confirm.map(|confirm| confirm.target),
            severity,
            breaks: settings.breaks.unwrap_or_default(),
            inconclusive: settings.inconclusive.unwrap_or_default(),
            on_coverage: settings.on_coverage.unwrap_or_default(),
            min_measured,
            max_missing,
            min_overlap,
            max_new_errors: settings.errors.and_then(|errors| errors.max_new).unwrap_or(default.max_new_errors),
            must_pass,
            canaries: settings.canaries,
            quarantine: Quarantine::checked(settings.quarantine.unwrap_or_default(), known, checker),
            metrics,
            baseline: settings.baseline.and_then(|baseline| BaselinePolicy::checked(baseline, checker)),
        }
    }
}

impl MetricPolicy {
    fn checked(name: &str, settings: &MetricSettings, known: &[MetricSpec], checker: &mut Checker<'_>) -> Self {
        let at = format!("/metrics/{}", escape(name));
        let spec = known.iter().find(|spec| &*spec.name == name);
        if spec.is_none() && !known.is_empty() {
            checker.unknown_metric(&at, name, known);
        }
        let default = Self::default();
        let margin = settings.margin.unwrap_or(default.margin);
        checker.between(&format!("{at}/margin"), "margin", margin, 0.0, 1.0);
        let policy = Self {
            min: settings.min,
            max: settings.max,
            margin,
            max_drop: settings.max_drop,
            gate: settings.gate.unwrap_or(default.gate),
            on_fail: settings.on_fail.unwrap_or_default(),
            shadow_until: checker.day(&format!("{at}/shadow_until"), settings.shadow_until.as_deref()),
            mode: settings.mode.unwrap_or_default(),
            trials: checker.trials(&at, settings),
            pass_rate: settings.pass_rate.as_ref().and_then(|rate| rate.min),
            calibration: checker.calibration(&at, settings.pass_rate.as_ref()),
            case_min: settings.case_min,
            case_max: settings.case_max,
            percentile: settings.percentile.as_ref().and_then(|percentile| {
                percentile.at.map(|at| Percentile { at, min: percentile.min, max: percentile.max })
            }),
            kind: checker.kind(&at, name, settings, spec),
            direction: settings.direction,
            pass_mark: settings.pass_mark,
        };
        checker.metric(&at, name, settings, &policy, spec);
        policy
    }

    /// The metric as this policy sees it.
    pub(crate) fn apply(&self, spec: MetricSpec) -> MetricSpec {
        MetricSpec {
            kind: self.kind.unwrap_or(spec.kind),
            direction: self.direction.unwrap_or(spec.direction),
            pass_mark: self.pass_mark.or(spec.pass_mark),
            ..spec
        }
    }
}
