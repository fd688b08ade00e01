//! `results.jsonl`: the run, one line per case, target and trial, and an end line.

use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::Serialize;
use tempfile::NamedTempFile;

use super::first_line::FirstLine;
use super::lines::{LINE_LIMIT, Lines, json_problem, open};
use super::run_builder::RunBuilder;
use super::scores::read_scores;
use super::write::{persist, share, temporary};
use super::{OutcomeLine, StoreError};
use crate::domain::{Completion, MetricSpec, Outcome, Redactor, Run, RunHeader};

/// Version of the format.
pub const RESULTS_SCHEMA: u64 = 1;
/// What the first line says the file is.
pub(super) const KIND: &str = "run";

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Written<'a> {
    Run {
        schema: u64,
        #[serde(flatten)]
        header: &'a RunHeader,
    },
    Outcome(&'a OutcomeLine),
    End(&'a Completion),
}

/// Writes a results file line by line under a temporary name; [`ResultsWriter::finish`] puts it in its place.
pub struct ResultsWriter {
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
    redactor: Redactor,
    /// Every line says its case's position.
    part: bool,
    offset: u64,
    outcomes: u64,
}

impl ResultsWriter {
    /// Opens the file beside `path` and writes the run's line: a folder that cannot be written is found before the first call.
    ///
    /// # Errors
    /// `Io`.
    pub fn create(path: &Path, header: &RunHeader, redactor: Redactor) -> Result<Self, StoreError> {
        let fail = |source| StoreError::Io { path: path.to_owned(), source };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(fail)?;
        let file = temporary(folder).map_err(fail)?;
        share(file.as_file()).map_err(fail)?;
        let (path, file, part) = (path.to_owned(), BufWriter::new(file), header.shard.is_some());
        let mut writer = Self { path, file, redactor, part, offset: 0, outcomes: 0 };
        writer.line(&Written::Run { schema: RESULTS_SCHEMA, header })?;
        Ok(writer)
    }

    /// Appends one outcome.
    ///
    /// # Errors
    /// `Io`.
    pub fn append(&mut self, outcome: &Outcome) -> Result<(u64, OutcomeLine), StoreError> {
        let offset = self.offset;
        let mut line = OutcomeLine::from(outcome);
        line.index = self.part.then_some(outcome.case.index as u64);
        self.line(&Written::Outcome(&line))?;
        self.outcomes += 1;
        Ok((offset, line))
    }

    /// Appends an outcome that was written before, as it is; returns where it starts.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn copy(&mut self, line: &str) -> Result<u64, StoreError> {
        let offset = self.offset;
        self.text(line)?;
        self.outcomes += 1;
        Ok(offset)
    }

    /// Lines of outcomes so far.
    pub fn outcomes(&self) -> u64 {
        self.outcomes
    }

    /// Writes the end line and replaces the file at `path` in one step.
    ///
    /// # Errors
    /// `Io`; the old file, if any, is untouched.
    pub fn finish(mut self, completion: &Completion) -> Result<(), StoreError> {
        self.line(&Written::End(completion))?;
        let path = self.path;
        let file = self
            .file
            .into_inner()
            .map_err(|error| StoreError::Io { path: path.clone(), source: error.into_error() })?;
        persist(file, &path)
    }

    fn line(&mut self, line: &Written<'_>) -> Result<(), StoreError> {
        let fail = |source| StoreError::Io { path: self.path.clone(), source };
        let text = serde_json::to_string(line).map_err(|error| fail(std::io::Error::other(error)))?;
        self.text(&text)
    }

    fn text(&mut self, text: &str) -> Result<(), StoreError> {
        let fail = |source| StoreError::Io { path: self.path.clone(), source };
        let text = self.redactor.redact_cow(text);
        self.file.write_all(text.as_bytes()).and_then(|()| self.file.write_all(b"\n")).map_err(fail)?;
        self.offset += text.len() as u64 + 1;
        Ok(())
    }
}

/// Reads a results file of ours: one run.
///
/// # Errors
/// As [`read_runs`]; `Corrupt` where the file holds several runs.
pub fn read_results(path: &Path) -> Result<Run, StoreError> {
    let mut runs = read_runs(path, &[])?;
    match (runs.pop(), runs.is_empty()) {
        (Some(run), true) => Ok(run),
        _ => Err(StoreError::Corrupt {
            path: path.to_owned(),
            line: 1,
            problem: "the file holds several runs".to_owned(),
        }),
    }
}

