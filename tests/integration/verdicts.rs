//! Cases of the topic `verdicts` that need the whole program.

use std::fmt::Write as _;

use serde_json::Value;

use crate::chat_server::{ChatServer, completion};
use crate::command::{check, checked, code, command, err, fixture, folder, out, outcomes, report, results, verdict};

const SUITE: &str = "version: 1\nname: tiny\ndataset: { path: data.jsonl }\nevaluators:\n  exact_match: {}\n";
const GOOD: &str = "{\"id\":\"a\",\"input\":\"?\",\"reference\":\"yes\",\"answer\":\"yes\"}\n";

#[test]
fn vd_cannot_start() {
    let not_yaml = String::from_utf8(fixture("verdicts/not-yaml.yaml")).expect("UTF-8");
    let judge = "models:\n  judge: { provider: openai, model: m, base_url: \"http://127.0.0.1:9/v1\", api_key: \"${NO_SUCH_KEY}\" }\n";
    let judged = SUITE.replace("  exact_match: {}\n", "  faithfulness: { model: judge }\n") + judge;
    type Files<'a> = &'a [(&'a str, &'a str)];
    let table: [(Files<'_>, &[&str]); 4] = [
        (&[], &["scoregate.yaml"]),
        (&[("scoregate.yaml", &not_yaml), ("data.jsonl", GOOD)], &["scoregate.yaml:1:"]),
        (&[("scoregate.yaml", SUITE)], &["scoregate.yaml:3:", "data.jsonl"]),
        (&[("scoregate.yaml", &judged), ("data.jsonl", GOOD)], &["scoregate.yaml:7:", "NO_SUCH_KEY"]),
    ];
    for (files, words) in table {
        let place = folder(files);
        let said = check(place.path(), &["run"], 2);
        assert!(words.iter().all(|word| said.contains(word)), "{words:?} are not in:\n{said}");
        assert!(!place.path().join("scoregate-out").exists(), "a report that a publisher takes for success");
    }
}

#[test]
fn vd_cannot_start_a_program_that_is_not_there() {
    let suite = format!("{SUITE}targets:\n  app:\n    command: [no-such-program-here, \"{{{{ input }}}}\"]\n");
    let place = folder(&[("scoregate.yaml", &suite), ("data.jsonl", GOOD)]);
    let said = check(place.path(), &["run"], 3);
    assert!(said.contains("no-such-program-here") && said.contains("not found"), "{said}");
    assert!(report(place.path(), "junit.xml").contains("<error"), "JUnit shows no error");
}

#[test]
fn vd_zero_cases() {
    let file = |name: &str| String::from_utf8(fixture(&format!("verdicts/{name}"))).expect("UTF-8");
    let csv = SUITE.replace("data.jsonl", "data.csv");
    let filtered = SUITE.replace("path: data.jsonl", "path: data.jsonl, where: \"tags contains 'none'\"");
    let pattern = SUITE.replace("data.jsonl", "\"cases/*.jsonl\"");
    let table: [(&str, &str, String, &str); 5] = [
        (SUITE, "data.jsonl", file("empty.jsonl"), "data.jsonl"),
        (SUITE, "data.jsonl", file("blank-only.jsonl"), "data.jsonl"),
        (&csv, "data.csv", file("header-only.csv"), "data.csv"),
        (&filtered, "data.jsonl", GOOD.to_owned(), "tags contains 'none'"),
        (&pattern, "data.jsonl", GOOD.to_owned(), "cases/*.jsonl"),
    ];
    for (suite, name, data, word) in table {
        let place = folder(&[("scoregate.yaml", suite), (name, &data)]);
        let said = check(place.path(), &["run"], 2);
        assert!(said.contains(word), "{word} is not named:\n{said}");
        // Nothing in the environment makes it pass.
        let mut anywhere = command(place.path(), &["run"]);
        let variables = ["CI", "GITHUB_ACTIONS", "SCOREGATE_ALLOW_EMPTY", "PASS_WITH_NO_TESTS", "SCOREGATE_SKIP"];
        anywhere.envs(variables.map(|variable| (variable, "true")));
        assert_eq!(code(&anywhere.output().expect("a run")), 2);
    }
}

/// What a run found, without its time fields.
fn found(place: &std::path::Path) -> String {
    let mut text = String::new();
    for outcome in outcomes(place) {
        let _ = writeln!(text, "{outcome}");
    }
    text + &verdict(place)["rules"].to_string()
}

#[test]
fn vd_odd_outputs() {
    let suite = "version: 1\nname: odd\ndataset: { path: data.jsonl, fields: { id: id, input: id } }\nevaluators:\n  exact_match: {}\n  token_f1: {}\n  rouge_l: {}\n  length: { max: 100 }\n  regex: { pattern: \"answer\" }\n";
    let mut data = String::from_utf8(fixture("verdicts/odd-outputs.jsonl")).expect("UTF-8");
    let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
    let _ = writeln!(data, "{{\"id\":\"o8\",\"output\":\"{deep}\",\"expected\":\"x\"}}");
    let place = folder(&[("scoregate.yaml", suite), ("data.jsonl", &data)]);
    let run = |workers: &str| {
        let output = crate::command::scoregate(place.path(), &["run", "--workers", workers]);
        assert!([0, 3].contains(&code(&output)), "{}{}", out(&output), err(&output));
        found(place.path())
    };
    let first = run("1");
    for _ in 0..10 {
        assert_eq!(run("1"), first);
        assert_eq!(run("16"), first);
    }
    let all = outcomes(place.path());
    assert_eq!(all.len(), 8);
    let alone = data.lines().filter(|line| line.contains("ordinary answer")).collect::<Vec<_>>().join("\n");
    let quiet = folder(&[("scoregate.yaml", suite), ("data.jsonl", &alone)]);
    check(quiet.path(), &["run"], 0);
    let scores = |outcomes: &[Value], id: &str| {
        outcomes.iter().find(|line| line["case"] == id).map(|line| line["scores"].clone()).expect("the case")
    };
    let ordinary = outcomes(quiet.path());
    for id in ["o1", "o7"] {
        assert_eq!(scores(&all, id), scores(&ordinary, id));
    }
}

#[test]
fn vd_float_equal() {
    let table = String::from_utf8(fixture("verdicts/equal-drops.csv")).expect("UTF-8");
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [baseline, current, allowed, expected] = cells[..] else { panic!("{line}") };
        let score = |value: &str| format!("{{\"case\":\"c\",\"metric\":\"m\",\"value\":{value}}}\n");
        let policy =
            format!("{SUITE}gate:\n  metrics:\n    m: {{ type: continuous, margin: 0.5, max_drop: {allowed} }}\n");
        let (now, before) = (score(current), score(baseline));
        let place = folder(&[("policy.yaml", &policy), ("now.jsonl", &now), ("before.jsonl", &before)]);
        let expected = i32::from(expected == "fail");
        check(place.path(), &["compare", "now.jsonl", "before.jsonl", "--suite", "policy.yaml"], expected);
    }
}

