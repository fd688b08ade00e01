//! Cases of the topic `runs`: signals, waits, full disks, late answers, with the whole program.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::chat_server::ChatServer;
use crate::command::{
    check, checked, code, command, err, fixture, folder, out, outcomes, report, results, shell, verdict,
};
use crate::process::send;
#[cfg(target_os = "linux")]
use crate::programs::gone_within_a_second;
use crate::raw_server::{RawServer, Step, json};

fn rows(cases: std::ops::Range<usize>) -> String {
    cases.map(|at| format!("{{\"id\":\"q{at}\",\"input\":\"question {at}?\"}}\n")).collect()
}

/// A suite that asks `target` for as many answers as there are rows.
fn suite(target: &str, run: &str, rows: &str) -> tempfile::TempDir {
    let text = format!(
        "version: 1\nname: runs\ndataset: {{ path: data.jsonl }}\ntargets:\n  app:\n    {target}\nevaluators:\n  length: {{ min: 1 }}\ngate: {{ min_measured: 1 }}\nrun: {{ {run} }}\n"
    );
    folder(&[("scoregate.yaml", &text), ("data.jsonl", rows)])
}

fn http(url: &str) -> String {
    format!("http: {{ url: \"{url}/q\", body: {{ q: \"{{{{ input }}}}\" }}, answer: $.answer }}")
}

fn good() -> Vec<u8> {
    json("200 OK", "{\"answer\":\"fine\"}")
}

fn start(place: &Path) -> Child {
    let mut run = command(place, &["run"]);
    run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a run")
}

/// Waits for something that must come.
fn until(what: &str, happened: impl Fn() -> bool) {
    let begun = Instant::now();
    while !happened() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what} did not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Interrupts; the end must come within two seconds.
fn interrupted(child: Child, signal: Signal) -> Output {
    let begun = Instant::now();
    send(&child, signal);
    let output = child.wait_with_output().expect("an end");
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    output
}

/// The reports are there, valid, and say that they are of a part.
fn partial(place: &Path, expected: i32) {
    let verdict = verdict(place);
    assert_eq!((&verdict["verdict"], &verdict["partial"]), (&"not_evaluated".into(), &true.into()));
    assert_eq!(verdict["exit_code"], expected);
    assert!(report(place, "junit.xml").contains("</testsuites>"));
    assert_eq!(results(place).last().expect("an end")["complete"], false);
}

/// After an interruption: another order, one answered case edited, one case new. Only these and the unanswered ones are asked.
fn reordered_and_edited(place: &Path) {
    let mut lines: Vec<String> = rows(0..9).lines().map(str::to_owned).collect();
    lines.reverse();
    for line in &mut lines {
        *line = line.replace("question 0?", "another question 0?");
    }
    std::fs::write(place.join("data.jsonl"), lines.join("\n")).expect("a file");
}

/// All workers wait: for what a server asked for, for a body that stalls.
#[test]
fn rn_interrupt_in_waits() {
    let later = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n".to_vec();
    let waits = [vec![Step::Send(later)], vec![Step::Send(fixture("http/stalled-body.http")), Step::Stall]];
    for wait in waits {
        let healthy = Arc::new(AtomicBool::new(false));
        let switch = Arc::clone(&healthy);
        // Three are answered, then everybody waits.
        let server = RawServer::start(move |number| {
            if number < 3 || switch.load(Ordering::SeqCst) { vec![Step::Send(good())] } else { wait.clone() }
        });
        let place = suite(&http(&server.url("")), "workers: 2", &rows(0..8));
        let child = start(place.path());
        until("the fourth request", || server.requests().len() >= 4);
        // Time to get from the answer into the wait; right in either case.
        std::thread::sleep(Duration::from_millis(50));
        checked(&interrupted(child, Signal::SIGINT), 130);
        partial(place.path(), 130);
        let before = server.requests();
        let kept = before.iter().take(3).filter(|request| !request.contains("question 0?")).count();
        healthy.store(true, Ordering::SeqCst);
        reordered_and_edited(place.path());
        check(place.path(), &["run"], 0);
        assert_eq!(server.requests().len() - before.len(), 9 - kept);
    }
}

