//! The gate's decision with its evidence. A verdict is a value: failed and inconclusive are as good as passed.
//!
//! Differences, thresholds, intervals and means are in the metric's own scale unless a field says "unit scale".

use serde::{Deserialize, Serialize};

use super::{
    BaseRecord, BaselineRun, BaselineSource, CaseId, MetricName, MetricSpec, Part, Place, Selection, Statistic,
    TargetName, Unit,
};

/// The overall decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Passed,
    Failed,
    Inconclusive,
    NotEvaluated,
}

impl Decision {
    /// As files and other programs' variables have it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Inconclusive => "inconclusive",
            Self::NotEvaluated => "not_evaluated",
        }
    }
}

/// Which question a rule asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleKind {
    /// Is it worse than the baseline? (statistics §5–§9)
    NotWorse,
    /// Are the cases of one tag worse than in the baseline? (statistics §14.2)
    Slice,
    /// Point comparison of means with an allowed drop.
    MaxDrop,
    /// Is the mean at least (`min`) or at most (`max`) the required one? (statistics §11)
    Threshold,
    /// Is the share of passing cases high enough?
    PassRate,
    /// Does every case reach a score?
    EachCase,
    /// Does the given percentile of the cases reach a score?
    Percentile,
    /// Do the answers take at most so much time, so many tokens, so much money?
    Resource,
    /// Do they take at most so much more than in the baseline?
    ResourceRise,
    /// Does the judge agree with people well enough to be believed? (statistics §18)
    JudgeTrust,
    /// Is it worse than in the run that is kept as the anchor? (statistics §16.2)
    Anchor,
    /// Do the must-pass cases pass? (statistics §12)
    MustPass,
    /// Were enough cells measured? (security §3)
    Coverage,
    /// Errors of the target that the baseline did not have (statistics §13.1).
    NewErrors,
    /// Is there a comparable baseline?
    Baseline,
    /// Does the proposed change keep the gate as strict as the base branch has it? (security §9)
    Policy,
    /// Was the run carried through?
    Complete,
    /// Nothing is asked: the level of a metric without a rule.
    Reported,
}

/// What a rule found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleVerdict {
    /// The evidence supports the requirement ("not worse", threshold met).
    Met,
    /// The evidence says no.
    Violated,
    /// It can be neither confirmed nor ruled out.
    Inconclusive,
    /// Nothing to judge it on.
    NotEvaluated,
}

/// Why, from a closed set (statistics §9.1, §11.4, §13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    WithinMargin,
    SmallDrop,
    Mean,
    Breaks,
    Identical,
    Suspicious,
    TooFewCases,
    NoSign,
    Coverage,
    Missing,
    Errors,
    ThresholdMet,
    ThresholdMissed,
    ThresholdUncertain,
    MustPassFailed,
    MustPassHeld,
    JudgeMismatch,
    NoBaseline,
    BaselineUnusable,
    /// It may be there, and could not be fetched.
    BaselineUnreachable,
    PolicyKept,
    PolicyLoosened,
    /// The base branch's policy could not be read.
    BaseUnknown,
    NoCases,
    NoScores,
    Incomplete,
    Complete,
    NothingNew,
    DropTooLarge,
    DropAllowed,
    /// People agree with the judge as often as is asked.
    JudgeTrusted,
    JudgeUntrusted,
    /// The base's system does no better on the same cases today.
    Environment,
}

/// What a rule's verdict does to the build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Holds, or is only reported.
    Ok,
    /// Said, never decides.
    Warn,
    /// Exit code 1.
    Fail,
    /// Exit code 3: the evidence does not suffice and the policy asks for it.
    Block,
}

/// Which side of its limit a value must be on; on the limit itself is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    AtLeast,
    AtMost,
}

impl Bound {
    /// `≥` or `≤`.
    pub fn sign(self) -> &'static str {
        match self {
            Self::AtLeast => "≥",
            Self::AtMost => "≤",
        }
    }
}

