//! Recording into a cassette: one whole line at a time.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use tempfile::{NamedTempFile, TempPath};

use super::{CASSETTE_SCHEMA, CallLine, Cassette, CassetteEnd, CassetteHeader};
use crate::store::lines::LINE_LIMIT;
use crate::store::write::{folder_of, persist, share, temporary};
use crate::store::{Lock, StoreError};

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Written<'a> {
    Cassette {
        schema: u64,
        #[serde(flatten)]
        header: &'a CassetteHeader,
    },
    Call(&'a CallLine),
    End(&'a CassetteEnd),
}

/// Writes a cassette. Of several processes one may write; the others are told.
#[derive(Debug)]
pub struct CassetteWriter {
    path: PathBuf,
    state: Mutex<State>,
    _alone: Lock,
}

#[derive(Debug)]
struct State {
    /// `None`: finished.
    file: Option<File>,
    /// Its temporary name, where it replaces another one at the end.
    temporary: Option<TempPath>,
    /// Lines of calls in the file.
    calls: u64,
    /// A write failed: what follows would be glued to half a line.
    broken: bool,
}

impl CassetteWriter {
    /// A new file; one that is there is left alone.
    ///
    /// # Errors
    /// `Io`, of the kind `AlreadyExists` where there is a file; `Busy` where another process records into it.
    pub fn create(path: &Path, header: &CassetteHeader) -> Result<Self, StoreError> {
        let fail = |source| StoreError::Io { path: path.to_owned(), source };
        let alone = hold(path)?;
        let file = OpenOptions::new().append(true).create_new(true).open(path).map_err(fail)?;
        let writer = Self::over(path, file, 0, None, alone);
        writer.line(&Written::Cassette { schema: CASSETTE_SCHEMA, header })?;
        Ok(writer)
    }

    /// A new file that takes the place of the old one when it is finished.
    ///
    /// # Errors
    /// `Io`, or `Busy` where another process records into it.
    pub fn replace(path: &Path, header: &CassetteHeader) -> Result<Self, StoreError> {
        let fail = |source| StoreError::Io { path: path.to_owned(), source };
        let alone = hold(path)?;
        let file = temporary(folder_of(path)).map_err(fail)?;
        share(file.as_file()).map_err(fail)?;
        let (file, temporary) = file.into_parts();
        let writer = Self::over(path, file, 0, Some(temporary), alone);
        writer.line(&Written::Cassette { schema: CASSETTE_SCHEMA, header })?;
        Ok(writer)
    }

    /// Goes on behind what the file holds, which is returned as well; half a line at its end is taken away first.
    ///
    /// # Errors
    /// As [`Cassette::open`]; `Busy` where another process records into it.
    pub fn extend(path: &Path) -> Result<(Cassette, Self), StoreError> {
        // Before it is read: half a line at its end may be one that is being written.
        let alone = hold(path)?;
        let cassette = Cassette::open(path)?;
        let fail = |source| StoreError::Io { path: path.to_owned(), source };
        if let Some(length) = cassette.cut_at() {
            let mut whole = temporary(folder_of(path)).map_err(fail)?;
            let copied = File::open(path).and_then(|file| std::io::copy(&mut file.take(length), &mut whole));
            copied.and_then(|_| share(whole.as_file())).map_err(fail)?;
            persist(whole, path)?;
        }
        let mut file = OpenOptions::new().read(true).append(true).open(path).map_err(fail)?;
        if !ends_with_a_line_end(&mut file).map_err(fail)? {
            file.write_all(b"\n").map_err(fail)?;
        }
        let writer = Self::over(path, file, cassette.len() as u64, None, alone);
        Ok((cassette, writer))
    }

    fn over(path: &Path, file: File, calls: u64, temporary: Option<TempPath>, alone: Lock) -> Self {
        let state = Mutex::new(State { file: Some(file), temporary, calls, broken: false });
        Self { path: path.to_owned(), state, _alone: alone }
    }

    /// The file it becomes.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lines of calls so far.
    pub fn calls(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).calls
    }

    /// Appends one call.
    ///
    /// # Errors
    /// `Io`; after the first one nothing more is written.
    pub fn append(&self, call: &CallLine) -> Result<(), StoreError> {
        self.line(&Written::Call(call))
    }

    /// Syncs the file and, where it replaces another one, puts it in its place. `None`: the run did not reach its end. What was to be
    /// replaced stays then.
    ///
    /// # Errors
    /// `Io`.
    pub fn finish(&self, counts: Option<crate::domain::CallCounts>) -> Result<(), StoreError> {
        if let Some(counts) = counts {
            let calls = self.calls();
            self.line(&Written::End(&CassetteEnd { calls, counts }))?;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, temporary, broken) = (state.file.take(), state.temporary.take(), state.broken);
        drop(state);
        let Some(file) = file else { return Ok(()) };
        match (temporary, counts) {
            (Some(temporary), Some(_)) if !broken => persist(NamedTempFile::from_parts(file, temporary), &self.path),
            (Some(_), _) => Ok(()),
            (None, _) => file.sync_all().map_err(|source| StoreError::Io { path: self.path.clone(), source }),
        }
    }

    fn line(&self, line: &Written<'_>) -> Result<(), StoreError> {
        let fail = |source| StoreError::Io { path: self.path.clone(), source };
        let mut text = serde_json::to_vec(line).map_err(|error| fail(std::io::Error::other(error)))?;
        text.push(b'\n');
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.broken {
            return Err(fail(std::io::Error::other("an earlier line could not be written")));
        }
        if text.len() as u64 >= LINE_LIMIT {
            return Err(fail(std::io::Error::other(format!("a call needs a line of more than {LINE_LIMIT} bytes"))));
        }
        let Some(file) = &mut state.file else { return Err(fail(std::io::Error::other("the recording has ended"))) };
        if let Err(error) = file.write_all(&text) {
            state.broken = true;
            return Err(fail(error));
        }
        state.calls += u64::from(matches!(line, Written::Call(_)));
        Ok(())
    }
}

/// One process at a time records into `path`.
fn hold(path: &Path) -> Result<Lock, StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match Lock::try_hold(&folder_of(path).join(format!(".{name}.lock"))) {
        Err(StoreError::Busy { holder, .. }) => Err(StoreError::Busy { path: path.to_owned(), holder }),
        held => held,
    }
}

fn ends_with_a_line_end(file: &mut File) -> std::io::Result<bool> {
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == [b'\n'])
}
