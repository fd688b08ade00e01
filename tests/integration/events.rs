//! `--events`: the stream of a real run, whole, cut off and ignored.

use std::process::Stdio;

use serde_json::Value;

use crate::command::{check, code, command, err, folder, out, results, scoregate};

const SUITE: &str = "version: 1\nname: events\ndataset: { path: data.jsonl }\nevaluators:\n  equals: {}\ngate:\n  metrics:\n    equals: { min: 0.5 }\n";

fn project() -> tempfile::TempDir {
    let rows: String = (0..30)
        .map(|at| {
            format!("{{\"id\":\"q{at}\",\"input\":\"question {at}\",\"reference\":\"yes\",\"answer\":\"yes\"}}\n")
        })
        .collect();
    folder(&[("scoregate.yaml", SUITE), ("data.jsonl", &rows)])
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"))).collect()
}

fn types(lines: &[Value]) -> Vec<&str> {
    lines.iter().filter_map(|line| line["type"].as_str()).collect()
}

#[test]
fn a_file_tells_a_whole_run() {
    let place = project();
    check(place.path(), &["run", "--events", "events.jsonl"], 0);
    let lines = lines(&std::fs::read_to_string(place.path().join("events.jsonl")).expect("the events"));
    let types = types(&lines);
    assert_eq!((types[0], lines[0]["schema"].as_u64()), ("events", Some(1)));
    assert_eq!(types.iter().filter(|name| **name == "finished").count(), 30);
    assert_eq!(types[types.len() - 2..], ["ended", "exit"]);
    assert_eq!(lines.last().expect("an end")["code"], 0);
    let last = lines.iter().rfind(|line| line["type"] == "finished").expect("an outcome");
    assert_eq!((&last["done"], &last["planned"], &last["case"]), (&30.into(), &30.into(), &"q29".into()));
    assert_eq!(last["scores"]["equals"]["value"], 1.0);
    assert_eq!(last["calls"], results(place.path()).pop().expect("an end")["calls"]);
}

#[test]
fn standard_output_belongs_to_the_events_then() {
    let place = project();
    let output = scoregate(place.path(), &["run", "--events", "-"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    assert_eq!(types(&lines(&out(&output))).last(), Some(&"exit"));
    assert!(err(&output).contains("scores measured"), "the verdict is on standard error: {}", err(&output));
}

#[test]
fn a_wrong_suite_ends_the_stream_too() {
    let place = project();
    std::fs::write(place.path().join("scoregate.yaml"), SUITE.replace("min:", "mni:")).expect("a file");
    check(place.path(), &["run", "--events", "events.jsonl"], 2);
    let lines = lines(&std::fs::read_to_string(place.path().join("events.jsonl")).expect("the events"));
    assert_eq!(types(&lines), ["events", "exit"]);
    assert_eq!(lines[1]["code"], 2);
    assert!(lines[1]["reason"].as_str().expect("a reason").contains("mni"), "{}", lines[1]);
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let place = project();
    let mut child = command(place.path(), &["run", "--events", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("an end");
    assert_eq!(code(&output), 0, "{}", err(&output));
    assert!(!err(&output).contains("warning: the events"), "{}", err(&output));
}

#[test]
fn a_stream_that_cannot_be_written_is_told_and_changes_nothing() {
    let place = project();
    let said = check(place.path(), &["run", "--events", "no/such/folder/events.jsonl"], 0);
    assert!(said.contains("warning: the events are not all written"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_pipe_without_a_reader_holds_nobody_up() {
    let place = project();
    let made = std::process::Command::new("mkfifo").arg(place.path().join("pipe")).status().expect("mkfifo");
    assert!(made.success());
    let said = check(place.path(), &["run", "--events", "pipe"], 0);
    assert!(said.contains("its reader does not take them"), "{said}");
}
