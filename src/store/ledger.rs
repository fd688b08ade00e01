//! The ledger: every paid call is a row, committed before its result is used. Cache, crash recovery and account in one.
//!
//! SQLite in WAL mode with `synchronous = FULL`: a committed row survives a kill and a power cut. One thread owns the connection
//! and commits what has gathered while the last commit was on its way, so that many calls share one sync.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;

use rusqlite::{Connection, TransactionBehavior, params};
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

/// Who waits for an answer of the ledger's thread.
type Reply<T> = oneshot::Sender<Result<T, String>>;

/// An answer to keep, and who waits for the commit.
struct Put {
    key: [u8; 32],
    kept: Kept,
    reply: Reply<()>,
}

/// What the ledger holds under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Nothing,
    Kept(Kept),
    /// A row whose digest does not fit: changed by something else than scoregate, and never used.
    Altered,
}

enum Order {
    Get([u8; 32], Reply<Found>),
    Put(Put),
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

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
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
        self.order(Order::Put(Put { key, kept, reply }), answer).await
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

/// Outer error: the database; inner: a file that is not for this version. What is not ours is left as it is.
fn prepare(path: &Path) -> rusqlite::Result<Result<Connection, StoreError>> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(std::time::Duration::from_secs(30))?;
    // Two runs may make the same ledger at once: the second waits and finds it made.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version > SCHEMA {
        return Ok(Err(StoreError::Newer {
            path: path.to_owned(),
            found: version.unsigned_abs(),
            known: SCHEMA.unsigned_abs(),
        }));
    }
    if version < SCHEMA {
        let tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
        if tables > 0 {
            let problem = "this is a database of another program; name another file in `run.ledger`".to_owned();
            return Ok(Err(StoreError::Ledger { path: path.to_owned(), problem }));
        }
        // With row ids: rows are wide and keys random, so a tree of whole rows in the order of keys would split a page every few
        // calls, and miss its cache for every key that is not there. Here rows are appended, and only the keys are in a tree.
        transaction.execute_batch(
            "CREATE TABLE call (
                 key BLOB PRIMARY KEY NOT NULL, status INTEGER NOT NULL, headers TEXT NOT NULL, body BLOB NOT NULL,
                 latency_us INTEGER NOT NULL, digest BLOB NOT NULL);",
        )?;
        transaction.pragma_update(None, "user_version", SCHEMA)?;
    }
    transaction.commit()?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
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
                Order::Put(put) => puts.push(put),
            }
            next = if puts.len() < GROUP { inbox.try_recv().ok() } else { None };
        }
        if puts.is_empty() {
            continue;
        }
        let done = keep(&mut connection, &puts).map_err(|error| error.to_string());
        // All or none of a group is kept: each one who waits is told.
        for put in puts {
            let _ = put.reply.send(done.clone());
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
        for Put { key, kept, .. } in puts {
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

    #[tokio::test]
    async fn everyone_in_a_group_is_told_that_it_was_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        let ledger = Ledger::open(&path).unwrap();
        Connection::open(&path).unwrap().execute_batch("DROP TABLE call").unwrap();
        let puts = (0..40).map(|at| ledger.put([at; 32], kept("paid")));
        for result in futures_util::future::join_all(puts).await {
            assert!(result.unwrap_err().to_string().contains("no such table"));
        }
        assert!(ledger.get([1; 32]).await.is_err(), "a broken ledger is not an empty one");
    }

    #[test]
    fn one_row_that_cannot_be_kept_keeps_none_of_its_group() {
        let folder = tempfile::tempdir().unwrap();
        let mut connection = prepare(&folder.path().join("ledger.sqlite")).unwrap().unwrap();
        connection
            .execute_batch(
                "CREATE TRIGGER full BEFORE INSERT ON call WHEN NEW.status = 0 BEGIN SELECT RAISE(ABORT, 'full'); END",
            )
            .unwrap();
        let put =
            |at: u8, status| Put { key: [at; 32], kept: Kept { status, ..kept("paid") }, reply: oneshot::channel().0 };
        keep(&mut connection, &[put(1, 200), put(2, 0)]).unwrap_err();
        assert_eq!(find(&connection, &[1; 32]).unwrap(), Found::Nothing);
        keep(&mut connection, &[put(1, 200)]).unwrap();
        assert_eq!(find(&connection, &[1; 32]).unwrap(), Found::Kept(kept("paid")));
    }

    #[test]
    fn a_database_of_another_program_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.sqlite");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE visits (url TEXT)").unwrap();
        let before = std::fs::read(&path).unwrap();
        assert!(matches!(Ledger::open(&path), Err(StoreError::Ledger { .. })));
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    #[test]
    fn a_ledger_of_a_later_version_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        Connection::open(&path).unwrap().pragma_update(None, "user_version", SCHEMA + 1).unwrap();
        assert!(matches!(Ledger::open(&path), Err(StoreError::Newer { found: 2, known: 1, .. })));
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
