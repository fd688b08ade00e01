//! A file as text, and what it looks like.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::nan::tamed;
use crate::diagnostic::Diagnostic;
use crate::rows::{DataFile, decode, read_whole};
use crate::store::{BadLine, FileKind, StoreError};

/// Bytes in which a file shows what it is, before all of it is read.
const HEAD: u64 = 1 << 20;

/// What the text begins as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One JSON object.
    Object,
    /// One JSON list.
    List,
    /// A JSON object a line.
    Lines,
    Xml,
    /// Anything else: cells with a header.
    Cells,
}

/// A file in memory.
pub(super) struct Text {
    pub(super) path: PathBuf,
    pub(super) text: String,
    pub(super) shape: Shape,
    /// Keys of the object, or of the first record of a list or of lines; the columns of a header.
    keys: Vec<String>,
    /// The metrics that are compared; empty: all.
    pub(super) wanted: Vec<String>,
}

/// A record of a list, or a line.
pub(super) struct Record {
    pub(super) line: u64,
    pub(super) value: Map<String, Value>,
}

/// True where the first lines are those of a results file, a baseline, or lines of case, metric and value.
///
/// # Errors
/// `Absent`, `Io`, or `Corrupt` for an empty file.
pub(super) fn is_ours(path: &Path) -> Result<bool, StoreError> {
    match FileKind::of(path) {
        Ok(FileKind::Baseline | FileKind::Results) => return Ok(true),
        Ok(FileKind::Scores) => {}
        // No line at all; a line that is no text is no line of ours.
        Err(StoreError::Corrupt { line: 0, path, problem }) => {
            return Err(StoreError::Corrupt { path, line: 0, problem });
        }
        Err(StoreError::Corrupt { .. }) => return Ok(false),
        Err(error) => return Err(error),
    }
    let io = |source| StoreError::Io { path: path.to_owned(), source };
    let mut head = Vec::new();
    std::fs::File::open(path).map_err(io)?.take(HEAD).read_to_end(&mut head).map_err(io)?;
    let head = String::from_utf8_lossy(&head);
    let mut lines = head.trim_start_matches('\u{feff}').lines().map(str::trim).filter(|line| !line.is_empty());
    let (Some(first), more) = (lines.next(), lines.next().is_some()) else { return Ok(false) };
    Ok(match serde_json::from_str::<Value>(&tamed(first)) {
        Ok(Value::Object(keys)) => keys.contains_key("case") && keys.contains_key("metric"),
        Ok(_) => false,
        // Half a line before other lines is a mistake in lines of scores; alone, or a lone brace, it is the start of a document.
        Err(_) => more && first.len() > 1 && first.starts_with('{') && first.ends_with('}'),
    })
}

impl Text {
    /// # Errors
    /// `Io`, or `Corrupt` where the bytes are no text, or a JSON text is broken.
    pub(super) fn open(path: &Path, wanted: &[String]) -> Result<Self, StoreError> {
        let whole = |problem: String| StoreError::Corrupt { path: path.to_owned(), line: 0, problem };
        let file = DataFile { shown: path.display().to_string().into(), path: path.to_owned() };
        let bytes = read_whole(&file).map_err(|problem| whole(problem.message))?;
        if bytes.starts_with(b"PK\x03\x04") {
            let help =
                "this is a zip archive; of an inspect_ai log make JSON first: `inspect log dump FILE > log.json`";
            return Err(whole(help.to_owned()));
        }
        let text = decode(&file.shown, bytes, None).map_err(|problem| at_line(path, &problem))?;
        let mut text =
            Self { path: path.to_owned(), text, shape: Shape::Cells, keys: Vec::new(), wanted: wanted.to_vec() };
        text.look()?;
        Ok(text)
    }

    fn look(&mut self) -> Result<(), StoreError> {
        let start = self.text.trim_start();
        match start.as_bytes().first() {
            Some(b'{' | b'[') => {}
            Some(b'<') => {
                self.shape = Shape::Xml;
                return Ok(());
            }
            _ => {
                let border = char::from(self.delimiter());
                let names = self.header().split(border).map(|name| name.trim().trim_matches('"').to_owned());
                self.keys = names.collect();
                return Ok(());
            }
        }
        let text = tamed(&self.text).into_owned();
        let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = lines().next().unwrap_or_default();
        if lines().nth(1).is_some()
            && let Some(keys) = object_keys(first)
        {
            (self.shape, self.keys) = (Shape::Lines, keys);
        } else if let Some(keys) = object_keys(&text) {
            (self.shape, self.keys) = (Shape::Object, keys);
        } else {
            serde_json::from_str::<serde::de::IgnoredAny>(&text).map_err(|error| self.broken(&error))?;
            let items: Vec<&RawValue> = serde_json::from_str(&text).map_err(|error| self.broken(&error))?;
            self.shape = Shape::List;
            self.keys = items.first().and_then(|item| object_keys(item.get())).unwrap_or_default();
        }
        self.text = text;
        Ok(())
    }

