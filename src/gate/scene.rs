//! Everything the rules look at, and what they hand back.

use super::comparable::{Reference, unusable};
use super::looks::{Look, breaks_decide};
use super::policy::{MetricPolicy, Policy};
use super::settings::{FailOrWarn, InconclusiveSetting};
use super::sheet::{Sheet, sheets};
use super::{BaselineState, Beside};
use crate::domain::{
    Baseline, CaseId, Comparison, MetricName, MetricSpec, Reason, RuleKind, RuleVerdict, Run, Severity,
};
use crate::stats::Ratio;

/// The run beside the baseline, under the policy.
pub(crate) struct Scene<'a> {
    /// The trials that the look reads.
    pub(crate) run: &'a Run,
    /// All trials, of which must-pass cases read more.
    pub(crate) whole: &'a Run,
    pub(crate) look: Look,
    pub(crate) policy: &'a Policy,
    pub(crate) state: &'a BaselineState,
    /// What else is known.
    pub(crate) beside: Beside<'a>,
    /// The run's metrics as the policy sees them, and the rules of each.
    pub(crate) metrics: Vec<(MetricSpec, MetricPolicy)>,
    pub(crate) sheets: Vec<Sheet<'a>>,
    /// `None`: nothing to compare with, or nothing usable.
    pub(crate) reference: Option<Reference<'a>>,
    /// Why a baseline that is there is not used.
    pub(crate) unusable: Option<Unusable>,
}

/// Why a baseline that was found is not used.
pub(crate) enum Unusable {
    /// Something in it is wrong: never allowed.
    Broken(String),
    /// It counts as missing.
    TooOld(String),
}

impl<'a> Scene<'a> {
    /// `run`: what `look` reads of `whole`.
    pub(crate) fn new(run: &'a Run, whole: &'a Run, state: &'a BaselineState, policy: &'a Policy, look: Look) -> Self {
        let metrics: Vec<(MetricSpec, MetricPolicy)> = run
            .header
            .metrics
            .iter()
            .map(|spec| {
                let rules = policy.metric(&spec.name);
                (rules.apply(spec.clone()), rules)
            })
            .collect();
        let mut sheets = sheets(run, &metrics);
        policy.quarantine.apply(run, &mut sheets, &metrics);
        let (reference, unusable) = match state {
            BaselineState::NotAsked
            | BaselineState::Absent(_)
            | BaselineState::Unreachable(_)
            | BaselineState::Broken(_) => (None, None),
            BaselineState::Found(baseline) => match unfit(run, baseline, policy) {
                Some(why) => (None, Some(why)),
                None => (Some(Reference::build(baseline, &sheets, policy)), None),
            },
        };
        Self { run, whole, look, policy, state, beside: Beside::default(), metrics, sheets, reference, unusable }
    }

    /// The level of the mean guard: all of alpha unless the break guard can fail the build (statistics §8.1).
    pub(crate) fn alpha_mean(&self) -> f64 {
        if self.breaks_decide() { self.policy.alpha - self.policy.alpha_breaks } else { self.policy.alpha }
    }

    /// A metric's name in a sentence, with its target where there are several.
    pub(crate) fn label(&self, metric: &str, target: &str) -> String {
        if self.sheets.len() > 1 { format!("{metric} of {target}") } else { metric.to_owned() }
    }

    /// ` of app` where there are several targets.
    pub(crate) fn of_target(&self, target: &str) -> String {
        if self.sheets.len() > 1 { format!(" of {target}") } else { String::new() }
    }

    pub(crate) fn breaks_decide(&self) -> bool {
        let runs = self.reference.as_ref().map_or(0, |reference| reference.baseline.runs.len());
        breaks_decide(runs, self.policy)
    }
}

fn unfit(run: &Run, baseline: &Baseline, policy: &Policy) -> Option<Unusable> {
    unusable(run, baseline, policy)
        .map(Unusable::Broken)
        .or_else(|| super::standing::too_old(run, baseline, policy).map(Unusable::TooOld))
}

/// One rule's result, and what the headline and the list of broken cases need of it.
pub(crate) struct Finding {
    pub(crate) comparison: Comparison,
    /// A fragment that reads after "failed: ".
    pub(crate) phrase: String,
    /// Cases that made it fail, each with the metric it failed; an empty name: it has no answer.
    pub(crate) named: Vec<(CaseId, MetricName)>,
    /// Metrics whose missing scores it tells of, so that nobody has to say it again.
    pub(crate) short_of: Vec<MetricName>,
}

