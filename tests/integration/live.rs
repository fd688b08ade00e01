//! The engine with real servers, real programs and real signals.
#![cfg(unix)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::chat_server::{ChatServer, completion};
use crate::command::{code, err, out, scoregate};
use crate::process::{send, wait_until};

const CASES: usize = 40;
const KEY: &str = "sg-test-secret-7Q/w+x==";

fn yes(_: usize, _: &str) -> (&'static str, String) {
    ("200 OK", completion("YES"))
}

fn suite(url: &str, extra: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let rows: String = (0..CASES)
        .map(|at| {
            format!(
                "{{\"id\":\"q{at}\",\"input\":\"question {at}?\",\"answer\":\"answer {at}\",\"answer_contexts\":[\"context {at}\"]}}\n"
            )
        })
        .collect();
    let text = format!(
        "version: 1\nname: live\ndataset: {{ path: data.jsonl }}\nmodels:\n  judge: {{ provider: openai, model: m, base_url: \"{url}/v1\", api_key: \"${{JUDGE_KEY}}\" }}\n\
         evaluators:\n  faithfulness: {{ model: judge }}\ngate:\n  metrics:\n    faithfulness: {{ min: 0.5 }}\n{extra}"
    );
    std::fs::write(folder.path().join("data.jsonl"), rows).expect("a file");
    std::fs::write(folder.path().join("scoregate.yaml"), text).expect("a file");
    folder
}

