//! The ledger as a file: what survives, what is refused, and what is never used.

mod reuse;

use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use rusqlite::{Connection, ErrorCode};

use super::serve::Server;
use super::*;
use crate::domain::{Usage, Usd};
use reuse::usage;

/// An answer of any age.
const ANY: std::ops::Range<i64> = i64::MIN..i64::MAX;

fn kept(body: &str) -> Kept {
    let usage = Usage { prompt_tokens: 10, completion_tokens: 2 };
    Kept {
        status: 200,
        headers: "[[\"content-type\",\"text/plain\"]]".to_owned(),
        body: body.as_bytes().to_vec(),
        latency_us: 7,
        bill: Bill { endpoint: "judge".to_owned(), usage, cost: Some(Usd(0.25)) },
    }
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    (folder, path)
}

#[tokio::test]
async fn what_was_kept_is_there_after_reopening() {
    let (folder, _) = place();
    let path = folder.path().join("a/ledger.sqlite");
    let ledger = Ledger::open(&path).unwrap();
    ledger.put([1; 32], kept("paid")).await.unwrap();
    drop(ledger);
    let ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.get([1; 32]).await.unwrap(), Found::Kept(kept("paid")));
    assert_eq!(ledger.get([2; 32]).await.unwrap(), Found::Nothing);
}

#[tokio::test]
async fn commits_are_synced() {
    let (_folder, path) = place();
    let connection = schema::open(&path, &Patience::default()).unwrap();
    let pragma = |name: &str| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0)).unwrap();
    let (synchronous, fullfsync): (i64, i64) = (pragma("synchronous"), pragma("fullfsync"));
    let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!((synchronous, fullfsync, mode.as_str()), (2, 1, "wal"));
}

/// Many calls at once share a commit.
#[tokio::test]
async fn calls_that_wait_at_once_share_a_commit() {
    let (_folder, path) = place();
    let ledger = Ledger::open(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    let changes = || other.query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0)).unwrap();
    // While somebody else writes, all of them gather.
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let before = changes();
    let puts = (0..200_u8).map(|at| ledger.put([at; 32], kept("paid")));
    let release = async {
        tokio::task::yield_now().await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        other.execute_batch("COMMIT").unwrap();
    };
    let (done, ()) = tokio::join!(futures_util::future::join_all(puts), release);
    assert!(done.into_iter().all(|result| result.is_ok()));
    assert_ne!(changes(), before);
    let moments: i64 = other.query_row("SELECT count(DISTINCT created_us) FROM call", [], |row| row.get(0)).unwrap();
    assert!(moments <= 3, "{moments} commits for 200 answers");
}

#[tokio::test]
async fn a_file_that_stays_locked_is_a_clear_error_and_keeps_nothing() {
    let (_folder, path) = place();
    drop(Ledger::open(&path).unwrap());
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let patience = Patience::of(Duration::from_millis(300));
    let connection = schema::open(&path, &patience).unwrap();
    let mut server = Server::new(connection, None, patience);
    let put = serve::Put { key: [1; 32], kept: kept("paid"), reply: oneshot::channel().0 };
    let error = server.keep(&[put]).unwrap_err();
    assert!(explain::explained(&error).contains("another process holds it locked"), "{error}");
    holder.execute_batch("COMMIT").unwrap();
    let put = serve::Put { key: [1; 32], kept: kept("paid"), reply: oneshot::channel().0 };
    server.keep(&[put]).unwrap();
}

/// Whoever wants to stop is not kept by somebody else's lock.
#[tokio::test]
async fn a_locked_file_is_not_waited_for_in_a_hurry() {
    let (_folder, path) = place();
    let ledger = Ledger::open(&path).unwrap();
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = std::time::Instant::now();
    ledger.hurry();
    assert!(ledger.put([1; 32], kept("paid")).await.unwrap_err().to_string().contains("locked"));
    drop(ledger);
    assert!(begun.elapsed() < patience::LONGEST / 4, "{:?}", begun.elapsed());
}

