//! Which answers a run may use, what is counted, and what may go.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::super::*;
use super::{ANY, kept, place};

pub(super) fn usage(mode: LedgerMode, ttl: Option<Duration>) -> LedgerUse {
    LedgerUse { mode, ttl, place: "suite.yaml\nout".to_owned(), suite: "suite".to_owned(), shape: "{}".to_owned() }
}

/// Every answer and run seems to have been made this much earlier; digests stay right.
fn age(path: &Path, by: Duration) {
    let mut connection = Connection::open(path).unwrap();
    let transaction = connection.transaction().unwrap();
    let keys: Vec<Vec<u8>> = {
        let mut statement = transaction.prepare("SELECT key FROM call").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    for key in keys {
        let key: [u8; 32] = key.try_into().unwrap();
        let created: i64 = transaction
            .query_row("SELECT created_us FROM call WHERE key = ?1", [key.as_slice()], |row| row.get(0))
            .unwrap();
        let Found::Kept(kept) = row::find(&transaction, &key, &ANY).unwrap() else { panic!("altered") };
        row::keep(&transaction, &key, created - micros(by), &kept).unwrap();
    }
    for column in ["run SET begun_us = begun_us", "run SET seen_us = seen_us", "reuse SET used_us = used_us"] {
        transaction.execute(&format!("UPDATE {column} - ?1"), [micros(by)]).unwrap();
    }
    transaction.commit().unwrap();
}

#[tokio::test]
async fn answers_older_than_the_time_to_live_are_not_used() {
    let (_folder, path) = place();
    let ledger = Ledger::open(&path).unwrap();
    ledger.put([1; 32], kept("old")).await.unwrap();
    drop(ledger);
    age(&path, Duration::from_secs(3_600));
    for (ttl, found) in [(None, true), (Some(3_500), false), (Some(3_700), true)] {
        let ledger = Ledger::open_for(&path, &usage(LedgerMode::On, ttl.map(Duration::from_secs))).unwrap();
        assert_eq!(ledger.get([1; 32]).await.unwrap() != Found::Nothing, found, "{ttl:?}");
    }
}

/// The last answers and the end of a run may come in one group: what is committed after the end says that the run is there.
#[tokio::test]
async fn a_run_that_ends_with_its_last_answers_has_ended() {
    let (_folder, path) = place();
    let connection = schema::open(&path, &Patience::default()).unwrap();
    let run = unfinished::Run::begin(&connection, &usage(LedgerMode::Refresh, None), now_us()).unwrap();
    let server = serve::Server::new(connection, Some(run), Patience::default());
    let (orders, inbox) = mpsc::channel();
    let ((reply, put), (finish, finished)) = (oneshot::channel(), oneshot::channel());
    orders.send(Order::Put(Box::new(Put { key: [1; 32], kept: kept("paid"), reply }))).unwrap();
    orders.send(Order::Finish(finish)).unwrap();
    drop(orders);
    server.serve(&inbox);
    assert_eq!((put.await.unwrap(), finished.await.unwrap()), (Ok(()), Ok(false)));
    assert!(account(&path).unwrap().unfinished.is_empty());
}

/// A run that was killed goes on in every mode; one that has ended does not.
#[tokio::test]
async fn a_stopped_run_goes_on_and_an_ended_one_begins_anew() {
    for (mode, ttl) in
        [(LedgerMode::Refresh, None), (LedgerMode::Off, None), (LedgerMode::On, Some(Duration::from_secs(60)))]
    {
        let (_folder, path) = place();
        let before = Ledger::open(&path).unwrap();
        before.put([1; 32], kept("of an earlier run")).await.unwrap();
        drop(before);
        age(&path, Duration::from_secs(7_200));
        let usage = usage(mode, ttl);
        let first = Ledger::open_for(&path, &usage).unwrap();
        assert_eq!((first.resumed(), first.get([1; 32]).await.unwrap()), (None, Found::Nothing), "{mode:?}");
        first.put([2; 32], kept("paid")).await.unwrap();
        let own = first.get([2; 32]).await.unwrap() != Found::Nothing;
        assert_eq!(own, mode != LedgerMode::Off, "{mode:?}: whether a run uses its own answers");
        drop(first);
        // Killed an hour ago.
        age(&path, Duration::from_secs(3_600));
        let elsewhere = LedgerUse { place: "another".to_owned(), ..usage.clone() };
        assert_eq!(Ledger::open_for(&path, &elsewhere).unwrap().get([2; 32]).await.unwrap(), Found::Nothing);
        let again = Ledger::open_for(&path, &usage).unwrap();
        assert_eq!(again.resumed().map(|resumed| resumed.answers), Some(1), "{mode:?}");
        assert_eq!(again.get([2; 32]).await.unwrap(), Found::Kept(kept("paid")), "{mode:?}");
        assert_eq!(again.get([1; 32]).await.unwrap(), Found::Nothing, "{mode:?}");
        again.put([3; 32], kept("paid")).await.unwrap();
        again.finish().await.unwrap();
        drop(again);
        if mode == LedgerMode::Off {
            assert!(!path.exists(), "nothing is left of a run without a ledger");
            continue;
        }
        age(&path, Duration::from_secs(120));
        let anew = Ledger::open_for(&path, &usage).unwrap();
        assert_eq!((anew.resumed(), anew.get([3; 32]).await.unwrap()), (None, Found::Nothing), "{mode:?}");
    }
}

#[tokio::test]
async fn a_run_that_was_stopped_long_ago_is_not_gone_on_with() {
    let (_folder, path) = place();
    let usage = usage(LedgerMode::Refresh, None);
    let first = Ledger::open_for(&path, &usage).unwrap();
    first.put([2; 32], kept("paid")).await.unwrap();
    drop(first);
    age(&path, unfinished::STALE + Duration::from_secs(60));
    let again = Ledger::open_for(&path, &usage).unwrap();
    assert_eq!((again.resumed(), again.get([2; 32]).await.unwrap()), (None, Found::Nothing));
}

#[tokio::test]
async fn the_account_counts_answers_uses_and_money() {
    let (_folder, path) = place();
    let ledger = Ledger::open(&path).unwrap();
    ledger.put([1; 32], kept("paid")).await.unwrap();
    ledger.put([2; 32], Kept { bill: Bill::default(), ..kept("free") }).await.unwrap();
    for _ in 0..3 {
        ledger.get([1; 32]).await.unwrap();
    }
    drop(ledger);
    let account = account(&path).unwrap();
    let [unknown, judge] = account.endpoints.as_slice() else { panic!("{account:?}") };
    assert_eq!((unknown.answers, unknown.cost, unknown.used_us), (1, None, None));
    assert_eq!((judge.endpoint.as_str(), judge.answers, judge.hits, judge.tokens), ("judge", 1, 3, 12));
    assert_eq!((judge.cost, judge.saved_cost, judge.saved_tokens), (Some(0.25), Some(0.75), 36));
    assert!(judge.oldest_us.is_some() && judge.used_us >= judge.newest_us && account.bytes > 0);
}

#[tokio::test]
async fn pruning_removes_what_was_neither_made_nor_used_and_gives_space_back() {
    let (_folder, path) = place();
    let ledger = Ledger::open(&path).unwrap();
    for at in 0..100_u8 {
        ledger.put([at; 32], kept(&"x".repeat(5_000))).await.unwrap();
    }
    drop(ledger);
    age(&path, Duration::from_secs(7_200));
    let ledger = Ledger::open(&path).unwrap();
    for at in 0..10_u8 {
        ledger.get([at; 32]).await.unwrap();
    }
    ledger.put([200; 32], kept("young")).await.unwrap();
    drop(ledger);
    let hour = PruneSettings { older_than: Some(Duration::from_secs(3_600)), ..PruneSettings::default() };
    let plan = prune(&path, &PruneSettings { dry_run: true, ..hour }).unwrap();
    assert_eq!((plan.answers, plan.left, plan.needed), (90, 11, 0));
    assert_eq!(account(&path).unwrap().endpoints[0].answers, 101, "a dry run removes nothing");
    let done = prune(&path, &hour).unwrap();
    assert_eq!((done.answers, done.left, done.held), (90, 11, false));
    assert!(done.bytes_after < done.bytes_before / 3, "{done:?}");
    let size = PruneSettings { keep_size: Some(60_000), ..PruneSettings::default() };
    let done = prune(&path, &size).unwrap();
    assert!(done.answers > 0 && done.left > 0, "{done:?}");
    let ledger = Ledger::open(&path).unwrap();
    assert_ne!(ledger.get([200; 32]).await.unwrap(), Found::Nothing, "what was used last stays longest");
}

#[tokio::test]
async fn pruning_leaves_what_a_running_run_may_need_and_does_not_disturb_it() {
    let (_folder, path) = place();
    let ledger = Ledger::open_for(&path, &usage(LedgerMode::Refresh, None)).unwrap();
    ledger.put([1; 32], kept("paid")).await.unwrap();
    let all = PruneSettings { keep_size: Some(0), ..PruneSettings::default() };
    let done = prune(&path, &all).unwrap();
    assert_eq!((done.answers, done.left, done.needed), (0, 1, 1));
    assert_ne!(ledger.get([1; 32]).await.unwrap(), Found::Nothing);
    ledger.put([2; 32], kept("paid")).await.unwrap();
    ledger.finish().await.unwrap();
    assert_eq!(prune(&path, &all).unwrap().answers, 2);
    assert_eq!(ledger.get([1; 32]).await.unwrap(), Found::Nothing);
    ledger.put([1; 32], kept("paid again")).await.unwrap();
}

/// What the last questions were made of is known to the next run of the place, and not of ever more places.
#[tokio::test]
async fn the_last_questions_of_a_few_places_are_remembered() {
    let (_folder, path) = place();
    let of = |at: u8| LedgerUse {
        place: format!("place {at}"),
        shape: format!("shape {at}"),
        ..usage(LedgerMode::On, None)
    };
    for at in 0..20 {
        let ledger = Ledger::open_for(&path, &of(at)).unwrap();
        assert_eq!(ledger.before(), None);
        ledger.put([at; 32], kept("paid")).await.unwrap();
        ledger.finish().await.unwrap();
        drop(ledger);
        assert_eq!(Ledger::open_for(&path, &of(at)).unwrap().before(), Some(&*format!("shape {at}")));
    }
    let known = (0..20).filter(|at| Ledger::open_for(&path, &of(*at)).unwrap().before().is_some()).count();
    assert_eq!(known, 16);
    // A run that asks everything anew is told nothing.
    let anew = LedgerUse { mode: LedgerMode::Refresh, ..of(19) };
    assert_eq!(Ledger::open_for(&path, &anew).unwrap().before(), None);
}
