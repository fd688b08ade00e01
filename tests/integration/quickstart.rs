//! The README's main job on real recorded answers.

use std::path::Path;

use serde_json::Value;

use crate::command::{code, err, out, root, scoregate};

fn run(suite: &str) -> (i32, String, String, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().display().to_string();
    let output = scoregate(&root(), &["run", suite, "--out", &place]);
    (code(&output), out(&output), err(&output), folder)
}

fn verdict(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("verdict.json")).expect("verdict.json");
    serde_json::from_str(&text).expect("JSON")
}

fn violated(verdict: &Value) -> Vec<String> {
    let rules = verdict["rules"].as_array().expect("rules");
    let failed = rules.iter().filter(|rule| rule["verdict"] == "violated");
    failed.map(|rule| rule["metric"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn nothing_but_luck_passes_and_every_report_is_written() {
    let (code, out, err, folder) = run("fixtures/quickstart/scoregate.yaml");
    assert_eq!(code, 0, "{out}{err}");
    for file in ["results.jsonl", "verdict.json", "junit.xml", "comment.md"] {
        assert!(folder.path().join(file).metadata().is_ok_and(|file| file.len() > 0), "{file}");
    }
    assert_eq!(verdict(folder.path())["exit_code"], 0);
    assert!(out.contains("hit_rate"), "{out}");
    assert!(err.lines().last().is_some_and(|line| line.starts_with("scoregate: exit 0:")), "{err}");
}

#[test]
fn lost_documents_fail_and_the_broken_cases_are_shown() {
    let (code, out, err, folder) = run("fixtures/quickstart/regressed.yaml");
    assert_eq!(code, 1, "{out}{err}");
    let verdict = verdict(folder.path());
    let violated = violated(&verdict);
    for metric in ["hit_rate", "mrr", "recall"] {
        assert!(violated.iter().any(|name| name == metric), "{metric} is not among {violated:?}");
    }
    assert!(out.contains("before") && out.contains("now"), "{out}");
    assert!(!verdict["broken"].as_array().expect("broken").is_empty());
}

#[test]
fn where_only_retrieval_dropped_only_retrieval_fails() {
    let (code, out, err, folder) = run("fixtures/quickstart/retrieval-dropped.yaml");
    assert_eq!(code, 1, "{out}{err}");
    let violated = violated(&verdict(folder.path()));
    assert!(violated.iter().any(|name| name == "hit_rate"), "{violated:?}");
    assert!(!violated.iter().any(|name| name == "rouge_l" || name == "token_f1"), "{violated:?}");
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    // The run's start is the one declared time field.
    let timestamp = |line: &str| line.split(' ').filter(|word| !word.starts_with("timestamp=")).collect::<String>();
    let read = |folder: &tempfile::TempDir, file| -> Vec<String> {
        std::fs::read_to_string(folder.path().join(file)).expect(file).lines().map(timestamp).collect()
    };
    let (_, _, _, first) = run("fixtures/quickstart/regressed.yaml");
    let (_, _, _, second) = run("fixtures/quickstart/regressed.yaml");
    for file in ["verdict.json", "junit.xml", "comment.md"] {
        assert!(read(&first, file) == read(&second, file), "{file} differs");
    }
}