fn start(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scoregate"));
    command
        .args(["run"])
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("JUDGE_KEY", KEY)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn wait_for(server: &ChatServer, requests: usize) {
    wait_until("requests", || server.with(|counts| counts.requests) >= requests);
}

fn end(folder: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(folder.join("scoregate-out/results.jsonl")).expect("results");
    serde_json::from_str(text.lines().last().expect("an end line")).expect("JSON")
}

#[test]
fn a_finished_run_repeated_asks_nothing_and_says_the_same() {
    let server = ChatServer::start(Duration::ZERO, yes);
    let folder = suite(&server.url, "");
    let first = start(folder.path(), &[]).output().expect("a run");
    assert_eq!(code(&first), 0, "{}{}", out(&first), err(&first));
    let verdict = std::fs::read(folder.path().join("scoregate-out/junit.xml")).expect("junit").len();
    assert_eq!(server.with(|counts| counts.requests), CASES);
    let second = start(folder.path(), &[]).output().expect("a run");
    assert_eq!(code(&second), 0);
    assert_eq!(server.with(|counts| counts.requests), CASES, "the second run paid again");
    assert_eq!(std::fs::read(folder.path().join("scoregate-out/junit.xml")).expect("junit").len(), verdict);
    assert_eq!(end(folder.path())["calls"]["cache_hits"], CASES);
    let third = start(folder.path(), &["--ledger", "off"]).output().expect("a run");
    assert_eq!(code(&third), 0);
    assert_eq!(server.with(|counts| counts.requests), 2 * CASES);
}

/// R2: whatever the moment of the kill and whatever the ledger is used for, what was committed is not paid for again.
#[test]
fn kill_9_loses_nothing_that_was_finished() {
    const WORKERS: usize = 4;
    for (round, mode) in ["on", "refresh", "off", "on", "refresh"].into_iter().enumerate() {
        let server = ChatServer::start(Duration::from_millis(8), yes);
        let folder = suite(&server.url, "run: { ledger: { ttl: 1h } }\n");
        // Answers of an earlier run, which only one of the modes may use.
        if round < 3 {
            check_run(folder.path(), &[]);
            assert_eq!(server.with(|counts| counts.requests), CASES);
            if mode == "on" {
                std::fs::remove_dir_all(folder.path().join(".scoregate")).expect("a ledger");
            }
        }
        let before = server.with(|counts| counts.requests);
        for step in 0..4 {
            let mut child = start(folder.path(), &["--workers", "4", "--ledger", mode]).spawn().expect("a run");
            let target = server.with(|counts| counts.requests) + 2 + (round + 3 * step) % 7;
            let begun = Instant::now();
            while server.with(|counts| counts.requests) < target && child.try_wait().expect("a child").is_none() {
                assert!(begun.elapsed() < Duration::from_secs(20), "the run does not get on");
                std::thread::sleep(Duration::from_millis(1));
            }
            assert!(child.try_wait().expect("a child").is_none(), "the run ended before the kill");
            send(&child, Signal::SIGKILL);
            child.wait().expect("an end");
        }
        let said = check_run(folder.path(), &["--ledger", mode]);
        assert!(said.contains("goes on with the run"), "{mode}: {said}");
        assert_eq!(end(folder.path())["outcomes"], CASES);
        let asked = server.with(|counts| counts.requests) - before;
        assert!((CASES..=CASES + 4 * WORKERS).contains(&asked), "{mode}: {asked} requests");
        // It has ended: the next one begins anew.
        let said = check_run(folder.path(), &["--ledger", mode]);
        assert!(!said.contains("goes on"), "{mode}: {said}");
        let again = server.with(|counts| counts.requests) - before - asked;
        assert_eq!(again, if mode == "on" { 0 } else { CASES }, "{mode}");
        assert!(!folder.path().join("scoregate-out/.scoregate-journal.sqlite").exists());
    }
}

/// What changed is asked anew and named; all else comes from the ledger, and nothing is said of it.
#[test]
fn what_is_measured_anew_after_a_change_is_said() {
    let server = ChatServer::start(Duration::ZERO, yes);
    let folder = suite(&server.url, "");
    let change = |name: &str, from: &str, to: &str| {
        let path = folder.path().join(name);
        let text = std::fs::read_to_string(&path).expect("a file");
        assert!(text.contains(from), "{text}");
        std::fs::write(path, text.replacen(from, to, 1)).expect("a file");
    };
    let anew = |said: &str| said.lines().find(|line| line.contains("measured anew")).map(str::to_owned);
    let requests = || server.with(|counts| counts.requests);
    assert_eq!(anew(&check_run(folder.path(), &[])), None, "there was none before");
    assert_eq!(anew(&check_run(folder.path(), &[])), None, "nothing changed");
    assert_eq!(requests(), CASES);
    change("data.jsonl", "\"answer 7\"", "\"another answer\"");
    change("data.jsonl", "context 9", "another context");
    let said = anew(&check_run(folder.path(), &[])).expect("a line");
    assert!(said.ends_with("measured anew: 2 cases that changed (q7, q9)"), "{said}");
    assert_eq!(requests(), CASES + 2);
    change("scoregate.yaml", "model: m,", "model: m, max_tokens: 77,");
    // Killed after its first answers, and again: what it changed is not said of itself.
    let mut child = start(folder.path(), &["--workers", "1"]).spawn().expect("a run");
    wait_for(&server, CASES + 6);
    send(&child, Signal::SIGKILL);
    child.wait().expect("an end");
    assert_eq!(anew(&check_run(folder.path(), &[])), None);
    assert!((2 * CASES + 2..=2 * CASES + 3).contains(&requests()), "{}", requests());
    change("scoregate.yaml", "max_tokens: 77", "max_tokens: 78");
    let said = anew(&check_run(folder.path(), &[])).expect("a line");
    assert!(said.ends_with("measured anew: `faithfulness` of every case (parameters changed)"), "{said}");
    // What the ledger answers whole is a run like any other: back to what it knows, once.
    change("scoregate.yaml", "max_tokens: 78", "max_tokens: 77");
    let before = requests();
    assert!(anew(&check_run(folder.path(), &[])).is_some_and(|said| said.contains("parameters changed")));
    assert_eq!(anew(&check_run(folder.path(), &[])), None);
    assert_eq!(requests(), before);
}

fn check_run(folder: &Path, arguments: &[&str]) -> String {
    let output = start(folder, arguments).output().expect("a run");
    assert_eq!(code(&output), 0, "{}{}", out(&output), err(&output));
    err(&output)
}

/// A provider that stopped answering leaves a run that has not ended, in every mode.
#[test]
fn a_refresh_that_an_endpoint_gave_up_goes_on() {
    fn spent(before: usize, body: &str) -> (&'static str, String) {
        if body.contains("answer 39") && before == 0 {
            let body = "{\"error\":{\"message\":\"You exceeded your current quota\",\"type\":\"insufficient_quota\",\"code\":\"insufficient_quota\"}}";
            return ("429 Too Many Requests", body.to_owned());
        }
        yes(before, body)
    }
    let stops = ChatServer::start(Duration::from_millis(5), spent);
    let folder = suite(&stops.url, "");
    let first = start(folder.path(), &["--ledger", "refresh", "--workers", "1"]).output().expect("a run");
    assert_eq!(code(&first), 3, "{}", err(&first));
    let answered = stops.with(|counts| counts.answered.len());
    assert!(answered > 0, "something was paid for");
    let second = start(folder.path(), &["--ledger", "refresh", "--workers", "1"]).output().expect("a run");
    assert!(err(&second).contains("goes on with the run"), "{}", err(&second));
    let twice = stops.with(|counts| counts.answered.values().filter(|times| **times > 1).count());
    assert_eq!(twice, 0, "paid twice");
}

/// What cannot be kept is not used, and nothing more is paid for.
#[test]
fn a_ledger_that_fails_under_way_is_3_whatever_was_measured() {
    fn first_is_wrong(_: usize, body: &str) -> (&'static str, String) {
        ("200 OK", completion(if body.contains("answer 0\\\"") { "NO" } else { "YES" }))
    }
    let server = ChatServer::start(Duration::from_millis(30), first_is_wrong);
    let folder = suite(&server.url, "  must_pass: { ids: [q0] }\nrun: { ledger: kept.sqlite }\n");
    let child = start(folder.path(), &["--workers", "2"]).spawn().expect("a run");
    wait_for(&server, 8);
    let ledger = rusqlite::Connection::open(folder.path().join("kept.sqlite")).expect("the ledger");
    ledger.busy_timeout(Duration::from_secs(10)).expect("a timeout");
    ledger.execute_batch("DROP TABLE call").expect("a broken ledger");
    let broken_at = server.with(|counts| counts.requests);
    let output = child.wait_with_output().expect("an end");
    assert_eq!(code(&output), 3, "{}{}", out(&output), err(&output));
    assert!(err(&output).contains("could not be kept"), "{}", err(&output));
    let end = end(folder.path());
    assert_eq!(end["complete"], false);
    let requests = server.with(|counts| counts.requests);
    assert!(requests < CASES && requests <= broken_at + 4, "{requests} requests, {broken_at} before the ledger broke");
    let results = std::fs::read_to_string(folder.path().join("scoregate-out/results.jsonl")).expect("results");
    let used = results.lines().filter(|line| line.contains("\"value\":")).count();
    assert!(used <= broken_at, "{used} scores from {broken_at} kept answers");
    assert!(folder.path().join("scoregate-out/verdict.json").exists(), "the reports are written");
}

/// A case that failed before the signal does not make half a run a decision.
#[test]
fn a_cancelled_run_decides_nothing() {
    fn no(_: usize, _: &str) -> (&'static str, String) {
        ("200 OK", completion("NO"))
    }
    let server = ChatServer::start(Duration::from_millis(60), no);
    // Which cases are asked first is up to the scheduler.
    let ids: Vec<String> = (0..CASES).map(|at| format!("q{at}")).collect();
    let folder = suite(&server.url, &format!("  must_pass: {{ ids: [{}] }}\n", ids.join(", ")));
    let child = start(folder.path(), &["--workers", "2"]).spawn().expect("a run");
    wait_for(&server, 8);
    send(&child, Signal::SIGINT);
    let output = child.wait_with_output().expect("an end");
    assert_eq!(code(&output), 130);
    let verdict = std::fs::read(folder.path().join("scoregate-out/verdict.json")).expect("a verdict");
    let verdict: serde_json::Value = serde_json::from_slice(&verdict).expect("JSON");
    assert_eq!((&verdict["verdict"], &verdict["exit_code"]), (&"not_evaluated".into(), &130.into()));
    assert!(
        verdict["rules"].as_array().expect("rules").iter().any(|rule| rule["verdict"] == "violated"),
        "{:#}",
        verdict["rules"]
    );
}

#[test]
fn rn_interrupt() {
    for (signal, expected) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 143)] {
        let server = ChatServer::start(Duration::from_millis(60), yes);
        let folder = suite(&server.url, "");
        let child = start(folder.path(), &["--workers", "2"]).spawn().expect("a run");
        wait_for(&server, 8);
        let begun = Instant::now();
        send(&child, signal);
        let output = child.wait_with_output().expect("an end");
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        assert_eq!(code(&output), expected, "{}", err(&output));
        let read = |name: &str| std::fs::read_to_string(folder.path().join("scoregate-out").join(name)).expect(name);
        let verdict: serde_json::Value = serde_json::from_str(&read("verdict.json")).expect("JSON");
        assert_eq!((&verdict["verdict"], &verdict["partial"]), (&"not_evaluated".into(), &true.into()));
        assert_eq!(verdict["exit_code"], expected);
        assert!(err(&output).contains(&format!("exit {expected}: cancelled by SIG")), "{}", err(&output));
        let results = read("results.jsonl");
        let here = results.lines().filter(|line| line.contains("\"answer\":")).count();
        let said = verdict["headline"].as_str().unwrap_or_default();
        assert!(said.contains(&format!(": {here} of {CASES} answers are here")), "{said}");
        assert!(read("junit.xml").contains("<testsuite"));
        let finished = server.with(|counts| counts.answered.len());
        let resumed = start(folder.path(), &[]).output().expect("a run");
        assert_eq!(code(&resumed), 0);
        let asked_again = server.with(|counts| counts.requests) - CASES;
        assert!(asked_again <= 2 && finished >= 6, "{asked_again} asked again");
    }
}

