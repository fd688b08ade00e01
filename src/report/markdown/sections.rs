//! The parts of the document. Every line begins with words or signs of ours: robots read the first word of a line.

use std::fmt::Write as _;

use super::shown;
use crate::domain::{Decision, SliceLine};
use crate::report::change;
use crate::report::clean::Clean;
use crate::report::escape::markdown;
use crate::report::links::Links;
use crate::report::view::{Row, Shown, View, spec_of};
use crate::report::word::Mark;
use crate::text::number::{NONE, count, p_value, pair, score};

pub(super) const TABLE: &str = "| metric | asked | baseline → now | change | likely between | p | cases | found |\n\
                                | --- | --- | --- | ---: | --- | ---: | ---: | --- |\n";
pub(super) const NUMBERS: &str = "| metric | asked | p | p adjusted | moves | stable cases | would have seen | method |\n\
                                  | --- | --- | ---: | ---: | --- | --- | ---: | --- |\n";
pub(super) const CASES: &str = "| case | asked | before | now |\n| --- | --- | --- | --- |\n";

pub(super) const TAGS: &str = "| tag | metric | cases | baseline → now | change | p | decides |\n\
                                | --- | --- | ---: | --- | ---: | ---: | --- |\n";

/// The tags that the suite names.
pub(super) fn tag_rows(view: &View<'_>) -> Vec<String> {
    let row = |line: &SliceLine| {
        let spec = spec_of(view.verdict, &line.metric);
        let values = match (line.baseline, line.current) {
            (Some(baseline), Some(current)) => pair(baseline, current),
            (_, Some(current)) => score(current),
            (_, None) => NONE.to_owned(),
        };
        let several = view.run.header.targets.len() > 1;
        let target =
            if several { format!(" ({})", shown(&view.cleaner.line(&line.target, 40))) } else { String::new() };
        format!(
            "| **{}** | {}{target} | {} | {values} | {} | {} | {} |\n",
            shown(&view.cleaner.line(&line.tag, 60)),
            shown(&view.cleaner.line(&line.metric, 60)),
            count(line.n),
            line.delta.map_or_else(|| NONE.to_owned(), |delta| change::points(delta, spec)),
            number(&line.p.map_or_else(|| NONE.to_owned(), p_value)),
            if line.decides { "yes" } else { "shown only" },
        )
    };
    view.verdict.slice_table.iter().map(row).collect()
}

/// The verdict at a glance.
pub(super) fn head(view: &View<'_>) -> String {
    let (alert, mark) = match view.verdict.decision {
        Decision::Passed => ("TIP", Mark::Good),
        Decision::Failed => ("CAUTION", Mark::Bad),
        Decision::Inconclusive | Decision::NotEvaluated => ("WARNING", Mark::Open),
    };
    let mut text = format!("> [!{alert}]\n> {} **{}**\n", mark.picture(), shown(&view.headline));
    let suite = if view.suite.is_blank() { String::new() } else { format!("scoregate · {} · ", shown(&view.suite)) };
    let _ = writeln!(text, ">\n> {suite}{}", view.totals.measured);
    if view.verdict.partial {
        text.push_str(">\n> **Partial:** the run stopped early; this is what was measured.\n");
    }
    text.push('\n');
    text
}

pub(super) fn rule_rows(view: &View<'_>) -> Vec<String> {
    let row = |row: &Row| {
        // What decides is the one that allows for the number of metrics.
        let p = if row.p_adjusted == NONE { &row.p } else { &row.p_adjusted };
        format!(
            "| {} **{}** | {} | {} | {} | {} | {} | {} | {} |\n",
            row.mark.picture(),
            shown(&row.metric.cut(60)),
            shown(&row.rule),
            row.values,
            row.change,
            row.interval,
            number(p),
            row.cases,
            row.finding,
        )
    };
    view.rows.iter().map(row).collect()
}

/// `<1e-12` would begin a tag.
fn number(text: &str) -> String {
    text.replace('<', "&lt;")
}

pub(super) fn legend(view: &View<'_>) -> String {
    let mut parts = Vec::new();
    if view.rows.iter().any(|row| row.change != NONE) {
        parts.push("Change and interval in points: hundredths of the metric's scale, negative is worse.".to_owned());
    }
    if !view.held.is_empty() {
        parts.push(format!("Also checked: {}.", view.held.join(", ")));
    }
    if parts.is_empty() { String::new() } else { format!("<sub>{}</sub>\n\n", parts.join(" ")) }
}

/// Where the levels come from.
pub(super) fn history(view: &View<'_>) -> String {
    if view.history.is_empty() {
        return String::new();
    }
    let lines: Vec<String> =
        view.history.iter().map(|levels| format!("{} {}", markdown(&levels.metric), levels.values)).collect();
    format!("<sub>Accepted runs, oldest first: {}.</sub>\n\n", lines.join(" · "))
}

/// Why, for each rule that did not simply hold.
pub(super) fn explanations(view: &View<'_>) -> Vec<String> {
    let mut said: Vec<&Clean> = Vec::new();
    let mut parts = Vec::new();
    for row in view.told().filter(|row| !row.explanation.is_blank()) {
        if !said.contains(&&row.explanation) {
            said.push(&row.explanation);
            parts.push(explained(row));
        }
    }
    parts
}

fn explained(row: &Row) -> String {
    format!("- {} {}\n", row.mark.picture(), shown(&row.explanation))
}

