//! The second reading: cases in order, one at a time.

use super::entry::{Entry, OpenedFile};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::domain::Case;
use crate::rows::{RowReader, at_line, open};

/// Streams the selected cases; ends after the first error.
pub struct Cases<'d> {
    entries: &'d [Entry],
    entry: usize,
    file: usize,
    reading: Option<Reading>,
    index: usize,
    failed: bool,
}

/// A record of a file of an entry.
#[derive(Clone, Copy)]
pub(super) struct Position {
    pub entry: usize,
    pub file: usize,
    pub record: u32,
    pub checksum: u32,
}

struct Reading {
    reader: Box<dyn RowReader>,
    /// Records that were passed, and cases among them.
    records: u32,
    cases: usize,
}

impl<'d> Cases<'d> {
    pub(super) fn new(entries: &'d [Entry]) -> Self {
        Self { entries, entry: 0, file: 0, reading: None, index: 0, failed: false }
    }

    /// Where the case that was given last stands.
    pub(super) fn position(&self) -> Option<Position> {
        let reading = self.reading.as_ref()?;
        let opened = self.entries.get(self.entry)?.files.get(self.file)?;
        let checksum = *opened.checksums.get(reading.cases.checked_sub(1)?)?;
        Some(Position { entry: self.entry, file: self.file, record: reading.records.checked_sub(1)?, checksum })
    }

    fn advance(&mut self) -> Result<Option<Case>, Diagnostic> {
        loop {
            let Some(entry) = self.entries.get(self.entry) else { return Ok(None) };
            let Some(opened) = entry.files.get(self.file) else {
                self.entry += 1;
                self.file = 0;
                continue;
            };
            let mut reading = match self.reading.take() {
                Some(reading) => reading,
                None => Reading { reader: open(&opened.file, &entry.layout)?, records: 0, cases: 0 },
            };
            match reading.next(entry, opened)? {
                Some(mut case) => {
                    self.reading = Some(reading);
                    case.index = self.index;
                    self.index += 1;
                    return Ok(Some(case));
                }
                None => self.file += 1,
            }
        }
    }
}

impl Reading {
    fn next(&mut self, entry: &Entry, opened: &OpenedFile) -> Result<Option<Case>, Diagnostic> {
        while self.reader.advance()? {
            let record = self.records;
            self.records = self.records.saturating_add(1);
            if record >= opened.records {
                return Err(changed(opened, self.reader.line()));
            }
            if !opened.is_selected(record) {
                continue;
            }
            let same = opened.checksums.get(self.cases) == Some(&self.reader.checksum());
            self.cases += 1;
            if !same {
                return Err(changed(opened, self.reader.line()));
            }
            let row = self.reader.row()?;
            let built = entry.recipe.build(row, &opened.file.shown).map_err(|_| changed(opened, self.reader.line()))?;
            return Ok(Some(built.case));
        }
        if self.records == opened.records { Ok(None) } else { Err(changed(opened, self.reader.line())) }
    }
}

fn changed(opened: &OpenedFile, line: u32) -> Diagnostic {
    at_line(&opened.file.shown, line, "changed", format!("{} changed after it had been checked", opened.file.shown))
        .help("let nothing write to the data set during a run, then start again")
}

impl Iterator for Cases<'_> {
    type Item = Result<Case, Diagnostics>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        match self.advance() {
            Ok(case) => case.map(Ok),
            Err(problem) => {
                self.failed = true;
                Some(Err(problem.into()))
            }
        }
    }
}
