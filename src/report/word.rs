//! The fixed words of every report.

use crate::domain::{
    Bound, Comparison, Decision, FailureKind, Reason, RuleKind, RuleVerdict, Severity, Statistic, Unit,
};
use crate::text::number;

/// How a rule's finding looks at a glance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Good,
    Better,
    Bad,
    /// Said, without effect on the build.
    Warning,
    /// The evidence does not suffice.
    Open,
    Nothing,
}

impl Mark {
    pub fn of(rule: &Comparison) -> Self {
        match (rule.severity, rule.verdict) {
            (Severity::Fail, _) => Self::Bad,
            (Severity::Block, RuleVerdict::Violated) => Self::Bad,
            (Severity::Block, _) => Self::Open,
            (Severity::Warn, _) | (Severity::Ok, RuleVerdict::Violated) => Self::Warning,
            (Severity::Ok, RuleVerdict::Met) if rule.improved => Self::Better,
            (Severity::Ok, RuleVerdict::Met) if rule.rule == RuleKind::Reported => Self::Nothing,
            (Severity::Ok, RuleVerdict::Met) => Self::Good,
            (Severity::Ok, RuleVerdict::Inconclusive) if rule.reason == Reason::Identical => Self::Good,
            (Severity::Ok, RuleVerdict::Inconclusive | RuleVerdict::NotEvaluated) => Self::Nothing,
        }
    }

    /// For a terminal: one column wide.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Good => "✓",
            Self::Better => "▲",
            Self::Bad => "✗",
            Self::Warning => "!",
            Self::Open => "?",
            Self::Nothing => "·",
        }
    }

    /// For Markdown.
    pub fn picture(self) -> &'static str {
        match self {
            Self::Good => "✅",
            Self::Better => "🔼",
            Self::Bad => "❌",
            Self::Warning => "⚠️",
            Self::Open => "❔",
            Self::Nothing => "➖",
        }
    }
}

/// The word of `verdict.json`, of outputs and of file names.
pub fn decision(decision: Decision) -> &'static str {
    match decision {
        Decision::Passed => "passed",
        Decision::Failed => "failed",
        Decision::Inconclusive => "inconclusive",
        Decision::NotEvaluated => "not_evaluated",
    }
}

/// What the rule asks: `not worse (margin 5)`, `mean ≥ 0.7`.
pub fn rule(rule: &Comparison) -> String {
    let limit = rule.limit.map(number::limit).unwrap_or_default();
    let side = rule.bound.map_or("", Bound::sign);
    match rule.rule {
        RuleKind::NotWorse | RuleKind::Slice => match rule.limit {
            Some(margin) => format!("not worse (margin {})", number::margin(margin)),
            None => "not worse".to_owned(),
        },
        RuleKind::MaxDrop => format!("drop at most {limit}"),
        RuleKind::Threshold => format!("mean {side} {limit}"),
        RuleKind::PassRate => format!("pass rate {side} {limit}"),
        RuleKind::EachCase => format!("each case {side} {limit}"),
        RuleKind::Percentile => format!("percentile {side} {limit}"),
        RuleKind::Resource => {
            let (what, unit) = (rule.statistic.map_or("", Statistic::word), rule.unit);
            format!("{what} {side} {}", rule.limit.zip(unit).map_or(limit, |(limit, unit)| amount(limit, unit, None)))
        }
        RuleKind::ResourceRise => {
            let most = rule.limit.map(|limit| number::percent(limit, None)).unwrap_or_default();
            format!("{} up at most {most}", rule.statistic.map_or("", Statistic::word))
        }
        RuleKind::JudgeTrust => {
            format!("judge's {} {side} {limit}", if rule.method.is_empty() { "trust" } else { &rule.method })
        }
        RuleKind::Anchor => "no slide since the anchor".to_owned(),
        RuleKind::MustPass => "must pass".to_owned(),
        RuleKind::Coverage => "enough measured".to_owned(),
        RuleKind::NewErrors => "no new errors".to_owned(),
        RuleKind::Baseline => "baseline".to_owned(),
        RuleKind::Policy => "policy not loosened".to_owned(),
        RuleKind::Complete => "run complete".to_owned(),
        RuleKind::Reported => "nothing".to_owned(),
    }
}

/// An amount in its unit; beside a limit visibly on its side of it.
pub fn amount(value: f64, unit: Unit, limit: Option<f64>) -> String {
    number::amount(value, limit, unit.places(value), unit.affixes())
}

