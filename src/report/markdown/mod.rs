//! `comment.md` and `summary.md`: GitHub-flavoured Markdown.
//!
//! The verdict first, then the table, why, the cases that broke with the old answer beside the new, what to do next; the rest is
//! folded. A comment stays below 65,000 in every count, a summary below a mebibyte; what does not fit is left out from the end of a
//! section, worst first, sections closed, and counted.

mod budget;
mod marker;
mod sections;

pub use marker::{MARKER_START, marker};

use std::io::{self, Write};

use super::clean::{Clean, Cleaner};
use super::escape::markdown;
use super::settings::ReportSettings;
use super::view::View;
use crate::domain::Decision;
use crate::text::number;
use budget::Budget;
use sections::{advice, case_rows, explanations, footer, head, notes, numbers, quiet, rule_rows, troubles};

/// GitHub refuses a comment of 65,536 (its page says characters); the marker and a host's own words need room too.
const COMMENT: usize = 64_000;
/// GitHub takes 1 MiB a step, with what is there already.
const SUMMARY: usize = 1_000_000;

/// How much may be written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Size {
    Comment,
    /// Bytes.
    Summary(usize),
}

impl Size {
    fn limit(self) -> usize {
        match self {
            Self::Comment => COMMENT,
            Self::Summary(room) => room.min(SUMMARY),
        }
    }

    /// Characters of one text.
    fn excerpt(self) -> usize {
        match self {
            Self::Comment => 280,
            Self::Summary(_) => 800,
        }
    }
}

/// With the marker that finds the comment again as its first line.
pub(super) fn comment(view: &View<'_>, _settings: &ReportSettings, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{}\n{}", marker(&view.comment_key()), text(view, Size::Comment))
}

pub(super) fn summary(view: &View<'_>, _settings: &ReportSettings, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(text(view, Size::Summary(SUMMARY)).as_bytes())
}

/// The document without a marker.
pub(super) fn text(view: &View<'_>, size: Size) -> String {
    let limit = size.limit();
    // What must not be missing is made first, and its room kept.
    let (next, end) = (advice(view), format!("{}{}", notes(view), footer(view)));
    let mut doc = Budget::new(limit.saturating_sub(next.len() + end.len()));
    doc.add(&head(view));
    let share = limit / 4;
    doc.section(sections::TABLE, &rule_rows(view), "\n", 0, "rules", share);
    doc.add(&sections::legend(view));
    doc.section("", &explanations(view), "\n", 0, "explanations", share);
    doc.section(&format!("{}{}", list("Tags"), sections::TAGS), &sections::tag_rows(view), CLOSE, 0, "lines", share);
    let worse = case_rows(&view.broken, size.excerpt());
    let title = format!("{}: {}", view.broken_title(), view.broken.len() + view.broken_more);
    let open = view.verdict.decision != Decision::Passed || view.broken.iter().any(|shown| shown.decisive);
    doc.section(&folded(&title, open), &worse, CLOSE, view.broken_more, "cases", share);
    doc.section(
        &list(&format!(
            "Not measured: {}",
            number::counted(view.troubles.len() as u64, "kind of trouble", "kinds of trouble")
        )),
        &troubles(view),
        CLOSE,
        0,
        "kinds",
        share,
    );
    let better = case_rows(&view.fixed, size.excerpt());
    let title = format!("Cases that got better: {}", view.fixed.len() + view.fixed_more);
    doc.section(&folded(&title, false), &better, CLOSE, view.fixed_more, "cases", share);
    doc.section(&format!("{}{}", list("All numbers"), sections::NUMBERS), &numbers(view), CLOSE, 0, "rules", share);
    doc.section(&list("What holds"), &quiet(view), CLOSE, 0, "rules", share);
    doc.add_kept(&end);
    doc.finish()
}

/// Where there is no verdict: the problems.
pub(super) fn stopped(problems: &[String], room: usize) -> String {
    let mut doc = Budget::new(room.min(SUMMARY));
    doc.add("> [!WARNING]\n> ⚠️ **scoregate could not evaluate: there is no verdict**\n\n");
    let cleaner = Cleaner::default();
    let line = |problem: &String| format!("- {}\n", shown(&cleaner.line(problem, 1_000)));
    let lines: Vec<String> = problems.iter().map(line).collect();
    doc.section("", &lines, "\n", 0, "problems", SUMMARY);
    doc.finish()
}

const CLOSE: &str = "\n</details>\n\n";

fn folded(title: &str, open: bool) -> String {
    let open = if open { " open" } else { "" };
    format!("<details{open}><summary><b>{title}</b></summary>\n\n{}", sections::CASES)
}

fn list(title: &str) -> String {
    format!("<details><summary>{title}</summary>\n\n")
}

/// A text inside Markdown.
fn shown(text: &Clean) -> String {
    markdown(text).to_string()
}
