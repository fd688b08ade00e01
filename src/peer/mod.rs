//! What other tools measured → runs of ours. One file a tool; [`PEERS`] lists them.
//!
//! ```text
//! file ─► Text (what it looks like) ─► Peer (by content, or by name) ─► Sheet (outcomes, problems, hints) ─► Run
//! ```
//!
//! Promise: an error is never a score; NaN and empty cells are missing, with the reason; what a case's id is does not depend on the order
//! of the file; all problems of a file are said at once, each with its line; a file that nothing fits is refused with what was tried.
//! Texts (questions, answers) are used for ids and contents and then left: a run of a peer holds numbers.
//!
//! `docs/compare.md` says for each tool what becomes case, metric, trial, target and error.

mod deepeval;
mod inspect_ai;
mod junit;
mod look;
mod mark;
mod name;
mod nan;
mod promptfoo;
mod ragas;
mod sheet;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::Path;

use crate::domain::{MetricSpec, Run, RunHeader};
use crate::store::{FileKind, StoreError, read_runs as read_ours};
use crate::text::suggest;
use look::Text;
use sheet::Sheet;

/// A tool whose files are read.
struct Peer {
    /// The word of `--from`.
    name: &'static str,
    /// What its files are known by, to be said where nothing fits.
    known_by: &'static str,
    fits: fn(&Text) -> bool,
    read: fn(&Text) -> Result<Sheet, StoreError>,
}

/// In the order in which they are tried.
const PEERS: &[Peer] = &[promptfoo::PEER, deepeval::PEER, inspect_ai::PEER, junit::PEER, ragas::PEER, table::PEER];

/// The word of `--from` for files of ours.
const OURS: &str = "scoregate";

/// What is read of a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// One of [`names`]; `None`: told by the content.
    pub from: Option<&'a str>,
    /// These metrics alone; empty: all.
    pub metrics: &'a [String],
}

/// The words of `--from`.
pub fn names() -> Vec<&'static str> {
    std::iter::once(OURS).chain(PEERS.iter().map(|peer| peer.name)).collect()
}

/// Whether a run was read from another tool's file.
pub fn is_of_peer(header: &RunHeader) -> bool {
    PEERS.iter().any(|peer| header.tool.split(' ').next() == Some(peer.name))
}

/// The runs of a file: ours, or another tool's, told by its content where `from` does not say it.
///
/// **Inputs**: `declared`: what metrics are (scale, direction), where the suite says it; a tool that says it of itself comes second; else
/// a metric is from 0 to 1 and higher is better.
/// **Errors**: `Absent`, `Io`, `Newer`; `Corrupt` where the file as a whole cannot be used; `Lines` with every bad line.
pub fn read_runs(path: &Path, declared: &[MetricSpec], wanted: Wanted<'_>) -> Result<Vec<Run>, StoreError> {
    let mut runs = all_of(path, declared, wanted)?;
    if !wanted.metrics.is_empty() {
        for run in &mut runs {
            narrow(run, path, wanted.metrics)?;
        }
    }
    Ok(runs)
}

/// Leaves the other metrics out.
fn narrow(run: &mut Run, path: &Path, metrics: &[String]) -> Result<(), StoreError> {
    known(path, metrics, &run.header.metrics.iter().map(|spec| &*spec.name).collect())?;
    let kept: Vec<bool> =
        run.header.metrics.iter().map(|spec| metrics.iter().any(|metric| **metric == *spec.name)).collect();
    let mut keep = kept.iter();
    run.header.metrics.retain(|_| keep.next().copied().unwrap_or_default());
    for trial in run.cases.iter_mut().flat_map(|case| &mut case.trials) {
        let mut keep = kept.iter();
        trial.cells.retain(|_| keep.next().copied().unwrap_or_default());
    }
    Ok(())
}

/// # Errors
/// `Corrupt` where a metric is wanted that is not there.
fn known(path: &Path, wanted: &[String], there: &BTreeSet<&str>) -> Result<(), StoreError> {
    let Some(unknown) = wanted.iter().find(|metric| !there.contains(metric.as_str())) else { return Ok(()) };
    let hint = suggest::did_you_mean(unknown, there.iter().copied()).map(|hint| format!("; {hint}"));
    let names: Vec<&str> = there.iter().copied().collect();
    let problem = format!(
        "there is no metric `{unknown}`{}; the metrics are {}",
        hint.unwrap_or_default(),
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    );
    Err(StoreError::Corrupt { path: path.to_owned(), line: 0, problem })
}

fn all_of(path: &Path, declared: &[MetricSpec], wanted: Wanted<'_>) -> Result<Vec<Run>, StoreError> {
    let from = wanted.from;
    if from == Some(OURS) || (from.is_none() && look::is_ours(path)?) {
        return read_ours(path, declared);
    }
    // A baseline or a results file says so itself, and nothing else can be meant.
    if matches!(FileKind::of(path), Ok(FileKind::Baseline | FileKind::Results)) {
        return read_ours(path, declared);
    }
    let text = Text::open(path, wanted.metrics)?;
    let peer = match from {
        Some(name) => PEERS.iter().find(|peer| peer.name == name),
        None => PEERS.iter().find(|peer| (peer.fits)(&text)),
    };
    let peer = peer.ok_or_else(|| nothing_fits(&text))?;
    let mut sheet = (peer.read)(&text)?;
    sheet.keep(path, wanted.metrics)?;
    sheet.runs(peer.name, path, declared)
}

fn nothing_fits(text: &Text) -> StoreError {
    let tried: Vec<String> = PEERS.iter().map(|peer| format!("{} ({})", peer.name, peer.known_by)).collect();
    let problem =
        format!("{}; tried {OURS} (lines of case, metric and value), {}", text.nothing_fits(), tried.join(", "));
    text.whole(problem)
}