/// The same while programs run; they are gone afterwards.
#[test]
#[cfg(target_os = "linux")]
fn rn_interrupt_in_waits_for_programs() {
    let script = "echo \\\"$0\\\" >> calls; case \\\"$0\\\" in *[012]?) ;; *) [ -e go ] || { sleep 60 & echo $! $$$$ >> pids; sleep 50; };; esac; echo fine";
    let place = suite(&format!("command: [sh, -c, \"{script}\", \"{{{{ input }}}}\"]"), "workers: 2", &rows(0..8));
    let lines = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap_or_default().lines().count();
    let child = start(place.path());
    until("both programs", || lines("pids") >= 2);
    checked(&interrupted(child, Signal::SIGINT), 130);
    partial(place.path(), 130);
    gone_within_a_second(&place.path().join("pids"));
    let calls = std::fs::read_to_string(place.path().join("calls")).expect("the calls");
    let kept = ["question 1?", "question 2?"].iter().filter(|question| calls.contains(*question)).count();
    let before = lines("calls");
    std::fs::write(place.path().join("go"), "").expect("a file");
    reordered_and_edited(place.path());
    check(place.path(), &["run"], 0);
    assert_eq!(lines("calls") - before, 9 - kept);
}

/// Signals as CI systems send them, with programs running that have children.
#[test]
#[cfg(target_os = "linux")]
fn rn_signals() {
    for (signal, expected) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 143)] {
        let script = "sleep 60 & echo $! $$$$ >> pids; sleep 50";
        let place = suite(&format!("command: [sh, -c, \"{script}\"]"), "workers: 3", &rows(0..200));
        let child = start(place.path());
        let pids = place.path().join("pids");
        until("the programs", || std::fs::read_to_string(&pids).is_ok_and(|text| text.lines().count() >= 3));
        let output = interrupted(child, signal);
        let said = checked(&output, expected);
        assert!(said.contains(&format!("{signal}: no new calls")), "{said}");
        partial(place.path(), expected);
        gone_within_a_second(&pids);
    }
}

fn yes(_: usize, _: &str) -> (&'static str, String) {
    ("200 OK", serde_json::json!({"answer": "fine"}).to_string())
}

fn sound(ledger: &Path) {
    let ledger = rusqlite::Connection::open(ledger).expect("the ledger");
    let found: String = ledger.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("a check");
    assert_eq!(found, "ok");
}

#[test]
fn rn_signals_twice_and_for_good() {
    for (signals, expected) in [(&[Signal::SIGINT, Signal::SIGINT][..], Some(130)), (&[Signal::SIGKILL], None)] {
        let server = ChatServer::start(Duration::from_millis(20), yes);
        let place = suite(&http(&server.url), "workers: 4", &rows(0..200));
        let child = start(place.path());
        until("ten requests", || server.with(|counts| counts.requests >= 10));
        let begun = Instant::now();
        for signal in signals {
            send(&child, *signal);
        }
        let output = child.wait_with_output().expect("an end");
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        assert_eq!(output.status.code(), expected, "{}", err(&output));
        sound(&place.path().join(".scoregate/ledger.sqlite"));
        check(place.path(), &["run"], 0);
        let requests = server.with(|counts| counts.requests);
        assert!(requests <= 200 + 4, "{requests} requests: more than those in flight were repeated");
        assert_eq!(outcomes(place.path()).len(), 200);
    }
}