/// R20: any byte of any column of an answer, its key included.
#[tokio::test]
async fn an_edit_of_any_byte_of_any_column_is_noticed() {
    let (_folder, path) = place();
    let key = [7; 32];
    let ledger = Ledger::open(&path).unwrap();
    ledger.put(key, kept("the answer is NO")).await.unwrap();
    ledger.put([8; 32], Kept { bill: Bill::default(), ..kept("NO") }).await.unwrap();
    drop(ledger);
    let mut connection = Connection::open(&path).unwrap();
    let columns: Vec<String> = {
        let mut statement = connection.prepare("SELECT name FROM pragma_table_info('call')").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    assert_eq!(columns.len(), 11, "a new column belongs into the digest: {columns:?}");
    let mut tried = 0;
    for column in &columns {
        let (kind, bytes): (String, Vec<u8>) = connection
            .query_row(
                &format!("SELECT typeof({column}), CAST({column} AS BLOB) FROM call WHERE key = ?1"),
                [key.as_slice()],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut edited = bytes.clone();
                edited[at] ^= 1 << bit;
                let value = match kind.as_str() {
                    "blob" => "CAST(?1 AS BLOB)".to_owned(),
                    "text" => "CAST(?1 AS TEXT)".to_owned(),
                    kind => format!("CAST(CAST(?1 AS TEXT) AS {kind})"),
                };
                let transaction = connection.transaction().unwrap();
                let changed = transaction
                    .execute(
                        &format!("UPDATE call SET {column} = {value} WHERE key = ?2 AND {column} IS NOT {value}"),
                        rusqlite::params![edited, key.as_slice()],
                    )
                    .unwrap();
                if changed == 1 {
                    tried += 1;
                    let own = row::find(&transaction, &key, &ANY).unwrap();
                    let expected = if column == "key" { Found::Nothing } else { Found::Altered };
                    assert_eq!(own, expected, "{column}, byte {at}, bit {bit}");
                    if column == "key" {
                        let new: [u8; 32] = edited.try_into().unwrap();
                        assert_eq!(row::find(&transaction, &new, &ANY).unwrap(), Found::Altered);
                    }
                }
                transaction.rollback().unwrap();
            }
        }
    }
    assert!(tried > 900, "{tried} edits");
    for edit in
        ["body = 'the answer is NO'", "latency_us = 'x'", "status = 70000", "headers = x'ff'", "cost_usd = NULL"]
    {
        connection.execute_batch("SAVEPOINT one").unwrap();
        connection.execute(&format!("UPDATE call SET {edit} WHERE key = ?1"), [key.as_slice()]).unwrap();
        assert_eq!(row::find(&connection, &key, &ANY).unwrap(), Found::Altered, "{edit}");
        connection.execute_batch("ROLLBACK TO one").unwrap();
    }
    assert!(matches!(row::find(&connection, &key, &ANY).unwrap(), Found::Kept(_)));
    connection.execute("UPDATE call SET cost_usd = 0.0 WHERE key = ?1", [[8_u8; 32].as_slice()]).unwrap();
    assert_eq!(row::find(&connection, &[8; 32], &ANY).unwrap(), Found::Altered, "nothing is not unknown");
}

/// A disk that flips a bit: the answer, no answer, or an error; never another answer.
#[tokio::test]
async fn a_damaged_file_never_gives_another_answer() {
    let (folder, path) = place();
    let ledger = Ledger::open(&path).unwrap();
    let answer = |at: u8| kept(&format!("answer {at} {}", "x".repeat(200)));
    for at in 0..20_u8 {
        ledger.put([at; 32], answer(at)).await.unwrap();
    }
    drop(ledger);
    let whole = std::fs::read(&path).unwrap();
    let damaged = folder.path().join("damaged.sqlite");
    let mut seen = [0; 2];
    for at in (0..whole.len()).step_by(61) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x41;
        std::fs::write(&damaged, &bytes).unwrap();
        let Ok(connection) = Connection::open(&damaged) else { continue };
        for key in 0..20_u8 {
            match row::find(&connection, &[key; 32], &ANY) {
                Ok(Found::Kept(found)) => {
                    assert_eq!(found, answer(key), "byte {at}");
                    seen[0] += 1;
                }
                Ok(Found::Nothing | Found::Altered) | Err(_) => seen[1] += 1,
            }
        }
    }
    assert!(seen[0] > 100 && seen[1] > 20, "{seen:?}");
}

