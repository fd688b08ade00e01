//! Batches that were submitted and whose answers are not all in the ledger yet: what a later run picks up instead of paying again.
//!
//! Two tables in the ledger's file, with a version of their own. A batch is written down with the keys of its calls before it is
//! submitted, with its id once that is known, and struck out once every answer was used. One run at a time holds them.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::ledger::{Ledger, Patience, failure};
use super::{Lock, StoreError};

/// Version of the tables.
const SCHEMA: i64 = 2;
/// Providers keep results for about a month; what is older cannot be fetched. In microseconds.
const LONGEST_KEPT: i64 = 29 * 24 * 3600 * 1_000_000;

/// A batch as it is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// Ours, and unique.
    pub tag: String,
    /// The provider's; `None` where the submission was cut off before its answer.
    pub id: Option<String>,
    pub endpoint: String,
    /// Microseconds since 1970, just before the last attempt at submitting it.
    pub since_us: i64,
    /// Of calls in it whose answers have not arrived yet.
    pub keys: Vec<[u8; 32]>,
    /// All calls that were submitted in it.
    pub requests: usize,
}

/// The batches of one ledger, held by one run.
#[derive(Debug)]
pub struct Batches {
    path: PathBuf,
    connection: Mutex<Connection>,
    patience: Patience,
    _alone: Lock,
}

impl Batches {
    /// Opens the tables in the ledger's file; what can no longer be of use is dropped. A locked file is waited for as the ledger does,
    /// in a hurry too.
    ///
    /// # Errors
    /// `Busy` where another run holds them, `Newer`, `Ledger`.
    pub fn open(ledger: &Ledger, now_us: i64) -> Result<Self, StoreError> {
        let (path, patience) = (ledger.path(), ledger.patience().clone());
        let mut beside = path.as_os_str().to_owned();
        beside.push(".batches.lock");
        let beside = Path::new(&beside);
        if beside.is_symlink() {
            let problem = format!("{} is a link, which may lead anywhere; remove it", beside.display());
            return Err(StoreError::Ledger { path: path.to_owned(), problem });
        }
        let alone = Lock::try_hold(beside)?;
        let fail = |error: rusqlite::Error| failure(path, &error);
        let mut connection = Connection::open(path).map_err(fail)?;
        match patience.wait(|| prepare(&mut connection, now_us)).map_err(fail)? {
            SCHEMA => {}
            found => {
                let (found, known) = (found.unsigned_abs(), SCHEMA.unsigned_abs());
                return Err(StoreError::Newer { path: path.to_owned(), found, known });
            }
        }
        Ok(Self { path: path.to_owned(), connection: Mutex::new(connection), patience, _alone: alone })
    }

    /// What earlier runs left, the oldest first.
    ///
    /// # Errors
    /// `Ledger`.
    pub fn remembered(&self) -> Result<Vec<Remembered>, StoreError> {
        self.with(|connection| {
            let mut statement =
                connection.prepare("SELECT tag, id, endpoint, since_us, requests FROM batch ORDER BY since_us, tag")?;
            let mut found: Vec<Remembered> = statement
                .query_map([], |row| {
                    let requests = usize::try_from(row.get::<_, i64>(4)?).unwrap_or_default();
                    let (tag, id, endpoint, since_us) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
                    Ok(Remembered { tag, id, endpoint, since_us, keys: Vec::new(), requests })
                })?
                .collect::<rusqlite::Result<_>>()?;
            let mut statement = connection.prepare("SELECT key FROM batch_call WHERE tag = ?1 ORDER BY key")?;
            for batch in &mut found {
                batch.keys = statement
                    .query_map([&batch.tag], |row| row.get::<_, [u8; 32]>(0))?
                    .collect::<rusqlite::Result<_>>()?;
            }
            Ok(found)
        })
    }