/// One rule with all the numbers that a report shows. Fields that a rule does not have are `None`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Empty for rules over the whole run.
    pub metric: MetricName,
    pub target: TargetName,
    pub rule: RuleKind,
    pub verdict: RuleVerdict,
    pub reason: Reason,
    pub severity: Severity,
    /// Mean over the paired cases, baseline side.
    pub baseline: Option<f64>,
    /// Mean over the paired cases (comparison) or over all scored cases (threshold).
    pub current: Option<f64>,
    /// The tag whose cases alone the rule is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<String>,
    /// Of rules about resources: what is read of all answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistic: Option<Statistic>,
    /// Of rules about resources: the unit of `baseline`, `current`, `delta` and `ci`, and of `limit` but where that is a rise (0.25: a quarter).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// `current − baseline` (negative is worse for `higher`, as measured, in the metric's scale).
    pub delta: Option<f64>,
    /// Interval for `delta` (comparison) or `current` (threshold), each end at level alpha.
    pub ci: Option<[f64; 2]>,
    /// p_mid of the mean guard, unadjusted.
    pub p: Option<f64>,
    /// After Holm over the gating metrics.
    pub p_adjusted: Option<f64>,
    /// Cases (or clusters) the rule is based on.
    pub n: u64,
    /// Cases planned for the metric: `n` of `planned` were measured.
    pub planned: u64,
    /// `exact`, `enumeration`, `quantised`, `identical`, `wilson`, `hall_t`, `point`, …
    pub method: String,
    /// The required value: threshold, margin (unit scale) or allowed drop.
    pub limit: Option<f64>,
    /// Which side of `limit` is required; `None` for a margin, which bounds an interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// Paired cases that scored higher / lower / the same.
    pub up: u64,
    pub down: u64,
    pub same: u64,
    /// Stable cases that broke, and how many flakiness alone explains (break guard; needs three baseline runs).
    pub breaks: Option<u64>,
    pub breaks_expected: Option<f64>,
    /// Smallest drop this run would have caught in 8 of 10 cases (unit scale).
    pub detectable: Option<f64>,
    /// `delta` over the standard deviation of the cases' differences; negative is worse (statistics §20).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<f64>,
    /// The break guard's p after Holm over the gating metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_breaks: Option<f64>,
    /// Shown when the candidate is credibly better (statistics §9.3).
    pub improved: bool,
    /// One paragraph for a developer (statistics §21), plain text without markup.
    pub explanation: String,
}

impl Comparison {
    /// A rule without numbers, texts and effect yet; `metric` and `target` may be empty.
    pub fn new(rule: RuleKind, metric: &str, target: &str, verdict: RuleVerdict, reason: Reason) -> Self {
        Self {
            metric: metric.into(),
            target: target.into(),
            rule,
            verdict,
            reason,
            severity: Severity::Ok,
            slice: None,
            statistic: None,
            unit: None,
            baseline: None,
            current: None,
            delta: None,
            ci: None,
            p: None,
            p_adjusted: None,
            n: 0,
            planned: 0,
            method: String::new(),
            limit: None,
            bound: None,
            up: 0,
            down: 0,
            same: 0,
            breaks: None,
            breaks_expected: None,
            detectable: None,
            effect: None,
            p_breaks: None,
            improved: false,
            explanation: String::new(),
        }
    }

    /// What the rule asks of its value.
    pub fn require(&mut self, limit: f64, bound: Bound) {
        self.limit = Some(limit);
        self.bound = Some(bound);
    }
}

/// How a plan of several looks was followed (statistics §10).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LooksTaken {
    /// Trials of a case at each look that the plan and the trials at hand allow.
    pub trials: Vec<u32>,
    /// Looks that were taken; the verdict is that of the last of them.
    pub taken: u32,
    pub ended: LookEnd,
}

/// Why no further look was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LookEnd {
    /// More stable cases broke than flakiness explains.
    Breaks,
    /// A metric dropped beyond doubt.
    Mean,
    /// No metric showed a sign of a drop.
    NoSign,
    /// It was the last one.
    Last,
}

/// A tag's cases of one metric (statistics §14): shown, and without effect on the build.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SliceChange {
    pub tag: String,
    pub target: TargetName,
    pub metric: MetricName,
    /// Paired cases with this tag.
    pub n: u64,
    /// `current − baseline`, in the metric's scale.
    pub delta: f64,
    pub p: f64,
    /// After Benjamini and Hochberg over all tags and metrics that are only shown.
    pub p_adjusted: f64,
}

