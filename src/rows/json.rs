//! A JSON file: a list of objects, or an object that holds one such list. Held in memory.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::encoding::{decode, read_whole};
use super::json_text::{self, Members, Origin, place_in};
use super::problem::{at_line, count32, shown_name};
use super::reader::checksum;
use super::{DataFile, Layout, Row, RowReader};
use crate::diagnostic::{Diagnostic, Span};

pub(crate) struct Json {
    file: Arc<str>,
    text: String,
    records: Vec<Record>,
    /// One more than the current record's position.
    next: usize,
}

#[derive(Clone, Copy)]
struct Record {
    start: usize,
    end: usize,
    line: u32,
    before: u32,
}

impl Json {
    pub(crate) fn open(file: &DataFile, layout: &Layout) -> Result<Self, Diagnostic> {
        let text = decode(&file.shown, read_whole(file)?, layout.encoding)?;
        let records = records(&file.shown, &text, layout.rows.as_deref())?;
        Ok(Self { file: Arc::clone(&file.shown), text, records, next: 0 })
    }

    fn current(&self) -> (&str, Record) {
        let record = self.next.checked_sub(1).and_then(|at| self.records.get(at)).copied();
        let record = record.unwrap_or(Record { start: 0, end: 0, line: 1, before: 0 });
        (self.text.get(record.start..record.end).unwrap_or_default(), record)
    }
}

fn records(file: &str, text: &str, key: Option<&str>) -> Result<Vec<Record>, Diagnostic> {
    let origin = Origin { file, line: 1, before: 0 };
    let list = match text.trim_start().as_bytes().first() {
        None => return Ok(Vec::new()),
        Some(b'{') => {
            let members: Members<'_> = json_text::parse(text, origin, text)?;
            chosen(file, &members, key)?
        }
        Some(b'[') => text,
        Some(_) => {
            return Err(at_line(
                file,
                1,
                "not-a-list",
                "the file is neither a list of objects nor an object that holds one",
            ));
        }
    };
    let before = text.get(..place_in(text, list)).unwrap_or_default();
    let origin = Origin { file, line: count32(before.matches('\n').count() + 1), before: 0 };
    let items: Vec<&RawValue> = json_text::parse(list, Origin { line: 1, ..origin }, text)?;
    let mut found = Vec::with_capacity(items.len());
    let (mut line, mut counted) = (1_usize, 0_usize);
    for item in items {
        let start = place_in(text, item.get());
        let between = text.get(counted..start).unwrap_or_default();
        line += between.matches('\n').count();
        counted = start;
        let row_start = text.get(..start).unwrap_or_default().rfind('\n').map_or(0, |end| end + 1);
        let before = count32(text.get(row_start..start).unwrap_or_default().chars().count());
        found.push(Record { start, end: start + item.get().len(), line: count32(line), before });
    }
    Ok(found)
}

/// The list under `key`, or the only list of objects there is.
fn chosen<'t>(file: &str, members: &Members<'t>, key: Option<&str>) -> Result<&'t str, Diagnostic> {
    let lists: Vec<_> = members.0.iter().filter(|(_, raw)| raw.get().starts_with('[')).collect();
    let of_objects = |raw: &str| raw.trim_start_matches('[').trim_start().starts_with('{');
    match key {
        Some(key) => match lists.iter().find(|(name, _)| name == key) {
            Some((_, raw)) => Ok(raw.get()),
            None => Err(at_line(file, 1, "not-a-list", format!("the file has no list under `{key}` (set by `rows`)"))),
        },
        None => {
            let candidates: Vec<_> = lists.iter().filter(|(_, raw)| of_objects(raw.get())).collect();
            match candidates.as_slice() {
                [(_, raw)] => Ok(raw.get()),
                [] => Err(at_line(file, 1, "not-a-list", "the file is an object without a list of objects in it")
                    .help("a data set is a list of objects; JSONL files have one object a line (`format: jsonl`)")),
                many => {
                    let names: Vec<_> = many.iter().map(|(name, _)| shown_name(name)).collect();
                    Err(at_line(
                        file,
                        1,
                        "ambiguous-rows",
                        format!("the file holds several lists of objects: {}", names.join(", ")),
                    )
                    .help("choose one with `rows`"))
                }
            }
        }
    }
}

impl RowReader for Json {
    fn advance(&mut self) -> Result<bool, Diagnostic> {
        self.next += 1;
        Ok(self.next <= self.records.len())
    }

    fn row(&self) -> Result<Row, Diagnostic> {
        let (text, record) = self.current();
        json_text::row(text, Origin { file: &self.file, line: record.line, before: record.before })
    }

    fn line(&self) -> u32 {
        self.current().1.line
    }

    fn place(&self, column: &str) -> Option<Span> {
        let (text, record) = self.current();
        json_text::place(text, Origin { file: &self.file, line: record.line, before: record.before }, column)
    }

    fn checksum(&self) -> u32 {
        checksum(self.current().0.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, key: Option<&str>) -> Result<Vec<Row>, Diagnostic> {
        let records = records("f.json", text, key)?;
        let mut json = Json { file: "f.json".into(), text: text.to_owned(), records, next: 0 };
        let mut rows = Vec::new();
        while json.advance()? {
            rows.push(json.row()?);
        }
        Ok(rows)
    }

    #[test]
    fn records_know_their_lines() {
        let text = "{\"meta\": 1,\n \"examples\": [\n  {\"a\": 1}, {\"a\":\n 2},\n\n  {\"a\": 3}]}\n";
        let lines: Vec<u32> = rows(text, None).unwrap().iter().map(|row| row.line).collect();
        assert_eq!(lines, [3, 3, 6]);
        let error = rows("[\n{\"a\":1},\n{\"a\":\n1,}]", None).unwrap_err();
        assert_eq!(error.span.map(|span| span.line), Some(4));
        let error = rows("[\n{\"a\":1},\n [1]]", None).unwrap_err();
        assert_eq!(error.span.map(|span| (span.line, span.column)), Some((3, 2)));
    }

    #[test]
    fn several_lists_need_a_choice() {
        let text = r#"{"train":[{"a":1}],"test":[{"a":2}],"tags":["x"]}"#;
        let error = rows(text, None).unwrap_err();
        assert!(error.message.contains("`train`, `test`"), "{}", error.message);
        assert_eq!(rows(text, Some("test")).unwrap().len(), 1);
        assert!(rows(text, Some("rest")).is_err());
        assert!(rows("{\"a\":1}", None).is_err());
        assert!(rows("3", None).is_err());
        assert!(rows(" \n", None).unwrap().is_empty());
    }
}