#[tokio::test]
async fn everyone_in_a_group_is_told_that_it_was_not_kept() {
    let (_folder, path) = place();
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
    let (_folder, path) = place();
    let connection = schema::open(&path, &Patience::default()).unwrap();
    connection
        .execute_batch(
            "CREATE TRIGGER full BEFORE INSERT ON call WHEN NEW.status = 0 BEGIN SELECT RAISE(ABORT, 'full'); END",
        )
        .unwrap();
    let mut server = Server::new(connection, None, Patience::default());
    let put = |at: u8, status| serve::Put {
        key: [at; 32],
        kept: Kept { status, ..kept("paid") },
        reply: oneshot::channel().0,
    };
    server.keep(&[put(1, 200), put(2, 0)]).unwrap_err();
    let look = Connection::open(&path).unwrap();
    assert_eq!(row::find(&look, &[1; 32], &ANY).unwrap(), Found::Nothing);
    server.keep(&[put(1, 200)]).unwrap();
    assert_eq!(row::find(&look, &[1; 32], &ANY).unwrap(), Found::Kept(kept("paid")));
}

#[tokio::test]
async fn a_full_disk_says_so_and_keeps_what_was_kept() {
    let (_folder, path) = place();
    let connection = schema::open(&path, &Patience::default()).unwrap();
    let mut server = Server::new(connection, None, Patience::default());
    let put =
        |at: u8, size: usize| serve::Put { key: [at; 32], kept: kept(&"x".repeat(size)), reply: oneshot::channel().0 };
    server.keep(&[put(1, 10)]).unwrap();
    server.limit_pages(20);
    let error = server.keep(&[put(2, 1_000_000)]).unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DiskFull));
    assert!(explain::explained(&error).contains("the disk is full"));
    drop(server);
    let ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.get([1; 32]).await.unwrap(), Found::Kept(kept("xxxxxxxxxx")));
    assert_eq!(ledger.get([2; 32]).await.unwrap(), Found::Nothing);
}

fn refused(path: &Path) -> String {
    let before = std::fs::read(path).unwrap();
    let error = Ledger::open(path).err().unwrap();
    assert_eq!(std::fs::read(path).unwrap(), before, "it was left as it is");
    error.to_string()
}

#[test]
fn a_database_of_another_program_is_refused_and_left_alone() {
    let (_folder, path) = place();
    for (at, setup) in [
        "CREATE TABLE visits (url TEXT)",
        "CREATE TABLE visits (url TEXT); PRAGMA user_version = 1",
        "CREATE TABLE call (number TEXT); PRAGMA user_version = 1",
        "CREATE TABLE visits (url TEXT); PRAGMA user_version = 74",
        "PRAGMA user_version = 3; PRAGMA application_id = 5",
    ]
    .into_iter()
    .enumerate()
    {
        let path = path.with_file_name(format!("{at}.sqlite"));
        Connection::open(&path).unwrap().execute_batch(setup).unwrap();
        let said = refused(&path);
        assert!(said.contains("another program") && said.contains("run.ledger"), "{setup}: {said}");
    }
}

#[test]
fn a_ledger_of_a_later_version_is_refused() {
    let (_folder, path) = place();
    drop(Ledger::open(&path).unwrap());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", schema::version() + 1).unwrap();
    assert!(refused(&path).contains("use a newer scoregate"));
}

