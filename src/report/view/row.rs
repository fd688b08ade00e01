//! One rule as a line of a table.

use super::{NAME, PARAGRAPH, spec_of};
use crate::domain::{Comparison, Direction, Reason, RuleKind, RuleVerdict, Severity, TargetName, Verdict};
use crate::report::change;
use crate::report::clean::{Clean, Cleaner};
use crate::report::word::{self, Mark};
use crate::text::number::{self, NONE};

/// A rule with its numbers as they are shown.
#[derive(Clone, Debug)]
pub struct Row {
    pub mark: Mark,
    pub severity: Severity,
    /// Met, or identical to the baseline.
    pub holds: bool,
    /// Nothing is asked of the metric: its level alone is shown.
    pub reported: bool,
    /// The metric, with its target where there are several; `whole run` for rules over it.
    pub metric: Clean,
    /// What is asked: `not worse (margin 5)`.
    pub rule: Clean,
    /// `0.813 → 0.381`, or the value alone.
    pub values: String,
    /// In points.
    pub change: String,
    /// Of the change in points, or of the value.
    pub interval: String,
    pub p: String,
    pub p_adjusted: String,
    /// Cases the rule is based on.
    pub cases: String,
    /// `3 up, 59 down, 72 same`.
    pub moves: String,
    /// `12 broke, 1.5 expected`.
    pub breaks: String,
    /// The smallest drop that would have been seen: `6.3 points`, `no drop`.
    pub detectable: String,
    pub method: Clean,
    /// What was found: `worse`, `not worse`, `missed (warning)`.
    pub finding: String,
    pub explanation: Clean,
}

/// (rows, rules over the whole run that hold). What does most to the build comes first, then the suite's order;
/// what is only reported last.
pub(super) fn rows(verdict: &Verdict, targets: &[TargetName], cleaner: &Cleaner) -> (Vec<Row>, Vec<&'static str>) {
    let several = targets.len() > 1;
    let mut rows = Vec::new();
    let mut held = Vec::new();
    for rule in &verdict.rules {
        if rule.metric.is_empty() && rule.verdict == RuleVerdict::Met && rule.severity == Severity::Ok {
            let name = word::check(rule.rule);
            if !held.contains(&name) {
                held.push(name);
            }
        } else {
            rows.push(row(rule, verdict, several, cleaner));
        }
    }
    rows.sort_by_key(|row| match row.severity {
        Severity::Fail => 0,
        Severity::Block => 1,
        Severity::Warn => 2,
        Severity::Ok if row.reported => 4,
        Severity::Ok => 3,
    });
    (rows, held)
}

fn row(rule: &Comparison, verdict: &Verdict, several: bool, cleaner: &Cleaner) -> Row {
    // A metric may be called as a resource is.
    let spec = spec_of(verdict, &rule.metric).filter(|_| rule.unit.is_none());
    let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.to_owned());
    let interval = match (rule.ci, rule.delta) {
        (Some([low, high]), _) if rule.unit.is_some() => {
            rule.unit.map(|unit| format!("{} to {}", word::amount(low, unit, None), word::amount(high, unit, None)))
        }
        (Some(ends), Some(_)) => Some(change::interval(
            ends,
            spec,
            rule.limit.filter(|_| matches!(rule.rule, RuleKind::NotWorse | RuleKind::Slice)),
        )),
        (Some(ends), None) => Some(number::score_interval(ends, rule.limit)),
        (None, _) => None,
    };
    let moved = rule.up + rule.down + rule.same > 0;
    let breaks = rule.breaks.map(|breaks| match rule.breaks_expected {
        Some(expected) => format!("{} broke, {expected:.1} expected", number::count(breaks)),
        None => format!("{} broke", number::count(breaks)),
    });
    Row {
        mark: Mark::of(rule),
        severity: rule.severity,
        holds: rule.verdict == RuleVerdict::Met || rule.reason == Reason::Identical,
        reported: rule.rule == RuleKind::Reported,
        metric: name(rule, several, spec.is_some_and(|spec| spec.direction == Direction::Lower), cleaner),
        rule: Clean::ours(word::rule(rule)),
        values: values(rule),
        change: or_none(match rule.unit {
            Some(_) => rise(rule),
            None => rule.delta.map(|delta| change::points(delta, spec)),
        }),
        interval: or_none(interval),
        p: or_none(rule.p.map(number::p_value)),
        p_adjusted: or_none(rule.p_adjusted.map(number::p_value)),
        cases: if rule.n == 0 && rule.planned == 0 { NONE.to_owned() } else { number::share(rule.n, rule.planned) },
        moves: or_none(moved.then(|| {
            format!(
                "{} up, {} down, {} same",
                number::count(rule.up),
                number::count(rule.down),
                number::count(rule.same)
            )
        })),
        breaks: or_none(breaks),
        detectable: or_none(rule.detectable.map(seen)),
        method: cleaner.line(&rule.method, NAME),
        finding: word::finding(rule),
        explanation: cleaner.line(&rule.explanation, PARAGRAPH),
    }
}

/// Of a resource beside the baseline, in per cent of it; positive is more.
fn rise(rule: &Comparison) -> Option<String> {
    let (baseline, current) = (rule.baseline.filter(|before| *before > 0.0)?, rule.current?);
    Some(number::percent(current / baseline - 1.0, rule.limit))
}

/// The smallest drop that would have been seen; a drop of more than the whole scale there is not.
fn seen(share: f64) -> String {
    if share > 1.0 {
        return "no drop".to_owned();
    }
    format!("{} points", number::margin((share * 1e4).ceil() / 1e4))
}

fn name(rule: &Comparison, several: bool, lower: bool, cleaner: &Cleaner) -> Clean {
    let mut name = if rule.metric.is_empty() { "whole run".to_owned() } else { rule.metric.to_string() };
    if let Some(slice) = &rule.slice {
        name = format!("{name} [{slice}]");
    }
    if several && !rule.target.is_empty() {
        name = format!("{name} ({})", rule.target);
    }
    if lower {
        name.push_str(" ↓");
    }
    cleaner.line(&name, NAME)
}

/// Both means for a comparison, the value for a limit; beside its limit a value keeps the digits that tell the side.
fn values(rule: &Comparison) -> String {
    if let Some(unit) = rule.unit {
        let limit = rule.limit.filter(|_| rule.rule == RuleKind::Resource);
        let shown = |value: f64| word::amount(value, unit, limit);
        return match (rule.baseline, rule.current) {
            (Some(baseline), Some(current)) => format!("{} → {}", shown(baseline), shown(current)),
            (None, Some(current)) => shown(current),
            (_, None) => NONE.to_owned(),
        };
    }
    match (rule.rule, rule.baseline, rule.current) {
        (
            RuleKind::Coverage
            | RuleKind::NewErrors
            | RuleKind::Baseline
            | RuleKind::Policy
            | RuleKind::Complete
            | RuleKind::MustPass,
            ..,
        ) => NONE.to_owned(),
        (_, Some(baseline), Some(current)) => number::pair(baseline, current),
        (_, None, Some(current)) => match rule.limit {
            Some(limit) => number::beside(current, limit),
            None => number::score(current),
        },
        (_, Some(baseline), None) => format!("{} → none", number::score(baseline)),
        (_, None, None) => NONE.to_owned(),
    }
}
