//! The text a diagnostic points into.

use std::fmt;

/// A file as it was read. Big data files keep only the lines that are shown: `text` may be one record.
#[derive(Clone)]
pub struct Source {
    /// As the user wrote it.
    pub path: String,
    pub text: String,
    /// Line number of the first line of `text`: 1 for whole files.
    pub first_line: u32,
    /// Numbers of lines that are not shown as they are in the file: secrets were masked, so that no column holds.
    pub masked: Vec<u32>,
}

impl Source {
    /// The same with `change` made to every line; `None` where that changes nothing.
    pub(super) fn changed(&self, change: impl Fn(&str) -> String) -> Option<Self> {
        let mut masked = self.masked.clone();
        let mut lines: Vec<String> = Vec::new();
        for (line, number) in self.text.split('\n').zip(self.first_line..) {
            let changed = change(line);
            if changed != line {
                masked.push(number);
            }
            lines.push(changed);
        }
        let is_changed = masked.len() > self.masked.len();
        is_changed.then(|| Self {
            path: self.path.clone(),
            text: lines.join("\n"),
            first_line: self.first_line,
            masked,
        })
    }

    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into(), first_line: 1, masked: Vec::new() }
    }
}

/// Without the text, which may be a whole file.
impl fmt::Debug for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Source({})", self.path)
    }
}

/// A place: line and column count from 1, columns in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    pub line: u32,
    pub column: u32,
    /// Characters to underline; 0: the rest of the line.
    pub length: u32,
}

impl Span {
    pub fn new(line: u32, column: u32, length: u32) -> Self {
        Self { line, column, length }
    }

    /// Whether `other` stands in it.
    pub fn holds(self, other: Span) -> bool {
        let end = |span: Span| if span.length == 0 { u32::MAX } else { span.column.saturating_add(span.length) };
        self.line == other.line && self.column <= other.column && end(other) <= end(self)
    }

    /// A whole line.
    pub fn line(line: u32) -> Self {
        Self { line, column: 1, length: 0 }
    }
}
