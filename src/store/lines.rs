//! A file line by line, with places for messages.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use super::StoreError;

/// Longest line that is read: a named limit, so that a damaged file cannot fill the memory.
pub(super) const LINE_LIMIT: u64 = 64 * 1024 * 1024;

pub(super) struct Line {
    pub(super) text: String,
    pub(super) offset: u64,
    /// Nothing follows, and it has no line end: a write may have been cut here.
    pub(super) last: bool,
}

pub(super) struct Lines {
    pub(super) path: PathBuf,
    reader: BufReader<File>,
    pub(super) number: u64,
    offset: u64,
}

impl Lines {
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let file = open(path)?;
        Ok(Self { path: path.to_owned(), reader: BufReader::new(file), number: 0, offset: 0 })
    }

    /// The next line that is not blank.
    pub(super) fn next(&mut self) -> Result<Option<Line>, StoreError> {
        loop {
            let mut bytes = Vec::new();
            let read = self.reader.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut bytes);
            let read = read.map_err(|source| StoreError::Io { path: self.path.clone(), source })?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            let offset = self.offset;
            self.offset += read as u64;
            let ended = bytes.last() == Some(&b'\n');
            if !ended && read as u64 == LINE_LIMIT {
                return Err(self.corrupt(format!("a line is longer than {LINE_LIMIT} bytes")));
            }
            let text = match String::from_utf8(bytes) {
                Ok(text) => text,
                // A write that was cut inside a character: what is left is shown to be no whole line by its reader.
                Err(error) if !ended && error.utf8_error().error_len().is_none() => {
                    String::from_utf8_lossy(error.as_bytes()).into_owned()
                }
                Err(_) => return Err(self.corrupt("the line is not UTF-8")),
            };
            let mut text = text;
            text.truncate(text.trim_end_matches(['\n', '\r']).len());
            if let Some(rest) = text.strip_prefix('\u{feff}') {
                text = rest.to_owned();
            }
            if !text.trim().is_empty() {
                return Ok(Some(Line { text, offset, last: !ended }));
            }
        }
    }

    pub(super) fn parse<T: serde::de::DeserializeOwned>(&self, text: &str) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|error| self.corrupt(json_problem(&error)))
    }

    pub(super) fn corrupt(&self, problem: impl Into<String>) -> StoreError {
        StoreError::Corrupt { path: self.path.clone(), line: self.number, problem: problem.into() }
    }
}

/// What is wrong with a line. Its number is the file's to say: to the parser every line is the first.
pub(super) fn json_problem(error: &serde_json::Error) -> String {
    let (reason, column) = json_parts(error);
    column.map_or_else(|| reason.clone(), |column| format!("{reason} (column {column})"))
}

/// The reason, and the byte column where the text stops being JSON; where it is JSON of another form, the column says nothing.
pub(super) fn json_parts(error: &serde_json::Error) -> (String, Option<usize>) {
    let text = error.to_string();
    let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
    if error.is_syntax() || error.is_eof() {
        (format!("not JSON: {reason}"), Some(error.column().max(1)))
    } else {
        (reason.to_owned(), None)
    }
}

pub(super) fn open(path: &Path) -> Result<File, StoreError> {
    File::open(path).map_err(|source| {
        if source.kind() == std::io::ErrorKind::NotFound {
            StoreError::Absent { path: path.to_owned() }
        } else {
            StoreError::Io { path: path.to_owned(), source }
        }
    })
}
