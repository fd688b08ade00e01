//! R2: whatever the moment of a `kill -9`, nothing that was finished is lost or paid for again.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::{case_of, mixed, rows, seed, sized, until};
use crate::command::{checked, command, folder, outcomes, results};
use crate::raw_server::{Step, json};
use crate::scripted_server::ScriptedServer;

const WORKERS: usize = 6;
const CASES: usize = 60;

fn place(url: &str) -> tempfile::TempDir {
    let text = format!(
        "version: 1\nname: crash\ndataset: {{ path: data.jsonl }}\ntargets:\n  app:\n    http: {{ url: \"{url}\", body: {{ q: \"{{{{ input }}}}\" }}, answer: $.answer }}\nevaluators:\n  length: {{ min: 1 }}\ngate: {{ min_measured: 1 }}\nrun: {{ workers: {WORKERS} }}\n"
    );
    folder(&[("scoregate.yaml", &text), ("data.jsonl", &rows(0..CASES))])
}

fn start(place: &Path) -> Child {
    let mut run = command(place, &["run"]);
    run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a run")
}

/// Answers in the ledger, which must be sound at any moment. A copy is looked at: who goes on with it finds it as the kill left it.
fn kept(place: &Path) -> usize {
    let copy = tempfile::tempdir().expect("a folder");
    for name in ["ledger.sqlite", "ledger.sqlite-wal"] {
        let from = place.join(".scoregate").join(name);
        if from.exists() {
            std::fs::copy(from, copy.path().join(name)).expect("a copy");
        }
    }
    let ledger = rusqlite::Connection::open(copy.path().join("ledger.sqlite")).expect("the ledger");
    let sound: String = ledger.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("a check");
    assert_eq!(sound, "ok");
    // A kill before the tables were made leaves an empty file.
    let tables: i64 = ledger
        .query_row("SELECT count(*) FROM sqlite_master WHERE name = 'call'", [], |row| row.get(0))
        .expect("a list of tables");
    if tables == 0 {
        return 0;
    }
    let rows: i64 = ledger.query_row("SELECT count(*) FROM call", [], |row| row.get(0)).expect("a count");
    usize::try_from(rows).expect("a count")
}

/// A results file is whole, or not there under its name.
fn whole(place: &Path) -> bool {
    let there = place.join("scoregate-out/results.jsonl").exists();
    if there {
        let lines = results(place);
        assert_eq!(lines.last().expect("lines")["type"], "end");
        assert_eq!(lines.len(), CASES + 2);
    }
    there
}

#[test]
fn kill_9_loses_nothing_and_pays_for_nothing_twice() {
    let (seed, begun) = (seed("kill_9"), Instant::now());
    let (wanted, in_a_row) = (sized(20, 200), 6);
    let (mut kills, mut resuming, mut lost, mut paid, mut planned) = (0_usize, 0, 0_usize, 0, 0);
    for round in 0.. {
        if kills >= wanted {
            break;
        }
        let asked: Arc<Mutex<HashMap<usize, usize>>> = Arc::default();
        let noted = Arc::clone(&asked);
        let server = ScriptedServer::start(move |request| {
            *noted.lock().expect("the counts").entry(case_of(&request.body)).or_default() += 1;
            vec![Step::Pause(Duration::from_millis(8)), Step::Send(json("200 OK", "{\"answer\":\"fine\"}"))]
        });
        let place = place(&server.url("/q"));
        let (mut bound, mut before) = (CASES, 0_usize);
        for step in 0..in_a_row {
            let chance = mixed(&[seed, round, step]);
            let mut child = start(place.path());
            // After so many requests and a moment more, or at any moment: in the start, in the reports.
            let (more, pause) = (chance as usize % 14, Duration::from_micros(chance >> 20 & 0x3fff));
            let target = server.seen() + if chance >> 40 & 3 == 0 { 0 } else { more };
            let mut over = false;
            while !over && server.seen() < target {
                over = child.try_wait().expect("a child").is_some();
                std::thread::sleep(Duration::from_micros(200));
            }
            std::thread::sleep(if more == 0 { pause * 20 } else { pause });
            if child.try_wait().expect("a child").is_some() {
                checked(&child.wait_with_output().expect("an end"), 0);
                before = CASES;
                break;
            }
            child.kill().expect("the process is there");
            child.wait().expect("an end");
            // What it sent has arrived.
            until("the last connection", || server.open() == 0);
            std::thread::sleep(Duration::from_millis(5));
            until("the last connection", || server.open() == 0);
            kills += 1;
            resuming += usize::from(step > 0);
            bound += WORKERS;
            let now = kept(place.path());
            lost += before.saturating_sub(now);
            before = now;
            whole(place.path());
        }
        let asked_before = server.seen();
        let output = start(place.path()).wait_with_output().expect("an end");
        checked(&output, 0);
        // Exactly what was not kept is asked for.
        assert_eq!(server.seen() - asked_before, CASES - before, "round {round}: {before} were kept");
        assert!(server.seen() <= bound, "round {round}: {} requests, at most {bound}", server.seen());
        assert!(whole(place.path()) && outcomes(place.path()).iter().all(|line| line["answer"]["text"] == "fine"));
        assert_eq!(asked.lock().expect("the counts").len(), CASES);
        (paid, planned) = (paid + server.seen(), planned + CASES);
    }
    println!(
        "R2: {kills} kills ({resuming} while resuming), {lost} finished results lost, {paid} paid calls for {planned} planned, {:?}",
        begun.elapsed()
    );
    assert_eq!(lost, 0);
    assert!(resuming * 2 >= kills, "{resuming} of {kills} kills while resuming");
}
