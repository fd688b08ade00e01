//! Batches that were submitted and whose answers are not all in the ledger yet: what a later run picks up instead of paying again.
//!
//! Two tables in the ledger's file, with a version of their own. A batch is written down with the keys of its calls before it is
//! submitted, with its id once that is known, and struck out once every answer was used. One run at a time holds them.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, TransactionBehavior, params};

use super::{Lock, StoreError};

/// Version of the tables.
const SCHEMA: i64 = 1;
/// Providers keep results for about a month; what is older cannot be fetched.
const LONGEST_KEPT: i64 = 29 * 24 * 3600;

/// A batch as it is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// Ours, and unique.
    pub tag: String,
    /// The provider's; `None` where the submission was cut off before its answer.
    pub id: Option<String>,
    pub endpoint: String,
    /// Seconds since 1970, just before it was submitted.
    pub since: i64,
    /// Of all calls in it.
    pub keys: Vec<[u8; 32]>,
}

/// The batches of one ledger, held by one run.
#[derive(Debug)]
pub struct Batches {
    path: PathBuf,
    connection: Mutex<Connection>,
    _alone: Lock,
}

impl Batches {
    /// Opens the tables in the ledger's file, which is there already; what can no longer be of use is dropped.
    ///
    /// # Errors
    /// `Busy` where another run holds them, `Newer`, `Ledger`.
    pub fn open(ledger: &Path, now: i64) -> Result<Self, StoreError> {
        let mut beside = ledger.as_os_str().to_owned();
        beside.push(".batches.lock");
        let beside = Path::new(&beside);
        let broken = |problem: String| StoreError::Ledger { path: ledger.to_owned(), problem };
        if beside.is_symlink() {
            return Err(broken(format!("{} is a link, which may lead anywhere; remove it", beside.display())));
        }
        let alone = Lock::try_hold(beside)?;
        let fail = |error: rusqlite::Error| broken(error.to_string());
        let mut connection = Connection::open(ledger).map_err(fail)?;
        match prepare(&mut connection, now).map_err(fail)? {
            SCHEMA => {}
            found => {
                let (found, known) = (found.unsigned_abs(), SCHEMA.unsigned_abs());
                return Err(StoreError::Newer { path: ledger.to_owned(), found, known });
            }
        }
        Ok(Self { path: ledger.to_owned(), connection: Mutex::new(connection), _alone: alone })
    }

