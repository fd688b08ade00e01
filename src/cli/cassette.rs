//! `--record`, `--record-mode` and `--replay`: opens the cassette before the first call, says at the end what came of it.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use super::args::{LedgerChoice, RecordMode};
use super::failure::Failed;
use super::screen;
use crate::diagnostic::{Diagnostic, Source as Text, Span};
use crate::domain::{CallCounts, Redactor, Run, RunHeader};
use crate::engine::Tape;
use crate::report::KINDS;
use crate::store::{Cassette, CassetteHeader, CassetteWriter, StoreError, is_free_for};
use crate::text::number::counted;

/// Where answers come from.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// Services and programs.
    Outside { ledger: Option<LedgerChoice>, record: Option<(&'a Path, RecordMode)> },
    /// A recording alone.
    Cassette(&'a Path),
}

impl Source<'_> {
    /// A replay neither reads nor writes the ledger: answers there may be newer than the recording, and nothing is paid for.
    pub(super) fn ledger(self) -> Option<LedgerChoice> {
        match self {
            Self::Outside { ledger, .. } => ledger,
            Self::Cassette(_) => Some(LedgerChoice::Off),
        }
    }

    /// Opens the cassette.
    ///
    /// # Errors
    /// It cannot be read, may not be overwritten, or cannot be written: found before the first call.
    pub(super) fn tape(self, run: &RunHeader, redactor: &Redactor) -> Result<Option<Arc<Tape>>, Failed> {
        let (played, recording) = match self {
            Self::Outside { record: None, .. } => return Ok(None),
            Self::Outside { record: Some((path, mode)), .. } => {
                let header = CassetteHeader {
                    tool: run.tool.clone(),
                    suite: redactor.redact(&run.suite),
                    recorded: run.started.clone().unwrap_or_default(),
                };
                let (played, writer) = record(path, mode, &header).map_err(|error| refused(path, error))?;
                (played, Some(writer))
            }
            Self::Cassette(path) => (Some(Cassette::open(path).map_err(|error| refused(path, error))?), None),
        };
        if let Some(cassette) = &played {
            begin(cassette, recording.is_none());
        }
        Ok(Some(Arc::new(Tape::new(played, recording, redactor.clone()))))
    }
}

/// What a run writes as it goes replaces nothing of another kind, and is not replaced by its reports.
///
/// # Errors
/// Which file would be lost.
pub(super) fn kept_apart(
    record: Option<&Path>,
    mode: RecordMode,
    events: Option<&Path>,
    reports: &Path,
) -> Result<(), Failed> {
    let lost = |flag: &str, path: &Path, what: &str| {
        let message = format!("`{flag} {}` would overwrite {what}", path.display());
        Err(Failed::usage("overwrites", message, "name a file of its own"))
    };
    if let Some(path) = record.filter(|path| mode == RecordMode::All && !is_free_for(path, "cassette")) {
        return lost("--record", path, "a file that is no cassette");
    }
    if let Some(path) = events.filter(|path| !is_free_for(path, "events")) {
        return lost("--events", path, "a file that holds no events of a run");
    }
    if let Some(path) = events.filter(|path| Some(*path) == record) {
        return lost("--events", path, "the cassette");
    }
    let of_reports = |path: &&Path| {
        let names = KINDS.iter().map(|kind| kind.file).chain(std::iter::once("results.jsonl"));
        let named = path.file_name().is_some_and(|name| names.into_iter().any(|report| name == report));
        named && path.parent() == Some(reports)
    };
    for (flag, path) in [("--record", record), ("--events", events)] {
        if let Some(path) = path.filter(of_reports) {
            return lost(flag, path, "a report of this run, or be overwritten by it");
        }
    }
    Ok(())
}

fn record(
    path: &Path,
    mode: RecordMode,
    header: &CassetteHeader,
) -> Result<(Option<Cassette>, CassetteWriter), StoreError> {
    match mode {
        RecordMode::NewEpisodes if path.exists() => {
            CassetteWriter::extend(path).map(|(cassette, writer)| (Some(cassette), writer))
        }
        RecordMode::Once | RecordMode::NewEpisodes => CassetteWriter::create(path, header).map(|writer| (None, writer)),
        RecordMode::All => CassetteWriter::replace(path, header).map(|writer| (None, writer)),
    }
}

fn refused(path: &Path, error: StoreError) -> Failed {
    let shown = path.display();
    match error {
        StoreError::Io { source, .. } if source.kind() == ErrorKind::AlreadyExists => Failed::usage(
            "cassette-exists",
            format!("the cassette `{shown}` is there already, and nothing of it is overwritten unasked"),
            "play it (`--replay`), add what it lacks (`--record-mode new-episodes`), or record everything anew (`--record-mode all`)",
        ),
        StoreError::Busy { holder, .. } => Failed::usage(
            "cassette-in-use",
            format!("another run records into the cassette `{shown}`: {holder}"),
            "wait for it to end, or record into another file",
        ),
        StoreError::Corrupt { line, problem, .. } => {
            let source = Arc::new(Text::new(shown.to_string(), ""));
            let line = u32::try_from(line).unwrap_or(u32::MAX);
            let problem = Diagnostic::error("bad-cassette", problem).at(&source, Span::line(line));
            Failed::Wrong(problem.help("restore the file, delete the line, or record it again").into())
        }
        StoreError::Io { source, .. } => Failed::usage(
            "cassette",
            format!("the cassette `{shown}` cannot be used: {source}"),
            "check the path and the disk",
        ),
        other => other.into(),
    }
}

/// What is played, and what is wrong with it without being a reason to stop.
fn begin(cassette: &Cassette, alone: bool) {
    let path = cassette.path().display();
    let calls = counted(cassette.len() as u64, "call", "calls");
    let since = match cassette.header().recorded.as_str() {
        "" => String::new(),
        recorded => format!(", recorded {recorded}"),
    };
    let rest = if alone { "nothing is called, and the ledger is off" } else { "what it lacks is asked and added" };
    screen::message(&format!("replaying {path}: {calls}{since}; {rest}"));
    if cassette.cut_at().is_some() {
        screen::message(&format!("note: the last line of {path} is cut off and was left out"));
    } else if cassette.end().is_none() {
        screen::message(&format!("note: the recording in {path} did not reach its end; calls may be missing"));
    }
}

/// Says which recorded calls nobody asked for, and ends the recording.
///
/// # Errors
/// What was asked for is not on disk.
pub(super) fn ended(tape: &Tape, run: &Run) -> Result<(), Failed> {
    if let Some(cassette) = tape.played() {
        unused(cassette);
    }
    let end = run.completion.as_ref().filter(|end| end.complete);
    let counts = end.map(|end| CallCounts { repairs: 0, ..end.calls });
    match tape.finish(counts) {
        None => Ok(()),
        Some(Ok((path, calls))) => {
            let (path, calls) = (path.display(), counted(calls, "call", "calls"));
            let text = match counts {
                Some(_) => format!("cassette: {path} holds {calls}"),
                None => format!(
                    "note: the run did not reach its end, and so did the recording in {path}; one that was to be replaced is as it was"
                ),
            };
            screen::message(&text);
            Ok(())
        }
        Some(Err(trouble)) => Err(Failed::CouldNot(format!("the cassette is not whole: {trouble}"))),
    }
}

fn unused(cassette: &Cassette) {
    let total = cassette.len() as u64;
    let left = total.saturating_sub(cassette.used());
    if left == 0 {
        return;
    }
    let example = match cassette.first_unused() {
        Ok(Some(call)) if !call.what.is_empty() => format!(", such as `{}`", call.what),
        Ok(_) | Err(_) => String::new(),
    };
    let path = cassette.path().display();
    screen::message(&format!("note: {left} of {total} recorded calls in {path} were not used{example}"));
}