    fn broken(&self, error: &serde_json::Error) -> StoreError {
        let text = error.to_string();
        let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
        let cut = if error.is_eof() { "; the file seems to be cut off" } else { "" };
        StoreError::Corrupt {
            path: self.path.clone(),
            line: error.line() as u64,
            problem: format!("not JSON: {reason}{cut}"),
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|known| known == key)
    }

    /// A record's keys are looked at, or those of the document.
    pub(super) fn has_any(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.has(key))
    }

    /// The header of a file of cells.
    fn header(&self) -> &str {
        self.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default()
    }

    /// What stands most often between the names of the header.
    pub(super) fn delimiter(&self) -> u8 {
        let header = self.header();
        let count = |byte: u8| header.bytes().filter(|other| *other == byte).count();
        // Of equally many the first: a comma may stand in a name.
        let most = [b'\t', b';', b'|', b','].into_iter().max_by_key(|byte| count(*byte));
        most.filter(|byte| count(*byte) > 0).unwrap_or(b',')
    }

    /// What is said of a file that nothing fits.
    pub(super) fn nothing_fits(&self) -> String {
        let keys = || {
            let names: Vec<String> = self.keys.iter().take(8).map(|key| format!("`{}`", key.escape_debug())).collect();
            if names.is_empty() { "no keys".to_owned() } else { names.join(", ") }
        };
        match self.shape {
            Shape::Object => format!("no known format: a JSON object with {}", keys()),
            Shape::List => format!("no known format: a JSON list whose first item has {}", keys()),
            Shape::Lines => format!("no known format: JSON lines, the first with {}", keys()),
            Shape::Xml => "no known format: XML without <testsuite>".to_owned(),
            Shape::Cells => "no known format: the first line is no header of cells with scores".to_owned(),
        }
    }

    /// The file as a whole cannot be used.
    pub(super) fn whole(&self, problem: impl Into<String>) -> StoreError {
        StoreError::Corrupt { path: self.path.clone(), line: 0, problem: problem.into() }
    }

    /// The members of the document, unparsed.
    ///
    /// # Errors
    /// `Corrupt` where it is no object.
    pub(super) fn members(&self) -> Result<HashMap<String, &RawValue>, StoreError> {
        serde_json::from_str(&self.text).map_err(|error| self.broken(&error))
    }

    /// The records of a list that is a part of the text, each with its line; what is no object is told with its line.
    pub(super) fn list(&self, list: &RawValue) -> Result<Vec<Result<Record, BadLine>>, StoreError> {
        let items: Vec<&RawValue> = serde_json::from_str(list.get())
            .map_err(|_| self.bad(self.line_of(list.get()), "a list is needed here"))?;
        let (mut line, mut counted) = (1_u64, 0_usize);
        let at_its_line = |item: &RawValue| {
            let start = self.offset(item.get());
            line += newlines(self.text.get(counted..start).unwrap_or_default());
            counted = start.max(counted);
            record(line, item.get())
        };
        Ok(items.into_iter().map(at_its_line).collect())
    }

    /// The records of lines, or of a document that is a list.
    pub(super) fn records(&self) -> Result<Vec<Result<Record, BadLine>>, StoreError> {
        if self.shape == Shape::Lines {
            let lines = self.text.lines().zip(1_u64..).filter(|(line, _)| !line.trim().is_empty());
            return Ok(lines.map(|(text, line)| record(line, text)).collect());
        }
        let list: &RawValue = serde_json::from_str(&self.text).map_err(|error| self.broken(&error))?;
        self.list(list)
    }

    fn offset(&self, part: &str) -> usize {
        (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }

    /// The line in which a part of the text begins.
    pub(super) fn line_of(&self, part: &str) -> u64 {
        newlines(self.text.get(..self.offset(part)).unwrap_or_default()) + 1
    }

    pub(super) fn bad(&self, line: u64, problem: impl Into<String>) -> StoreError {
        StoreError::Corrupt { path: self.path.clone(), line, problem: problem.into() }
    }
}

/// A problem that a reader of rows found.
pub(super) fn at_line(path: &Path, problem: &Diagnostic) -> StoreError {
    let line = problem.span.map_or(0, |span| u64::from(span.line));
    StoreError::Corrupt { path: path.to_owned(), line, problem: problem.message.clone() }
}

fn newlines(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

fn object_keys(text: &str) -> Option<Vec<String>> {
    let mut keys: Vec<String> = serde_json::from_str::<HashMap<String, &RawValue>>(text).ok()?.into_keys().collect();
    keys.sort();
    Some(keys)
}

fn record(line: u64, text: &str) -> Result<Record, BadLine> {
    let bad = |problem: String| BadLine { line, column: None, problem };
    match serde_json::from_str(text) {
        Ok(Value::Object(value)) => Ok(Record { line, value }),
        Ok(_) => Err(bad("this is no JSON object with named fields".to_owned())),
        Err(error) => {
            let text = error.to_string();
            let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
            Err(bad(format!("not JSON: {reason}")))
        }
    }
}
