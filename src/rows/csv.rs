//! CSV and TSV with a header (RFC 4180), held in memory. Only LF (with or without CR before it) ends a record, so a lone CR stays
//! in its cell; quotes that are never closed, and text behind a closing quote, are errors rather than guesses.

use std::io::Cursor;
use std::sync::Arc;

use ::csv::{ByteRecord, Reader, ReaderBuilder, Terminator};
use serde_json::{Map, Value};

use super::encoding::{decode, read_whole};
use super::problem::{at, at_line, count32, shown_name, span_of};
use super::reader::checksum;
use super::{DataFile, Layout, Row, RowReader, budget};
use crate::diagnostic::{Diagnostic, Span};

/// The text, shared between the reader and the places.
#[derive(Clone)]
struct Shared(Arc<String>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

pub(crate) struct Csv {
    file: Arc<str>,
    text: Shared,
    cells: Reader<Cursor<Shared>>,
    delimiter: u8,
    columns: Vec<String>,
    record: ByteRecord,
    /// Bytes of the current record.
    start: usize,
    end: usize,
    line: u32,
    number: u32,
}

impl Csv {
    pub(crate) fn open(file: &DataFile, layout: &Layout, delimiter: u8) -> Result<Self, Diagnostic> {
        let text = decode(&file.shown, read_whole(file)?, layout.encoding)?;
        Self::new(Arc::clone(&file.shown), text, layout.delimiter.unwrap_or(delimiter))
    }

    fn new(file: Arc<str>, text: String, delimiter: u8) -> Result<Self, Diagnostic> {
        let text = Shared(Arc::new(text));
        let cells = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .terminator(Terminator::Any(b'\n'))
            .from_reader(Cursor::new(text.clone()));
        let mut csv = Self {
            file,
            text,
            cells,
            delimiter,
            columns: Vec::new(),
            record: ByteRecord::new(),
            start: 0,
            end: 0,
            line: 1,
            number: 0,
        };
        csv.read_header()?;
        Ok(csv)
    }

    fn read_header(&mut self) -> Result<(), Diagnostic> {
        if !self.read()? {
            return Ok(());
        }
        self.check_quotes()?;
        let columns: Vec<String> = (0..self.record.len()).map(|at| self.cell(at).trim().to_owned()).collect();
        for (at, name) in columns.iter().enumerate() {
            if !name.is_empty() && columns.iter().take(at).any(|earlier| earlier == name) {
                let message = format!("the header names the column {} twice", shown_name(name));
                return Err(self.wrong(self.cell_place(at), "duplicate-column", message));
            }
            if name.contains('\r') {
                return Err(at_line(
                    &self.file,
                    self.line,
                    "line-ends",
                    "a column's name contains a carriage return: the lines of this file end in CR alone",
                )
                .help("save the file with LF or CRLF line ends"));
            }
        }
        if let [only] = columns.as_slice()
            && let Some(other) = [';', '\t', ',', '|'].into_iter().find(|other| only.contains(*other))
        {
            return Err(at_line(
                &self.file,
                self.line,
                "delimiter",
                "the header is a single column, but looks like several",
            )
            .help(format!("set `delimiter: \"{}\"`", other.escape_default())));
        }
        self.columns = columns;
        Ok(())
    }

    /// The next record, blank or not; false at the end.
    fn read(&mut self) -> Result<bool, Diagnostic> {
        let from = self.consumed();
        let more = self.cells.read_byte_record(&mut self.record);
        if !more.map_err(|error| at_line(&self.file, self.line, "bad-csv", format!("not CSV: {error}")))? {
            return Ok(false);
        }
        let bytes = self.text.0.as_bytes();
        let skipped = bytes.get(from..).unwrap_or_default().iter().take_while(|byte| **byte == b'\n').count();
        let start = from + skipped;
        let passed = bytes.get(self.start..start).unwrap_or_default();
        self.line = self.line.saturating_add(count32(passed.iter().filter(|byte| **byte == b'\n').count()));
        self.start = start;
        self.end = self.consumed();
        Ok(true)
    }

    fn consumed(&self) -> usize {
        usize::try_from(self.cells.position().byte()).unwrap_or(usize::MAX)
    }

    fn raw(&self) -> &[u8] {
        self.text.0.as_bytes().get(self.start..self.end).unwrap_or_default()
    }

    /// The cell, without the CR of a CRLF line end.
    fn cell(&self, at: usize) -> &str {
        let cell = self.record.get(at).unwrap_or_default();
        let raw = self.raw();
        let is_last = at + 1 == self.record.len();
        let crlf = is_last && (raw.ends_with(b"\r\n") || (raw.ends_with(b"\r") && self.end == self.text.0.len()));
        let cell = if crlf { cell.strip_suffix(b"\r").unwrap_or(cell) } else { cell };
        std::str::from_utf8(cell).unwrap_or_default()
    }

    fn is_blank(&self) -> bool {
        self.record.len() == 1 && self.cell(0).trim().is_empty() && !self.raw().contains(&b'"')
    }

    fn check_quotes(&self) -> Result<(), Diagnostic> {
        let Some((offset, what)) = quote_problem(self.raw(), self.delimiter) else { return Ok(()) };
        let (line, column) = self.position(offset);
        Err(at(&self.file, line, column, "bad-csv", what)
            .help("cells with quotes are written as \"she said \"\"no\"\"\""))
    }

    /// Line and column in the file of the byte at `offset` of the record.
    fn position(&self, offset: usize) -> (u32, u32) {
        let before = self.raw().get(..offset).unwrap_or_default();
        let lines = count32(before.iter().filter(|byte| **byte == b'\n').count());
        let last = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let column = count32(String::from_utf8_lossy(last).chars().count());
        (self.line.saturating_add(lines), column.saturating_add(1))
    }

    /// Where the cell with this number stands.
    fn cell_place(&self, number: usize) -> Option<Span> {
        let raw = self.raw();
        let mut quoted = false;
        let mut borders = raw.iter().enumerate().filter_map(|(offset, byte)| {
            quoted ^= *byte == b'"';
            (!quoted && *byte == self.delimiter).then_some(offset)
        });
        let start = match number.checked_sub(1) {
            None => 0,
            Some(before) => borders.nth(before)?.saturating_add(1),
        };
        let end = borders.next().unwrap_or(raw.len());
        let (line, column) = self.position(start);
        Some(span_of(line, column, &String::from_utf8_lossy(raw.get(start..end)?)))
    }

    fn wrong(&self, place: Option<Span>, code: &'static str, message: String) -> Diagnostic {
        let mut problem = at_line(&self.file, self.line, code, message);
        problem.span = place.or(problem.span);
        problem
    }
}

/// Where the quotes of a record do not follow RFC 4180: (byte offset, what is wrong).
fn quote_problem(raw: &[u8], delimiter: u8) -> Option<(usize, &'static str)> {
    enum At {
        Start,
        Bare,
        Quoted(usize),
        Closed,
    }
    let mut state = At::Start;
    for (offset, byte) in raw.iter().copied().enumerate() {
        state = match (state, byte) {
            (At::Start, b'"') => At::Quoted(offset),
            (At::Quoted(_), b'"') => At::Closed,
            (quoted @ At::Quoted(_), _) => quoted,
            (At::Closed, b'"') => At::Quoted(offset),
            (_, byte) if byte == delimiter => At::Start,
            (At::Closed, b'\r' | b'\n') => At::Closed,
            (At::Closed, _) => return Some((offset, "text behind a closing quote")),
            (At::Start | At::Bare, _) => At::Bare,
        };
    }
    match state {
        At::Quoted(offset) => Some((offset, "this quote is never closed, so the rest of the file would be one cell")),
        _ => None,
    }
}

impl RowReader for Csv {
    fn advance(&mut self) -> Result<bool, Diagnostic> {
        if self.columns.is_empty() {
            return Ok(false);
        }
        loop {
            if !self.read()? {
                return Ok(false);
            }
            if self.is_blank() {
                continue;
            }
            self.number = self.number.saturating_add(1);
            if self.raw().len() > budget::RECORD_BYTES {
                let message = format!(
                    "this record is longer than {} (limit: record bytes)",
                    budget::shown(budget::RECORD_BYTES as u64)
                );
                return Err(at_line(&self.file, self.line, "too-large", message));
            }
            return Ok(true);
        }
    }

    fn row(&self) -> Result<Row, Diagnostic> {
        self.check_quotes()?;
        if self.record.len() != self.columns.len() {
            let message = format!(
                "record {} has {} cells, the header has {}",
                self.number,
                self.record.len(),
                self.columns.len()
            );
            // The first cell too many, or the end of a record with too few.
            let place =
                self.cell_place(self.columns.len()).or_else(|| self.cell_place(self.record.len().saturating_sub(1)));
            return Err(self
                .wrong(place, "wrong-width", message)
                .help("cells that contain the delimiter are written in quotes"));
        }
        let mut map = Map::with_capacity(self.columns.len());
        for (at, name) in self.columns.iter().enumerate() {
            let cell = self.cell(at);
            if cell.len() > budget::CELL_BYTES {
                let message = format!(
                    "record {}: a cell is longer than {} (limit: cell bytes)",
                    self.number,
                    budget::shown(budget::CELL_BYTES as u64)
                );
                return Err(self.wrong(self.cell_place(at), "too-large", message));
            }
            if !name.is_empty() {
                map.insert(name.clone(), if cell.is_empty() { Value::Null } else { Value::String(cell.to_owned()) });
            } else if !cell.is_empty() {
                let message =
                    format!("record {} has text in column {}, which has no name in the header", self.number, at + 1);
                return Err(self
                    .wrong(self.cell_place(at), "unnamed-column", message)
                    .help("name the column in the header, or empty its cells"));
            }
        }
        Ok(Row::new(self.line, map))
    }

    fn line(&self) -> u32 {
        self.line
    }

    fn place(&self, column: &str) -> Option<Span> {
        self.cell_place(self.columns.iter().position(|name| name == column)?)
    }

    fn checksum(&self) -> u32 {
        checksum(self.raw())
    }

    fn columns(&self) -> Option<&[String]> {
        Some(&self.columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Result<Vec<Row>, Diagnostic> {
        let mut csv = Csv::new("f.csv".into(), text.to_owned(), b',')?;
        let mut rows = Vec::new();
        while csv.advance()? {
            rows.push(csv.row()?);
        }
        Ok(rows)
    }

    fn cells(row: &Row) -> Vec<String> {
        row.value.as_object().unwrap().values().map(|value| value.as_str().unwrap_or("<null>").to_owned()).collect()
    }

    #[test]
    fn records_start_where_they_start() {
        let rows = rows("a,b\r\n\r\n1,\"x\r\ny\"\r\n\n  \n2,\"\"\"q\"\"\"\r\n3,z").unwrap();
        assert_eq!(rows.iter().map(|row| row.line).collect::<Vec<_>>(), [3, 7, 8]);
        assert_eq!(rows.iter().map(cells).collect::<Vec<_>>(), [["1", "x\r\ny"], ["2", "\"q\""], ["3", "z"]]);
    }

    #[test]
    fn a_lone_carriage_return_stays_in_its_cell() {
        let rows = rows("a,b\nx\ry,\"z\r\"\r\nend,\"w\r\"\r").unwrap();
        assert_eq!(rows.iter().map(cells).collect::<Vec<_>>(), [["x\ry", "z\r"], ["end", "w\r"]]);
    }

    #[test]
    fn broken_records_are_located() {
        for (text, line, word) in [
            ("a,b\n1,2\n3,\"open\n4,5\n", 3, "never closed"),
            ("a,b\n1,\"x\" y\n", 2, "behind a closing quote"),
            ("a,b\n1,2\n1,2,3\n", 3, "record 2 has 3 cells"),
            ("a,b\n1\n", 2, "has 1 cells"),
            ("a,,b\n1,x,2\n", 2, "no name"),
            ("a,b,a\n1,2,3\n", 1, "twice"),
            ("a;b\n1;2\n", 1, "single column"),
            ("a\rb,c", 1, "CR alone"),
        ] {
            let error = rows(text).expect_err(text);
            assert!(error.message.contains(word), "{text:?}: {}", error.message);
            assert_eq!(error.span.map(|span| span.line), Some(line), "{text:?}");
        }
    }

    #[test]
    fn an_empty_cell_is_nothing() {
        assert_eq!(rows("a,b,\n,x,\n").unwrap().iter().map(cells).collect::<Vec<_>>(), [["<null>", "x"]]);
        assert!(rows("").unwrap().is_empty());
        assert!(rows("a,b\r\n").unwrap().is_empty());
    }

    proptest::proptest! {
        #[test]
        fn what_a_csv_writer_writes_is_read_back(records in proptest::collection::vec(("[a-z,\"\r\n ]{1,8}", "[a-z,\"\r\n]{1,8}"), 0..6)) {
            let mut writer = ::csv::WriterBuilder::new().quote_style(::csv::QuoteStyle::Always).from_writer(Vec::new());
            writer.write_record(["a", "b"]).unwrap();
            for (a, b) in &records {
                writer.write_record([a, b]).unwrap();
            }
            let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
            let read = rows(&text).unwrap();
            let expected: Vec<_> = records.iter().map(|(a, b)| vec![a.clone(), b.clone()]).collect();
            proptest::prop_assert_eq!(read.iter().map(cells).collect::<Vec<_>>(), expected);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[a-z,\"\r\n;]{0,40}") {
            let _ = rows(&text);
        }
    }
}
