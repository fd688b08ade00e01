//! The verdict on a screen, and live progress. The only place of this room that looks at the terminal and writes to it.
//!
//! The screen, from top to bottom: the headline; a table that is understood at a glance; why, for each rule that did not simply
//! hold; the cases that got worse, the old answer beside the new; what could not be measured; what to know; what to do next.

mod cases;
mod pace;
mod progress;
mod rate;
mod table;
mod wrap;

pub use progress::{Progress, ProgressStyle};

use std::fmt::Write as _;
use std::io::IsTerminal as _;

use anstyle::{AnsiColor, Style};

use super::clean::Clean;
use super::escape::{guard, terminal_line};
use super::view::View;
use super::word::Mark;
use crate::domain::Decision;
use wrap::wrapped;

/// Explanations on a screen; the reports have all.
const EXPLAINED: usize = 8;
const TROUBLES: usize = 5;
/// Wider lines are hard to read.
const WIDEST: usize = 110;

pub(super) const BOLD: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();

/// How the screen looks.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    /// Columns.
    pub width: usize,
    /// Whether styles are written. A stream that cannot show them should be one that takes them out (`anstream`).
    pub styled: bool,
}

impl Screen {
    /// For standard output: as wide as the terminal; 110 columns where there is none.
    pub fn stdout() -> Self {
        let stdout = std::io::stdout();
        let size = if stdout.is_terminal() { terminal_size::terminal_size_of(&stdout) } else { None };
        let width = size.map_or(WIDEST, |(terminal_size::Width(width), _)| usize::from(width));
        Self { width: width.max(40), styled: true }
    }

    pub(super) fn style(self, style: Style, text: &str) -> String {
        if self.styled { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

pub(super) fn colour(mark: Mark) -> Style {
    let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
    match mark {
        Mark::Good => colour(AnsiColor::Green),
        Mark::Better => colour(AnsiColor::Green).bold(),
        Mark::Bad => colour(AnsiColor::Red).bold(),
        Mark::Warning | Mark::Open => colour(AnsiColor::Yellow),
        Mark::Nothing => DIM,
    }
}

/// The verdict for a terminal.
pub fn screen(view: &View<'_>, screen: Screen) -> String {
    let mut text = String::new();
    headline(&mut text, view, screen);
    text.push_str(&table::table(view, screen));
    explanations(&mut text, view, screen);
    cases::worse(&mut text, view, screen);
    cases::better(&mut text, view, screen);
    troubles(&mut text, view, screen);
    list(&mut text, screen, "Worth knowing", &view.notes);
    list(&mut text, screen, "What to do next", &view.advice);
    guard(&text)
}

fn headline(text: &mut String, view: &View<'_>, screen: Screen) {
    let mark = match view.verdict.decision {
        Decision::Passed => Mark::Good,
        Decision::Failed => Mark::Bad,
        Decision::Inconclusive | Decision::NotEvaluated => Mark::Open,
    };
    let first = format!("{} ", mark.sign());
    for line in wrapped(&view.headline, &first, "  ", screen.width.min(WIDEST)) {
        let _ = writeln!(text, "{}", screen.style(colour(mark).bold(), &line));
    }
    let mut facts = vec![view.totals.measured.clone(), view.totals.calls.clone()];
    facts.extend(view.totals.spent.clone());
    facts.extend(view.totals.elapsed.as_ref().map(|time| format!("in {time}")));
    for line in wrapped(&Clean::ours(facts.join(" · ")), "  ", "  ", screen.width.min(WIDEST)) {
        let _ = writeln!(text, "{}", screen.style(DIM, &line));
    }
    if view.verdict.partial {
        let _ = writeln!(
            text,
            "  {}",
            screen.style(colour(Mark::Open), "partial: the run stopped early; this is what was measured")
        );
    }
    text.push('\n');
}

fn explanations(text: &mut String, view: &View<'_>, screen: Screen) {
    let mut told: Vec<(Mark, &Clean)> = Vec::new();
    for row in view.told().filter(|row| !row.explanation.is_blank()) {
        if told.iter().all(|(_, said)| **said != row.explanation) {
            told.push((row.mark, &row.explanation));
        }
    }
    if told.is_empty() {
        return;
    }
    title(text, screen, "Why");
    for (mark, words) in told.iter().take(EXPLAINED) {
        paragraph(text, screen, *mark, words);
    }
    if told.len() > EXPLAINED {
        let _ = writeln!(text, "  … {} more in the reports", told.len() - EXPLAINED);
    }
}

fn paragraph(text: &mut String, screen: Screen, mark: Mark, words: &Clean) {
    let width = screen.width.min(WIDEST);
    for (at, line) in wrapped(words, "    ", "    ", width).into_iter().enumerate() {
        let rest = if at == 0 { line.get(3..).unwrap_or_default() } else { &line };
        let sign = if at == 0 { format!("  {}", screen.style(colour(mark), mark.sign())) } else { String::new() };
        let _ = writeln!(text, "{sign}{rest}");
    }
}

fn troubles(text: &mut String, view: &View<'_>, screen: Screen) {
    if view.troubles.is_empty() {
        return;
    }
    title(text, screen, "Not measured");
    for trouble in view.troubles.iter().take(TROUBLES) {
        let count = crate::text::number::count(trouble.count);
        let message = trouble.message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
        let line =
            format!("{count} × {} ({}), first in case {}{message}", trouble.kind.word(), trouble.what, trouble.case);
        paragraph(text, screen, if trouble.of_target { Mark::Bad } else { Mark::Open }, &Clean::ours(line).cut(400));
    }
    if view.troubles.len() > TROUBLES {
        let more = crate::text::number::counted((view.troubles.len() - TROUBLES) as u64, "more kind", "more kinds");
        let _ = writeln!(text, "  … {more} in the reports");
    }
}

fn list(text: &mut String, screen: Screen, name: &str, items: &[Clean]) {
    if items.is_empty() {
        return;
    }
    title(text, screen, name);
    for item in items {
        for line in wrapped(item, "  • ", "    ", screen.width.min(WIDEST)) {
            let _ = writeln!(text, "{line}");
        }
    }
}

pub(super) fn title(text: &mut String, screen: Screen, name: &str) {
    let _ = writeln!(text, "\n{}", screen.style(BOLD, terminal_line(&Clean::ours(name)).as_str()));
}