fn yes(_: usize, _: &str) -> (&'static str, String) {
    ("200 OK", completion("YES"))
}

const CASES: usize = 30;

fn judged(url: &str) -> tempfile::TempDir {
    let suite = format!(
        "version: 1\nname: stored\ndataset: {{ path: data.jsonl }}\nmodels:\n  judge: {{ provider: openai, model: m, base_url: \"{url}/v1\", api_key: none-needed }}\nevaluators:\n  relevancy: {{ model: judge }}\n"
    );
    let row =
        |at| format!("{{\"id\":\"q{at}\",\"input\":\"{at}?\",\"answer\":\"{at}\",\"answer_contexts\":[\"c\"]}}\n");
    let rows: String = (0..CASES).map(row).collect();
    folder(&[("scoregate.yaml", &suite), ("data.jsonl", &rows)])
}

/// From the eleventh answer on nothing can be kept: what was not kept is not used, nothing more is paid for, and the reports say no
/// more than what can be read back.
#[test]
fn vd_stored_equals_shown() {
    let server = ChatServer::start(std::time::Duration::ZERO, yes);
    let place = judged(&server.url);
    check(place.path(), &["run"], 0);
    let ledger = rusqlite::Connection::open(place.path().join(".scoregate/ledger.sqlite")).expect("the ledger");
    ledger
        .execute_batch(
            "DELETE FROM call;
             CREATE TRIGGER full BEFORE INSERT ON call WHEN (SELECT count(*) FROM call) >= 10
             BEGIN SELECT RAISE(ABORT, 'disk full'); END;",
        )
        .expect("a trigger");
    drop(ledger);
    let said = check(place.path(), &["run", "--workers", "1"], 3);
    assert!(said.contains("disk full"), "{said}");
    let outcomes = outcomes(place.path());
    let with = |kind: &str| outcomes.iter().filter(|line| line["scores"][0].get(kind).is_some()).count();
    let (scored, errors) = (with("value"), with("error"));
    assert_eq!((outcomes.len(), scored + errors), (CASES, CASES));
    assert_eq!((scored, errors), (10, CASES - 10));
    assert_eq!(server.with(|counts| counts.requests), CASES + 11);
    let counts = &verdict(place.path())["cases"];
    assert_eq!((counts["total"].as_u64(), counts["scored"].as_u64()), (Some(CASES as u64), Some(scored as u64)));
    assert!(report(place.path(), "junit.xml").matches("<error ").count() >= errors);
    let ledger = rusqlite::Connection::open(place.path().join(".scoregate/ledger.sqlite")).expect("the ledger");
    let kept: i64 = ledger.query_row("SELECT count(*) FROM call", [], |row| row.get(0)).expect("a count");
    assert_eq!(usize::try_from(kept), Ok(scored), "what is shown as measured is what was kept");
}

/// The folder of the reports vanishes during the run.
#[test]
fn vd_stored_equals_shown_when_the_folder_is_emptied() {
    let server = ChatServer::start(std::time::Duration::from_millis(20), yes);
    let place = judged(&server.url);
    let mut run = command(place.path(), &["run", "--workers", "1"]);
    run.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = run.spawn().expect("a run");
    while server.with(|counts| counts.requests) < 5 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    std::fs::remove_dir_all(place.path().join("scoregate-out")).expect("the folder is there");
    let output = child.wait_with_output().expect("an end");
    let said = checked(&output, 3);
    assert!(said.contains("scoregate-out"), "{said}");
    // Nothing that was paid for is lost.
    check(place.path(), &["run"], 0);
    assert_eq!(results(place.path()).len(), CASES + 2);
    assert_eq!(server.with(|counts| counts.requests), CASES);
}

#[test]
fn vd_stored_equals_shown_where_nothing_was_measured() {
    let lines: String =
        (0..4).map(|at| format!("{{\"case\":\"c{at}\",\"metric\":\"m\",\"error\":\"time-out\"}}\n")).collect();
    let place = folder(&[("run.jsonl", &lines), ("policy.yaml", SUITE)]);
    let said = check(place.path(), &["compare", "run.jsonl", "--suite", "policy.yaml", "--out", "scoregate-out"], 3);
    for text in [said, report(place.path(), "comment.md"), report(place.path(), "junit.xml")] {
        assert!(!text.contains("0% error") && !text.contains("NaN"), "{text}");
    }
    assert_eq!(verdict(place.path())["cases"]["scored"], 0);
}
