//! `results.jsonl`: the run, one line per case, target and trial, and an end line.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::write::{persist, share};
use super::{OutcomeLine, ScoreLine, StoreError};
use crate::domain::{
    CaseRecord, Cell, Completion, MetricSpec, Outcome, Redactor, Run, RunHeader, ScoreKind, TrialRecord,
};

/// Version of the format.
pub const RESULTS_SCHEMA: u64 = 1;
/// Longest line that is read: a named limit, so that a damaged file cannot fill the memory.
const LINE_LIMIT: u64 = 64 * 1024 * 1024;

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
        let file = tempfile::Builder::new().prefix(".scoregate-").tempfile_in(folder).map_err(fail)?;
        share(file.as_file()).map_err(fail)?;
        let mut writer = Self { path: path.to_owned(), file: BufWriter::new(file), redactor, offset: 0, outcomes: 0 };
        writer.line(&Written::Run { schema: RESULTS_SCHEMA, header })?;
        Ok(writer)
    }

    /// Appends one outcome.
    ///
    /// # Errors
    /// `Io`.
    pub fn append(&mut self, outcome: &Outcome) -> Result<(u64, OutcomeLine), StoreError> {
        let offset = self.offset;
        let line = OutcomeLine::from(outcome);
        self.line(&Written::Outcome(&line))?;
        self.outcomes += 1;
        Ok((offset, line))
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
        let text = self.redactor.redact(&text);
        self.file.write_all(text.as_bytes()).and_then(|()| self.file.write_all(b"\n")).map_err(fail)?;
        self.offset += text.len() as u64 + 1;
        Ok(())
    }
}

/// A line as it may stand in a file: ours, or the smallest form `{"case","metric","value"}`.
#[derive(Deserialize)]
struct AnyLine {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    schema: Option<u64>,
}

/// The smallest form (design §5).
#[derive(Deserialize)]
struct SmallLine {
    case: String,
    metric: String,
    #[serde(default)]
    value: Option<f64>,
    #[serde(default)]
    error: Option<serde_json::Value>,
    #[serde(default)]
    skipped: Option<serde_json::Value>,
    #[serde(default)]
    trial: u32,
    #[serde(default)]
    run: Option<serde_json::Value>,
    #[serde(default)]
    target: String,
    #[serde(default)]
    passed: Option<bool>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    cluster: Option<String>,
}

/// Collects outcomes as numbers, a case's trials together, in the order in which cases first appear.
#[derive(Default)]
pub(crate) struct RunBuilder {
    run: Run,
    positions: HashMap<(Arc<str>, Arc<str>), usize>,
    metrics: HashMap<String, usize>,
}

impl RunBuilder {
    pub(crate) fn new(header: RunHeader) -> Self {
        let metrics = header.metrics.iter().enumerate().map(|(at, metric)| (metric.name.to_string(), at)).collect();
        Self { run: Run { header, ..Run::default() }, positions: HashMap::new(), metrics }
    }

    /// # Errors
    /// What is wrong with the line, in words.
    pub(crate) fn outcome(&mut self, line: &OutcomeLine, offset: u64) -> Result<(), String> {
        let mut cells = vec![None; self.run.header.metrics.len()];
        for score in &line.scores {
            let at = *self
                .metrics
                .get(&score.metric)
                .ok_or_else(|| format!("metric `{}` is not among the metrics of the run's first line", score.metric))?;
            let kind = self.run.header.metrics.get(at).map_or(ScoreKind::UNIT, |metric| metric.kind);
            let slot = cells.get_mut(at).ok_or("a metric without a place")?;
            if slot.replace(cell(score, kind)?).is_some() {
                return Err(format!("metric `{}` stands twice in one outcome", score.metric));
            }
        }
        let answer = line.answer.as_ref();
        let record = TrialRecord {
            trial: line.trial,
            answered: match &line.error {
                Some(failure) => Err((failure.kind, failure.side)),
                None => Ok(()),
            },
            cells,
            latency_ms: answer.filter(|answer| !answer.cached).and_then(|answer| answer.latency_ms),
            tokens: answer
                .filter(|answer| !answer.usage.is_empty())
                .map(|answer| answer.usage.prompt_tokens.saturating_add(answer.usage.completion_tokens)),
            cost: answer.and_then(|answer| answer.cost),
            attempts: answer
                .map_or_else(|| line.error.as_ref().map_or(0, |failure| failure.attempts), |answer| answer.attempts),
            offset,
        };
        let case = self.case(&line.case, &line.target);
        if case.trials.iter().any(|trial| trial.trial == record.trial) {
            return Err(format!("case `{}`, trial {} stands twice", line.case, line.trial));
        }
        if case.trials.is_empty() {
            case.content = line.content;
            case.tags = line.tags.iter().map(|tag| tag.as_str().into()).collect();
            case.cluster = line.cluster.as_deref().map(Into::into);
            case.place.clone_from(&line.place);
        }
        case.trials.push(record);
        Ok(())
    }

