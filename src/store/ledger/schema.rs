//! The file: whose it is, its version, and how an earlier version becomes this one.

use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::patience::Patience;
use super::{StoreError, explain, row};

/// `PRAGMA application_id`: "SGL1". Files of version 1 do not have it.
const APPLICATION: i64 = 0x5347_4c31;

/// Brings a file to the next version, or fails and changes nothing.
type Migration = fn(&Transaction<'_>) -> rusqlite::Result<()>;

/// One entry a version (`PRAGMA user_version`): the first makes the tables in an empty file, each next one changes them. Add at the end;
/// what a released version wrote is never lost and never changed here afterwards.
const MIGRATIONS: &[Migration] = &[make, add_accounts, add_shapes];

/// The version that this program writes.
pub(super) fn version() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Whose file it is, and of which version.
enum Standing {
    /// A ledger of this version, 0 for an empty file.
    Ours(i64),
    Foreign,
}

/// Opens or makes the file and brings it to this version.
pub(super) fn open(path: &Path, patience: &Patience) -> Result<Connection, StoreError> {
    let fresh = !path.exists();
    let mut connection = Connection::open(path).map_err(|error| explain::failure(path, &error))?;
    let opened = patience.wait(|| {
        Patience::prepare(&connection)?;
        // Mostly there is nothing to do, and then nothing is locked.
        match standing(&connection)? {
            Standing::Ours(found) if found < version() => migrate(&mut connection),
            other => Ok(other),
        }
    });
    match opened.map_err(|error| explain::failure(path, &error))? {
        Standing::Ours(found) if found > version() => Err(StoreError::Newer {
            path: path.to_owned(),
            found: found.unsigned_abs(),
            known: version().unsigned_abs(),
        }),
        Standing::Foreign => {
            let problem =
                "this is a database of another program, and was left as it is; name another file in `run.ledger`"
                    .to_owned();
            Err(StoreError::Ledger { path: path.to_owned(), problem })
        }
        Standing::Ours(_) => {
            patience.wait(|| make_durable(&connection)).map_err(|error| explain::failure(path, &error))?;
            if fresh {
                sync_folder(path)?;
            }
            Ok(connection)
        }
    }
}

/// Write-ahead log where the file system can do it, and a sync a commit in any case.
fn make_durable(connection: &Connection) -> rusqlite::Result<()> {
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    // Without the log, a commit is the removal of a file: the folder has to be synced as well.
    connection.pragma_update(None, "synchronous", if mode == "wal" { "FULL" } else { "EXTRA" })?;
    // macOS: a sync that reaches the medium. Elsewhere without effect.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)
}

fn standing(connection: &Connection) -> rusqlite::Result<Standing> {
    let pragma = |name: &str| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
    let (version, application) = (pragma("user_version")?, pragma("application_id")?);
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    if tables == 0 && version == 0 {
        return Ok(Standing::Ours(0));
    }
    let first: i64 = connection.query_row(
        "SELECT count(*) FROM pragma_table_info('call') WHERE name IN ('key', 'latency_us', 'digest')",
        [],
        |row| row.get(0),
    )?;
    let ours = application == APPLICATION || (application == 0 && version == 1 && first == 3);
    Ok(if ours { Standing::Ours(version) } else { Standing::Foreign })
}

/// Two processes may find the same old file: the second waits and finds it changed.
fn migrate(connection: &mut Connection) -> rusqlite::Result<Standing> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = match standing(&transaction)? {
        Standing::Ours(found) if found < version() => found,
        other => return Ok(other),
    };
    for migration in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(usize::MAX)) {
        migration(&transaction)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", version())?;
    transaction.commit()?;
    Ok(Standing::Ours(version()))
}

/// Version 1.
fn make(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(
        "CREATE TABLE call (
             key BLOB PRIMARY KEY NOT NULL, status INTEGER NOT NULL, headers TEXT NOT NULL, body BLOB NOT NULL,
             latency_us INTEGER NOT NULL, digest BLOB NOT NULL) WITHOUT ROWID;",
    )
}

/// Version 2: when and for whom a call was made, what it took, how often its answer was used, and the runs that have not ended.
/// Answers of version 1 are of unknown age: older than any time to live.
fn add_accounts(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(
        "ALTER TABLE call RENAME TO call_1;
         CREATE TABLE call (
             key BLOB PRIMARY KEY NOT NULL, created_us INTEGER NOT NULL, endpoint TEXT NOT NULL, status INTEGER NOT NULL,
             latency_us INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, cost_usd REAL,
             digest BLOB NOT NULL, headers TEXT NOT NULL, body BLOB NOT NULL);
         CREATE TABLE reuse (key BLOB PRIMARY KEY NOT NULL, used_us INTEGER NOT NULL, hits INTEGER NOT NULL) WITHOUT ROWID;
         CREATE TABLE run (
             place BLOB NOT NULL, mode TEXT NOT NULL, suite TEXT NOT NULL, begun_us INTEGER NOT NULL, seen_us INTEGER NOT NULL,
             PRIMARY KEY (place, mode)) WITHOUT ROWID;",
    )?;
    row::take_over_version_1(transaction)?;
    transaction.execute_batch("DROP TABLE call_1")
}

/// Version 3: what the questions of the last run of each place were made of.
fn add_shapes(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction
        .execute_batch("CREATE TABLE shape (place BLOB PRIMARY KEY NOT NULL, made_of TEXT NOT NULL, at_us INTEGER NOT NULL) WITHOUT ROWID;")
}

/// A new file's name is on disk as well.
#[cfg(unix)]
fn sync_folder(path: &Path) -> Result<(), StoreError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let synced = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|source| StoreError::Io { path: folder.to_owned(), source })
}

#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> Result<(), StoreError> {
    Ok(())
}
