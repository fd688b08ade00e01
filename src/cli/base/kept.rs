//! A committed baseline that the change edits.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;

use super::earlier::Earlier;
use super::tree::{Tree, beside};
use crate::cli::beside::plain_file;
use crate::cli::reference;
use crate::domain::{BaseRecord, Baseline, PolicyChange};
use crate::gate::BaselineFrom;
use crate::store::{StoreError, parse_baseline};
use crate::suite::Suite;

/// The file of the base is used whatever the change made of it; that it made something of it is said.
pub(super) fn compare(tree: &Tree, earlier: &Earlier, current: &Suite, record: &mut BaseRecord) {
    let Some(asked) = &earlier.policy.baseline else { return };
    if asked.from != BaselineFrom::File {
        return;
    }
    let place = reference::place(asked.path.as_deref(), &earlier.suite.name);
    let Some(path) = beside(&earlier.folder, &place) else { return };
    let old = match tree.file(&path) {
        Ok(old) => old,
        // It is reported where it is read.
        Err(_) => return,
    };
    let new = of_checkout(&tree.top.join(&path)).map_err(|error| error.to_string());
    if new.as_ref().is_ok_and(|new| same(old.as_deref(), new.as_deref())) {
        return;
    }
    record.changes.push(PolicyChange {
        what: format!("baseline {path}"),
        old: words(&Ok(old.clone()), "absent", &path),
        new: words(&new, "removed", &path),
        place: current.gate.as_ref().map(|gate| format!("{}:{}", gate.source.path, gate.place("/baseline").line)),
        // Where the base has none, none is used.
        loosens: old.is_some(),
    });
}

/// A baseline that the command line names: where the change commits another one than the base has, it brings its own yardstick. A file that the
/// workflow itself put there is the workflow's.
pub(super) fn named(tree: &Tree, file: &Path, record: &mut BaseRecord) {
    let Some(path) = tree.path_of(file) else { return };
    // What git itself calls the same need not be read: a pointer of Git LFS, or a link to where only the workflow writes.
    let known = tree.same(&path, &path);
    if known == Ok(true) {
        return;
    }
    let (old, new) = (tree.file(&path), tree.of_head(&path));
    let what = format!("baseline {path}");
    if let (Ok(_), Ok(old), Ok(new)) = (&known, &old, &new)
        && same(old.as_deref(), new.as_deref())
    {
        return;
    }
    if record.changes.iter().any(|change| change.what == what) {
        return;
    }
    record.changes.push(PolicyChange {
        what,
        old: words(&old, "absent", &path),
        new: words(&new, "removed", &path),
        place: Some(path),
        loosens: true,
    });
}

/// `None`: there is none.
fn of_checkout(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    let Some(mut file) = plain_file(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// What it is, `none` where it is not, or why that cannot be told: what cannot be compared is not taken for the same.
fn words(read: &Result<Option<Vec<u8>>, String>, none: &str, path: &str) -> String {
    match read {
        Ok(Some(bytes)) => described(bytes, path),
        Ok(None) => none.to_owned(),
        Err(why) => format!("not to be compared ({why})"),
    }
}

/// A checkout may have other line ends.
fn same(old: Option<&[u8]>, new: Option<&[u8]>) -> bool {
    let lines = |bytes: &[u8]| bytes.iter().copied().filter(|byte| *byte != b'\r').collect::<Vec<u8>>();
    match (old, new) {
        (Some(old), Some(new)) => old == new || lines(old) == lines(new),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// `2 runs, 140 cases, quality 0.920`.
fn described(bytes: &[u8], path: &str) -> String {
    match parse_baseline(bytes, path.as_ref(), path) {
        Ok(baseline) => summary(&baseline),
        Err(StoreError::Newer { .. }) => "written by a newer scoregate".to_owned(),
        Err(_) => "damaged".to_owned(),
    }
}

fn summary(baseline: &Baseline) -> String {
    use crate::text::number::{counted, score};
    let cases: BTreeSet<&str> = baseline.cases.iter().map(|case| &*case.id).collect();
    let mut parts =
        vec![counted(baseline.runs.len() as u64, "run", "runs"), counted(cases.len() as u64, "case", "cases")];
    for metric in baseline.metrics.iter().take(5) {
        let all = baseline.cases.iter().filter_map(|case| case.scores.get(&metric.name)).flatten().flatten();
        let (sum, count) = all.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count.saturating_add(1)));
        if count > 0 {
            parts.push(format!("{} {}", metric.name, score(sum / f64::from(count))));
        }
    }
    parts.join(", ")
}
