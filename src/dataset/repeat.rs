//! Ids and questions that stand twice. The first reading keeps hashes only; where two are equal the files are read again, so that a
//! message has both places and no pair of different texts is ever taken for one.

use std::collections::HashMap;
use std::sync::Arc;

use super::entry::{Entry, Scan, folded};
use crate::diagnostic::{Diagnostic, Diagnostics, Level};
use crate::domain::{Case, Place};
use crate::rows::{Problems, hash, open};

/// Questions that are named in the warning.
const NAMED: usize = 3;

/// Refuses ids that stand twice: among all rows of one entry, and among the cases of all entries.
pub(super) fn ids(entries: &[Entry], scans: &mut [Scan], problems: &mut Problems) {
    let mut told: Vec<u64> = Vec::new();
    for (entry, scan) in entries.iter().zip(scans.iter_mut()) {
        let twice = repeated(std::mem::take(&mut scan.all_ids));
        if !twice.is_empty() {
            report(std::slice::from_ref(entry), &twice, true, problems);
        }
        told.extend(twice);
    }
    if entries.len() > 1 {
        let all = scans.iter_mut().flat_map(|scan| std::mem::take(&mut scan.case_ids)).collect();
        let mut twice = repeated(all);
        told.sort_unstable();
        twice.retain(|id| told.binary_search(id).is_err());
        if !twice.is_empty() {
            report(entries, &twice, false, problems);
        }
    }
}

fn report(entries: &[Entry], twice: &[u64], every_row: bool, problems: &mut Problems) {
    let mut groups: HashMap<Arc<str>, Vec<(Place, bool)>> = HashMap::new();
    let mut order = Vec::new();
    visit(entries, every_row, &mut |case, named| {
        if twice.binary_search(&hash(&case.id)).is_ok() {
            let group = groups.entry(Arc::clone(&case.id)).or_default();
            if group.is_empty() {
                order.push(Arc::clone(&case.id));
            }
            group.push((case.place, named));
        }
        true
    });
    for id in order {
        match groups.get(&id).map(Vec::as_slice) {
            Some([first, others @ ..]) if !others.is_empty() => problems.push(duplicate(&id, first, others)),
            _ => {}
        }
    }
}

fn duplicate(id: &str, first: &(Place, bool), others: &[(Place, bool)]) -> Diagnostic {
    let place = |place: &Place| format!("{}:{}", place.file, place.line);
    let rest: Vec<_> = others.iter().take(5).map(|(other, _)| place(other)).collect();
    let more =
        if others.len() > rest.len() { format!(" and {} more", others.len() - rest.len()) } else { String::new() };
    let both = format!("{} and {}{more}", place(&first.0), rest.join(" and "));
    let line = others.first().map_or(first.0.line, |(other, _)| other.line);
    let file = others.first().map_or(&first.0.file, |(other, _)| &other.file);
    if first.1 || others.iter().any(|(_, named)| *named) {
        crate::rows::at_line(file, line, "duplicate-id", format!("the id `{}` stands at {both}", id.escape_debug()))
            .help("every case needs an id of its own (the number 1 and the text \"1\" are the same id)")
    } else {
        crate::rows::at_line(file, line, "duplicate-case", format!("the same case, without an id, stands at {both}"))
            .help("take one of them out, or give both an `id`")
    }
}

/// Warns about questions that are asked more than once (but for case and white space).
pub(super) fn questions<'s>(entries: &[Entry], scans: impl Iterator<Item = &'s mut Scan>, warnings: &mut Diagnostics) {
    let twice = repeated(scans.flat_map(|scan| std::mem::take(&mut scan.questions)).collect());
    let Some(entry) = entries.first().filter(|_| !twice.is_empty()) else { return };
    let mut groups: HashMap<u64, Vec<Place>> = HashMap::new();
    visit(entries, false, &mut |case, _| {
        let question = hash(&folded(&case.input));
        if twice.binary_search(&question).is_ok() {
            groups.entry(question).or_default().push(case.place);
        }
        groups.values().filter(|places| places.len() > 1).count() < NAMED
    });
    let mut named: Vec<String> = Vec::new();
    for places in groups.values() {
        if let [first, second, ..] = places.as_slice() {
            named.push(format!("{}:{} and {}:{}", first.file, first.line, second.file, second.line));
        }
    }
    named.sort();
    let count = twice.len();
    let noun = if count == 1 { "question is" } else { "questions are" };
    let message = format!("{count} {noun} asked more than once: {}", named.join("; "));
    warnings.push(Diagnostic { level: Level::Warning, ..entry.problem("/path", "repeated-question", message) });
}

/// The values that stand more than once, sorted.
fn repeated(mut values: Vec<u64>) -> Vec<u64> {
    values.sort_unstable();
    let mut twice: Vec<u64> =
        values.windows(2).filter(|pair| pair.first() == pair.last()).filter_map(|pair| pair.first().copied()).collect();
    twice.dedup();
    twice
}

/// Reads the cases again until `see` has seen enough. What cannot be read was reported by the first reading.
fn visit(entries: &[Entry], every_row: bool, see: &mut dyn FnMut(Case, bool) -> bool) {
    for entry in entries {
        for opened in &entry.files {
            let Ok(mut reader) = open(&opened.file, &entry.layout) else { continue };
            let mut record = 0_u32;
            while reader.advance().unwrap_or(false) {
                let wanted = every_row || opened.is_selected(record);
                record = record.saturating_add(1);
                if !wanted {
                    continue;
                }
                let Ok(row) = reader.row() else { continue };
                let Ok(built) = entry.recipe.build(row, &opened.file.shown) else { continue };
                if !see(built.case, built.named) {
                    return;
                }
            }
        }
    }
}
