//! The lines that problems of data files are about, read again from the file: only where something is wrong, and only those lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::sync::Arc;

use super::encoding::{decode, is_marked_utf16, is_utf8, read_whole};
use super::{DataFile, Format, Layout, budget};
use crate::diagnostic::{Diagnostics, Source};

/// Gives every problem in `file` its line. What cannot be read again is left as it is: the place is told without it.
pub(crate) fn show(problems: &mut Diagnostics, file: &DataFile, layout: &Layout) {
    let wanted: BTreeSet<u32> = problems
        .iter()
        .filter(|problem| problem.source.as_ref().is_some_and(|source| is_without_text(source, file)))
        .filter_map(|problem| problem.span.map(|span| span.line))
        .collect();
    if wanted.is_empty() {
        return;
    }
    let lines = lines(file, layout, &wanted).unwrap_or_default();
    let sources: BTreeMap<u32, Arc<Source>> = lines
        .into_iter()
        .map(|(line, text)| (line, Arc::new(Source { first_line: line, ..Source::new(&*file.shown, text) })))
        .collect();
    for problem in problems.iter_mut() {
        let here = problem.source.as_ref().is_some_and(|source| is_without_text(source, file));
        if let Some(source) = problem.span.and_then(|span| sources.get(&span.line)).filter(|_| here) {
            problem.source = Some(Arc::clone(source));
        }
    }
}

fn is_without_text(source: &Source, file: &DataFile) -> bool {
    source.text.is_empty() && *source.path == *file.shown
}

/// The lines with these numbers, as far as they can be shown.
fn lines(file: &DataFile, layout: &Layout, wanted: &BTreeSet<u32>) -> Option<BTreeMap<u32, String>> {
    let mut start = Vec::new();
    File::open(&file.path).ok()?.take(3).read_to_end(&mut start).ok()?;
    let format = layout.format.or_else(|| Format::of(&file.path).ok());
    if is_utf8(layout.encoding) && !is_marked_utf16(&start) && format != Some(Format::Yaml) {
        return streamed(file, wanted);
    }
    let text = decode(&file.shown, read_whole(file).ok()?, layout.encoding).ok()?;
    // To YAML a carriage return ends a line, so that its numbers are not ours.
    if text.replace("\r\n", "").contains('\r') {
        return None;
    }
    let numbered = text.split('\n').zip(1_u32..).filter(|(_, number)| wanted.contains(number));
    Some(numbered.map(|(line, number)| (number, line.trim_end_matches('\r').to_owned())).collect())
}

/// From a UTF-8 file of any size. Bytes that are no text are shown as such.
fn streamed(file: &DataFile, wanted: &BTreeSet<u32>) -> Option<BTreeMap<u32, String>> {
    let mut reader = BufReader::new(File::open(&file.path).ok()?);
    let mut found = BTreeMap::new();
    let last = wanted.last().copied()?;
    let mut bytes = Vec::new();
    for number in 1..=last {
        bytes.clear();
        let limit = budget::RECORD_BYTES as u64 + 2;
        let length = (&mut reader).take(limit).read_until(b'\n', &mut bytes).ok()?;
        if length == 0 || length as u64 == limit {
            break;
        }
        if wanted.contains(&number) {
            let text = shown(&bytes);
            let text = if number == 1 { text.trim_start_matches('\u{FEFF}') } else { &text };
            found.insert(number, text.trim_end_matches(['\n', '\r']).to_owned());
        }
    }
    Some(found)
}

fn shown(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02X}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::render;
    use crate::rows::problem::at;

    fn shown_in(name: &str, bytes: &[u8], line: u32, column: u32) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let file = DataFile { shown: name.into(), path };
        let mut problems = Diagnostics::from(at(name, line, column, "bad-row", "wrong"));
        show(&mut problems, &file, &Layout::default());
        render(&problems)
    }

    #[test]
    fn a_problem_of_a_row_shows_its_line_with_a_caret() {
        let text = shown_in("a.jsonl", b"\xEF\xBB\xBF{\"a\": 1}\r\n{\"a\": oops}\r\n", 2, 7);
        assert!(text.contains("--> a.jsonl:2:7") && text.contains("2 | {\"a\": oops}\n"), "{text}");
        assert!(text.contains("  |       ^"), "{text}");
    }

    #[test]
    fn bytes_that_are_no_text_and_files_in_other_encodings_are_shown_or_left_out() {
        let text = shown_in("a.csv", b"a,b\n1,caf\xE9\n", 2, 6);
        assert!(text.contains(r"2 | 1,caf\xE9"), "{text}");
        let utf16: Vec<u8> = "\u{FEFF}a\nb: 1\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(shown_in("a.csv", &utf16, 2, 1).contains("2 | b: 1"));
        let text = shown_in("a.yaml", b"- a: 1\r- b\n- c\n", 2, 1);
        assert!(text.contains("a.yaml:2:1") && !text.contains(" | "), "lines of YAML are counted otherwise: {text}");
        assert!(!shown_in("a.jsonl", b"{}\n", 7, 1).contains(" | "));
    }
}
