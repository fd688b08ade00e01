//! What every report shows, gathered once: redacted, ordered, numbers formatted. Renderers only lay it out.
//!
//! Texts are read for the cases that are shown in detail, so memory grows with these and not with the run.

mod advice;
mod history;
mod row;
mod shown;
mod totals;
mod trouble;

pub use history::Levels;
pub use row::Row;
pub use shown::{Move, Shown};
pub use totals::Totals;
pub use trouble::Trouble;

use super::clean::{Clean, Cleaner};
use super::source::TextSource;
use crate::domain::{Baseline, MetricSpec, Redactor, Run, Severity, Verdict};

/// Changed cases shown with their texts.
pub const DETAILED: usize = 200;

/// Characters of the texts of a changed case; renderers cut them further.
pub(crate) const EXCERPT: usize = 1_000;
pub(crate) const PARAGRAPH: usize = 2_000;
pub(crate) const NAME: usize = 200;

/// A run with its verdict, ready to be laid out.
pub struct View<'a> {
    pub run: &'a Run,
    pub verdict: &'a Verdict,
    pub headline: Clean,
    pub suite: Clean,
    /// The rules of metrics, and those over the whole run that do not simply hold; what does most to the build first.
    pub rows: Vec<Row>,
    /// Rules over the whole run that hold.
    pub held: Vec<&'static str>,
    /// Worst first, one entry a case; at most [`DETAILED`].
    pub broken: Vec<Shown>,
    /// Changed cases that are not in `broken`.
    pub broken_more: usize,
    /// Best first.
    pub fixed: Vec<Shown>,
    pub fixed_more: usize,
    /// What could not be measured, by metric and kind; the most frequent first.
    pub troubles: Vec<Trouble>,
    /// What a reader must know.
    pub notes: Vec<Clean>,
    /// What to do next, the first thing first.
    pub advice: Vec<Clean>,
    pub totals: Totals,
    /// Levels of the accepted runs, oldest first, and of this one.
    pub history: Vec<Levels>,
    /// The suite's file as the repository has it, where that is known.
    pub suite_file: Option<String>,
    pub cleaner: Cleaner,
    pub(crate) texts: Option<&'a dyn TextSource>,
}

impl<'a> View<'a> {
    /// Texts of cases come from `texts`; without it cases are shown without theirs. The old answers come from `baseline`.
    pub fn new(
        run: &'a Run,
        verdict: &'a Verdict,
        baseline: Option<&Baseline>,
        texts: Option<&'a dyn TextSource>,
        redactor: Redactor,
    ) -> Self {
        let cleaner = Cleaner::new(redactor);
        let library = shown::Library::new(run, baseline, texts, &cleaner);
        let (broken, fixed) = (library.group(&verdict.broken), library.group(&verdict.fixed));
        // The verdict lists the first of each metric, and counts all.
        let more = |shown: &[Shown], all: u64| usize::try_from(all).unwrap_or(usize::MAX).saturating_sub(shown.len());
        let broken_more = broken.1.max(more(&broken.0, verdict.cases.worse));
        let fixed_more = fixed.1.max(more(&fixed.0, verdict.cases.better));
        let (rows, held) = row::rows(verdict, &run.header.reported_targets(), &cleaner);
        let troubles = trouble::troubles(run, texts, &cleaner);
        let advice = advice::advice(run, verdict, &troubles, &cleaner);
        Self {
            run,
            verdict,
            headline: cleaner.line(&verdict.headline, PARAGRAPH),
            suite: cleaner.line(&verdict.suite, NAME),
            rows,
            held,
            broken: broken.0,
            broken_more,
            fixed: fixed.0,
            fixed_more,
            troubles,
            notes: verdict.notes.iter().map(|note| cleaner.line(note, PARAGRAPH)).collect(),
            advice,
            totals: totals::totals(run, verdict),
            history: history::history(verdict, baseline, &cleaner),
            suite_file: None,
            cleaner,
            texts,
        }
    }

    /// What the cases in `broken` are: without a baseline there is nothing that they are worse than.
    pub(crate) fn broken_title(&self) -> &'static str {
        if self.verdict.baseline.is_some() { "Cases that got worse" } else { "Cases that failed" }
    }

    /// Masks secrets in texts that the view does not hold.
    pub fn redactor(&self) -> &Redactor {
        self.cleaner.redactor()
    }

    /// What tells this suite's comment from others': its name, masked.
    pub fn comment_key(&self) -> String {
        self.redactor().redact(&self.verdict.suite)
    }

    /// The explanations that a reader needs: of all rules that do something to the build or did not simply hold.
    pub(crate) fn told(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.severity != Severity::Ok || !(row.holds || row.reported))
    }

    /// The others, for who wants to know.
    pub(crate) fn quiet(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.severity == Severity::Ok && row.holds && !row.reported)
    }
}

pub(crate) fn spec_of<'v>(verdict: &'v Verdict, metric: &str) -> Option<&'v MetricSpec> {
    verdict.metrics.iter().find(|spec| *spec.name == *metric)
}
