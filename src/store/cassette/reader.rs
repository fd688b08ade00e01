//! A cassette to replay from: an index in memory, the texts in the file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{CASSETTE_SCHEMA, CallKey, CallLine, CassetteEnd, CassetteHeader, KIND};
use crate::domain::Digest;
use crate::store::StoreError;
use crate::store::first_line::FirstLine;
use crate::store::lines::{LINE_LIMIT, Line, Lines, json_problem, open};

/// An open cassette.
#[derive(Debug)]
pub struct Cassette {
    path: PathBuf,
    reader: Mutex<BufReader<File>>,
    header: CassetteHeader,
    calls: Vec<Recorded>,
    by_key: HashMap<CallKey, Vec<usize>>,
    /// One call of each place.
    by_place: HashMap<Digest, usize>,
    end: Option<CassetteEnd>,
    /// Bytes of its whole lines, where a line that was cut off follows.
    cut_at: Option<u64>,
    used: AtomicU64,
}

/// Where a call's line is, and what it was for.
#[derive(Debug)]
struct Recorded {
    offset: u64,
    number: u64,
    /// Digest of target and `what`.
    place: Digest,
    what: Digest,
    used: AtomicBool,
}

impl Cassette {
    /// Reads every line and keeps where it is.
    ///
    /// # Errors
    /// `Absent`, `Io`, `Newer`, or `Corrupt` with the line.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let mut lines = Lines::open(path)?;
        let mut cassette = Self {
            path: path.to_owned(),
            reader: Mutex::new(BufReader::new(open(path)?)),
            header: header(&mut lines)?,
            calls: Vec::new(),
            by_key: HashMap::new(),
            by_place: HashMap::new(),
            end: None,
            cut_at: None,
            used: AtomicU64::new(0),
        };
        while let Some(line) = lines.next()? {
            cassette.line(&lines, &line)?;
        }
        Ok(cassette)
    }

    fn line(&mut self, lines: &Lines, line: &Line) -> Result<(), StoreError> {
        let kind: FirstLine = match serde_json::from_str(&line.text) {
            Ok(kind) => kind,
            Err(_) if line.last => {
                self.cut_at = Some(line.offset);
                self.end = None;
                return Ok(());
            }
            Err(error) => return Err(lines.corrupt(json_problem(&error))),
        };
        match kind.kind.as_deref() {
            Some("call") => {
                let call: CallLine = lines.parse(&line.text)?;
                if let Some(problem) = call.problem() {
                    return Err(lines.corrupt(problem));
                }
                self.index(&call, line.offset, lines.number);
                self.end = None;
            }
            Some("end") => self.end = Some(lines.parse(&line.text)?),
            _ => return Err(lines.corrupt("a line is neither `call` nor `end`")),
        }
        Ok(())
    }

    fn index(&mut self, call: &CallLine, offset: u64, number: u64) {
        let at = self.calls.len();
        let (place, what) = (place_of(&call.target, &call.what), Digest::of([&call.what]));
        self.calls.push(Recorded { offset, number, place, what, used: AtomicBool::new(false) });
        self.by_key.entry(call.key).or_default().push(at);
        self.by_place.insert(place, at);
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn header(&self) -> &CassetteHeader {
        &self.header
    }

    /// Calls it holds.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// What its last line says of the whole; `None`: the recording did not reach its end.
    pub fn end(&self) -> Option<&CassetteEnd> {
        self.end.as_ref()
    }

    /// Where its last line was cut off: the bytes before that are whole lines.
    pub fn cut_at(&self) -> Option<u64> {
        self.cut_at
    }

    /// How the call with this key ended; `None` where it was not recorded.
    ///
    /// Of several with the same key, those of the same target and `what` are taken one after the other, the last of them again and
    /// again; else the first of the same `what`, else the first. So the choice does not depend on which case is faster.
    ///
    /// # Errors
    /// `Io`, or `Corrupt` where the file changed since it was opened.
    pub fn find(&self, key: CallKey, target: &str, what: &str) -> Result<Option<CallLine>, StoreError> {
        let Some(same_key) = self.by_key.get(&key) else { return Ok(None) };
        let recorded = || same_key.iter().filter_map(|at| self.calls.get(*at));
        let (place, said) = (place_of(target, what), Digest::of([what]));
        let of_place = || recorded().filter(|call| call.place == place);
        let chosen = of_place()
            .find(|call| self.take(call))
            .or_else(|| of_place().last())
            .or_else(|| recorded().find(|call| call.what == said))
            .or_else(|| recorded().next());
        let Some(chosen) = chosen else { return Ok(None) };
        self.take(chosen);
        self.read(chosen).map(Some)
    }

    /// Another call that was recorded for the same place.
    ///
    /// # Errors
    /// As [`Cassette::find`].
    pub fn other(&self, target: &str, what: &str) -> Result<Option<CallLine>, StoreError> {
        let at = self.by_place.get(&place_of(target, what));
        at.and_then(|at| self.calls.get(*at)).map(|call| self.read(call)).transpose()
    }

    /// How many calls were asked for at least once.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// The first call that nobody asked for.
    ///
    /// # Errors
    /// As [`Cassette::find`].
    pub fn first_unused(&self) -> Result<Option<CallLine>, StoreError> {
        let unused = self.calls.iter().find(|call| !call.used.load(Ordering::Relaxed));
        unused.map(|call| self.read(call)).transpose()
    }

    /// True for the first who takes it.
    fn take(&self, call: &Recorded) -> bool {
        let first = !call.used.swap(true, Ordering::Relaxed);
        self.used.fetch_add(u64::from(first), Ordering::Relaxed);
        first
    }

    fn read(&self, call: &Recorded) -> Result<CallLine, StoreError> {
        let fail = |source| StoreError::Io { path: self.path.clone(), source };
        let mut text = Vec::new();
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.seek(SeekFrom::Start(call.offset)).map_err(fail)?;
        reader.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut text).map_err(fail)?;
        drop(reader);
        serde_json::from_slice(&text).map_err(|error| StoreError::Corrupt {
            path: self.path.clone(),
            line: call.number,
            problem: format!("the cassette changed while it was replayed: {}", json_problem(&error)),
        })
    }
}

fn header(lines: &mut Lines) -> Result<CassetteHeader, StoreError> {
    let first = lines.next()?.ok_or_else(|| lines.corrupt("the file is empty"))?;
    let line: FirstLine = serde_json::from_str(&first.text).unwrap_or_default();
    match line.kind.as_deref() {
        Some(KIND) => {}
        Some(other) => return Err(lines.corrupt(format!("the first line is of type `{other}`, not `{KIND}`"))),
        None => return Err(lines.corrupt("this is no cassette: its first line says no `\"type\":\"cassette\"`")),
    }
    let found = line.schema.ok_or_else(|| lines.corrupt("the first line says no `schema`"))?;
    if found > CASSETTE_SCHEMA {
        return Err(StoreError::Newer { path: lines.path.clone(), found, known: CASSETTE_SCHEMA });
    }
    lines.parse(&first.text)
}

fn place_of(target: &str, what: &str) -> Digest {
    Digest::of([target, what])
}
