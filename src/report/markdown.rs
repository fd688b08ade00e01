//! `comment.md`: the verdict first, then the numbers, then the cases, below every host's limit.

use std::fmt::Write as _;

use super::console::{rule_word, verdict_word};
use super::escape::markdown;
use super::{Shown, View, number};
use crate::domain::{Comparison, Decision, RuleKind, RuleVerdict, Severity};

/// GitHub refuses 65,536; every count (characters, UTF-16 units, bytes) stays below.
const LIMIT: usize = 60_000;

pub(super) fn render(view: &View<'_>) -> Result<String, String> {
    let verdict = view.verdict;
    let mut text = format!("<!-- scoregate:{} -->\n", key(&verdict.suite));
    let alert = match verdict.decision {
        Decision::Passed => "TIP",
        Decision::Failed => "CAUTION",
        Decision::Inconclusive | Decision::NotEvaluated => "WARNING",
    };
    let _ = writeln!(text, "> [!{alert}]\n> **{}**\n", markdown(&verdict.headline, 400));
    if verdict.partial {
        text.push_str("**Partial:** the run was cancelled; what was measured is shown.\n\n");
    }
    text.push_str("| metric | rule | baseline | now | change | interval | p | n | verdict |\n");
    text.push_str("| --- | --- | ---: | ---: | ---: | --- | ---: | ---: | --- |\n");
    let rows: Vec<String> = verdict.rules.iter().map(row).collect();
    fill(&mut text, &rows, "rules");
    text.push('\n');
    let said: Vec<String> = verdict.rules.iter().filter(|rule| worth_saying(rule)).map(paragraph).collect();
    fill(&mut text, &said, "explanations");
    section(&mut text, "What got worse", &view.broken);
    section(&mut text, "What got better", &view.fixed);
    let notes: Vec<String> = verdict.notes.iter().map(|note| format!("- {}\n", markdown(note, 600))).collect();
    fill(&mut text, &notes, "notes");
    Ok(view.redactor.redact(&text))
}

/// The marker's key: letters, digits, `-` and `_` only.
fn key(suite: &str) -> String {
    suite.chars().map(|letter| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' }).collect()
}

fn worth_saying(rule: &Comparison) -> bool {
    !rule.explanation.is_empty() && (rule.severity != Severity::Ok || rule.verdict != RuleVerdict::Met)
}

fn paragraph(rule: &Comparison) -> String {
    format!("{}\n\n", markdown(&rule.explanation, 1200))
}

/// Adds whole parts while they fit, and says how many are left out.
fn fill(text: &mut String, parts: &[String], what: &str) {
    for (at, part) in parts.iter().enumerate() {
        if text.len() + part.len() > LIMIT {
            let _ = writeln!(text, "\n{} more {what} in the full report.\n", parts.len() - at);
            return;
        }
        text.push_str(part);
    }
}

fn row(rule: &Comparison) -> String {
    let dash = || "–".to_owned();
    let limit = rule.limit.filter(|_| rule.rule == RuleKind::Threshold);
    let interval = |[low, high]: [f64; 2]| {
        if rule.delta.is_some() {
            return format!("{} … {}", number::change(low), number::change(high));
        }
        format!("{} … {}", number::score(low, None), number::score(high, None))
    };
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        markdown(&rule.metric, 60),
        rule_word(rule.rule),
        rule.baseline.map_or_else(dash, |value| number::score(value, None)),
        rule.current.map_or_else(dash, |value| number::score(value, limit)),
        rule.delta.map_or_else(dash, number::change),
        rule.ci.map_or_else(dash, interval),
        rule.p_adjusted.or(rule.p).map_or_else(dash, |p| number::p_value(p).replace('<', "&lt;")),
        number::share(rule.n, rule.planned),
        verdict_word(rule),
    )
}

fn section(text: &mut String, title: &str, cases: &[Shown]) {
    const CLOSE: &str = "\n</details>\n\n";
    if cases.is_empty() || text.len() + 500 > LIMIT {
        return;
    }
    let _ = writeln!(text, "\n<details><summary>{title}: {} shown</summary>\n", cases.len());
    for (at, shown) in cases.iter().enumerate() {
        let part = one(shown);
        if text.len() + part.len() + CLOSE.len() > LIMIT {
            let _ = writeln!(text, "- {} more in the full report", cases.len() - at);
            break;
        }
        text.push_str(&part);
    }
    text.push_str(CLOSE);
}

fn one(shown: &Shown) -> String {
    let score = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |value| number::score(value, None));
    let mut part = format!(
        "- **{}** · {} · {} → {}\n",
        markdown(&shown.case.case, 120),
        markdown(&shown.case.metric, 60),
        score(shown.case.baseline),
        score(shown.case.current)
    );
    let mut line = |name: &str, value: &str| {
        if !value.trim().is_empty() {
            let _ = writeln!(part, "  - {name} {}", markdown(value, 300));
        }
    };
    line("question", &shown.question);
    line("before", shown.before.as_deref().unwrap_or_default());
    line("now", &shown.now);
    line("because", shown.reason.as_deref().unwrap_or_default());
    part
}
