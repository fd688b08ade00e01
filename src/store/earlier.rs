//! The outcomes of a results file, to be written again with further trials between them.

use std::path::Path;

use super::first_line::FirstLine;
use super::lines::Lines;
use super::run_builder::RunBuilder;
use super::{OutcomeLine, ResultsWriter, StoreError};

/// Outcomes of an earlier part of a run, in the order of the file.
pub struct EarlierOutcomes {
    lines: Lines,
    /// Read and not copied yet.
    next: Option<(String, OutcomeLine)>,
}

impl EarlierOutcomes {
    /// # Errors
    /// `Absent`, `Io`, or `Corrupt` with the line.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let mut lines = Lines::open(path)?;
        // The run's own line is written anew.
        lines.next()?;
        let mut earlier = Self { lines, next: None };
        earlier.advance()?;
        Ok(earlier)
    }

    /// Copies all lines up to those of `case` under `target`, and these.
    ///
    /// # Errors
    /// As [`EarlierOutcomes::open`], and those of writing.
    pub(crate) fn copy_through(
        &mut self,
        case: &str,
        target: &str,
        writer: &mut ResultsWriter,
        builder: &mut RunBuilder,
    ) -> Result<(), StoreError> {
        let mut seen = false;
        while let Some((_, line)) = &self.next {
            let this = line.case == case && line.target == target;
            if seen && !this {
                break;
            }
            seen |= this;
            self.copy(writer, builder)?;
        }
        Ok(())
    }

    /// Copies what is left.
    ///
    /// # Errors
    /// As [`EarlierOutcomes::copy_through`].
    pub(crate) fn copy_rest(mut self, writer: &mut ResultsWriter, builder: &mut RunBuilder) -> Result<(), StoreError> {
        while self.next.is_some() {
            self.copy(writer, builder)?;
        }
        Ok(())
    }

    fn copy(&mut self, writer: &mut ResultsWriter, builder: &mut RunBuilder) -> Result<(), StoreError> {
        if let Some((text, line)) = self.next.take() {
            let offset = writer.copy(&text)?;
            builder.outcome(&line, offset).map_err(|problem| self.lines.corrupt(problem))?;
        }
        self.advance()
    }

    fn advance(&mut self) -> Result<(), StoreError> {
        self.next = None;
        let Some(line) = self.lines.next()? else { return Ok(()) };
        let first: FirstLine = self.lines.parse(&line.text)?;
        if first.kind.as_deref() == Some("outcome") {
            let outcome = self.lines.parse(&line.text)?;
            self.next = Some((line.text, outcome));
        }
        Ok(())
    }
}
