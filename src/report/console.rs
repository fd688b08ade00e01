//! The verdict on a screen: a table that is understood at a glance, the cases that broke, what must be known.

use std::fmt::Write as _;

use comfy_table::{ContentArrangement, Table, presets};

use super::escape::terminal;
use super::{Shown, View, number};
use crate::domain::{Comparison, RuleKind, RuleVerdict, Severity};

/// Cases shown with their texts.
const CASES: usize = 5;

pub(super) fn render(view: &View<'_>) -> String {
    let mut text = String::new();
    let verdict = view.verdict;
    let _ = writeln!(text, "{}\n", terminal(&verdict.headline, 400));
    let _ = writeln!(text, "{}", table(view));
    let held: Vec<&str> = verdict
        .rules
        .iter()
        .filter(|rule| rule.metric.is_empty() && rule.verdict == RuleVerdict::Met)
        .map(|rule| rule_word(rule.rule))
        .collect();
    if !held.is_empty() {
        let _ = writeln!(text, "\nalso hold: {}", held.join(", "));
    }
    for rule in verdict.rules.iter().filter(|rule| worth_saying(rule)) {
        let _ = writeln!(text, "\n{}", terminal(&rule.explanation, 1200));
    }
    if !view.broken.is_empty() {
        let _ = writeln!(text, "\nWhat got worse, worst first:");
        view.broken.iter().take(CASES).for_each(|shown| case(&mut text, shown));
        if view.broken.len() > CASES {
            let _ = writeln!(text, "  … {} more in the reports", view.broken.len() - CASES);
        }
    }
    for note in &verdict.notes {
        let _ = writeln!(text, "\nnote: {}", terminal(note, 600));
    }
    view.redactor.redact(&text)
}

/// Every rule that does something to the build, and every inconclusive one.
fn worth_saying(rule: &Comparison) -> bool {
    !rule.explanation.is_empty() && (rule.severity != Severity::Ok || rule.verdict != RuleVerdict::Met)
}

fn table(view: &View<'_>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["metric", "rule", "baseline", "now", "change", "interval", "p", "n", "verdict"]);
    let several = view.run.header.targets.len() > 1;
    for rule in view.verdict.rules.iter().filter(|rule| !rule.metric.is_empty() || rule.verdict != RuleVerdict::Met) {
        let mut metric = terminal(&rule.metric, 40);
        if several && !rule.target.is_empty() {
            let _ = write!(metric, " ({})", terminal(&rule.target, 20));
        }
        let limit = rule.limit.filter(|_| rule.rule == RuleKind::Threshold);
        let dash = || "–".to_owned();
        table.add_row([
            metric,
            rule_word(rule.rule).to_owned(),
            rule.baseline.map_or_else(dash, |value| number::score(value, None)),
            rule.current.map_or_else(dash, |value| number::score(value, limit)),
            rule.delta.map_or_else(dash, number::change),
            rule.ci.map_or_else(dash, |[low, high]| interval(rule, low, high)),
            rule.p_adjusted.or(rule.p).map_or_else(dash, number::p_value),
            number::share(rule.n, rule.planned),
            verdict_word(rule).to_owned(),
        ]);
    }
    table
}

fn interval(rule: &Comparison, low: f64, high: f64) -> String {
    if rule.delta.is_some() {
        return format!("{} … {}", number::change(low), number::change(high));
    }
    format!("{} … {}", number::score(low, None), number::score(high, None))
}

pub(super) fn rule_word(rule: RuleKind) -> &'static str {
    match rule {
        RuleKind::NotWorse => "not worse",
        RuleKind::MaxDrop => "allowed drop",
        RuleKind::Threshold => "threshold",
        RuleKind::PassRate => "pass rate",
        RuleKind::EachCase => "each case",
        RuleKind::Percentile => "percentile",
        RuleKind::MustPass => "must pass",
        RuleKind::Coverage => "measured",
        RuleKind::NewErrors => "new errors",
        RuleKind::Baseline => "baseline",
        RuleKind::Complete => "complete",
    }
}

/// What a rule found, with what it does to the build.
pub(super) fn verdict_word(rule: &Comparison) -> &'static str {
    match (rule.verdict, rule.severity) {
        (RuleVerdict::Met, _) if rule.improved => "ok, improved",
        (RuleVerdict::Met, _) => "ok",
        (RuleVerdict::Violated, Severity::Fail) => "FAILED",
        (RuleVerdict::Violated, _) => "missed (not gating)",
        (RuleVerdict::Inconclusive, Severity::Block | Severity::Fail) => "INCONCLUSIVE",
        (RuleVerdict::Inconclusive, _) => "inconclusive",
        (RuleVerdict::NotEvaluated, Severity::Block | Severity::Fail) => "NOT EVALUATED",
        (RuleVerdict::NotEvaluated, _) => "not evaluated",
    }
}

fn case(text: &mut String, shown: &Shown) {
    let case = &shown.case;
    let score = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |value| number::score(value, None));
    let (before, now) = (score(case.baseline), score(case.current));
    let place = case.place.as_ref().map(|place| format!("  {}:{}", terminal(&place.file, 200), place.line));
    let _ = writeln!(
        text,
        "  {}  {}  {before} → {now}{}",
        terminal(&case.case, 80),
        terminal(&case.metric, 40),
        place.unwrap_or_default()
    );
    let mut line = |name: &str, value: &str| {
        if !value.trim().is_empty() {
            let _ = writeln!(text, "    {name:<9}{}", terminal(value, 160));
        }
    };
    line("question", &shown.question);
    line("before", shown.before.as_deref().unwrap_or_default());
    line("now", &shown.now);
    line("because", shown.reason.as_deref().unwrap_or_default());
}
