//! The ledger: every paid call is a row, committed before its result is used. Cache, crash recovery and account in one.
//!
//! SQLite in WAL mode with `synchronous = FULL`: a committed row survives a kill and a power cut. One thread owns the connection
//! and commits what has gathered while the last commit was on its way, so that many calls share one sync.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;

use rusqlite::{Connection, params};
use tokio::sync::oneshot;

use super::StoreError;

/// Version of the tables (`PRAGMA user_version`).
const SCHEMA: i64 = 1;
/// Rows a commit takes at most.
const GROUP: usize = 512;

/// What a kept call answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub status: u16,
    pub headers: String,
    pub body: Vec<u8>,
    /// Microseconds; SQLite's integers are signed.
    pub latency_us: i64,
}

/// What the ledger holds under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Nothing,
    Kept(Kept),
    /// A row whose digest does not fit: changed by something else than scoregate, and never used.
    Altered,
}

/// Key, answer, and who waits for the commit.
type Put = ([u8; 32], Kept, oneshot::Sender<Result<(), String>>);

enum Order {
    Get([u8; 32], oneshot::Sender<Result<Found, String>>),
    Put([u8; 32], Kept, oneshot::Sender<Result<(), String>>),
}

/// A handle to the ledger's thread. Dropping it commits what was ordered and ends the thread.
pub struct Ledger {
    path: PathBuf,
    orders: Option<mpsc::Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Ledger {
    /// Opens or makes the ledger file and its folder.
    ///
    /// # Errors
    /// `Ledger` where the file is no ledger, is of a later version, or cannot be written.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let fail = |problem: String| StoreError::Ledger { path: path.to_owned(), problem };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|error| fail(error.to_string()))?;
        }
        let connection = prepare(path).map_err(|error| fail(error.to_string()))??;
        let (orders, inbox) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || serve(connection, &inbox))
            .map_err(|error| fail(error.to_string()))?;
        Ok(Self { path: path.to_owned(), orders: Some(orders), thread: Some(thread) })
    }

    /// What is kept for `key`.
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
    /// `Ledger` where the database fails.
    pub async fn put(&self, key: [u8; 32], kept: Kept) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        self.order(Order::Put(key, kept, reply), answer).await
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
    }
}

/// Outer error: the database; inner: a file that is not for this version.
fn prepare(path: &Path) -> rusqlite::Result<Result<Connection, StoreError>> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(std::time::Duration::from_secs(30))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version > SCHEMA {
        return Ok(Err(StoreError::Newer {
            path: path.to_owned(),
            found: version.unsigned_abs(),
            known: SCHEMA.unsigned_abs(),
        }));
    }
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS call (
             key BLOB PRIMARY KEY NOT NULL, status INTEGER NOT NULL, headers TEXT NOT NULL, body BLOB NOT NULL,
             latency_us INTEGER NOT NULL, digest BLOB NOT NULL) WITHOUT ROWID;
         PRAGMA user_version = 1;",
    )?;
    Ok(Ok(connection))
}

fn serve(mut connection: Connection, inbox: &mpsc::Receiver<Order>) {
    while let Ok(first) = inbox.recv() {
        let mut puts = Vec::new();
        let mut next = Some(first);
        while let Some(order) = next {
            match order {
                Order::Get(key, reply) => {
                    let _ = reply.send(find(&connection, &key).map_err(|error| error.to_string()));
                }
                Order::Put(key, kept, reply) => puts.push((key, kept, reply)),
            }
            next = if puts.len() < GROUP { inbox.try_recv().ok() } else { None };
        }
        if puts.is_empty() {
            continue;
        }
        let done = keep(&mut connection, &puts).map_err(|error| error.to_string());
        for (_, _, reply) in puts {
            let _ = reply.send(done.clone());
        }
    }
}

fn find(connection: &Connection, key: &[u8; 32]) -> rusqlite::Result<Found> {
    let mut statement =
        connection.prepare_cached("SELECT status, headers, body, latency_us, digest FROM call WHERE key = ?1")?;
    let row = statement.query_row([key.as_slice()], |row| {
        let kept = Kept { status: row.get(0)?, headers: row.get(1)?, body: row.get(2)?, latency_us: row.get(3)? };
        let digest: Vec<u8> = row.get(4)?;
        Ok((kept, digest))
    });
    match row {
        Ok((kept, digest)) if digest.as_slice() == digest_of(key, &kept).as_slice() => Ok(Found::Kept(kept)),
        // Another content, or one of a type that is never written here.
        Ok(_)
        | Err(
            rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::Utf8Error(..),
        ) => Ok(Found::Altered),
        Err(rusqlite::Error::QueryReturnedNoRows) => Ok(Found::Nothing),
        Err(error) => Err(error),
    }
}

fn keep(connection: &mut Connection, puts: &[Put]) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    {
        let mut statement = transaction.prepare_cached(
            "INSERT OR REPLACE INTO call (key, status, headers, body, latency_us, digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        for (key, kept, _) in puts {
            let digest = digest_of(key, kept);
            statement.execute(params![
                key.as_slice(),
                kept.status,
                kept.headers,
                kept.body,
                kept.latency_us,
                digest.as_slice()
            ])?;
        }
    }
    transaction.commit()
}

/// Ties a row's content to its key, so that an edited row is noticed.
fn digest_of(key: &[u8; 32], kept: &Kept) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("scoregate ledger row v1");
    hasher.update(key);
    hasher.update(&kept.status.to_le_bytes());
    hasher.update(&(kept.headers.len() as u64).to_le_bytes());
    hasher.update(kept.headers.as_bytes());
    hasher.update(&kept.body);
    hasher.update(&kept.latency_us.to_le_bytes());
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(body: &str) -> Kept {
        Kept { status: 200, headers: String::new(), body: body.as_bytes().to_vec(), latency_us: 7 }
    }

    #[tokio::test]
    async fn what_was_kept_is_there_after_reopening() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/ledger.sqlite");
        let ledger = Ledger::open(&path).unwrap();
        ledger.put([1; 32], kept("paid")).await.unwrap();
        drop(ledger);
        let ledger = Ledger::open(&path).unwrap();
        assert_eq!(ledger.get([1; 32]).await.unwrap(), Found::Kept(kept("paid")));
        assert_eq!(ledger.get([2; 32]).await.unwrap(), Found::Nothing);
    }

    #[tokio::test]
    async fn an_edited_row_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        let ledger = Ledger::open(&path).unwrap();
        ledger.put([1; 32], kept("NO")).await.unwrap();
        drop(ledger);
        for edit in
            ["body = CAST('YES' AS BLOB)", "body = 'YES'", "latency_us = 'x'", "status = 70000", "headers = x'ff'"]
        {
            Connection::open(&path).unwrap().execute(&format!("UPDATE call SET {edit}"), []).unwrap();
            assert_eq!(Ledger::open(&path).unwrap().get([1; 32]).await.unwrap(), Found::Altered, "{edit}");
        }
    }

    #[test]
    fn a_file_that_is_no_ledger_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        std::fs::write(&path, "these are somebody's notes, longer than a header of a database would be, and more")
            .unwrap();
        let before = std::fs::read(&path).unwrap();
        assert!(matches!(Ledger::open(&path), Err(StoreError::Ledger { .. })));
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}
