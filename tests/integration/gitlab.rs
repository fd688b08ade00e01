//! The real binary in a job of GitLab CI, against a GitLab on loopback.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::command::{code, command, err, folder, out, report};
use crate::fake_gitlab::{self, GitLab, TOKEN};
use crate::fake_server::FakeServer;

fn rows(wrong: usize) -> String {
    let row = |at: usize| {
        let answer = if at < wrong { "Lyon" } else { "Paris" };
        format!("{{\"id\":\"q{at:02}\",\"input\":\"Capital {at}?\",\"reference\":\"Paris\",\"answer\":\"{answer}\"}}\n")
    };
    (0..40).map(row).collect()
}

const SUITE: &str = "version: 1\nname: capitals\ndataset: { path: data.jsonl }\nevaluators:\n  exact_match: {}\ngate:\n  metrics:\n    \
                     exact_match: { min: 0.8 }\n";

fn job(gitlab: &FakeServer<GitLab>, place: &Path, arguments: &[&str], more: &[(&str, &str)]) -> Output {
    let mut command = command(place, arguments);
    let output = command.envs(fake_gitlab::variables(gitlab)).envs(more.iter().copied()).output().expect("a run");
    assert_eq!(gitlab.violations(), Vec::<String>::new());
    assert!(!out(&output).contains(TOKEN) && !err(&output).contains(TOKEN));
    output
}

#[test]
fn a_merge_request_gets_one_note_a_status_and_code_quality() {
    let gitlab = fake_gitlab::start();
    let place = folder(&[("scoregate.yaml", SUITE), ("data.jsonl", &rows(20))]);
    let arguments = ["run", "--base", "none", "--check=status"];
    let failed = job(&gitlab, place.path(), &arguments, &[]);
    assert_eq!(code(&failed), 1, "{}", err(&failed));
    let notes = gitlab.with(|gitlab| gitlab.notes.clone());
    assert!(notes[0].body.starts_with("<!-- scoregate:capitals -->\n> [!CAUTION]\n> ❌"), "{}", notes[0].body);
    // No line of a note is a quick action.
    assert!(notes[0].body.lines().all(|line| !line.trim_start().starts_with('/')));

    let findings: Vec<Value> = serde_json::from_str(&report(place.path(), "codequality.json")).expect("JSON");
    for finding in &findings {
        for key in ["description", "check_name", "fingerprint", "severity"] {
            assert!(finding[key].as_str().is_some_and(|text| !text.is_empty()), "{finding}");
        }
        assert!(
            ["info", "minor", "major", "critical", "blocker"].contains(&finding["severity"].as_str().expect("a word"))
        );
        assert!(finding["location"]["lines"]["begin"].as_u64().is_some_and(|line| line > 0), "{finding}");
    }
    assert_eq!(
        (&findings[0]["check_name"], &findings[0]["location"]["path"]),
        (&"scoregate/rule".into(), &"scoregate.yaml".into())
    );
    assert!(
        findings
            .iter()
            .any(|finding| finding["check_name"] == "scoregate/case" && finding["location"]["path"] == "data.jsonl")
    );
    let fingerprints = |findings: &[Value]| -> std::collections::BTreeSet<String> {
        findings.iter().map(|finding| finding["fingerprint"].to_string()).collect()
    };
    assert_eq!(fingerprints(&findings).len(), findings.len());
    // Fewer cases fail: what stays keeps its fingerprint.
    std::fs::write(place.path().join("data.jsonl"), rows(18)).expect("a file");
    let again = job(&gitlab, place.path(), &arguments, &[]);
    assert!(!err(&again).contains("commit status"), "it says so already: {}", err(&again));
    let fewer: Vec<Value> = serde_json::from_str(&report(place.path(), "codequality.json")).expect("JSON");
    assert!(!fewer.is_empty() && fingerprints(&fewer).is_subset(&fingerprints(&findings)), "{fewer:?}");

    std::fs::write(place.path().join("data.jsonl"), rows(0)).expect("a file");
    let passed = job(&gitlab, place.path(), &arguments, &[]);
    assert_eq!(code(&passed), 0, "{}", err(&passed));
    // The status of this commit says `failed` still, and that is told.
    assert!(err(&passed).contains("warning: could not set the commit status"), "{}", err(&passed));
    job(&gitlab, place.path(), &arguments, &[("CI_COMMIT_SHA", "3333333333333333333333333333333333333333")]);
    let after = gitlab.with(|gitlab| gitlab.notes.clone());
    assert_eq!((after.len(), after[0].id), (1, notes[0].id));
    assert!(after[0].body.contains("> [!TIP]\n"), "{}", after[0].body);
    assert_eq!(report(place.path(), "codequality.json"), "[]\n");
    let states: Vec<String> =
        gitlab.with(|gitlab| gitlab.statuses.iter().map(|(_, status)| status["state"].to_string()).collect());
    assert_eq!(states, ["\"failed\"", "\"success\""]);
}

#[test]
fn a_missing_token_is_a_warning_and_the_verdict_is_the_same() {
    let gitlab = fake_gitlab::start();
    let place = folder(&[("scoregate.yaml", SUITE), ("data.jsonl", &rows(0))]);
    let output = job(&gitlab, place.path(), &["run", "--base", "none"], &[("GITLAB_TOKEN", "")]);
    assert_eq!(code(&output), 0);
    assert!(err(&output).contains("warning: no comment: there is no token for the GitLab API"), "{}", err(&output));
    assert!(gitlab.seen().is_empty());
}

#[test]
fn an_earlier_note_is_outdated_by_a_run_without_a_verdict() {
    let gitlab = fake_gitlab::start();
    let place = folder(&[("scoregate.yaml", SUITE), ("data.jsonl", &rows(0))]);
    job(&gitlab, place.path(), &["run", "--base", "none"], &[]);
    std::fs::write(place.path().join("data.jsonl"), "").expect("a file");
    let stopped = job(&gitlab, place.path(), &["run", "--base", "none"], &[]);
    assert_eq!(code(&stopped), 2);
    let body = gitlab.with(|gitlab| gitlab.notes[0].body.clone());
    assert!(body.starts_with("<!-- scoregate:capitals -->\n> [!WARNING]\n> ⌛ **Outdated:**"), "{body}");
}