/// R19: nothing is paid for an invalid specification.
#[test]
fn an_invalid_suite_opens_no_connection() {
    let server = ChatServer::start(Duration::ZERO, yes);
    let breakages: [(&str, &str); 5] = [
        ("faithfulness: { min: 0.5 }", "faithfulness: { mn: 0.5 }"),
        ("path: data.jsonl", "path: nothing.jsonl"),
        ("{ model: judge }", "{ model: jduge }"),
        ("version: 1", "version: 1\ntypo: 2"),
        ("${JUDGE_KEY}", "${NO_SUCH_VARIABLE}"),
    ];
    for (good, bad) in breakages {
        let folder = suite(&server.url, "");
        let path = folder.path().join("scoregate.yaml");
        let text = std::fs::read_to_string(&path).expect("the suite");
        assert!(text.contains(good));
        std::fs::write(&path, text.replace(good, bad)).expect("a file");
        let output = start(folder.path(), &[]).output().expect("a run");
        assert_eq!(code(&output), 2, "{bad}: {}", err(&output));
    }
    assert_eq!(server.with(|counts| counts.connections), 0);
}

#[test]
fn rp_secret_in_request() {
    fn refuse(_: usize, _: &str) -> (&'static str, String) {
        (
            "401 Unauthorized",
            format!("{{\"error\":{{\"message\":\"bad key: Bearer {KEY}\",\"code\":\"invalid_api_key\"}}}}"),
        )
    }
    let server = ChatServer::start(Duration::ZERO, refuse);
    let folder = suite(&server.url, "");
    let output = start(folder.path(), &[]).output().expect("a run");
    assert_eq!(code(&output), 3, "{}", err(&output));
    assert!(server.with(|counts| counts.heads.iter().all(|head| head.contains(KEY))), "the key was not sent");
    let requests = server.with(|counts| counts.requests);
    assert!(requests <= 4, "{requests} requests after the first refusal");
    let mut all = vec![output.stdout, output.stderr];
    let mut folders = vec![folder.path().to_owned()];
    while let Some(place) = folders.pop() {
        for entry in std::fs::read_dir(place).expect("a folder").flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path())
            } else {
                all.push(std::fs::read(entry.path()).expect("a file"))
            }
        }
    }
    for bytes in all {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("7Q/w+x=="), "the key is in:\n{text}");
    }
}