impl Finding {
    /// A rule without numbers yet; `metric` and `target` may be empty.
    pub(crate) fn new(rule: RuleKind, metric: &str, target: &str, verdict: RuleVerdict, reason: Reason) -> Self {
        let comparison = Comparison::new(rule, metric, target, verdict, reason);
        Self { comparison, phrase: String::new(), named: Vec::new(), short_of: Vec::new() }
    }

    /// The same with its texts: a fragment, and one paragraph.
    pub(crate) fn saying(mut self, phrase: impl Into<String>, explanation: impl Into<String>) -> Self {
        self.phrase = phrase.into();
        self.comparison.explanation = explanation.into();
        self
    }

    pub(crate) fn with_severity(mut self, severity: Severity) -> Self {
        self.comparison.severity = severity;
        self
    }
}

/// What a rule of a metric does to the build. This is the only place that turns a verdict into a severity.
pub(crate) fn severity(verdict: RuleVerdict, reason: Reason, rules: &MetricPolicy, policy: &Policy) -> Severity {
    let full = match verdict {
        RuleVerdict::Met => Severity::Ok,
        RuleVerdict::Violated => Severity::Fail,
        RuleVerdict::NotEvaluated if reason == Reason::NoBaseline => Severity::Warn,
        RuleVerdict::NotEvaluated => Severity::Block,
        RuleVerdict::Inconclusive => undecided(reason, policy),
    };
    if !rules.gate {
        return Severity::Ok;
    }
    match (full, rules.on_fail) {
        (Severity::Fail | Severity::Block, FailOrWarn::Warn) => Severity::Warn,
        (full, FailOrWarn::Fail | FailOrWarn::Warn) => full,
    }
}

/// What not knowing does, by its reason (statistics §9.5).
fn undecided(reason: Reason, policy: &Policy) -> Severity {
    match reason {
        Reason::Identical => Severity::Ok,
        Reason::Coverage => coverage(policy),
        Reason::Suspicious | Reason::TooFewCases | Reason::NoSign | Reason::ThresholdUncertain => {
            match policy.inconclusive {
                InconclusiveSetting::Pass => Severity::Ok,
                InconclusiveSetting::Warn => Severity::Warn,
                InconclusiveSetting::Fail => Severity::Block,
            }
        }
        // Evidence is missing; the rest never comes with an open verdict, and would not be green.
        Reason::Missing
        | Reason::JudgeMismatch
        | Reason::NoBaseline
        | Reason::BaselineUnusable
        | Reason::BaselineUnreachable
        | Reason::PolicyKept
        | Reason::PolicyLoosened
        | Reason::BaseUnknown
        | Reason::NoCases
        | Reason::NoScores
        | Reason::Incomplete
        | Reason::WithinMargin
        | Reason::SmallDrop
        | Reason::Mean
        | Reason::Breaks
        | Reason::Errors
        | Reason::ThresholdMet
        | Reason::ThresholdMissed
        | Reason::MustPassFailed
        | Reason::MustPassHeld
        | Reason::Complete
        | Reason::NothingNew
        | Reason::DropTooLarge
        | Reason::DropAllowed
        | Reason::JudgeTrusted
        | Reason::JudgeUntrusted
        | Reason::Environment => Severity::Block,
    }
}

pub(crate) fn coverage(policy: &Policy) -> Severity {
    match policy.on_coverage {
        FailOrWarn::Fail => Severity::Block,
        FailOrWarn::Warn => Severity::Warn,
    }
}

/// `part / whole ≥ share`, exactly as decimals; nothing of nothing is enough.
pub(crate) fn at_least(part: u64, whole: u64, share: f64) -> bool {
    compare(part, whole, share).is_none_or(std::cmp::Ordering::is_ge)
}

/// `part / whole ≤ share`, exactly as decimals.
pub(crate) fn at_most(part: u64, whole: u64, share: f64) -> bool {
    compare(part, whole, share).is_none_or(std::cmp::Ordering::is_le)
}

fn compare(part: u64, whole: u64, share: f64) -> Option<std::cmp::Ordering> {
    Some(Ratio::new(part.into(), whole.into())?.compare(Ratio::decimal(share)?))
}
