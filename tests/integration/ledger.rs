//! Cases of the topic `cache` with the whole program.

use std::time::Duration;

use crate::chat_server::{ChatServer, completion};
use crate::command::{check, folder};

const CASES: usize = 6;
const LEDGER: &str = ".scoregate/ledger.sqlite";

fn yes(_: usize, _: &str) -> (&'static str, String) {
    ("200 OK", completion("YES"))
}

fn judged(url: &str) -> tempfile::TempDir {
    let suite = format!(
        "version: 1\nname: cache\ndataset: {{ path: data.jsonl }}\nmodels:\n  judge: {{ provider: openai, model: m, base_url: \"{url}/v1\", api_key: none-needed }}\nevaluators:\n  relevancy: {{ model: judge }}\ngate:\n  metrics:\n    relevancy: {{ case_min: 1 }}\n"
    );
    let row =
        |at| format!("{{\"id\":\"q{at}\",\"input\":\"{at}?\",\"answer\":\"{at}\",\"answer_contexts\":[\"c\"]}}\n");
    folder(&[("scoregate.yaml", &suite), ("data.jsonl", &(0..CASES).map(row).collect::<String>())])
}

/// Somebody edits two rows of a restored cache.
#[test]
fn ca_poisoned() {
    let server = ChatServer::start(Duration::ZERO, |_, _| ("200 OK", completion("NO")));
    let place = judged(&server.url);
    check(place.path(), &["run"], 1);
    let ledger = rusqlite::Connection::open(place.path().join(LEDGER)).expect("the ledger");
    let changed = ledger
        .execute(
            "UPDATE call SET body = CAST(replace(CAST(body AS TEXT), 'NO', 'YES') AS BLOB) WHERE key IN (SELECT key FROM call LIMIT 2)",
            [],
        )
        .expect("an edit");
    assert_eq!(changed, 2);
    drop(ledger);
    let said = check(place.path(), &["run"], 1);
    assert!(said.contains("something else than scoregate changed"), "{said}");
    assert_eq!(server.with(|counts| counts.requests), CASES + 2, "only the changed ones are asked again");
    let said = check(place.path(), &["run"], 1);
    assert!(!said.contains("something else"), "{said}");
    assert_eq!(server.with(|counts| counts.requests), CASES + 2);
}

/// A row that belongs to another call, and a ledger of a later version.
#[test]
fn ca_poisoned_with_foreign_entries() {
    let server = ChatServer::start(Duration::ZERO, yes);
    let place = judged(&server.url);
    check(place.path(), &["run"], 0);
    let ledger = rusqlite::Connection::open(place.path().join(LEDGER)).expect("the ledger");
    // Every row's answer, with its digest, under its neighbour's key.
    ledger
        .execute_batch(
            "CREATE TABLE other AS SELECT lead(key, 1, (SELECT min(key) FROM call)) OVER (ORDER BY key) AS key,
                 status, headers, body, latency_us, digest FROM call;
             DELETE FROM call;
             INSERT INTO call SELECT * FROM other;
             DROP TABLE other;",
        )
        .expect("an edit");
    drop(ledger);
    check(place.path(), &["run"], 0);
    assert_eq!(server.with(|counts| counts.requests), 2 * CASES);
    let ledger = rusqlite::Connection::open(place.path().join(LEDGER)).expect("the ledger");
    ledger.pragma_update(None, "user_version", 99).expect("an edit");
    drop(ledger);
    let said = check(place.path(), &["run"], 2);
    assert!(said.contains("ledger.sqlite") && said.contains("version 99"), "{said}");
    assert_eq!(server.with(|counts| counts.requests), 2 * CASES, "nothing of it was used, nothing was called");
}

#[test]
#[cfg(unix)]
fn ca_poisoned_by_a_link() {
    let server = ChatServer::start(Duration::ZERO, yes);
    let outside = folder(&[("notes.txt", "not to be touched")]);
    for linked in [".scoregate", LEDGER] {
        let place = judged(&server.url);
        let target = if linked == LEDGER {
            std::fs::create_dir(place.path().join(".scoregate")).expect("a folder");
            outside.path().join("notes.txt")
        } else {
            outside.path().to_owned()
        };
        std::os::unix::fs::symlink(target, place.path().join(linked)).expect("a link");
        let said = check(place.path(), &["run"], 2);
        assert!(said.contains(".scoregate/ledger.sqlite") && said.contains("link"), "{said}");
    }
    assert_eq!(server.with(|counts| counts.connections), 0);
    assert_eq!(std::fs::read_dir(outside.path()).expect("a folder").count(), 1);
    assert_eq!(std::fs::read_to_string(outside.path().join("notes.txt")).expect("the file"), "not to be touched");
}
