//! What a person is told before anything is paid: every problem at once, where it is, the line, what next.

use std::path::Path;

use crate::command::{check, code, command, err, folder, out, outcomes, scoregate};

const SUITE: &str = "version: 1\nname: told\n";
const EQUALS: &str = "evaluators: { equals: {} }\n";
const ROWS: &str = "{\"id\":\"a\",\"input\":\"one?\",\"reference\":\"1\",\"answer\":\"1\"}\n{\"id\":\"b\",\"input\":\"two?\",\"reference\":\"2\",\"answer\":\"2\",\"tags\":[\"hard\"]}\n";

fn all(said: &str, words: &[&str]) {
    for word in words {
        assert!(said.contains(word), "`{word}` is not in:\n{said}");
    }
}

/// What `check` says of a suite that can be run.
fn sound(place: &Path) -> String {
    let output = scoregate(place, &["check"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    format!("{}{}", out(&output), err(&output))
}

#[test]
fn a_wrong_setting_of_a_data_set_hides_neither_its_missing_file_nor_the_problems_of_the_next() {
    let dataset = "dataset:\n  - { path: gone.jsonl, sample: { n: 0 }, where: \"lang ==\" }\n  - { path: none-*.csv }\n  - { path: rows.jsonl }\n  - { path: more.jsonl, where: \"colour == 'red'\" }\n";
    let suite = format!("{SUITE}{dataset}{EQUALS}");
    let bad = "{\"id\":\"a\",\"input\":\"one?\"\n{\"id\":\"b\",\"input\":\"\"}\n";
    let place = folder(&[("scoregate.yaml", &suite), ("rows.jsonl", bad), ("more.jsonl", ROWS)]);
    for arguments in [["check"], ["run"]] {
        let said = check(place.path(), &arguments, 2);
        all(
            &said,
            &["`n`", "gone.jsonl", "does not exist", "the condition cannot be read", "`none-*.csv` matches no file"],
        );
        all(&said, &["rows.jsonl:1:", "rows.jsonl:2:", "the input is empty", "the name `colour`"]);
    }
}

#[test]
fn an_unknown_key_does_not_hide_the_wrong_values_beside_it() {
    let gate = "gate:\n  metrics:\n    equals: { mn: 0.8, max_drop: -1, pass_rate: { mim: 0.9 } }\n  alpha: 0.7\n";
    let run = "run: { wrkers: 2, timeout: 0s }\n";
    let targets = "targets:\n  app: { http: { url: \"ftp://x/y\", bdy: {}, method: FETCH } }\n";
    let text = format!("{SUITE}dataset: {{ path: rows.jsonl }}\n{targets}{EQUALS}{gate}{run}");
    let place = folder(&[("scoregate.yaml", &text), ("rows.jsonl", ROWS)]);
    let said = check(place.path(), &["check"], 2);
    all(&said, &["unknown key `mn`", "max_drop is -1", "unknown key `mim`", "alpha is 0.7"]);
    all(&said, &["unknown key `wrkers`", "`timeout` must be more than nothing"]);
    all(&said, &["unknown key `bdy`", "`FETCH` is no method", "ftp"]);
    assert!(!said.contains("the pass rate has no limit"), "what is misspelt is not missing as well: {said}");
}

#[test]
fn a_model_with_a_problem_hides_none_of_those_who_ask_it() {
    let models =
        "models: { judge: { provider: openai, model: m, temprature: 0, base_url: \"http://127.0.0.1:1/v1\" } }\n";
    let targets = "targets: { app: { chat: { model: judge, prompt: \"{{ inptu }}\" } } }\n";
    let evaluators = "evaluators: { faithfulness: { model: judge, threshold: 7 } }\n";
    let gate = "gate: { baseline: { from: s3, runs: 50 } }\n";
    let text = format!("{SUITE}dataset: {{ path: rows.jsonl }}\n{models}{targets}{evaluators}{gate}");
    let place = folder(&[("scoregate.yaml", &text), ("rows.jsonl", ROWS)]);
    let said = check(place.path(), &["check"], 2);
    all(
        &said,
        &[
            "unknown key `temprature`",
            "unknown variable `inptu`",
            "threshold 7",
            "`s3` is no place of a baseline",
            "runs is 50",
        ],
    );
    assert!(!said.contains("not under `models`"), "{said}");
}

#[test]
fn problems_in_rows_show_the_line_and_a_caret_at_the_value() {
    let json = "{\"id\": \"a\", \"input\": {\"text\": \"one?\"}}\n";
    let csv = "id,input,tags\n1,one?,\"[\"\"x\"\"]\"\n2,two?,x,y\n";
    let yaml = "- id: a1\n  input: [one, two]\n";
    let suite = |name: &str| format!("{SUITE}dataset: {{ path: {name} }}\n{EQUALS}");
    for (name, data, shown) in [
        (
            "rows.jsonl",
            json,
            vec!["--> rows.jsonl:1:22", "1 | {\"id\": \"a\", \"input\": {\"text\": \"one?\"}}", "^^^^"],
        ),
        (
            "rows.csv",
            csv,
            vec!["--> rows.csv:2:8", "2 | 1,one?,", "--> rows.csv:3:10", "3 | 2,two?,x,y\n  |          ^"],
        ),
        ("rows.yaml", yaml, vec!["--> rows.yaml:2:10", "2 |   input: [one, two]"]),
    ] {
        let place = folder(&[("scoregate.yaml", &suite(name)), (name, data)]);
        all(&check(place.path(), &["check"], 2), &shown);
    }
}

#[test]
fn a_line_that_is_shown_is_shortened_escaped_and_holds_no_secret() {
    let long = "x".repeat(5_000);
    let row = format!(
        "{{\"id\": \"\u{1b}[31m\u{202e}\", \"key\": \"sg-test-secret-1\", \"input\": 1.5e999, \"pad\": \"{long}\"}}\n"
    );
    let suite = format!(
        "{SUITE}dataset: {{ path: rows.jsonl }}\ntargets:\n  app: {{ command: {{ argv: [\"true\"], env: {{ KEY: \"${{MY_KEY}}\" }} }} }}\n{EQUALS}"
    );
    let place = folder(&[("scoregate.yaml", &suite), ("rows.jsonl", &row)]);
    let output = command(place.path(), &["check"]).env("MY_KEY", "sg-test-secret-1").output().expect("it starts");
    let said = format!("{}{}", out(&output), err(&output));
    assert_eq!(output.status.code(), Some(2), "{said}");
    all(&said, &["rows.jsonl:1:", "1 | "]);
    assert!(!said.contains("sg-test-secret-1") && !said.contains('\u{1b}') && !said.contains('\u{202e}'), "{said}");
    assert!(said.len() < 1_500, "{said}");
}

#[test]
fn compare_names_the_line_of_a_broken_file_and_shows_it() {
    let good = "{\"case\":\"a\",\"metric\":\"m\",\"value\":1}\n";
    let scores = format!("{good}{good}{{\"case\":\"b\",,}}\n{{\"case\":\"c\"}}\n");
    let results = "{\"type\":\"run\",\"schema\":1,\"suite\":\"s\",\"id\":\"x\"}\n{\"type\":\"outcome\"\n{}\n";
    let place =
        folder(&[("scores.jsonl", &scores), ("results.jsonl", results), ("empty.jsonl", ""), ("good.jsonl", good)]);
    let said = check(place.path(), &["compare", "scores.jsonl"], 2);
    all(
        &said,
        &[
            "scores.jsonl:3:13",
            "3 | {\"case\":\"b\",,}",
            "scores.jsonl:4:",
            "4 | {\"case\":\"c\"}",
            "missing key `metric`",
        ],
    );
    assert!(!said.contains("line 1"), "{said}");
    let said = check(place.path(), &["compare", "results.jsonl"], 2);
    assert!(!said.contains("line 1 column"), "{said}");
    let said = check(place.path(), &["compare", "empty.jsonl"], 2);
    all(&said, &["empty.jsonl: the file is empty"]);
    assert!(!said.contains(":0"), "{said}");
    let said = check(place.path(), &["compare", "good.jsonl", "empty.jsonl"], 3);
    assert!(!said.contains(":0:") && said.contains("empty"), "{said}");
}

#[test]
fn what_must_pass_and_no_case_is_is_said_before_anything_is_called() {
    let gate = "gate:\n  must_pass: { ids: [a, gone], tags: [hard, critical] }\n";
    let suite = format!("{SUITE}dataset: {{ path: rows.jsonl }}\n{EQUALS}{gate}");
    let place = folder(&[("scoregate.yaml", &suite), ("rows.jsonl", ROWS)]);
    for arguments in [["check"], ["run"]] {
        let said = check(place.path(), &arguments, 2);
        all(
            &said,
            &[
                "no case has the id `gone`",
                "no case has the tag `critical`",
                "the cases have `hard`",
                "scoregate.yaml:6:",
            ],
        );
        assert!(!said.contains("`a`,") && !place.path().join("scoregate-out").exists(), "{said}");
    }
}

#[test]
fn check_says_that_a_required_baseline_is_absent_and_a_run_still_writes_its_reports() {
    let gate = "gate:\n  baseline: { from: file, path: main.baseline.jsonl }\n";
    let suite = format!("{SUITE}dataset: {{ path: rows.jsonl }}\n{EQUALS}{gate}");
    let place = folder(&[("scoregate.yaml", &suite), ("rows.jsonl", ROWS)]);
    let said = sound(place.path());
    all(&said, &["`main.baseline.jsonl` does not exist", "exit code 3", "baseline update", "scoregate.yaml:6:"]);
    let said = check(place.path(), &["run"], 3);
    all(&said, &["`main.baseline.jsonl` does not exist"]);
    assert!(place.path().join("scoregate-out/junit.xml").exists());
    let allowed = suite
        .replace("jsonl }\n", "jsonl, missing: warn }\n")
        .replace("path: rows.jsonl, missing: warn", "path: rows.jsonl");
    std::fs::write(place.path().join("scoregate.yaml"), allowed).expect("a file");
    assert!(!sound(place.path()).contains("does not exist"));
}

#[test]
fn a_metric_that_applies_to_no_case_is_said() {
    let suite = format!("{SUITE}dataset: {{ path: rows.jsonl }}\nevaluators: {{ equals: {{}}, recall: {{ k: 3 }} }}\n");
    let place = folder(&[("scoregate.yaml", &suite), ("rows.jsonl", ROWS)]);
    let said = sound(place.path());
    all(&said, &["`recall` measures nothing", "expected_contexts"]);
}

#[test]
fn a_column_that_is_mapped_to_two_fields_fills_both_or_it_is_said() {
    // The id stays the id where it is the cluster as well.
    let suite = format!("{SUITE}dataset: {{ path: rows.jsonl, fields: {{ cluster: id }} }}\n{EQUALS}");
    let place = folder(&[("scoregate.yaml", &suite), ("rows.jsonl", ROWS)]);
    check(place.path(), &["run"], 0);
    let ids: Vec<String> = outcomes(place.path()).iter().map(|line| line["case"].to_string()).collect();
    assert_eq!(ids, ["\"a\"", "\"b\""]);
    // An answer that became the reference is no answer any more: it would always be right.
    let rows = "{\"id\":\"a\",\"input\":\"one?\",\"answer\":\"1\"}\n";
    let suite = format!("{SUITE}dataset: {{ path: rows.jsonl, fields: {{ reference: answer }} }}\n{EQUALS}");
    let place = folder(&[("scoregate.yaml", &suite), ("rows.jsonl", rows)]);
    let said = check(place.path(), &["check"], 2);
    all(
        &said,
        &["no row has a recorded answer", "`answer` is mapped to `reference`", "write `answer: answer` as well"],
    );
}

#[test]
fn many_problems_of_one_file_hide_none_of_another() {
    let bad = "{\"id\": 1}\n".repeat(50);
    let suite = format!("{SUITE}dataset: [{{ path: bad.jsonl }}, {{ path: other.csv }}]\n{EQUALS}");
    let place = folder(&[("scoregate.yaml", &suite), ("bad.jsonl", &bad), ("other.csv", "id,input\n1,one,two\n")]);
    let said = check(place.path(), &["check"], 2);
    all(&said, &["and 30 more problems in bad.jsonl", "other.csv:2:"]);
    assert_eq!(said.matches("error[bad-row]").count(), 20, "{said}");
}

/// What is wrong only because a variable is not set is not told as a second problem.
#[test]
fn an_unset_variable_is_one_problem() {
    let suite = "version: 1\nname: x\ndataset: { path: data.jsonl }\ntargets:\n  app:\n    http: { url: \"${APP_URL}/query\", body: { q: \"{{ input }}\" }, answer: $.answer }\nevaluators:\n  length: { min: 1 }\n";
    let place = folder(&[("scoregate.yaml", suite), ("data.jsonl", "{\"id\":\"a\",\"input\":\"a?\"}\n")]);
    let said = check(place.path(), &["check"], 2);
    all(&said, &["`APP_URL` is not set", "1 problem"]);
    let wrong = suite.replace("${APP_URL}", "${APP_URL:-}");
    std::fs::write(place.path().join("scoregate.yaml"), wrong).expect("a file");
    all(&check(place.path(), &["check"], 2), &["is no address"]);
}

/// What a row lacks that the request needs is said before the run.
#[test]
fn check_says_which_answers_cannot_be_asked_for() {
    let suite = "version: 1\nname: x\ndataset: { path: data.jsonl }\ntargets:\n  app:\n    http: { url: \"http://127.0.0.1:9/q\", body: { q: \"{{ metadata.tone }}\" }, answer: $.answer }\nevaluators:\n  length: { min: 1 }\n";
    let rows = "{\"id\":\"a\",\"input\":\"a?\",\"tone\":\"dry\"}\n{\"id\":\"b\",\"input\":\"b?\"}\n";
    let place = folder(&[("scoregate.yaml", suite), ("data.jsonl", rows)]);
    let output = scoregate(place.path(), &["check"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let said = format!("{}{}", out(&output), err(&output));
    all(&said, &["1 answer cannot be asked for", "case `b`", "tone", "calls: 1 to make"]);
}
