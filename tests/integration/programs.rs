//! Cases of the topic `commands` with the whole program.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::command::{check, fixture, folder, outcomes};

fn suite(target: &str, rows: &str) -> tempfile::TempDir {
    let text = format!(
        "version: 1\nname: programs\ndataset: {{ path: data.jsonl }}\ntargets:\n  app:\n    command: {target}\nevaluators:\n  length: {{ min: 1 }}\ngate: {{ min_measured: 1 }}\nrun: {{ workers: 4 }}\n"
    );
    folder(&[("scoregate.yaml", &text), ("data.jsonl", rows)])
}

/// The processes that are alive and not waiting to be reaped.
#[cfg(target_os = "linux")]
fn alive(pids: &str) -> Vec<&str> {
    let is_alive = |pid: &&str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    pids.split_whitespace().filter(is_alive).collect()
}

#[cfg(target_os = "linux")]
pub fn gone_within_a_second(pids: &Path) {
    let pids = std::fs::read_to_string(pids).expect("the program's pids");
    let begun = Instant::now();
    while !alive(&pids).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?} are still alive", alive(&pids));
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn cmd_grandchild() {
    let target = "{ argv: [sh, -c, \"sleep 60 & echo $! $$$$ >> pids; sleep 50\"], timeout: 1s }";
    let place = suite(target, "{\"id\":\"a\",\"input\":\"?\"}\n");
    let begun = Instant::now();
    let said = check(place.path(), &["run"], 3);
    // One second and the start and end of the program itself.
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(said.contains("was still running after 1 s and was killed"), "{said}");
    assert_eq!(outcomes(place.path())[0]["error"]["kind"], "timeout");
    gone_within_a_second(&place.path().join("pids"));
}

#[test]
fn cmd_endless() {
    let target = "{ argv: [sh, -c, 'case \"$0\" in busy) while :; do :; done;; print) exec yes 0123456789012345678901234567890123456789;; read) exec cat;; *) echo fine;; esac', \"{{ input }}\"], timeout: 3s }";
    let inputs = ["busy", "print", "read", "1", "2", "3"];
    let rows: String = inputs.iter().map(|input| format!("{{\"id\":\"{input}\",\"input\":\"{input}\"}}\n")).collect();
    let place = suite(target, &rows);
    let begun = Instant::now();
    let said = check(place.path(), &["run"], 3);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert!(said.len() < 20_000, "{} bytes in the log", said.len());
    let outcomes = outcomes(place.path());
    let error = |at: usize| outcomes[at]["error"].to_string();
    assert!(error(0).contains("timeout"), "{}", error(0));
    assert!(error(1).contains("the output limit") || error(1).contains("timeout"), "{}", error(1));
    // Its input is written and closed, so it ends: `cat` gives the line back.
    assert!(outcomes[2]["answer"]["text"].to_string().contains("read"), "{}", outcomes[2]);
    assert!(outcomes[3..].iter().all(|line| line["answer"]["text"] == "fine"), "{outcomes:?}");
    let size = std::fs::metadata(place.path().join("scoregate-out/results.jsonl")).expect("results").len();
    assert!(size < 100_000, "{size} bytes of results");
}

#[test]
fn cmd_arguments() {
    let text = String::from_utf8(fixture("commands/arguments.jsonl")).expect("UTF-8");
    let rows: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let mut data = String::new();
    for row in &rows {
        let _ = writeln!(data, "{row}");
    }
    let place = suite("[printf, '%s', \"{{ input }}\"]", &data);
    check(place.path(), &["run"], 3);
    let outcomes = outcomes(place.path());
    assert_eq!(outcomes.len(), rows.len());
    for (row, outcome) in rows.iter().zip(&outcomes) {
        let input = row["input"].as_str().expect("an input");
        if input.contains('\0') {
            assert!(outcome["error"]["message"].to_string().contains("NUL"), "{outcome}");
        } else {
            let printed = outcome["answer"]["text"].as_str().unwrap_or_default();
            // One line end at the end is no part of an answer.
            assert_eq!(printed, input.strip_suffix('\n').unwrap_or(input), "{outcome}");
        }
    }
    let files: Vec<_> =
        std::fs::read_dir(place.path()).expect("a folder").flatten().map(|file| file.file_name()).collect();
    assert_eq!(files.len(), 4, "something was executed: {files:?}");
}