#[test]
fn ca_no_errors_over_two_runs() {
    fn broken(_: usize, body: &str) -> (&'static str, String) {
        match body {
            body if body.contains("answer 1\\\"") => ("400 Bad Request", "{\"error\":{\"message\":\"no\"}}".to_owned()),
            body if body.contains("answer 2\\\"") => ("200 OK", completion("perhaps")),
            body if body.contains("answer 3\\\"") => ("200 OK", "{\"error\":{\"message\":\"busy\"}}".to_owned()),
            _ => ("200 OK", completion("YES")),
        }
    }
    let first = ChatServer::start(Duration::ZERO, broken);
    let folder = suite(&first.url, "run: { retry: { attempts: 1 } }\n");
    let output = start(folder.path(), &[]).output().expect("a run");
    assert_eq!(code(&output), 3, "{}{}", out(&output), err(&output));
    let text = std::fs::read_to_string(folder.path().join("scoregate-out/results.jsonl")).expect("results");
    assert!(text.contains("perhaps"), "the unusable reply is not kept for the reports");
    let unmeasured =
        text.lines().filter(|line| line.contains("\"error\":{") || line.contains("\"unusable\":{")).count();
    assert_eq!(unmeasured, 3);
}

#[test]
fn services_programs_and_models_are_targets() {
    fn app(_: usize, body: &str) -> (&'static str, String) {
        let asked: serde_json::Value = serde_json::from_str(body).expect("JSON");
        match asked["question"].as_str() {
            Some(question) => {
                let answer =
                    serde_json::json!({"answer": format!("you asked {question}"), "sources": [{"text": "a source"}]});
                ("200 OK", answer.to_string())
            }
            None => ("200 OK", completion("a model's words")),
        }
    }
    let server = ChatServer::start(Duration::ZERO, app);
    let kinds = [
        (
            format!(
                "http: {{ url: \"{}/query\", body: {{ question: \"{{{{ input }}}}\" }}, answer: $.answer, contexts: \"$.sources[*].text\" }}",
                server.url
            ),
            "you asked question 7?",
        ),
        ("command: { argv: [sh, -c, 'read line; echo \"program says $line\"'] }".to_owned(), "program says"),
        ("chat: { model: judge, prompt: \"Answer: {{ input }}\" }".to_owned(), "a model's words"),
    ];
    for (target, expected) in kinds {
        let folder = suite(&server.url, "");
        let path = folder.path().join("scoregate.yaml");
        let text = std::fs::read_to_string(&path).expect("the suite");
        let (head, _) = text.split_once("evaluators:").expect("evaluators");
        let text = format!("{head}targets:\n  app:\n    {target}\nevaluators:\n  length: {{ min: 3 }}\n");
        std::fs::write(&path, text).expect("a file");
        let output = start(folder.path(), &[]).output().expect("a run");
        assert_eq!(code(&output), 0, "{target}: {}{}", out(&output), err(&output));
        let results = std::fs::read_to_string(folder.path().join("scoregate-out/results.jsonl")).expect("results");
        assert!(results.contains(expected), "{target}: {results}");
        let checked = scoregate(folder.path(), &["check"]);
        assert_eq!(code(&checked), 2, "without its variable the suite cannot be right");
    }
}

/// What is missing at the deadline is not measured, and nothing of it counts as good.
#[test]
fn a_deadline_ends_the_run() {
    let server = ChatServer::start(Duration::from_millis(100), yes);
    let folder = suite(&server.url, "run: { deadline: 500ms, workers: 1 }\n");
    let begun = Instant::now();
    let output = start(folder.path(), &[]).output().expect("a run");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(code(&output), 3, "{}{}", out(&output), err(&output));
    assert!(out(&output).contains("`deadline` passed"), "{}", out(&output));
    let end = end(folder.path());
    assert_eq!((&end["complete"], &end["reason"]), (&false.into(), &"the run's `deadline` passed".into()));
    let resumed = start(folder.path(), &["--workers", "8"]).output().expect("a run");
    assert!(code(&resumed) == 0 || code(&resumed) == 3);
    assert!(server.with(|counts| counts.requests) <= CASES + 8, "what was paid for is asked again");
}
