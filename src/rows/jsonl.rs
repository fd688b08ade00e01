//! One JSON object a line, streamed. Only LF (with or without CR before it) ends a line; blank lines are skipped.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::sync::Arc;

use super::encoding::{UTF8_MARK, check_marks, decode, is_marked_utf16, is_utf8, not_utf8, read_whole};
use super::json_text::{self, Origin};
use super::problem::at_line;
use super::reader::checksum;
use super::{DataFile, Layout, Row, RowReader, budget};
use crate::diagnostic::{Diagnostic, Span};

const BUFFER: usize = 64 << 10;

pub(crate) struct Jsonl {
    file: Arc<str>,
    lines: Box<dyn BufRead + Send>,
    /// Without its line end.
    record: String,
    line: u32,
    /// Where `record` begins, and where the next line does.
    start: u64,
    next: u64,
    /// False where the bytes in the file are not the bytes that are read.
    plain: bool,
}

impl Jsonl {
    pub(crate) fn open(file: &DataFile, layout: &Layout) -> Result<Self, Diagnostic> {
        let unreadable =
            |error: std::io::Error| Diagnostic::error("unreadable", format!("cannot read {}: {error}", file.shown));
        let mut handle = File::open(&file.path).map_err(unreadable)?;
        let mut mark = Vec::new();
        (&mut handle).take(3).read_to_end(&mut mark).map_err(unreadable)?;
        let marked = mark == UTF8_MARK;
        let plain = is_utf8(layout.encoding) && !is_marked_utf16(&mark);
        let (lines, next): (Box<dyn BufRead + Send>, u64) = if plain {
            let next = if marked { UTF8_MARK.len() as u64 } else { 0 };
            handle.seek(SeekFrom::Start(next)).map_err(unreadable)?;
            (Box::new(BufReader::with_capacity(BUFFER, handle)), next)
        } else {
            let text = decode(&file.shown, read_whole(file)?, layout.encoding)?;
            (Box::new(Cursor::new(text.into_bytes())), 0)
        };
        Ok(Self { file: Arc::clone(&file.shown), lines, record: String::new(), line: 0, start: next, next, plain })
    }

    /// The next line, blank or not; false at the end.
    fn read(&mut self) -> Result<bool, Diagnostic> {
        let mut bytes = std::mem::take(&mut self.record).into_bytes();
        bytes.clear();
        let limit = budget::RECORD_BYTES as u64 + 2;
        let read = (&mut self.lines).take(limit).read_until(b'\n', &mut bytes);
        let length = read.map_err(|error| {
            at_line(&self.file, self.line.saturating_add(1), "unreadable", format!("cannot read on: {error}"))
        })?;
        if length == 0 {
            return Ok(false);
        }
        self.line = self.line.saturating_add(1);
        self.start = self.next;
        self.next = self.next.saturating_add(length as u64);
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
            if bytes.last() == Some(&b'\r') {
                bytes.pop();
            }
        }
        if bytes.len() > budget::RECORD_BYTES {
            let message = format!(
                "this line is longer than {} (limit: record bytes)",
                budget::shown(budget::RECORD_BYTES as u64)
            );
            return Err(at_line(&self.file, self.line, "too-large", message));
        }
        self.record = String::from_utf8(bytes).map_err(|error| {
            not_utf8(&self.file, error.as_bytes(), error.utf8_error().valid_up_to(), self.start, self.line)
        })?;
        if self.line == 1 {
            check_marks(&self.file, &self.record)?;
        }
        Ok(true)
    }
}

impl RowReader for Jsonl {
    fn advance(&mut self) -> Result<bool, Diagnostic> {
        while self.read()? {
            if !is_blank(&self.record) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn row(&self) -> Result<Row, Diagnostic> {
        json_text::row(&self.record, Origin { file: &self.file, line: self.line, before: 0 })
    }

    fn line(&self) -> u32 {
        self.line
    }

    fn place(&self, column: &str) -> Option<Span> {
        json_text::place(&self.record, Origin { file: &self.file, line: self.line, before: 0 }, column)
    }

    fn checksum(&self) -> u32 {
        checksum(self.record.as_bytes())
    }

    fn offset(&self) -> Option<u64> {
        self.plain.then_some(self.start)
    }
}

/// Only what JSON calls white space: anything else on a line is a record, or an error.
fn is_blank(line: &str) -> bool {
    line.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
}

/// Reads the record at `offset` again.
///
/// # Errors
/// The file changed or cannot be read.
pub(crate) fn read_at(handle: &mut File, offset: u64, file: &str) -> Result<Row, String> {
    let changed = |_| format!("{file} changed while it was in use");
    handle.seek(SeekFrom::Start(offset)).map_err(|error| format!("{file} cannot be read: {error}"))?;
    let mut bytes = Vec::new();
    let limit = budget::RECORD_BYTES as u64 + 2;
    BufReader::new(handle.take(limit))
        .read_until(b'\n', &mut bytes)
        .map_err(|error| format!("{file} cannot be read: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|_| changed(()))?;
    json_text::row(text.trim_end_matches(['\n', '\r']), Origin { file, line: 0, before: 0 }).map_err(|_| changed(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_beyond_the_budget_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("big.jsonl");
        std::fs::write(&path, format!("{{\"a\":\"{}\"}}", "x".repeat(budget::RECORD_BYTES))).unwrap();
        let file = DataFile { shown: "big.jsonl".into(), path };
        let error = Jsonl::open(&file, &Layout::default()).unwrap().advance().unwrap_err();
        assert!(error.message.contains("record bytes"), "{}", error.message);
    }

    #[test]
    fn a_record_can_be_read_again_at_its_offset() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        std::fs::write(&path, "\u{FEFF}{\"a\":1}\r\n\n{\"a\":2}").unwrap();
        let file = DataFile { shown: "a.jsonl".into(), path: path.clone() };
        let mut reader = Jsonl::open(&file, &Layout::default()).unwrap();
        let mut handle = File::open(&path).unwrap();
        for expected in [1, 2] {
            assert!(reader.advance().unwrap());
            let row = read_at(&mut handle, reader.offset().unwrap(), "a.jsonl").unwrap();
            assert_eq!(row.get("a"), Some(&serde_json::json!(expected)));
        }
        assert!(!reader.advance().unwrap());
        assert!(read_at(&mut handle, 5, "a.jsonl").unwrap_err().contains("changed"));
    }
}
