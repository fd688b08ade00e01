//! What is remembered of batches, for whom, and how long.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::*;
use crate::store::{Bill, Kept, LedgerMode, LedgerUse};

/// Long before any answer of these tests is kept.
const LONG_AGO: i64 = 1_500_000_000_000_000;
/// Long after.
const LATER: i64 = 4_000_000_000_000_000;

fn batch(tag: &str, keys: &[u8], since_us: i64) -> Remembered {
    let keys: Vec<[u8; 32]> = keys.iter().map(|at| [*at; 32]).collect();
    let requests = keys.len();
    Remembered { tag: tag.to_owned(), id: None, endpoint: "judge".to_owned(), since_us, keys, requests }
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    (folder, path)
}

fn open(path: &Path, now_us: i64) -> Result<Batches, StoreError> {
    Batches::open(&Ledger::open(path).unwrap(), now_us)
}

fn kept() -> Kept {
    Kept { status: 200, headers: "[]".to_owned(), body: Vec::new(), latency_us: 0, bill: Bill::default() }
}

#[test]
fn a_batch_is_remembered_with_and_without_its_id_until_it_is_forgotten() {
    let (_folder, path) = place();
    let batches = open(&path, LONG_AGO).unwrap();
    batches.begin(&batch("a", &[1, 2], LONG_AGO)).unwrap();
    batches.begin(&batch("b", &[3], LONG_AGO + 1)).unwrap();
    batches.submitted("b", "batch_b").unwrap();
    drop(batches);
    let batches = open(&path, LONG_AGO).unwrap();
    let b = Remembered { id: Some("batch_b".to_owned()), ..batch("b", &[3], LONG_AGO + 1) };
    assert_eq!(batches.remembered().unwrap(), [batch("a", &[1, 2], LONG_AGO), b.clone()]);
    batches.forget("a").unwrap();
    batches.renew("b", LONG_AGO + 7).unwrap();
    assert_eq!(batches.remembered().unwrap(), [Remembered { since_us: LONG_AGO + 7, ..b }]);
}

#[tokio::test]
async fn what_arrived_or_is_too_old_is_not_waited_for() {
    let (_folder, path) = place();
    let batches = open(&path, LONG_AGO).unwrap();
    batches.begin(&batch("half", &[1, 2], LONG_AGO)).unwrap();
    batches.begin(&batch("whole", &[3], LONG_AGO)).unwrap();
    batches.begin(&batch("old", &[4], LONG_AGO - LONGEST_KEPT - 1)).unwrap();
    drop(batches);
    let ledger = Ledger::open(&path).unwrap();
    ledger.put([1; 32], kept()).await.unwrap();
    ledger.put([3; 32], kept()).await.unwrap();
    drop(ledger);
    let batches = open(&path, LONG_AGO).unwrap();
    // By its size, a batch without an id is looked for.
    let half = Remembered { requests: 2, ..batch("half", &[2], LONG_AGO) };
    assert_eq!(batches.remembered().unwrap(), [half]);
}

/// A run that refreshes, or finds answers too old, asks anew although they are there.
#[tokio::test]
async fn an_answer_from_before_the_submission_is_not_the_batch_s() {
    let (_folder, path) = place();
    let ledger = Ledger::open(&path).unwrap();
    ledger.put([1; 32], kept()).await.unwrap();
    drop(ledger);
    let batches = open(&path, LATER).unwrap();
    batches.begin(&batch("anew", &[1, 2], LATER)).unwrap();
    drop(batches);
    assert_eq!(open(&path, LATER).unwrap().remembered().unwrap(), [batch("anew", &[1, 2], LATER)]);
}

#[test]
fn one_run_at_a_time_waits_for_batches() {
    let (_folder, path) = place();
    let first = open(&path, LONG_AGO).unwrap();
    assert!(matches!(open(&path, LONG_AGO), Err(StoreError::Busy { .. })));
    drop(first);
    open(&path, LONG_AGO).unwrap();
}

#[test]
fn tables_of_a_later_version_are_refused_and_left_alone() {
    let (_folder, path) = place();
    drop(open(&path, LONG_AGO).unwrap());
    Connection::open(&path).unwrap().execute("UPDATE batch_version SET version = 3", []).unwrap();
    assert!(matches!(open(&path, LONG_AGO), Err(StoreError::Newer { found: 3, known: 2, .. })));
}

#[test]
fn tables_of_version_1_are_taken_over() {
    let (_folder, path) = place();
    drop(Ledger::open(&path).unwrap());
    let old = Connection::open(&path).unwrap();
    old.execute_batch(
        "CREATE TABLE batch_version (version INTEGER NOT NULL);
         INSERT INTO batch_version VALUES (1);
         CREATE TABLE batch (tag TEXT PRIMARY KEY NOT NULL, id TEXT, endpoint TEXT NOT NULL, since INTEGER NOT NULL);
         CREATE TABLE batch_call (key BLOB PRIMARY KEY NOT NULL, tag TEXT NOT NULL) WITHOUT ROWID;
         INSERT INTO batch VALUES ('a', NULL, 'judge', 1500000000);",
    )
    .unwrap();
    for key in [[1_u8; 32], [2; 32]] {
        old.execute("INSERT INTO batch_call VALUES (?1, 'a')", [key.as_slice()]).unwrap();
    }
    drop(old);
    for _ in 0..2 {
        assert_eq!(open(&path, LONG_AGO).unwrap().remembered().unwrap(), [batch("a", &[1, 2], LONG_AGO)]);
    }
}

/// Whoever wants to stop is not kept by somebody else's lock.
#[test]
fn a_locked_file_is_not_waited_for_in_a_hurry() {
    let (_folder, path) = place();
    let ledger = Ledger::open(&path).unwrap();
    let batches = Batches::open(&ledger, LONG_AGO).unwrap();
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = Instant::now();
    ledger.hurry();
    let waiting = || batches.begin(&batch("a", &[1], LONG_AGO)).unwrap_err().to_string();
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(waiting)).collect();
        for one in all {
            let said = one.join().unwrap();
            assert!(said.contains("another process holds it locked"), "{said}");
        }
    });
    // Half a second is meant; a slow machine may take longer, though not as long as without the wish.
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

/// With `--ledger off`, the file goes at the end of a run; its batches would go with it.
#[tokio::test]
async fn a_journal_that_remembers_batches_outlives_its_run() {
    let (_folder, path) = place();
    let usage = LedgerUse {
        mode: LedgerMode::Off,
        ttl: None,
        place: "a\nb".to_owned(),
        suite: "suite".to_owned(),
        shape: String::new(),
    };
    let ledger = Ledger::open_for(&path, &usage).unwrap();
    Batches::open(&ledger, LONG_AGO).unwrap().begin(&batch("a", &[1], LONG_AGO)).unwrap();
    ledger.finish().await.unwrap();
    drop(ledger);
    assert!(path.exists());
    let ledger = Ledger::open_for(&path, &usage).unwrap();
    Batches::open(&ledger, LONG_AGO).unwrap().forget("a").unwrap();
    ledger.finish().await.unwrap();
    drop(ledger);
    assert!(!path.exists());
}
