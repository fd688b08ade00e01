//! The real binary and the alerts of its suite, against a chat on loopback.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::command::{code, command, err, folder, out};
use crate::fake_server::{Answer, FakeServer, Fault, Host, Seen};

struct Chat;

impl Host for Chat {
    fn check(&self, seen: &Seen) -> Result<(), String> {
        if seen.method == "POST" && seen.json().is_object() { Ok(()) } else { Err("no message".to_owned()) }
    }

    fn carry_out(&mut self, _: &Seen) -> Answer {
        (200, json!({}), vec![])
    }
}

const PATH: &str = "/services/T0/B0/s3cr3t-t0ken";

fn rows(wrong: usize) -> String {
    let row = |at: usize| {
        let answer = if at < wrong { "Lyon" } else { "Paris" };
        format!(
            "{{\"id\":\"q{at:02}\",\"input\":\"private question {at}?\",\"reference\":\"Paris\",\"answer\":\"{answer}\"}}\n"
        )
    };
    (0..40).map(row).collect()
}

fn suite(alerts: &str) -> String {
    format!(
        "version: 1\nname: capitals\ndataset: {{ path: data.jsonl }}\nevaluators:\n  exact_match: {{}}\ngate:\n  metrics:\n    exact_match: {{ min: 0.8 }}\nalerts:\n{alerts}"
    )
}

const SLACK: &str = "  - { to: slack, url: \"${HOOK}\" }\n";

fn run(chat: &FakeServer<Chat>, place: &Path, arguments: &[&str], more: &[(&str, &str)]) -> Output {
    let mut command = command(place, arguments);
    let output = command.env("HOOK", format!("{}{PATH}", chat.url)).envs(more.iter().copied()).output().expect("a run");
    assert_eq!(chat.violations(), Vec::<String>::new());
    let said = format!("{}{}", out(&output), err(&output));
    assert!(!said.contains("s3cr3t") && !said.contains("/services/"), "{said}");
    output
}

fn bodies(chat: &FakeServer<Chat>) -> Vec<Value> {
    chat.seen().iter().map(Seen::json).collect()
}

#[test]
fn a_failure_is_told_once_and_a_pass_is_not() {
    let chat = FakeServer::start(Chat);
    let place = folder(&[("scoregate.yaml", &suite(SLACK)), ("data.jsonl", &rows(20))]);
    let failed = run(&chat, place.path(), &["run"], &[]);
    assert_eq!(code(&failed), 1, "{}", err(&failed));
    let told = bodies(&chat);
    assert_eq!((told.len(), chat.seen()[0].path.as_str()), (1, PATH));
    let text = told[0].to_string();
    assert!(text.contains("❌ scoregate: capitals") && text.contains("case q00"), "{text}");
    assert!(
        !text.contains("private question") && !text.contains("Lyon"),
        "what was asked and answered stays here: {text}"
    );
    // Not in the reports either, whose suite names the variable.
    for file in ["results.jsonl", "verdict.json", "summary.md"] {
        let report = std::fs::read_to_string(place.path().join("scoregate-out").join(file)).expect(file);
        assert!(!report.contains("s3cr3t"), "{file}");
    }
    std::fs::write(place.path().join("data.jsonl"), rows(0)).expect("a file");
    assert_eq!(code(&run(&chat, place.path(), &["run"], &[])), 0);
    assert_eq!(chat.seen().len(), 1);
}

