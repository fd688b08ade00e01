//! The cases that moved: the old answer beside the new.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr as _;

use super::wrap::{excerpt, narrow};
use super::{BOLD, DIM, Screen, WIDEST, title};
use crate::domain::Decision;
use crate::report::clean::Clean;
use crate::report::view::{Shown, View};

/// Cases shown with their texts.
const WORSE: usize = 5;
/// Cases that are only named.
const NAMED: usize = 3;
/// Lines of one text.
const LINES: usize = 3;

pub(super) fn worse(text: &mut String, view: &View<'_>, screen: Screen) {
    let all = view.broken.len() + view.broken_more;
    // Where the gate passes, single cases are luck or tolerated: their names are enough.
    if all == 0 || (view.verdict.decision == Decision::Passed && !view.broken.iter().any(|shown| shown.decisive)) {
        return names(text, screen, view.broken_title(), &view.broken, all);
    }
    let shown = view.broken.len().min(WORSE);
    let of = if shown < all { format!(" ({shown} of {all}, the others in the reports)") } else { String::new() };
    title(text, screen, &format!("{}, worst first{of}", view.broken_title()));
    for case in view.broken.iter().take(WORSE) {
        one(text, case, screen);
    }
}

fn one(text: &mut String, shown: &Shown, screen: Screen) {
    let width = screen.width.min(WIDEST);
    let name = narrow(&shown.case, 40);
    let target = shown.target.as_ref().map(|target| format!(" ({})", narrow(target, 20))).unwrap_or_default();
    let used = name.width() + target.width() + 4;
    let moved = narrow(&shown.moved(), width.saturating_sub(used).max(10));
    let _ = writeln!(text, "\n  {}{target}  {moved}", screen.style(BOLD, &name));
    if let Some(place) = &shown.place_text {
        let _ = writeln!(text, "    {}", screen.style(DIM, &narrow(place, width.saturating_sub(4))));
    }
    let mut said = |label: &str, words: &Clean| {
        let first = format!("    {label:<9}");
        for line in excerpt(words, &first, "             ", width, LINES) {
            let _ = writeln!(text, "{line}");
        }
    };
    if let Some(question) = &shown.question {
        said("asked", question);
    }
    if let Some(reference) = &shown.reference {
        said("expected", reference);
    }
    match (&shown.before, &shown.now) {
        (Some(answer), Some(_)) if shown.same_answer() => {
            said("answer", &Clean::ours(format!("(unchanged) {answer}")));
        }
        (before, now) => {
            if let Some(before) = before {
                said("before", before);
            }
            if let Some(now) = now {
                said("now", now);
            }
        }
    }
    for reason in shown.reasons().into_iter().take(2) {
        said("because", reason);
    }
}

pub(super) fn better(text: &mut String, view: &View<'_>, screen: Screen) {
    names(text, screen, "Cases that got better", &view.fixed, view.fixed.len() + view.fixed_more);
}

/// On one or two lines: the first few of `all`.
fn names(text: &mut String, screen: Screen, title: &str, cases: &[Shown], all: usize) {
    if all == 0 {
        return;
    }
    let named = cases.iter().take(NAMED).map(|shown| format!("{} ({})", shown.case.cut(40), shown.moved().cut(60)));
    let mut named: Vec<String> = named.collect();
    if all > NAMED {
        named.push(format!("{} more", all - NAMED));
    }
    let line = Clean::ours(format!("{title}: {}", named.join(", ")));
    text.push('\n');
    for line in excerpt(&line, "", "  ", screen.width.min(WIDEST), LINES) {
        let _ = writeln!(text, "{line}");
    }
}
