//! The ledger: every paid call is a row, committed before its result is used. Cache, crash recovery and account in one.
//!
//! ```text
//! schema (open, migrate) ─► serve (one thread: group commit) ─► row (find, keep, digest)
//!                                └► unfinished (what a killed run may go on with)
//! account (stats) · prune: beside running processes, in small transactions
//! ```
//!
//! SQLite in WAL mode with `synchronous = FULL`: a committed row survives a kill and a power cut. One thread owns the connection
//! and commits what has gathered while the last commit was on its way, so that many calls share one sync. Many processes may use
//! one file: whoever finds it locked waits, for a bounded time.
//!
//! Promise: a row is never used unless its digest fits its key and all of its columns; what is not ours, is damaged or is of a later
//! version is left as it is.

mod account;
mod explain;
mod patience;
mod peek;
mod prune;
mod row;
mod schema;
mod serve;
#[cfg(test)]
mod tests;
mod unfinished;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::oneshot;

use super::StoreError;
use serve::{Order, Put, Reply};

pub(in crate::store) use explain::failure;
pub(in crate::store) use patience::Patience;

pub use account::{Account, EndpointAccount, account};
pub use peek::Peek;
pub use prune::{PruneSettings, Pruned, prune};
pub use row::{Bill, Found, Kept};
pub use unfinished::Unfinished;

/// Which answers of earlier runs may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerMode {
    /// Those younger than the time to live.
    On,
    /// None: everything is asked again, and replaces what was kept.
    Refresh,
    /// None, and nothing is kept beyond the run.
    Off,
}

impl LedgerMode {
    /// As the command line and the suite name it.
    pub fn word(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Refresh => "refresh",
            Self::Off => "off",
        }
    }
}

/// How a run uses a ledger. In every mode it goes on where the same run was stopped: `place` says which run is the same.
#[derive(Clone, Debug)]
pub struct LedgerUse {
    pub mode: LedgerMode,
    /// Answers older than this are asked for again; `None`: never.
    pub ttl: Option<Duration>,
    /// What makes two runs the same: the suite's file and the folder of its results, which one run holds at a time.
    pub place: String,
    /// The suite's name, for people.
    pub suite: String,
    /// What its questions are made of, for [`Ledger::before`] of the next run.
    pub shape: String,
}

/// What a run goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resumed {
    /// When the stopped run began: microseconds since 1970.
    pub begun_us: i64,
    /// Answers that were kept since then.
    pub answers: u64,
}

/// A handle to the ledger's thread. Dropping it commits what was ordered, empties the write-ahead log into the file and ends the thread.
pub struct Ledger {
    path: PathBuf,
    orders: Option<mpsc::Sender<Order>>,
    thread: Option<JoinHandle<()>>,
    patience: Patience,
    resumed: Option<Resumed>,
    before: Option<String>,
    /// The file is only for recovery, and the run is over: it goes with this handle.
    discard: AtomicBool,
    recovery_only: bool,
}

impl Ledger {
    /// Opens or makes the ledger file and its folder; every answer in it may be used.
    ///
    /// # Errors
    /// `Ledger` where the file is no ledger or cannot be written, `Newer` where it is of a later version.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::start(path, None)
    }

    /// Opens or makes the ledger file for a run. With [`LedgerMode::Off`], `path` is a file for this purpose only.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn open_for(path: &Path, usage: &LedgerUse) -> Result<Self, StoreError> {
        Self::start(path, Some(usage))
    }

    fn start(path: &Path, usage: Option<&LedgerUse>) -> Result<Self, StoreError> {
        let fail = |problem: String| StoreError::Ledger { path: path.to_owned(), problem };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|error| fail(error.to_string()))?;
        }
        let patience = Patience::default();
        let connection = schema::open(path, &patience)?;
        let run = usage.map(|usage| unfinished::Run::begin(&connection, usage, now_us())).transpose();
        let mut run = run.map_err(|error| explain::failure(path, &error))?;
        let resumed = run.as_ref().and_then(unfinished::Run::resumed);
        let before = run.as_mut().and_then(unfinished::Run::take_before);
        let (orders, inbox) = mpsc::channel();
        let server = serve::Server::new(connection, run, patience.clone());
        let thread = std::thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || server.serve(&inbox))
            .map_err(|error| fail(error.to_string()))?;
        Ok(Self {
            path: path.to_owned(),
            orders: Some(orders),
            thread: Some(thread),
            patience,
            resumed,
            before,
            discard: AtomicBool::new(false),
            recovery_only: usage.is_some_and(|usage| usage.mode == LedgerMode::Off),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The stopped run that this one goes on with, if there is one.
    pub fn resumed(&self) -> Option<Resumed> {
        self.resumed
    }

    /// What the questions of the last run of this place were made of that kept an answer, where that run's answers may be used.
    pub fn before(&self) -> Option<&str> {
        self.before.as_deref()
    }

    /// What is kept for `key` and may be used by this run.
    ///
    /// # Errors
    /// `Ledger` where the database fails.
    pub async fn get(&self, key: [u8; 32]) -> Result<Found, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.order(Order::Get(key, reply), answer).await
    }

    /// Keeps an answer; returns when it is on disk.
    ///
    /// # Errors
    /// `Ledger` where the database fails, or is locked by another process for longer than a minute.
    pub async fn put(&self, key: [u8; 32], kept: Kept) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        self.order(Order::Put(Box::new(Put { key, kept, reply })), answer).await
    }

    /// The run is over: the next one of this place begins anew. What was kept for recovery only goes when this handle is dropped, unless
    /// batches are remembered in it, whose answers are still to come.
    ///
    /// # Errors
    /// `Ledger` where the database fails.
    pub async fn finish(&self) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        let batches = self.order(Order::Finish(reply), answer).await?;
        self.discard.store(self.recovery_only && !batches, Ordering::Relaxed);
        Ok(())
    }

    /// Nothing more is asked of it: its file is put in order while others work. Dropping the handle waits until that is done.
    pub fn close(&self) {
        if let Some(orders) = &self.orders {
            // Where its thread has ended, it is closed.
            let _ = orders.send(Order::Close);
        }
    }

    /// From now on a locked file is waited for no longer than a moment: somebody wants to stop.
    pub fn hurry(&self) {
        self.patience.hurry();
    }

    /// How long this ledger waits for a locked file, for all who work on it.
    pub(in crate::store) fn patience(&self) -> &Patience {
        &self.patience
    }

    async fn order<T>(&self, order: Order, answer: oneshot::Receiver<Result<T, String>>) -> Result<T, StoreError> {
        let fail = |problem: String| StoreError::Ledger { path: self.path.clone(), problem };
        let orders = self.orders.as_ref().ok_or_else(|| fail("the ledger is closed".to_owned()))?;
        orders.send(order).map_err(|_| fail("the ledger's thread has ended".to_owned()))?;
        answer.await.map_err(|_| fail("the ledger's thread has ended".to_owned()))?.map_err(fail)
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if self.discard.load(Ordering::Relaxed) {
            for end in ["", "-wal", "-shm", ".batches.lock"] {
                let mut name = self.path.clone().into_os_string();
                name.push(end);
                let _ = std::fs::remove_file(name);
            }
        }
    }
}

/// Microseconds since 1970.
fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

/// Who asked hears it, unless nobody waits any more.
fn tell<T>(reply: Reply<T>, answer: Result<T, String>) {
    let _ = reply.send(answer);
}

/// The shared flag of [`Patience`].
type Flag = Arc<AtomicBool>;
