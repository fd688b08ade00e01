//! Rows → cases. `fields` maps columns; `where` and `sample` select.
//!
//! ```text
//! settings ─► files ─► rows ─► Recipe (fields, id, digest) ─► Case ─► where ─► sample ─► Dataset ─► (keep, part) ─► cases
//! ```
//!
//! [`Dataset::open`] reads everything once and reports every problem before anything is paid for; [`Dataset::cases`] then streams the
//! cases again, so that memory does not grow with the texts of line-based formats: a case costs four bytes and a bit in between.
//!
//! Promise: no row is lost or altered silently; ids are unique; ids do not depend on a row's position; a file that changes between
//! the two readings is an error.

mod build;
mod entry;
mod field;
mod narrow;
mod repeat;
mod sample;
mod settings;
mod strata;
mod stream;
#[cfg(test)]
mod tests;

pub use settings::{DatasetSettings, FieldSettings, MetadataSettings, SampleSettings};
pub use strata::Strata;
pub use stream::Cases;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::domain::{CaseSet, Digest, Shard};
use crate::rows::{Problems, show};
use crate::suite::{Block, Suite};
use entry::{Entry, Scan};

/// A checked data set.
pub struct Dataset {
    /// Cases selected (after `where` and `sample`), at least one; in all shards together.
    pub len: usize,
    /// True where `where` or `sample` left rows out.
    pub filtered: bool,
    /// Digest over all selected cases' ids and contents, whatever their order.
    pub digest: Digest,
    /// Warnings: repeated questions, empty references, empty files.
    pub warnings: Diagnostics,
    entries: Vec<Entry>,
    shard: Option<Shard>,
}

impl Dataset {
    /// Reads and checks every file.
    ///
    /// # Errors
    /// Every problem of every file and of the settings: unreadable or broken rows, missing inputs, ids that stand twice, an entry that
    /// selects no case.
    pub fn open(suite: &Suite) -> Result<Self, Diagnostics> {
        if suite.dataset.is_empty() {
            return Err(Diagnostic::error(
                "no-dataset",
                "the suite names no data set, so there is nothing to evaluate",
            )
            .help("add `dataset: [{ path: data/questions.jsonl }]`")
            .into());
        }
        let mut diagnostics = Diagnostics::default();
        let mut entries: Vec<Entry> =
            suite.dataset.iter().filter_map(|block| Entry::build(block, suite, &mut diagnostics)).collect();
        let mut problems = Problems::default();
        let mut scans: Vec<Scan> = entries.iter_mut().map(|entry| entry.scan(&mut problems)).collect();
        repeat::ids(&entries, &mut scans, &mut problems);
        let mut warnings = Diagnostics::default();
        // What is wrong with one entry hides nothing of the others.
        for (entry, scan) in entries.iter().zip(&scans) {
            entry.check_selection(scan, &mut diagnostics, &mut warnings);
        }
        if problems.is_empty() && !diagnostics.has_errors() {
            repeat::questions(&entries, scans.iter_mut(), &mut warnings);
        }
        if asks_for_rows(suite) && scans.iter().all(|scan| scan.sound && scan.selected > 0 && scan.answered == 0) {
            diagnostics.extend(no_answers(&entries));
        }
        diagnostics.extend(problems.into_diagnostics());
        if diagnostics.has_errors() {
            show_lines(&entries, &mut diagnostics);
            return Err(diagnostics);
        }
        warnings.extend(diagnostics);
        let mut set = CaseSet::default();
        scans.iter().for_each(|scan| set.add_sum(scan.sum, scan.selected as u64));
        let len = scans.iter().map(|scan| scan.selected).sum::<usize>();
        let filtered = scans.iter().any(|scan| scan.selected < scan.records);
        Ok(Self { len, filtered, digest: set.digest(), warnings, entries, shard: None })
    }

    /// Gives problems of this data set's rows the lines they are about.
    pub fn show_lines(&self, problems: &mut Diagnostics) {
        show_lines(&self.entries, problems);
    }

    /// The cases in order. Rows were checked by `open`; a file that changed in between is an error here.
    pub fn cases(&self) -> Box<dyn Iterator<Item = Result<crate::domain::Case, Diagnostics>> + Send + '_> {
        let shard = self.shard;
        let here = move |case: &crate::domain::Case| shard.is_none_or(|shard| shard.holds(&case.id));
        // What cannot be read is not left out.
        Box::new(Cases::new(&self.entries).filter(move |case| case.as_ref().map_or(true, here)))
    }
}

fn show_lines(entries: &[Entry], problems: &mut Diagnostics) {
    for entry in entries {
        entry.files.iter().for_each(|opened| show(problems, &opened.file, &entry.layout));
    }
}

/// A target scores the answers recorded in the rows.
fn asks_for_rows(suite: &Suite) -> bool {
    let of_rows = |block: &&Block| {
        let empty = block.value.is_null() || block.value.as_object().is_some_and(serde_json::Map::is_empty);
        &*block.kind == "recorded" && empty
    };
    suite.targets.iter().any(|block| of_rows(&block))
}

/// Not one row holds the answer that a target is to score: a run would measure nothing.
fn no_answers(entries: &[Entry]) -> Diagnostics {
    let mut problems = Diagnostics::default();
    for entry in entries {
        let message = "no row has a recorded answer, and a target `recorded` asks for them".to_owned();
        let help = match entry.answers_taken().first() {
            Some((column, field)) => format!(
                "`{column}` is mapped to `{field}`, so that it is not the answer; write `answer: {column}` as well if it is both"
            ),
            None => {
                "name their column with `fields: { answer: … }`, or name the system to ask under `targets`".to_owned()
            }
        };
        problems.push(entry.problem("/fields", "no-answers", message).help(help));
    }
    problems
}

/// The JSON Schema of one entry of `dataset`.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(DatasetSettings)
}
