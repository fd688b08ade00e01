//! Problems of data files. They say where and why; [`super::excerpt::show`] adds the line, for whoever may see it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Mapping, RowReader};
use crate::diagnostic::{Diagnostic, Diagnostics, Source, Span};
use crate::text::suggest;

/// Problems that are listed one by one, of one file and of all; further ones are counted.
const LISTED_OF_FILE: usize = 20;
const LISTED: usize = 100;
/// Files whose further problems are counted one by one.
const COUNTED_FILES: usize = 10;

/// An error in a data file. `column` is in characters from 1.
pub(crate) fn at(file: &str, line: u32, column: u32, code: &'static str, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(code, message).at(&Arc::new(Source::new(file, "")), Span::new(line, column, 1))
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

/// What is wrong with a row, without the row's texts, and the field it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub reason: String,
    /// Its number among the fields of the mapping.
    pub field: Option<usize>,
}

impl From<String> for Fault {
    fn from(reason: String) -> Self {
        Self { reason, field: None }
    }
}

impl Fault {
    /// For `map_err`: the reason is about this field.
    pub(crate) fn of(field: usize) -> impl Fn(String) -> Self {
        move |reason| Self { reason, field: Some(field) }
    }

    /// The error at the field's value, or at the record where its place is not known.
    pub(crate) fn diagnostic(
        &self,
        code: &'static str,
        message: impl Into<String>,
        reader: &dyn RowReader,
        mapping: &Mapping,
        file: &str,
    ) -> Diagnostic {
        let column = || {
            let row = reader.row().ok()?;
            mapping.column(self.field?, &row).and_then(|column| reader.place(column))
        };
        let mut problem = at_line(file, reader.line(), code, message);
        problem.span = column().or(problem.span);
        problem
    }
}

/// A mapped column that the header does not have: said once, not for every row.
pub(crate) fn missing_column(file: &str, field: &str, column: &str, header: &[String]) -> Diagnostic {
    let names: Vec<_> = header.iter().filter(|name| !name.is_empty()).take(20).map(|name| shown_name(name)).collect();
    let message = format!("there is no column `{column}`, which is mapped to `{field}`");
    let hint =
        suggest::did_you_mean(column, header.iter().map(String::as_str)).map(|hint| hint + " ").unwrap_or_default();
    at(file, 1, 1, "unmatched-field", message).help(format!("{hint}the columns are {}", names.join(", ")))
}

/// Characters underlined of a value at most: enough to see which one is meant.
const UNDERLINED: usize = 40;

/// The place of a value that begins at line and column (from 1) and whose text in the file is `raw`.
pub(crate) fn span_of(line: u32, column: u32, raw: &str) -> Span {
    let length = raw.split(['\n', '\r']).next().unwrap_or_default().chars().take(UNDERLINED).count();
    Span::new(line, column, count32(length.max(1)))
}

/// A number of lines or records as it fits into a place.
pub(crate) fn count32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Collects problems of many rows without growing with their number. Many problems of one file hide none of another.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    listed: Diagnostics,
    /// By file: listed, and only counted.
    files: BTreeMap<String, (usize, usize)>,
    errors: usize,
}

impl Problems {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        let file = diagnostic.source.as_ref().map_or_else(String::new, |source| source.path.clone());
        let all: usize = self.files.values().map(|(listed, _)| listed).sum();
        let (listed, counted) = self.files.entry(file).or_default();
        self.errors += 1;
        if *listed < LISTED_OF_FILE && all < LISTED {
            *listed += 1;
            self.listed.push(diagnostic);
        } else {
            *counted += 1;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.errors
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.errors == 0
    }

    /// All that was found, with a last entry for those of a file that were only counted.
    pub(crate) fn into_diagnostics(self) -> Diagnostics {
        let mut all = self.listed;
        let noun = |count: usize| if count == 1 { "problem" } else { "problems" };
        let mut counted = self.files.into_iter().filter(|(_, (_, counted))| *counted > 0);
        for (file, (_, more)) in counted.by_ref().take(COUNTED_FILES) {
            let message = format!("and {more} more {} in {file}", noun(more));
            all.push(Diagnostic::error("more-problems", message));
        }
        let rest: usize = counted.map(|(_, (_, counted))| counted).sum();
        if rest > 0 {
            all.push(Diagnostic::error("more-problems", format!("and {rest} more {} in other files", noun(rest))));
        }
        all
    }
}