#[test]
fn a_file_that_is_no_ledger_is_refused_and_left_alone() {
    let (_folder, path) = place();
    std::fs::write(&path, "these are somebody's notes, longer than a header of a database would be, and more").unwrap();
    assert!(refused(&path).contains("this is no ledger"));
}

fn version_1(path: &Path) {
    let connection = Connection::open(path).unwrap();
    let rows = std::fs::read_to_string("fixtures/store/ledger-version-1.sql").unwrap();
    connection.execute_batch(&rows).unwrap();
}

#[tokio::test]
async fn a_ledger_of_version_1_is_taken_over_with_its_answers() {
    let (_folder, path) = place();
    version_1(&path);
    let keys: Vec<Vec<u8>> = {
        let connection = Connection::open(&path).unwrap();
        let mut statement = connection.prepare("SELECT key FROM call ORDER BY key").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    let key = |at: usize| <[u8; 32]>::try_from(keys[at].as_slice()).unwrap();
    let ledger = Ledger::open(&path).unwrap();
    let Found::Kept(first) = ledger.get(key(0)).await.unwrap() else { panic!("the answer is gone") };
    assert_eq!((first.status, first.bill), (200, Bill::default()));
    assert!(String::from_utf8_lossy(&first.body).contains("YES") && first.headers.contains("application/json"));
    assert_eq!(ledger.get(key(1)).await.unwrap(), Found::Altered, "what was altered stays so");
    drop(ledger);
    // Of unknown age: too old for any time to live.
    let year = Some(Duration::from_secs(366 * 24 * 60 * 60));
    let ledger = Ledger::open_for(&path, &usage(LedgerMode::On, year)).unwrap();
    assert_eq!(ledger.get(key(0)).await.unwrap(), Found::Nothing);
    drop(ledger);
    assert_eq!(account(&path).unwrap().endpoints[0].answers, 2);
}

#[test]
fn a_version_1_file_that_cannot_be_changed_stays_as_it_is() {
    let (_folder, path) = place();
    version_1(&path);
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE reuse (other TEXT)").unwrap();
    assert!(refused(&path).contains("already exists"));
}

#[tokio::test]
async fn the_copied_file_alone_holds_everything() {
    let (folder, path) = place();
    let ledger = Ledger::open(&path).unwrap();
    for at in 0..50_u8 {
        ledger.put([at; 32], kept("paid")).await.unwrap();
    }
    drop(ledger);
    let copy = folder.path().join("other/ledger.sqlite");
    std::fs::create_dir(copy.parent().unwrap()).unwrap();
    std::fs::copy(&path, &copy).unwrap();
    let ledger = Ledger::open(&copy).unwrap();
    for at in 0..50_u8 {
        assert_eq!(ledger.get([at; 32]).await.unwrap(), Found::Kept(kept("paid")));
    }
    assert!(!path.with_file_name("ledger.sqlite-wal").exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever an answer holds comes back as it was.
    #[test]
    fn what_is_kept_comes_back(
        key: [u8; 32], status: u16, headers: String, body: Vec<u8>, latency_us: i64, endpoint: String,
        prompt_tokens in 0..=i64::MAX.unsigned_abs(), completion_tokens in 0..=i64::MAX.unsigned_abs(),
        cost in proptest::option::of(prop::num::f64::POSITIVE | prop::num::f64::ZERO),
    ) {
        let bill = Bill { endpoint, usage: Usage { prompt_tokens, completion_tokens }, cost: cost.map(Usd) };
        let kept = Kept { status, headers, body, latency_us, bill };
        let (_folder, path) = place();
        let mut connection = schema::open(&path, &Patience::default()).unwrap();
        let transaction = connection.transaction().unwrap();
        row::keep(&transaction, &key, 5, &kept).unwrap();
        prop_assert_eq!(row::find(&transaction, &key, &(5..6)).unwrap(), Found::Kept(kept));
        prop_assert_eq!(row::find(&transaction, &key, &(6..9)).unwrap(), Found::Nothing);
    }
}