    /// Remembers a batch; on disk when this returns.
    ///
    /// # Errors
    /// `Ledger`: it must not be submitted then.
    pub fn begin(&self, batch: &Remembered) -> Result<(), StoreError> {
        let requests = i64::try_from(batch.requests).unwrap_or(i64::MAX);
        self.with(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.execute(
                "INSERT INTO batch (tag, id, endpoint, since_us, requests) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![batch.tag, batch.id, batch.endpoint, batch.since_us, requests],
            )?;
            {
                let mut statement =
                    transaction.prepare("INSERT OR REPLACE INTO batch_call (key, tag) VALUES (?1, ?2)")?;
                for key in &batch.keys {
                    statement.execute(params![key.as_slice(), batch.tag])?;
                }
            }
            transaction.commit()
        })
    }

    /// Another attempt at submitting a batch begins; on disk when this returns.
    ///
    /// # Errors
    /// `Ledger`: it must not be submitted again then.
    pub fn renew(&self, tag: &str, since_us: i64) -> Result<(), StoreError> {
        self.with(|connection| {
            connection.execute("UPDATE batch SET since_us = ?2 WHERE tag = ?1", params![tag, since_us]).map(|_| ())
        })
    }

    /// The provider's id of a batch; on disk when this returns.
    ///
    /// # Errors
    /// `Ledger`; the batch can still be found by its tag.
    pub fn submitted(&self, tag: &str, id: &str) -> Result<(), StoreError> {
        self.with(|connection| {
            connection.execute("UPDATE batch SET id = ?2 WHERE tag = ?1", params![tag, id]).map(|_| ())
        })
    }

    /// Strikes out a batch.
    ///
    /// # Errors
    /// `Ledger`; a later run will look at it once more.
    pub fn forget(&self, tag: &str) -> Result<(), StoreError> {
        self.with(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.execute("DELETE FROM batch_call WHERE tag = ?1", [tag])?;
            transaction.execute("DELETE FROM batch WHERE tag = ?1", [tag])?;
            transaction.commit()
        })
    }

    /// Several may wait for their turn, all from the same moment on.
    fn with<T>(&self, mut work: impl FnMut(&mut Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let begun = Instant::now();
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        self.patience.wait_since(begun, || work(&mut connection)).map_err(|error| failure(&self.path, &error))
    }
}

/// Whether batches are remembered in a ledger's file, which may have no tables for them.
pub(super) fn any(connection: &Connection) -> rusqlite::Result<bool> {
    let count = |query: &str| connection.query_row(query, [], |row| row.get::<_, i64>(0));
    if count("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'batch'")? == 0 {
        return Ok(false);
    }
    Ok(count("SELECT count(*) FROM batch")? > 0)
}

/// Makes and tidies the tables; returns their version. Tables of a later version are left as they are.
fn prepare(connection: &mut Connection, now_us: i64) -> rusqlite::Result<i64> {
    Patience::prepare(connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch("CREATE TABLE IF NOT EXISTS batch_version (version INTEGER NOT NULL)")?;
    let version: Option<i64> = transaction.query_row("SELECT max(version) FROM batch_version", [], |row| row.get(0))?;
    match version {
        None => make(&transaction)?,
        Some(1) => {
            take_over_version_1(&transaction)?;
            tidy(&transaction, now_us)?;
        }
        Some(SCHEMA) => tidy(&transaction, now_us)?,
        Some(later) => return Ok(later),
    }
    transaction.commit()?;
    Ok(SCHEMA)
}

fn make(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute("INSERT INTO batch_version (version) VALUES (?1)", [SCHEMA])?;
    transaction.execute_batch(
        "CREATE TABLE batch (
             tag TEXT PRIMARY KEY NOT NULL, id TEXT, endpoint TEXT NOT NULL, since_us INTEGER NOT NULL, requests INTEGER NOT NULL);
         CREATE TABLE batch_call (key BLOB PRIMARY KEY NOT NULL, tag TEXT NOT NULL) WITHOUT ROWID;",
    )
}

/// It counted in seconds, and did not say how many calls a batch had at first.
fn take_over_version_1(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(
        "ALTER TABLE batch RENAME COLUMN since TO since_us;
         ALTER TABLE batch ADD COLUMN requests INTEGER NOT NULL DEFAULT 0;
         UPDATE batch SET since_us = since_us * 1000000,
             requests = (SELECT count(*) FROM batch_call WHERE batch_call.tag = batch.tag);",
    )?;
    transaction.execute("UPDATE batch_version SET version = ?1", [SCHEMA]).map(|_| ())
}

/// Drops what arrived, and what can be fetched no longer.
fn tidy(transaction: &Transaction<'_>, now_us: i64) -> rusqlite::Result<()> {
    // An answer that was kept before the batch was submitted is another one: it was asked for anew (`refresh`, or too old).
    transaction.execute(
        "DELETE FROM batch_call WHERE EXISTS (
             SELECT 1 FROM call JOIN batch ON batch.tag = batch_call.tag
             WHERE call.key = batch_call.key AND typeof(call.created_us) = 'integer' AND call.created_us >= batch.since_us)",
        [],
    )?;
    transaction.execute("DELETE FROM batch WHERE since_us < ?1", [now_us.saturating_sub(LONGEST_KEPT)])?;
    transaction.execute("DELETE FROM batch WHERE tag NOT IN (SELECT tag FROM batch_call)", [])?;
    transaction.execute("DELETE FROM batch_call WHERE tag NOT IN (SELECT tag FROM batch)", []).map(|_| ())
}

#[cfg(test)]
mod tests;