    /// What earlier runs left, the oldest first.
    ///
    /// # Errors
    /// `Ledger`.
    pub fn remembered(&self) -> Result<Vec<Remembered>, StoreError> {
        self.with(|connection| {
            let mut statement = connection.prepare("SELECT tag, id, endpoint, since FROM batch ORDER BY since, tag")?;
            let mut found: Vec<Remembered> = statement
                .query_map([], |row| {
                    let (tag, id, endpoint, since) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
                    Ok(Remembered { tag, id, endpoint, since, keys: Vec::new() })
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
        self.with(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.execute(
                "INSERT INTO batch (tag, id, endpoint, since) VALUES (?1, ?2, ?3, ?4)",
                params![batch.tag, batch.id, batch.endpoint, batch.since],
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

    fn with<T>(&self, work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut connection)
            .map_err(|error| StoreError::Ledger { path: self.path.clone(), problem: error.to_string() })
    }
}

/// Makes and tidies the tables; returns their version. Tables of a later version are left as they are.
fn prepare(connection: &mut Connection, now: i64) -> rusqlite::Result<i64> {
    connection.busy_timeout(std::time::Duration::from_secs(30))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch("CREATE TABLE IF NOT EXISTS batch_version (version INTEGER NOT NULL)")?;
    let version: Option<i64> = transaction.query_row("SELECT max(version) FROM batch_version", [], |row| row.get(0))?;
    match version {
        None => {
            transaction.execute("INSERT INTO batch_version (version) VALUES (?1)", [SCHEMA])?;
            transaction.execute_batch(
                "CREATE TABLE batch (tag TEXT PRIMARY KEY NOT NULL, id TEXT, endpoint TEXT NOT NULL, since INTEGER NOT NULL);
                 CREATE TABLE batch_call (key BLOB PRIMARY KEY NOT NULL, tag TEXT NOT NULL) WITHOUT ROWID;",
            )?;
        }
        Some(SCHEMA) => {
            // What is kept was paid for and arrived.
            transaction.execute("DELETE FROM batch_call WHERE key IN (SELECT key FROM call)", [])?;
            transaction.execute("DELETE FROM batch WHERE since < ?1", [now.saturating_sub(LONGEST_KEPT)])?;
            transaction.execute("DELETE FROM batch WHERE tag NOT IN (SELECT tag FROM batch_call)", [])?;
            transaction.execute("DELETE FROM batch_call WHERE tag NOT IN (SELECT tag FROM batch)", [])?;
        }
        Some(later) => return Ok(later),
    }
    transaction.commit()?;
    Ok(SCHEMA)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Bill, Kept, Ledger};

    const NOW: i64 = 1_800_000_000;

    fn batch(tag: &str, keys: &[u8], since: i64) -> Remembered {
        let keys = keys.iter().map(|at| [*at; 32]).collect();
        Remembered { tag: tag.to_owned(), id: None, endpoint: "judge".to_owned(), since, keys }
    }

    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        drop(Ledger::open(&path).unwrap());
        (folder, path)
    }

    #[test]
    fn a_batch_is_remembered_with_and_without_its_id_until_it_is_forgotten() {
        let (_folder, path) = place();
        let batches = Batches::open(&path, NOW).unwrap();
        batches.begin(&batch("a", &[1, 2], NOW)).unwrap();
        batches.begin(&batch("b", &[3], NOW + 1)).unwrap();
        batches.submitted("b", "batch_b").unwrap();
        drop(batches);
        let batches = Batches::open(&path, NOW).unwrap();
        let b = Remembered { id: Some("batch_b".to_owned()), ..batch("b", &[3], NOW + 1) };
        assert_eq!(batches.remembered().unwrap(), [batch("a", &[1, 2], NOW), b.clone()]);
        batches.forget("a").unwrap();
        assert_eq!(batches.remembered().unwrap(), [b]);
    }

    #[tokio::test]
    async fn what_arrived_or_is_too_old_is_not_waited_for() {
        let (_folder, path) = place();
        let batches = Batches::open(&path, NOW).unwrap();
        batches.begin(&batch("half", &[1, 2], NOW)).unwrap();
        batches.begin(&batch("whole", &[3], NOW)).unwrap();
        batches.begin(&batch("old", &[4], NOW - LONGEST_KEPT - 1)).unwrap();
        drop(batches);
        let ledger = Ledger::open(&path).unwrap();
        let kept =
            Kept { status: 200, headers: "[]".to_owned(), body: Vec::new(), latency_us: 0, bill: Bill::default() };
        ledger.put([1; 32], kept.clone()).await.unwrap();
        ledger.put([3; 32], kept).await.unwrap();
        let batches = Batches::open(&path, NOW).unwrap();
        assert_eq!(batches.remembered().unwrap(), [batch("half", &[2], NOW)]);
    }

    #[test]
    fn one_run_at_a_time_waits_for_batches() {
        let (_folder, path) = place();
        let first = Batches::open(&path, NOW).unwrap();
        assert!(matches!(Batches::open(&path, NOW), Err(StoreError::Busy { .. })));
        drop(first);
        Batches::open(&path, NOW).unwrap();
    }

    #[test]
    fn tables_of_a_later_version_are_refused_and_left_alone() {
        let (_folder, path) = place();
        drop(Batches::open(&path, NOW).unwrap());
        Connection::open(&path).unwrap().execute("UPDATE batch_version SET version = 2", []).unwrap();
        assert!(matches!(Batches::open(&path, NOW), Err(StoreError::Newer { found: 2, known: 1, .. })));
    }
}