/// Reads a results file as numbers; the texts stay in the file. Ours holds one run, the smallest form (design §5) one or several.
///
/// `declared`: what the metrics of the smallest form are, where the suite says it; others are from 0 to 1, higher is better.
///
/// # Errors
/// `Absent`, `Io`, `Newer`, `Corrupt` with the line, or `Lines` with every bad line of the smallest form.
pub fn read_runs(path: &Path, declared: &[MetricSpec]) -> Result<Vec<Run>, StoreError> {
    let mut reader = Lines::open(path)?;
    let first = reader.next()?.ok_or_else(|| reader.corrupt("the file is empty"))?;
    // A line that is no JSON object is one of the smallest form with a mistake in it, which is named there.
    let line: FirstLine = serde_json::from_str(&first.text).unwrap_or_default();
    match line.kind.as_deref() {
        Some(KIND) => {
            let found = line.schema.ok_or_else(|| reader.corrupt("the first line says no `schema`"))?;
            if found > RESULTS_SCHEMA {
                return Err(StoreError::Newer { path: path.to_owned(), found, known: RESULTS_SCHEMA });
            }
            let header: RunHeader = reader.parse(&first.text)?;
            Ok(vec![read_outcomes(reader, header)?])
        }
        None => read_scores(reader, first, declared),
        Some(other) => Err(reader.corrupt(format!("the first line is of type `{other}`, not `{KIND}`"))),
    }
}

fn read_outcomes(mut reader: Lines, header: RunHeader) -> Result<Run, StoreError> {
    let mut builder = RunBuilder::new(header);
    let mut completion = None;
    let mut outcomes = 0;
    while let Some(line) = reader.next()? {
        if completion.is_some() {
            return Err(reader.corrupt("there is a line after the end line"));
        }
        let kind: FirstLine = match serde_json::from_str(&line.text) {
            Ok(kind) => kind,
            // A killed run leaves half a line at the end; what was complete before it counts.
            Err(_) if line.last => break,
            Err(error) => return Err(reader.corrupt(json_problem(&error))),
        };
        match kind.kind.as_deref() {
            Some("outcome") => {
                let outcome: OutcomeLine = reader.parse(&line.text)?;
                builder.outcome(&outcome, line.offset).map_err(|problem| reader.corrupt(problem))?;
                outcomes += 1;
            }
            Some("end") => completion = Some(reader.parse::<Completion>(&line.text)?),
            _ => return Err(reader.corrupt("a line is neither `outcome` nor `end`")),
        }
    }
    if let Some(end) = &completion {
        let stated = end.outcomes;
        if stated != outcomes {
            return Err(reader.corrupt(format!("the end line speaks of {stated} outcomes, the file holds {outcomes}")));
        }
    }
    Ok(builder.finish(completion, Some(reader.path)))
}

/// The texts of single outcomes, by the offset that a `TrialRecord` carries.
pub struct Texts {
    path: PathBuf,
    reader: Mutex<BufReader<File>>,
}

impl Texts {
    /// # Errors
    /// `Absent` or `Io`.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { path: path.to_owned(), reader: Mutex::new(BufReader::new(open(path)?)) })
    }

    /// The outcome whose line starts at `offset`.
    ///
    /// # Errors
    /// `Io`, or `Corrupt` where no outcome line starts there.
    pub fn outcome(&self, offset: u64) -> Result<OutcomeLine, StoreError> {
        let fail = |source| StoreError::Io { path: self.path.clone(), source };
        let mut reader = self.reader.lock().map_err(|_| fail(std::io::Error::other("the reader was poisoned")))?;
        reader.seek(SeekFrom::Start(offset)).map_err(fail)?;
        let mut text = String::new();
        reader.by_ref().take(LINE_LIMIT).read_line(&mut text).map_err(fail)?;
        serde_json::from_str(&text).map_err(|error| StoreError::Corrupt {
            path: self.path.clone(),
            line: 0,
            problem: format!("no outcome at byte {offset}: {}", json_problem(&error)),
        })
    }
}

#[cfg(test)]
mod tests;