/// What simply holds, with its words.
pub(super) fn quiet(view: &View<'_>) -> Vec<String> {
    view.quiet().filter(|row| !row.explanation.is_blank()).map(explained).collect()
}

/// One row a case: what moved, what was asked, the old answer beside the new.
pub(super) fn case_rows(cases: &[Shown], excerpt: usize, links: &Links) -> Vec<String> {
    cases.iter().map(|case| case_row(case, excerpt, links)).collect()
}

fn case_row(case: &Shown, excerpt: usize, links: &Links) -> String {
    let target = case.target.as_ref().map(|target| format!(" ({})", shown(&target.cut(40)))).unwrap_or_default();
    let mut name = format!("case **{}**{target}", shown(&case.case.cut(100)));
    for one in case.moves.iter().take(8) {
        let _ = write!(name, "<br>• {}&nbsp;{}", shown(&one.metric.cut(60)), one.scores);
    }
    if case.moves.len() > 8 {
        let _ = write!(name, "<br>• {} more metrics", case.moves.len() - 8);
    }
    if let Some(place) = &case.place_text {
        let words = shown(&place.cut(120));
        let _ = match case.place.as_ref().and_then(|place| links.at(place)) {
            Some(address) => write!(name, "<br><sub>at [{words}]({address})</sub>"),
            None => write!(name, "<br><sub>at {words}</sub>"),
        };
    }
    let mut question = quoted(case.question.as_ref(), excerpt);
    if let Some(reference) = &case.reference {
        let _ = write!(question, "<br><sub>expected:</sub> {}", quoted(Some(reference), excerpt / 2));
    }
    let mut now = quoted(case.now.as_ref(), excerpt);
    if case.same_answer() {
        now = "_the same answer_".to_owned();
    }
    for reason in case.reasons().into_iter().take(3) {
        let _ = write!(now, "<br><sub>judged:</sub> {}", quoted(Some(reason), excerpt / 2));
    }
    format!("| {name} | {question} | {} | {now} |\n", quoted(case.before.as_ref(), excerpt))
}

/// In quotation marks, so that no rendered line begins with a text.
fn quoted(text: Option<&Clean>, limit: usize) -> String {
    text.map_or_else(|| NONE.to_owned(), |text| format!("“{}”", shown(&text.cut(limit))))
}

pub(super) fn troubles(view: &View<'_>) -> Vec<String> {
    let one = |trouble: &crate::report::view::Trouble| {
        let message = trouble.message.as_ref().map(|text| format!(": {}", quoted(Some(text), 300))).unwrap_or_default();
        format!(
            "- {} × **{}** ({}), first in case {}{message}\n",
            crate::text::number::count(trouble.count),
            trouble.kind.word().replace('_', " "),
            shown(&trouble.what.cut(60)),
            shown(&trouble.case.cut(100)),
        )
    };
    view.troubles.iter().map(one).collect()
}

/// The numbers that few people need.
pub(super) fn numbers(view: &View<'_>) -> Vec<String> {
    let known = |row: &&Row| row.p != NONE || row.moves != NONE || row.detectable != NONE;
    let row = |row: &Row| {
        let seen = &row.detectable;
        format!(
            "| {} {} | {} | {} | {} | {} | {} | {seen} | {} |\n",
            row.mark.picture(),
            shown(&row.metric.cut(60)),
            shown(&row.rule),
            number(&row.p),
            number(&row.p_adjusted),
            row.moves,
            row.breaks,
            if row.method.is_blank() { NONE.to_owned() } else { format!("by {}", shown(&row.method)) },
        )
    };
    view.rows.iter().filter(known).map(row).collect()
}

pub(super) fn advice(view: &View<'_>) -> String {
    if view.advice.is_empty() {
        return String::new();
    }
    let mut text = "**What to do next**\n\n".to_owned();
    for (at, line) in view.advice.iter().enumerate() {
        let _ = writeln!(text, "{}. → {}", at + 1, shown(line));
    }
    text.push('\n');
    text
}

/// At most a page of them.
pub(super) fn notes(view: &View<'_>) -> String {
    const NOTES: usize = 20;
    let mut text = String::new();
    for note in view.notes.iter().take(NOTES) {
        let _ = writeln!(text, "- ℹ️ {}", shown(&note.cut(400)));
    }
    if view.notes.len() > NOTES {
        let more = crate::text::number::counted((view.notes.len() - NOTES) as u64, "more note", "more notes");
        let _ = writeln!(text, "- ℹ️ {more} in verdict.json");
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// What it took, and what it was compared with.
pub(super) fn footer(view: &View<'_>, links: &Links) -> String {
    let mut parts = vec![view.totals.calls.clone()];
    parts.extend(view.totals.spent.clone());
    if let Some(baseline) = &view.verdict.baseline {
        let mut text = format!("baseline {}", shown(&view.cleaner.line(&baseline.place, 120)));
        let commit = view.verdict.baseline_runs.last().and_then(|run| run.commit.as_deref());
        if let Some(commit) = commit.and_then(|commit| commit.get(..commit.len().min(10))) {
            let _ = write!(text, " of commit {}", shown(&view.cleaner.line(commit, 12)));
        }
        parts.push(text);
    }
    if !view.run.header.tool.is_empty() {
        parts.push(format!("scoregate {}", shown(&view.cleaner.line(&view.run.header.tool, 30))));
    }
    parts.extend(links.run().map(|address| format!("[the run with all its reports]({address})")));
    format!("<sub>{}</sub>\n", parts.join(" · "))
}