#[test]
fn trouble_is_one_warning_and_the_verdict_is_the_same() {
    let chat = FakeServer::start(Chat);
    let body = format!("no such hook {PATH}");
    let gone = format!("HTTP/1.1 404 x\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    chat.fail("POST", "/services", 9, Fault::Answer(gone.into_bytes()));
    let place = folder(&[
        ("scoregate.yaml", &suite("  - { to: slack, on: always, url: \"${HOOK}\" }\n")),
        ("data.jsonl", &rows(0)),
    ]);
    let output = run(&chat, place.path(), &["run"], &[]);
    assert_eq!(code(&output), 0);
    let warning = "warning: the alert alerts.0 (slack) was not sent: 127.0.0.1 answered 404";
    assert!(err(&output).contains(warning), "{}", err(&output));
    assert!(err(&output).lines().last().expect("a last line").starts_with("scoregate: exit 0:"));
}

#[test]
fn pull_requests_shards_and_replays_tell_nobody() {
    let chat = FakeServer::start(Chat);
    let place = folder(&[("scoregate.yaml", &suite(SLACK)), ("data.jsonl", &rows(20))]);
    let proposal = [("SYSTEM_PULLREQUEST_PULLREQUESTID", "7")];
    assert_eq!(code(&run(&chat, place.path(), &["run", "--base", "none"], &proposal)), 1);
    assert_eq!(code(&run(&chat, place.path(), &["run", "--shard", "1/2", "--out", "part"], &[])), 0);
    assert_eq!(code(&run(&chat, place.path(), &["run", "--record", "tape.jsonl", "--base", "none"], &proposal)), 1);
    assert_eq!(code(&run(&chat, place.path(), &["run", "--replay", "tape.jsonl"], &[])), 1);
    assert_eq!(chat.seen().len(), 0, "{:?}", chat.log());
    // A variable that is not set here tells nobody, and stops nothing.
    let optional = suite("  - { to: teams, url: \"${TEAMS_HOOK:-}\" }\n");
    std::fs::write(place.path().join("scoregate.yaml"), optional).expect("a file");
    assert_eq!(code(&run(&chat, place.path(), &["run"], &[])), 1);
}

#[test]
fn a_run_without_a_verdict_is_told_too() {
    let chat = FakeServer::start(Chat);
    let place = folder(&[("scoregate.yaml", &suite(SLACK)), ("data.jsonl", "{\"id\": \"q1\"")]);
    let output = run(&chat, place.path(), &["run"], &[]);
    assert_eq!(code(&output), 2);
    let told = bodies(&chat);
    assert_eq!(told.len(), 1, "{}", err(&output));
    assert!(
        told[0].to_string().contains("there is no verdict") && told[0].to_string().contains("data.jsonl"),
        "{}",
        told[0]
    );
}

#[test]
fn drift_is_told_by_the_command_that_finds_it() {
    let chat = FakeServer::start(Chat);
    let alerts = "  - { to: webhook, on: drift, url: \"${HOOK}\", body: { text: \"{{ suite }} {{ verdict }}: {{ headline }}\" } }\n";
    let place = folder(&[("scoregate.yaml", &suite(alerts))]);
    let mut files = Vec::new();
    for at in 0..12 {
        let wrong = if at < 6 { 1 } else { 20 };
        std::fs::write(place.path().join("data.jsonl"), rows(wrong)).expect("a file");
        let out = format!("out-{at:02}");
        run(&chat, place.path(), &["run", "--out", &out], &[]);
        // A night apart.
        let file = format!("{out}/results.jsonl");
        let text = std::fs::read_to_string(place.path().join(&file)).expect("results");
        let (head, rest) = text.split_once('\n').expect("a first line");
        let mut head: Value = serde_json::from_str(head).expect("JSON");
        head["started"] = json!(format!("2026-11-{:02}T02:00:00Z", at + 1));
        std::fs::write(place.path().join(&file), format!("{head}\n{rest}")).expect("a file");
        files.push(file);
    }
    assert_eq!(chat.seen().len(), 0, "a failing run is no drift");
    let arguments = |files: &[String]| -> Vec<String> {
        ["drift", "--suite", "scoregate.yaml"].iter().map(|word| (*word).to_owned()).chain(files.to_vec()).collect()
    };
    let told = |files: &[String]| {
        let words = arguments(files);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        run(&chat, place.path(), &words, &[])
    };
    assert_eq!(code(&told(&files[..6])), 0);
    assert_eq!(chat.seen().len(), 0, "nothing moved");
    let moved = told(&files);
    assert_eq!(code(&moved), 0, "{}", err(&moved));
    assert_eq!(bodies(&chat), [json!({ "text": "capitals drift: the level fell: exact_match" })]);
}

#[test]
fn wrong_alerts_are_found_before_anything_is_called() {
    let chat = FakeServer::start(Chat);
    let alerts = "  - { to: slak, url: \"${HOOK}\" }\n  - { to: slack, url: \"https://hooks.test/s3cr3t-t0ken\" }\n  - { to: slack, url: \"${HOOK}\", on: failing }\n";
    let place = folder(&[("scoregate.yaml", &suite(alerts)), ("data.jsonl", &rows(0))]);
    let output = command(place.path(), &["check"]).env("HOOK", format!("{}{PATH}", chat.url)).output().expect("a run");
    assert_eq!(code(&output), 2);
    for part in ["slak", "whoever knows this address may write to the slack group", "failing"] {
        assert!(err(&output).contains(part), "{part}: {}", err(&output));
    }
    assert!(!place.path().join("scoregate-out").exists());
}

#[test]
fn a_verdict_whose_report_is_lost_is_told_as_no_pass() {
    let chat = FakeServer::start(Chat);
    let place = folder(&[("scoregate.yaml", &suite(SLACK)), ("data.jsonl", &rows(0))]);
    // A folder where a report belongs.
    std::fs::create_dir_all(place.path().join("scoregate-out/junit.xml")).expect("a folder");
    let output = run(&chat, place.path(), &["run", "--base", "none"], &[]);
    assert_eq!(code(&output), 3, "{}", err(&output));
    let text = bodies(&chat)[0].to_string();
    assert!(text.contains("⚠️ scoregate: capitals") && !text.contains('✅'), "{text}");
    assert!(text.contains("a report could not be written, so this is no pass (exit 3): passed"), "{text}");
}