/// The server answers first attempts too late and second ones at once.
#[test]
fn rn_late_result() {
    static ASKED: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());
    fn late_at_first(_: usize, body: &str) -> (&'static str, String) {
        let attempt = {
            let mut asked = ASKED.lock().expect("the counts");
            let attempt = asked.entry(body.to_owned()).or_insert(0);
            *attempt += 1;
            *attempt
        };
        if attempt == 1 {
            std::thread::sleep(Duration::from_millis(1_100));
        }
        ("200 OK", serde_json::json!({"answer": format!("attempt {attempt}")}).to_string())
    }
    const CASES: usize = 8;
    let server = ChatServer::start(Duration::ZERO, late_at_first);
    let place = suite(&http(&server.url), "workers: 4, timeout: 1s", &rows(0..CASES));
    check(place.path(), &["run"], 0);
    let outcomes = outcomes(place.path());
    assert_eq!(outcomes.len(), CASES);
    for outcome in outcomes {
        assert_eq!((&outcome["answer"]["text"], &outcome["answer"]["attempts"]), (&"attempt 2".into(), &2.into()));
    }
    assert_eq!(server.with(|counts| counts.requests), 2 * CASES);
}

/// 199 answers and one that never comes: its deadline ends the run, and from ten seconds of silence on it is named.
#[test]
fn rn_last_case() {
    fn never_137(_: usize, body: &str) -> (&'static str, String) {
        if body.contains("question 137?") {
            std::thread::sleep(Duration::from_secs(60));
        }
        yes(0, body)
    }
    let server = ChatServer::start(Duration::ZERO, never_137);
    let place = suite(&http(&server.url), "timeout: 11s, retry: { attempts: 1 }", &rows(0..200));
    let begun = Instant::now();
    let said = check(place.path(), &["run"], 3);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let named = said.lines().find(|line| line.contains("nothing finished for 10")).unwrap_or_default();
    assert!(named.contains("q137"), "{said}");
    assert!(said.contains("199 of 200"), "{said}");
    let outcomes = outcomes(place.path());
    let lost: Vec<_> = outcomes.iter().filter(|line| line.get("error").is_some()).collect();
    assert_eq!((outcomes.len(), lost.len()), (200, 1));
    assert_eq!((&lost[0]["case"], &lost[0]["error"]["kind"]), (&"q137".into(), &"timeout".into()));
}

/// `run.deadline` ends the run; what is not measured by then is not measured.
#[test]
fn rn_last_case_and_the_deadline_of_the_run() {
    let server = RawServer::start(|number| if number < 2 { vec![Step::Send(good())] } else { vec![Step::Stall] });
    let place = suite(&http(&server.url("")), "workers: 2, deadline: 1s", &rows(0..20));
    let begun = Instant::now();
    let said = check(place.path(), &["run"], 3);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(said.contains("the run's `deadline` passed"), "{said}");
    assert_eq!(results(place.path()).last().expect("an end")["complete"], false);
}

fn long_answers(cases: usize) -> String {
    let answer = "word ".repeat(2_000);
    (0..cases).map(|at| format!("{{\"id\":\"q{at}\",\"input\":\"{at}?\",\"answer\":\"{answer}\"}}\n")).collect()
}

const RECORDED: &str = "version: 1\nname: full\ndataset: { path: data.jsonl }\nevaluators:\n  length: { min: 1 }\n";

