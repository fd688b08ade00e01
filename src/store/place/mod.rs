//! Where a baseline is kept: one file for each kind of place, and a line in [`KINDS`].
//!
//! ```text
//! from, path ─► open ─► Place ─► load ─► Stored { bytes, mark } ─► parse_baseline
//!                            └► save(bytes, over the mark that was loaded)
//! ```
//!
//! Promise: absent, not to be fetched, and damaged are three different errors; what somebody else wrote since it was loaded is never
//! overwritten ([`StoreError::Moved`]); messages name the place without what may be secret in it.
//!
//! Adding a kind: a file with `open`, and a line in [`KINDS`].

#[cfg(feature = "cloud")]
mod cloud;
mod file;
mod git;
mod http;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Lock, StoreError};
use crate::domain::{Digest, Env};
use crate::net::BoxFuture;

pub(super) use file::read as read_file;
pub use git::BRANCH;

/// A place, ready to be read and written.
pub trait Place: Send + Sync {
    /// For messages and reports: without user, password and query.
    fn name(&self) -> String;

    /// What is there now.
    ///
    /// **Errors**: `Absent`, `Unreachable`, `Corrupt` where it is too large.
    fn load(&self) -> BoxFuture<'_, Result<Stored, StoreError>>;

    /// Writes `bytes` where still stands what `over` says.
    ///
    /// **Errors**: `Moved` where it does not; `Unreachable`; `Io`.
    fn save<'a>(&'a self, bytes: &'a [u8], over: &'a Mark) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Keeps other writers of this machine away, where that is possible, until it is dropped.
    ///
    /// # Errors
    /// `Io`.
    fn hold(&self) -> Result<Option<Lock>, StoreError> {
        Ok(None)
    }
}

/// What a place holds.
#[derive(Debug)]
pub struct Stored {
    pub bytes: Vec<u8>,
    pub mark: Mark,
}

/// Tells one state of a place from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Nothing is there.
    Nothing,
    /// An ETag, a commit, a digest.
    Is(String),
}

impl Mark {
    fn of(bytes: &[u8]) -> Self {
        Self::Is(Digest::of([bytes]).to_string())
    }
}

/// What a suite or a command line says of a place.
#[derive(Clone, Debug)]
pub struct Wanted<'w> {
    /// `file`, `git`, `git:BRANCH`, or an address.
    pub from: &'w str,
    /// Of `file`: the file. It is checked by the caller.
    pub file: PathBuf,
    /// Of `file` as the user wrote it; of `git` the path in the branch.
    pub path: &'w str,
    /// Where it is written, if that is another address.
    pub put: Option<&'w str>,
    pub headers: &'w BTreeMap<String, String>,
    /// A folder of the project.
    pub folder: &'w Path,
    pub env: &'w Env,
}

type Open = fn(&Wanted<'_>) -> Result<Box<dyn Place>, String>;

/// A kind of place.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The word, or the scheme of the address.
    pub names: &'static [&'static str],
    pub open: Open,
}

/// All kinds.
pub const KINDS: &[Kind] = &[
    Kind { names: &["file"], open: file::open },
    Kind { names: &["git"], open: git::open },
    Kind { names: &["https", "http"], open: http::open },
    #[cfg(feature = "cloud")]
    Kind { names: &["s3", "gs", "az"], open: cloud::open },
    #[cfg(not(feature = "cloud"))]
    Kind { names: &["s3", "gs", "az"], open: without_cloud },
];

/// Opens no connection yet.
///
/// # Errors
/// There is no such place, in a sentence with what to do.
pub fn open(wanted: &Wanted<'_>) -> Result<Box<dyn Place>, String> {
    let name = wanted.from.split(':').next().unwrap_or_default();
    match KINDS.iter().find(|kind| kind.names.contains(&name)) {
        Some(kind) => (kind.open)(wanted),
        None => {
            let known: Vec<&str> = KINDS.iter().flat_map(|kind| kind.names.iter().copied()).collect();
            Err(format!("`{name}` is no place of a baseline; there are {}", known.join(", ")))
        }
    }
}

#[cfg(not(feature = "cloud"))]
fn without_cloud(wanted: &Wanted<'_>) -> Result<Box<dyn Place>, String> {
    let name = wanted.from.split(':').next().unwrap_or_default();
    Err(format!(
        "this scoregate was built without the cloud's stores, so it cannot use `{name}://`; take a released binary, build with `--features \
         cloud`, or use a pre-signed `https://` address"
    ))
}

/// Bytes of a baseline at most: a named limit, so that a wrong file cannot fill the memory.
pub(super) const LIMIT: u64 = 256 * 1024 * 1024;

fn too_large(place: &str) -> StoreError {
    let problem = format!("it is larger than {} MiB, the limit of a baseline", LIMIT / 1024 / 1024);
    StoreError::Corrupt { path: place.into(), line: 0, problem }
}

fn unreachable(place: &str, problem: impl ToString) -> StoreError {
    StoreError::Unreachable { place: place.to_owned(), problem: problem.to_string() }
}

fn moved(place: &str) -> StoreError {
    StoreError::Moved { place: place.to_owned() }
}

#[cfg(test)]
mod tests;
