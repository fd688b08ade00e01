use std::path::PathBuf;

use super::*;
use crate::domain::{Cell, Direction, FailureKind, ScoreKind, Side, SkipReason};

fn read(text: &str, from: Option<&str>) -> Result<Vec<Run>, StoreError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, text).unwrap();
    read_runs(&path, &[], Wanted { from, metrics: &[] })
}

fn one(text: &str) -> Run {
    let mut runs = read(text, None).unwrap();
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

fn problem(text: &str) -> String {
    read(text, None).unwrap_err().to_string()
}

/// All cells of a run by case, target, trial and metric.
fn cells(run: &Run) -> Vec<(String, String, u32, String, Option<Cell>)> {
    let mut all = Vec::new();
    for case in &run.cases {
        for trial in &case.trials {
            for (metric, cell) in run.header.metrics.iter().zip(&trial.cells) {
                all.push((case.id.to_string(), case.target.to_string(), trial.trial, metric.name.to_string(), *cell));
            }
        }
    }
    all.sort_by(|left, right| (&left.0, &left.1, left.2, &left.3).cmp(&(&right.0, &right.1, right.2, &right.3)));
    all
}

fn values(run: &Run) -> Vec<(String, f64)> {
    let value = |(case, _, _, metric, cell): (String, String, u32, String, Option<Cell>)| match cell {
        Some(Cell::Value { value, .. }) => Some((format!("{case}/{metric}"), value)),
        _ => None,
    };
    cells(run).into_iter().filter_map(value).collect()
}

fn cell_of(run: &Run, case: &str, metric: &str) -> Option<Cell> {
    let found = cells(run).into_iter().find(|(id, _, _, name, _)| id.starts_with(case) && name == metric);
    found.unwrap_or_else(|| panic!("no {metric} of {case} in {:?}", cells(run))).4
}

fn fixture(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/peer").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_sample_is_told_by_its_content() {
    let table = [
        ("promptfoo.json", "promptfoo"),
        ("promptfoo.jsonl", "promptfoo"),
        ("deepeval.json", "deepeval"),
        ("deepeval-result.json", "deepeval"),
        ("inspect_ai.json", "inspect_ai"),
        ("junit-pytest.xml", "junit"),
        ("ragas.csv", "ragas"),
        ("ragas.jsonl", "ragas"),
        ("scores-wide.csv", "scores"),
        ("scores-wide.jsonl", "scores"),
        ("scores-long.csv", "scores"),
    ];
    for (name, peer) in table {
        let run = one(&fixture(name));
        assert!(run.header.tool.starts_with(peer), "{name}: {}", run.header.tool);
        assert!(is_of_peer(&run.header) && !run.cases.is_empty(), "{name}");
    }
}

#[test]
fn promptfoo_has_targets_trials_and_errors() {
    let run = one(&fixture("promptfoo.json"));
    let targets: Vec<&str> = run.header.targets.iter().map(|target| &**target).collect();
    assert_eq!(targets, ["anthropic:messages:claude-sonnet-4-5", "small model"]);
    assert_eq!(run.header.trials, 2);
    let metrics: Vec<&str> = run.header.metrics.iter().map(|metric| &*metric.name).collect();
    assert_eq!(metrics, ["accuracy", "icontains", "llm-rubric", "pass"]);
    assert_eq!(run.header.metrics[3].kind, ScoreKind::Binary);
    assert_eq!(cell_of(&run, "How long may I return", "pass"), Some(Cell::Value { value: 1.0, passed: Some(true) }));
    // A provider that failed is the system under test; a judge that failed is not.
    let failed = run.cases.iter().flat_map(|case| &case.trials).find(|trial| trial.answered.is_err()).unwrap();
    assert_eq!(failed.answered, Err((FailureKind::Recorded, Side::Target)));
    let unjudged = Some(Cell::Error { kind: FailureKind::Unusable, side: Side::Infra });
    assert_eq!(cell_of(&run, "Do you ship", "llm-rubric"), unjudged);
    assert_eq!(cell_of(&run, "Do you ship", "pass"), unjudged);
    let applies = cell_of(&run, "How long may I return", "accuracy");
    assert_eq!(applies, Some(Cell::Skipped(SkipReason::NotApplicable)));
}

#[test]
fn the_order_of_a_file_changes_no_name() {
    let text = fixture("promptfoo.jsonl");
    let mut lines: Vec<&str> = text.lines().collect();
    let names = |lines: &[&str]| values(&one(&lines.join("\n")));
    let before = names(&lines);
    lines.reverse();
    assert_eq!(names(&lines), before);
    // What is put before them moves no index.
    let more = lines[0].replace("How long", "For how long");
    lines.insert(0, &more);
    let after = names(&lines);
    assert!(before.iter().all(|value| after.contains(value)), "{before:?} {after:?}");
}

#[test]
fn deepeval_says_itself_which_way_is_better() {
    let run = one(&fixture("deepeval.json"));
    let spec = |name: &str| run.header.metrics.iter().find(|metric| &*metric.name == name).unwrap();
    assert_eq!(spec("Faithfulness").direction, Direction::Higher);
    assert_eq!(spec("Bias").direction, Direction::Lower);
    let failed = cell_of(&run, "Where is my order", "Faithfulness");
    assert_eq!(failed, Some(Cell::Error { kind: FailureKind::Recorded, side: Side::Infra }));
    let case = |score: f64, success: bool| {
        format!(
            "{{\"name\":\"t\",\"input\":\"{score}\",\"metricsData\":[{{\"name\":\"M\",\"score\":{score},\"threshold\":0.5,\"success\":{success}}}]}}"
        )
    };
    let both = format!("{{\"testCases\":[\n{},\n{}\n]}}", case(0.9, true), case(0.8, false));
    let said = problem(&both);
    assert!(said.contains(":3:") && said.contains("which way is better"), "{said}");
}

#[test]
fn inspect_ai_grades_epochs_and_parts() {
    let run = one(&fixture("inspect_ai.json"));
    assert_eq!(run.header.trials, 2);
    assert_eq!(run.header.commit.as_deref(), Some("02526f4c"));
    assert_eq!(cell_of(&run, "1", "match"), Some(Cell::Value { value: 1.0, passed: None }));
    assert_eq!(cell_of(&run, "2", "rubric/tone"), Some(Cell::Value { value: 0.5, passed: None }));
    let nan = Some(Cell::Error { kind: FailureKind::NotAScore, side: Side::Infra });
    assert_eq!(cell_of(&run, "2", "rubric/facts"), nan);
    assert!(run.cases.iter().any(|case| case.trials.iter().any(|trial| trial.answered.is_err())));
    let cancelled = fixture("inspect_ai.json").replace("\"status\": \"success\"", "\"status\": \"cancelled\"");
    let completion = one(&cancelled).completion.unwrap();
    assert!(!completion.complete && completion.reason.unwrap().contains("cancelled"));
    assert!(problem("{\"version\":2,\"status\":\"success\",\"eval\":{}}").contains("holds no samples"));
}

#[test]
fn junit_has_failures_errors_and_skips() {
    let run = one(&fixture("junit-pytest.xml"));
    assert_eq!(
        cell_of(&run, "tests.test_returns::test_days", "pass"),
        Some(Cell::Value { value: 1.0, passed: Some(true) })
    );
    assert_eq!(
        cell_of(&run, "tests.test_returns::test_fee", "pass"),
        Some(Cell::Value { value: 0.0, passed: Some(false) })
    );
    assert!(!run.cases.iter().any(|case| case.id.contains("test_skipped")));
    let error = run.cases.iter().find(|case| case.id.contains("test_setup")).unwrap();
    assert_eq!(error.trials[0].answered, Err((FailureKind::Recorded, Side::Target)));
    let suite = |tests: &str| format!("<testsuites>\n{tests}\n</testsuites>");
    let twice = suite(
        "<testsuite name=\"a\"><testcase name=\"t\" classname=\"c\"/><testcase name=\"t\" classname=\"c\"><failure/></testcase></testsuite>",
    );
    assert_eq!(one(&twice).cases[0].trials.len(), 2);
    let apart = suite(
        "<testsuite name=\"a\"><testcase name=\"t\" classname=\"c\"/></testsuite><testsuite name=\"b\"><testcase name=\"t\" classname=\"c\"/></testsuite>",
    );
    let ids: Vec<String> = one(&apart).cases.iter().map(|case| case.id.to_string()).collect();
    assert_eq!(ids, ["a::c::t", "b::c::t"]);
    let skipped = suite("<testsuite name=\"a\"><testcase name=\"t\"><skipped/></testcase></testsuite>");
    assert!(problem(&skipped).contains("skipped"));
    let cut = "<testsuites>\n<testsuite name=\"a\">\n<testcase name=\"t\"/>";
    let said = problem(cut);
    assert!(said.contains(":3:") && said.contains("cut off"), "{said}");
}

#[test]
fn what_ragas_could_not_measure_is_missing() {
    for name in ["ragas.csv", "ragas.jsonl"] {
        let run = one(&fixture(name));
        let metrics: Vec<&str> = run.header.metrics.iter().map(|metric| &*metric.name).collect();
        assert_eq!(metrics, ["answer_relevancy", "faithfulness", "noise_sensitivity(mode=relevant)"], "{name}");
        assert_eq!(run.header.metrics[2].direction, Direction::Lower, "{name}");
        let cell = cell_of(&run, "Do you ship", "faithfulness").unwrap();
        assert!(matches!(cell, Cell::Skipped(SkipReason::NotMeasured)), "{name}: {cell:?}");
    }
    assert_eq!(values(&one(&fixture("ragas.csv"))), values(&one(&fixture("ragas.jsonl"))));
    // A column in which everything failed is no column that may be left out.
    let run = one("user_input,faithfulness,recall\na,,0.5\nb,,0.7\n");
    assert_eq!(cell_of(&run, "a", "faithfulness"), Some(Cell::Skipped(SkipReason::NotMeasured)));
}

#[test]
fn wide_and_long_tables_say_the_same() {
    let wide = one(&fixture("scores-wide.csv"));
    assert_eq!(values(&wide), values(&one(&fixture("scores-long.csv"))));
    assert_eq!(values(&wide), values(&one(&fixture("scores-wide.jsonl"))));
    assert_eq!(values(&one(&fixture("scores-wide.csv").replace(',', ";"))), values(&wide));
    let rows = "[\n{\"id\": 1, \"scores\": {\"a\": 0.5}},\n{\"id\": 2, \"scores\": {\"a\": NaN}}\n]";
    assert_eq!(values(&one(rows)), [("1/a".to_owned(), 0.5)]);
}

#[test]
fn every_bad_row_is_named_with_its_line() {
    let said = problem("id,a\nx,0.5\ny,high\nx,0.7\n,0.1\nz,1,2\n");
    assert!(said.contains(":6:") && said.contains("3 cells"), "{said}");
    let said = problem("id,a\nx,0.5\ny,7\nx,0.7\n,0.1\n");
    for words in
        [":3: 7 is no score", "gate.metrics.NAME.type", ":4: case `x` stands twice (first in line 2)", ":5: `id`"]
    {
        assert!(said.contains(words), "{words} is not in {said}");
    }
    let said = problem("case,metric,value\nx,a,0.5\nx,a,0.6\ny,,1\nz,a,high\n");
    for words in [":3: metric `a` of case `x` stands twice", ":4: `metric`", ":5: the value of `a` is no number"] {
        assert!(said.contains(words), "{words} is not in {said}");
    }
}

#[test]
fn what_nothing_fits_is_told_with_what_was_tried() {
    for text in ["{\"a\": 1}", "<html></html>", "just words\n", "a,b\n1,2\n"] {
        let said = problem(text);
        for name in names() {
            assert!(said.contains(name), "{name} is not named in {said}");
        }
    }
    assert!(problem("{\"results\": {\"results\": [").contains("cut off"));
    assert!(problem("").contains("empty"));
    let zip = read("PK\u{3}\u{4}rest", None).unwrap_err().to_string();
    assert!(zip.contains("inspect log dump"), "{zip}");
}

#[test]
fn the_metrics_that_are_wanted_are_all_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.csv");
    std::fs::write(&path, "id,a,latency_ms\nx,0.5,812\n").unwrap();
    let wanted = |names: &[String]| read_runs(&path, &[], Wanted { from: None, metrics: names });
    assert!(wanted(&[]).is_err());
    let runs = wanted(&["a".to_owned()]).unwrap();
    assert_eq!(values(&runs[0]), [("x/a".to_owned(), 0.5)]);
    let said = wanted(&["b".to_owned()]).unwrap_err().to_string();
    assert!(said.contains("no metric `b`"), "{said}");
}