    fn case(&mut self, id: &str, target: &str) -> &mut CaseRecord {
        let key: (Arc<str>, Arc<str>) = (id.into(), target.into());
        let cases = &mut self.run.cases;
        let at = *self.positions.entry(key.clone()).or_insert_with(|| {
            cases.push(CaseRecord {
                id: key.0,
                target: key.1,
                content: None,
                tags: Vec::new(),
                cluster: None,
                place: None,
                trials: Vec::new(),
            });
            cases.len() - 1
        });
        &mut cases[at]
    }

    fn metric(&mut self, name: &str) -> usize {
        if let Some(at) = self.metrics.get(name) {
            return *at;
        }
        let at = self.run.header.metrics.len();
        self.run.header.metrics.push(MetricSpec {
            name: name.into(),
            kind: ScoreKind::UNIT,
            direction: crate::domain::Direction::Higher,
            pass_mark: None,
            fingerprint: None,
        });
        self.metrics.insert(name.to_owned(), at);
        at
    }

    pub(crate) fn finish(mut self, completion: Option<Completion>, file: Option<PathBuf>) -> Run {
        self.run.completion = completion;
        self.run.file = file;
        self.run
    }
}

fn cell(score: &ScoreLine, kind: ScoreKind) -> Result<Cell, String> {
    let given = [score.value.is_some(), score.error.is_some(), score.unusable.is_some(), score.skipped.is_some()];
    if given.iter().filter(|given| **given).count() != 1 {
        return Err(format!("metric `{}` needs exactly one of value, error, unusable, skipped", score.metric));
    }
    if let Some(value) = score.value {
        if !kind.admits(value) {
            let (lo, hi) = kind.range();
            return Err(format!("{value} is no score of `{}`: it must be from {lo} to {hi}", score.metric));
        }
        return Ok(Cell::Value { value, passed: score.passed });
    }
    if let Some(failure) = &score.error {
        return Ok(Cell::Error { kind: failure.kind, side: failure.side });
    }
    if let Some(failure) = &score.unusable {
        return Ok(Cell::Unusable { kind: failure.kind });
    }
    Ok(Cell::Skipped(score.skipped.unwrap_or(crate::domain::SkipReason::NotMeasured)))
}

/// Reads a results file of ours as numbers; the texts stay in the file.
///
/// # Errors
/// `Absent`, `Io`, `Newer`, or `Corrupt` with the line.
pub fn read_results(path: &Path) -> Result<Run, StoreError> {
    let mut reader = Lines::open(path)?;
    let first = reader.next()?.ok_or_else(|| reader.corrupt("the file is empty"))?;
    let kind: AnyLine = reader.parse(&first.text)?;
    match kind.kind.as_deref() {
        Some("run") => {
            check_version(path, kind.schema.unwrap_or(RESULTS_SCHEMA))?;
            let header: RunHeader = reader.parse(&first.text)?;
            read_outcomes(reader, header)
        }
        None => read_small(reader, first),
        Some(other) => Err(reader.corrupt(format!("the first line is of type `{other}`, not `run`"))),
    }
}

pub(super) fn check_version(path: &Path, found: u64) -> Result<(), StoreError> {
    if found > RESULTS_SCHEMA {
        return Err(StoreError::Newer { path: path.to_owned(), found, known: RESULTS_SCHEMA });
    }
    Ok(())
}

