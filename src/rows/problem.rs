//! Problems of data files. They say where and why, and never show a row: rows may be private.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics, Source, Span};
use crate::text::suggest;

/// Problems that are listed one by one; further ones are counted.
const LISTED: usize = 20;

/// An error in a data file. `column` is in characters from 1.
pub(crate) fn at(file: &str, line: u32, column: u32, code: &'static str, message: impl Into<String>) -> Diagnostic {
    // No text, and none for this line: the renderer names the place and shows nothing of the row.
    let source = Source { path: file.to_owned(), text: String::new(), first_line: line.saturating_add(1) };
    Diagnostic::error(code, message).at(&Arc::new(source), Span::new(line, column, 0))
}

/// An error about a whole record.
pub(crate) fn at_line(file: &str, line: u32, code: &'static str, message: impl Into<String>) -> Diagnostic {
    at(file, line, 1, code, message)
}

/// A column's name or a key as it may stand in a message: without control characters, and not longer than a line.
pub(crate) fn shown_name(name: &str) -> String {
    let short: String = name.chars().take(60).collect();
    let cut = if short.len() < name.len() { "…" } else { "" };
    format!("`{}{cut}`", short.escape_debug())
}

/// A mapped column that the header does not have: said once, not for every row.
pub(crate) fn missing_column(file: &str, field: &str, column: &str, header: &[String]) -> Diagnostic {
    let names: Vec<_> = header.iter().filter(|name| !name.is_empty()).take(20).map(|name| shown_name(name)).collect();
    let message = format!("there is no column `{column}`, which is mapped to `{field}`");
    let hint =
        suggest::did_you_mean(column, header.iter().map(String::as_str)).map(|hint| hint + " ").unwrap_or_default();
    at(file, 1, 1, "unmatched-field", message).help(format!("{hint}the columns are {}", names.join(", ")))
}

/// A number of lines or records as it fits into a place.
pub(crate) fn count32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Collects problems of many rows without growing with their number.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    listed: Diagnostics,
    errors: usize,
    unlisted: usize,
}

impl Problems {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        self.errors += 1;
        if self.errors <= LISTED {
            self.listed.push(diagnostic);
        } else {
            self.unlisted += 1;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.errors == 0
    }

    /// All that was found, with a last entry for those that were only counted.
    pub(crate) fn into_diagnostics(self) -> Diagnostics {
        let mut all = self.listed;
        if self.unlisted > 0 {
            let noun = if self.unlisted == 1 { "problem" } else { "problems" };
            all.push(Diagnostic::error("more-problems", format!("and {} more {noun} in the data", self.unlisted)));
        }
        all
    }
}