/// What was found, and what it does to the build.
pub fn finding(rule: &Comparison) -> String {
    let found = match rule.verdict {
        RuleVerdict::Met if rule.improved => "better",
        RuleVerdict::Met => match rule.rule {
            RuleKind::NotWorse | RuleKind::Slice if rule.reason == Reason::SmallDrop => "small drop",
            RuleKind::NotWorse | RuleKind::Slice => "not worse",
            RuleKind::MaxDrop => "within the limit",
            RuleKind::Reported => "reported",
            RuleKind::JudgeTrust => "trusted",
            RuleKind::Anchor => "no slide",
            _ => "met",
        },
        RuleVerdict::Violated => match rule.rule {
            RuleKind::NotWorse | RuleKind::Slice if rule.reason == Reason::Breaks => "cases broke",
            RuleKind::NotWorse | RuleKind::Slice => "worse",
            RuleKind::MaxDrop => "dropped too far",
            RuleKind::Anchor => "slid",
            RuleKind::Resource | RuleKind::ResourceRise => "too much",
            RuleKind::MustPass | RuleKind::EachCase => "cases failed",
            RuleKind::NewErrors => "new errors",
            RuleKind::Policy => "loosened",
            _ => "missed",
        },
        RuleVerdict::Inconclusive if rule.reason == Reason::Identical => "identical",
        RuleVerdict::Inconclusive => match rule.reason {
            Reason::TooFewCases => "too few cases",
            Reason::Missing | Reason::Coverage => "scores missing",
            Reason::JudgeUntrusted => "not trusted",
            Reason::Environment => "environment changed",
            _ => "inconclusive",
        },
        RuleVerdict::NotEvaluated => match rule.reason {
            Reason::NoBaseline => "no baseline",
            Reason::BaselineUnreachable => "not fetched",
            Reason::BaseUnknown => "base unknown",
            Reason::JudgeMismatch => "not comparable",
            _ => "not evaluated",
        },
    };
    let effect = match (rule.severity, rule.verdict) {
        (Severity::Ok, RuleVerdict::Violated) => " (reported only)",
        (Severity::Warn, _) => " (warning)",
        (Severity::Block, _) => " (blocks)",
        (Severity::Ok | Severity::Fail, _) => "",
    };
    format!("{found}{effect}")
}

/// The short name of a rule over the whole run.
pub fn check(kind: RuleKind) -> &'static str {
    match kind {
        RuleKind::NotWorse => "not worse than the baseline",
        RuleKind::Slice => "no tag worse than in the baseline",
        RuleKind::MaxDrop => "allowed drop",
        RuleKind::Threshold => "threshold",
        RuleKind::PassRate => "pass rate",
        RuleKind::EachCase => "each case",
        RuleKind::Percentile => "percentile",
        RuleKind::Resource => "resources",
        RuleKind::ResourceRise => "resources beside the baseline",
        RuleKind::JudgeTrust => "judge trusted",
        RuleKind::Anchor => "no slide since the anchor",
        RuleKind::MustPass => "must-pass cases",
        RuleKind::Coverage => "enough was measured",
        RuleKind::NewErrors => "no new errors",
        RuleKind::Baseline => "baseline found",
        RuleKind::Policy => "policy as on the base branch",
        RuleKind::Complete => "run complete",
        RuleKind::Reported => "level reported",
    }
}

/// The name of a rule in files for machines.
pub fn rule_key(kind: RuleKind) -> &'static str {
    match kind {
        RuleKind::NotWorse => "not_worse",
        RuleKind::Slice => "slice",
        RuleKind::MaxDrop => "max_drop",
        RuleKind::Threshold => "threshold",
        RuleKind::PassRate => "pass_rate",
        RuleKind::EachCase => "each_case",
        RuleKind::Percentile => "percentile",
        RuleKind::Resource => "resource",
        RuleKind::ResourceRise => "resource_rise",
        RuleKind::JudgeTrust => "judge_trust",
        RuleKind::Anchor => "anchor",
        RuleKind::MustPass => "must_pass",
        RuleKind::Coverage => "coverage",
        RuleKind::NewErrors => "new_errors",
        RuleKind::Baseline => "baseline",
        RuleKind::Policy => "policy",
        RuleKind::Complete => "complete",
        RuleKind::Reported => "reported",
    }
}

/// What to do about failures of a kind; `None` where the message itself says it.
pub fn remedy(kind: FailureKind) -> Option<&'static str> {
    Some(match kind {
        FailureKind::Timeout => "raise `run.timeout`, or look why answers take so long",
        FailureKind::Connection => "check that the address is right and that the service runs",
        FailureKind::RateLimited => {
            "state what the provider allows (`limits` of the model or target), or raise `run.retry`; what was paid for is kept"
        }
        FailureKind::Quota => "raise the provider's quota, then run again; what was paid for is kept",
        FailureKind::Auth => "check the key and its permissions",
        FailureKind::NotFound => "check the address, the model's name and the deployment",
        FailureKind::Server | FailureKind::Truncated => "run again; what was paid for is kept",
        FailureKind::TooLong => {
            "shorten what these cases send (fewer or shorter contexts), or use a model with a larger context"
        }
        FailureKind::Malformed => "check the suite's `answer` and `contexts` paths against a real reply",
        FailureKind::Empty => "look why the answer is empty",
        FailureKind::Filtered => "look which text the content filter stopped",
        FailureKind::Declined | FailureKind::Unusable => {
            "look at the judge's raw replies in results.jsonl; a larger judge model usually keeps the form"
        }
        FailureKind::Command => "run the command by hand with the case's input",
        FailureKind::Missing => "give these cases what the metric needs, or leave the metric out",
        FailureKind::Budget => "raise `run.budget`, then run again; what was paid for is kept",
        FailureKind::Redirect => "use the final address, or allow redirects",
        FailureKind::Forbidden => "use an address that may be called",
        FailureKind::Cancelled => "run again; what was paid for is kept",
        FailureKind::InBatch => {
            "run again once the provider has ended the batch, or raise `batch.max_wait`; its answers are not paid for again"
        }
        FailureKind::NotRecorded => "record again what changed: `--record FILE --record-mode new-episodes`",
        FailureKind::BadRequest
        | FailureKind::NotAScore
        | FailureKind::NoAnswer
        | FailureKind::Internal
        | FailureKind::Recorded => return None,
    })
}