/// A tag that the policy names, beside the baseline: a line of the table of tags.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SliceLine {
    pub tag: String,
    pub target: TargetName,
    pub metric: MetricName,
    /// Cases with this tag that have a score; of a comparison, those on both sides.
    pub n: u64,
    /// Means over these cases; `None`: nothing to compare with.
    pub baseline: Option<f64>,
    pub current: Option<f64>,
    pub delta: Option<f64>,
    /// Unadjusted; `None` with fewer than 20 cases on both sides.
    pub p: Option<f64>,
    /// Some rule of the policy reads these cases by themselves.
    pub decides: bool,
}

/// A case that got worse, for "old answer beside new".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokenCase {
    pub case: CaseId,
    pub target: TargetName,
    pub metric: MetricName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    pub baseline: Option<f64>,
    pub current: Option<f64>,
    /// `current − baseline`.
    pub delta: Option<f64>,
    /// Failed its must-pass rule, or is named by a rule that failed.
    pub decisive: bool,
}

/// A case that passes and fails without a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlakyCase {
    pub case: CaseId,
    pub target: TargetName,
    pub metric: MetricName,
    /// Of `trials` in all runs of the baseline.
    pub passes: u64,
    pub trials: u64,
    /// Chance that two of them end differently, 0 to 1.
    pub flip_rate: f64,
}

/// What changed between the two sets of cases.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseChanges {
    /// In this run only ("new, no baseline").
    pub added: Vec<CaseId>,
    /// In the baseline only.
    pub removed: Vec<CaseId>,
    /// Same id, other content.
    pub changed: Vec<CaseId>,
    /// (removed, added) pairs with equal content: likely renames.
    pub renamed: Vec<(CaseId, CaseId)>,
}

/// Planned = the sum of the others, per cell (case × metric × target, trials collapsed).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictCounts {
    /// Distinct cases selected.
    pub total: u64,
    /// Cases with a score for every applicable metric.
    pub scored: u64,
    /// Cases with an error or unusable reply somewhere.
    pub errored: u64,
    /// Cases with something left out, and no error.
    pub skipped: u64,
    pub added: u64,
    pub removed: u64,
    pub changed: u64,
    /// Cases that got worse, and that got better, by some metric or rule; `broken` and `fixed` hold the first of them.
    #[serde(default)]
    pub worse: u64,
    #[serde(default)]
    pub better: u64,
    /// Cells planned, measured, failed, unusable, skipped.
    pub cells: u64,
    pub cells_scored: u64,
    pub cells_errored: u64,
    pub cells_unusable: u64,
    pub cells_skipped: u64,
}

impl VerdictCounts {
    /// Share of the planned cells without a score, 0 to 1, to six places; `None`: none was planned.
    pub fn unmeasured(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
        let share = self.cells.saturating_sub(self.cells_scored) as f64 / self.cells as f64;
        (self.cells > 0).then(|| (share * 1e6).round() / 1e6)
    }
}

/// The whole decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub decision: Decision,
    /// 0, 1 or 3 (or 130/143 when cancelled): the contract of the README.
    pub exit_code: u8,
    /// One sentence: what was decided and why.
    pub headline: String,
    pub suite: String,
    pub rules: Vec<Comparison>,
    /// Mean number of trials of a case that were measured; lost ones are none.
    pub trials: f64,
    /// `None`: all trials were read at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<LooksTaken>,
    /// Tags whose cases got worse while nobody asked (adjusted p ≤ 0.1), the smallest p first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<SliceChange>,
    /// Every tag that `gate.slices` names, whatever it came to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slice_table: Vec<SliceLine>,
    pub cases: VerdictCounts,
    pub changes: CaseChanges,
    /// By the baseline's history, those that flip most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaky: Vec<FlakyCase>,
    /// Worst first, at most ten a metric.
    pub broken: Vec<BrokenCase>,
    /// Cases that got better, best first, at most ten a metric.
    pub fixed: Vec<BrokenCase>,
    /// False where something makes the comparison unfair (judge changed, …); `notes` say what.
    pub comparable: bool,
    /// Things a reader must know: no baseline, judge changed, one-run baseline, tolerances in use.
    pub notes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineSource>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baseline_runs: Vec<BaselineRun>,
    /// The run that is kept to be compared with over a long time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<BaselineSource>,
    /// What a pull request's run was judged by; `None` for all other runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<BaseRecord>,
    pub metrics: Vec<MetricSpec>,
    /// True after a cancellation: reports are marked partial.
    pub partial: bool,
    /// Only these cases were asked for; the verdict is about them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// Of a part of a run: nothing is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Part>,
    pub alpha: f64,
}