fn read_outcomes(mut reader: Lines, header: RunHeader) -> Result<Run, StoreError> {
    let mut builder = RunBuilder::new(header);
    let mut completion = None;
    let mut outcomes = 0;
    while let Some(line) = reader.next()? {
        if completion.is_some() {
            return Err(reader.corrupt("there is a line after the end line"));
        }
        let kind: AnyLine = match serde_json::from_str(&line.text) {
            Ok(kind) => kind,
            // A killed run leaves half a line at the end; what was complete before it counts.
            Err(_) if line.last => break,
            Err(error) => return Err(reader.corrupt(error.to_string())),
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

fn read_small(mut reader: Lines, first: Line) -> Result<Run, StoreError> {
    let mut builder = RunBuilder::new(RunHeader::default());
    let mut next = Some(first);
    let mut lines = 0;
    while let Some(line) = next {
        let small: SmallLine = reader.parse(&line.text)?;
        if small.run.is_some() {
            return Err(reader.corrupt("several runs in one file are not read yet; split it by `run`"));
        }
        let failed = || super::FailureLine {
            kind: crate::domain::FailureKind::Recorded,
            side: crate::domain::Side::Infra,
            message: small
                .error
                .as_ref()
                .map(|error| error.as_str().map_or_else(|| error.to_string(), str::to_owned))
                .unwrap_or_default(),
            attempts: 0,
            raw: None,
        };
        let score = ScoreLine {
            metric: small.metric.clone(),
            value: small.value,
            passed: small.passed,
            error: small.error.as_ref().map(|_| failed()),
            skipped: small.skipped.as_ref().map(|_| crate::domain::SkipReason::NotMeasured),
            ..ScoreLine::default()
        };
        let at = builder.metric(&small.metric);
        let cell = cell(&score, ScoreKind::Continuous { lo: f64::MIN, hi: f64::MAX })
            .map_err(|problem| reader.corrupt(problem))?;
        place_small(&mut builder, &small, at, cell, line.offset).map_err(|problem| reader.corrupt(problem))?;
        lines += 1;
        next = reader.next()?;
    }
    let width = builder.run.header.metrics.len();
    for trial in builder.run.cases.iter_mut().flat_map(|case| &mut case.trials) {
        trial.cells.resize(width, None);
    }
    let completion = Completion { complete: true, outcomes: lines, ..Completion::default() };
    Ok(builder.finish(Some(completion), Some(reader.path)))
}

fn place_small(builder: &mut RunBuilder, small: &SmallLine, at: usize, cell: Cell, offset: u64) -> Result<(), String> {
    let width = builder.run.header.metrics.len();
    let case = builder.case(&small.case, &small.target);
    case.tags = small.tags.iter().map(|tag| tag.as_str().into()).collect();
    case.cluster = small.cluster.as_deref().map(Into::into);
    let position = match case.trials.iter().position(|trial| trial.trial == small.trial) {
        Some(position) => position,
        None => {
            case.trials.push(TrialRecord {
                trial: small.trial,
                answered: Ok(()),
                cells: Vec::new(),
                latency_ms: None,
                tokens: None,
                cost: None,
                attempts: 0,
                offset,
            });
            case.trials.len() - 1
        }
    };
    let cells = &mut case.trials[position].cells;
    if cells.len() < width {
        cells.resize(width, None);
    }
    match cells.get_mut(at) {
        Some(slot) if slot.is_none() => {
            *slot = Some(cell);
            Ok(())
        }
        _ => Err(format!("case `{}`, metric `{}`, trial {} stands twice", small.case, small.metric, small.trial)),
    }
}

struct Line {
    text: String,
    offset: u64,
    /// Nothing follows, and it has no line end: a write may have been cut here.
    last: bool,
}

struct Lines {
    path: PathBuf,
    reader: BufReader<File>,
    number: u64,
    offset: u64,
}

impl Lines {
    fn open(path: &Path) -> Result<Self, StoreError> {
        let file = open(path)?;
        Ok(Self { path: path.to_owned(), reader: BufReader::new(file), number: 0, offset: 0 })
    }

    /// The next line that is not blank.
    fn next(&mut self) -> Result<Option<Line>, StoreError> {
        loop {
            let mut bytes = Vec::new();
            let read = self.reader.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut bytes);
            let read = read.map_err(|source| StoreError::Io { path: self.path.clone(), source })?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            let offset = self.offset;
            self.offset += read as u64;
            let ended = bytes.last() == Some(&b'\n');
            if !ended && read as u64 == LINE_LIMIT {
                return Err(self.corrupt(format!("a line is longer than {LINE_LIMIT} bytes")));
            }
            let text = String::from_utf8(bytes).map_err(|_| self.corrupt("the line is not UTF-8"))?;
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text).trim_end_matches(['\n', '\r']).to_owned();
            if !text.trim().is_empty() {
                return Ok(Some(Line { text, offset, last: !ended }));
            }
        }
    }

    fn parse<T: serde::de::DeserializeOwned>(&self, text: &str) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|error| self.corrupt(error.to_string()))
    }

    fn corrupt(&self, problem: impl Into<String>) -> StoreError {
        StoreError::Corrupt { path: self.path.clone(), line: self.number, problem: problem.into() }
    }
}

fn open(path: &Path) -> Result<File, StoreError> {
    File::open(path).map_err(|source| {
        if source.kind() == std::io::ErrorKind::NotFound {
            StoreError::Absent { path: path.to_owned() }
        } else {
            StoreError::Io { path: path.to_owned(), source }
        }
    })
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
            problem: format!("no outcome at byte {offset}: {error}"),
        })
    }
}