/// What is in the folder of the reports, under any name.
fn files(place: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// A limit on the size of files, first for the results, then for the ledger.
#[test]
fn rn_disk_full() {
    let place = folder(&[("scoregate.yaml", RECORDED), ("data.jsonl", &long_answers(40))]);
    let output = shell(place.path(), "ulimit -f 100; exec \"$SCOREGATE\" run").output().expect("a run");
    let said = checked(&output, 3);
    assert!(said.contains("scoregate-out/results.jsonl") && said.contains("File too large"), "{said}");
    assert!(files(&place.path().join("scoregate-out")).is_empty(), "{:?}", files(&place.path().join("scoregate-out")));
    check(place.path(), &["run"], 0);
}

#[test]
fn rn_disk_full_for_the_ledger() {
    fn long(_: usize, _: &str) -> (&'static str, String) {
        ("200 OK", serde_json::json!({"answer": "word ".repeat(2_000)}).to_string())
    }
    let server = ChatServer::start(Duration::ZERO, long);
    // The results are smaller than the ledger, which also keeps its journal.
    let place = suite(&http(&server.url), "workers: 1", &rows(0..30));
    let output = shell(place.path(), "ulimit -f 300; exec \"$SCOREGATE\" run").output().expect("a run");
    let said = checked(&output, 3);
    assert!(said.contains("could not be kept") || said.contains("File too large"), "{said}");
    sound(&place.path().join(".scoregate/ledger.sqlite"));
    let asked = server.with(|counts| counts.requests);
    let ledger = rusqlite::Connection::open(place.path().join(".scoregate/ledger.sqlite")).expect("the ledger");
    let kept: i64 = ledger.query_row("SELECT count(*) FROM call", [], |row| row.get(0)).expect("a count");
    drop(ledger);
    assert!(kept > 0 && kept < 30, "{kept} answers were kept");
    check(place.path(), &["run"], 0);
    let again = server.with(|counts| counts.requests) - asked;
    assert_eq!(again, 30 - usize::try_from(kept).expect("a count"), "kept answers were asked for again");
}

/// A real full file system, where this user may make one.
#[test]
#[cfg(target_os = "linux")]
fn rn_disk_full_on_a_small_file_system() {
    let place = folder(&[("scoregate.yaml", RECORDED), ("data.jsonl", &long_answers(300))]);
    std::fs::create_dir(place.path().join("small")).expect("a folder");
    let script = "unshare -m --map-root-user sh -c 'mount -t tmpfs -o size=1m none small || exit 77; \"$SCOREGATE\" run --out small; code=$?; ls -A small > left; exit $code'";
    let output = shell(place.path(), script).output().expect("a run");
    if !place.path().join("left").exists() {
        // No namespaces here: the limit on the size of files stands for it.
        return;
    }
    let said = checked(&output, 3);
    assert!(said.contains("small/results.jsonl") && said.contains("No space left"), "{said}");
    assert_eq!(std::fs::read_to_string(place.path().join("left")).expect("a list"), "", "half a report is left");
}

/// Two runs with one folder for the reports: one after the other, or the second is refused; never files of both.
#[test]
fn rn_same_second() {
    let place = folder(&[]);
    for name in ["one", "two"] {
        let suite = format!(
            "version: 1\nname: {name}\ndataset: {{ path: {name}.jsonl }}\nevaluators:\n  length: {{ min: 1 }}\n"
        );
        let row = |at| format!("{{\"id\":\"{name}-{at}\",\"input\":\"?\",\"answer\":\"{name}\"}}\n");
        std::fs::write(place.path().join(format!("{name}.yaml")), suite).expect("a file");
        std::fs::write(place.path().join(format!("{name}.jsonl")), (0..300).map(row).collect::<String>())
            .expect("a file");
    }
    for _ in 0..8 {
        let barrier = Barrier::new(2);
        let run = |name: &str| {
            barrier.wait();
            let output = command(place.path(), &["run", &format!("{name}.yaml")]).output().expect("a run");
            (code(&output), format!("{}{}", out(&output), err(&output)))
        };
        let ended = std::thread::scope(|scope| {
            let (one, two) = (scope.spawn(|| run("one")), scope.spawn(|| run("two")));
            [one.join().expect("a run"), two.join().expect("a run")]
        });
        assert!(ended.iter().any(|(code, _)| *code == 0), "{ended:?}");
        for (code, said) in ended.iter().filter(|(code, _)| *code != 0) {
            assert_eq!(*code, 2, "{said}");
            assert!(said.contains("another run is writing into `scoregate-out`: process "), "{said}");
        }
        let suite = results(place.path())[0]["suite"].as_str().expect("a name").to_owned();
        let other = if suite == "one" { "two-" } else { "one-" };
        for name in ["results.jsonl", "verdict.json", "junit.xml", "comment.md"] {
            let text = report(place.path(), name);
            assert!(text.contains(&suite) && !text.contains(other), "{name} is of the other run");
        }
        let mut left = files(&place.path().join("scoregate-out"));
        left.sort();
        let reports = ["codequality.json", "comment.md", "junit.xml", "results.jsonl", "summary.md", "verdict.json"];
        assert_eq!(left, reports, "nothing else is left");
    }
}

/// Ten thousand cases, half of them wrong, into files.
#[test]
fn rn_first_failure_noise() {
    let rows: String = (0..10_000)
        .map(|at| {
            format!(
                "{{\"id\":\"q{at}\",\"input\":\"?\",\"reference\":\"yes\",\"answer\":\"{}\"}}\n",
                ["yes", "no"][at % 2]
            )
        })
        .collect();
    let suite = "version: 1\nname: noise\ndataset: { path: data.jsonl }\nevaluators:\n  exact_match: {}\ngate:\n  metrics:\n    exact_match: { min: 0.9, case_min: 1 }\n";
    let place = folder(&[("scoregate.yaml", suite), ("data.jsonl", &rows)]);
    let output = shell(place.path(), "\"$SCOREGATE\" run > out.txt 2> err.txt").output().expect("a run");
    assert_eq!(code(&output), 1);
    let read = |name: &str| std::fs::read_to_string(place.path().join(name)).expect(name);
    let (out, err) = (read("out.txt"), read("err.txt"));
    assert!(!out.contains(['\u{1b}', '\r']) && !err.contains(['\u{1b}', '\r']), "the cursor was moved");
    let progress = err.lines().filter(|line| line.contains("/10,000 (")).count();
    assert!(progress <= 40, "{progress} lines of progress");
    assert!(out.lines().count() + err.lines().count() < 1_000);
}

/// Reports of an earlier run are nobody's: not of one that does not begin, and not of one that is killed.
#[test]
fn no_report_of_an_earlier_run_is_left() {
    const SUITE: &str = "version: 1\nname: stale\ndataset: { path: data.jsonl }\nevaluators:\n  exact_match: {}\n";
    let row = "{\"id\":\"a\",\"input\":\"a?\",\"reference\":\"yes\",\"answer\":\"yes\"}\n";
    let place = folder(&[("scoregate.yaml", SUITE), ("data.jsonl", row), ("bad.yaml", "version: 1\n")]);
    let reports =
        || ["verdict.json", "junit.xml", "comment.md"].map(|name| place.path().join("out").join(name).exists());
    for (arguments, expected) in [
        (vec!["run", "bad.yaml", "--out", "out"], 2),
        (vec!["run", "--case", "nobody", "--out", "out"], 2),
        (vec!["run", "--out", "out", "--record", "out/verdict.json"], 2),
    ] {
        check(place.path(), &["run", "--out", "out"], 0);
        assert_eq!(reports(), [true; 3]);
        check(place.path(), &arguments, expected);
        assert_eq!(reports(), [false; 3], "{arguments:?}");
    }
    assert!(place.path().join("out/results.jsonl").exists(), "what a run may be selected by stays");
}

/// What is written as a run goes on replaces no file of another kind.
#[test]
fn events_and_cassettes_overwrite_nothing_else() {
    const SUITE: &str = "version: 1\nname: kept\ndataset: { path: data.jsonl }\nevaluators:\n  exact_match: {}\n";
    let row = "{\"id\":\"a\",\"input\":\"a?\",\"reference\":\"yes\",\"answer\":\"yes\"}\n";
    let place = folder(&[("scoregate.yaml", SUITE), ("data.jsonl", row)]);
    for arguments in [
        ["run", "--events", "scoregate.yaml"].as_slice(),
        &["run", "--events", "data.jsonl"],
        &["run", "--record", "data.jsonl", "--record-mode", "all"],
        &["run", "--record", "a.x", "--events", "a.x"],
        &["run", "--record", "scoregate-out/results.jsonl"],
    ] {
        let said = check(place.path(), arguments, 2);
        assert!(said.contains("would overwrite"), "{said}");
    }
    let read = |name: &str| std::fs::read_to_string(place.path().join(name)).expect("a file");
    assert_eq!((read("scoregate.yaml").as_str(), read("data.jsonl").as_str()), (SUITE, row));
    for _ in 0..2 {
        check(place.path(), &["run", "--events", "e.ndjson", "--record", "tape.jsonl", "--record-mode", "all"], 0);
    }
}
