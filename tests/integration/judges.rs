//! `judge repeat` with a real server, `judge calibrate` with real files.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;

use crate::chat_server::{ChatServer, completion};
use crate::command::{check, code, err, folder, out, root, scoregate};

/// Of the questions that end in 0 the judge cannot make up its mind.
fn moody(before: usize, body: &str) -> (&'static str, String) {
    let torn = body.contains("0?");
    ("200 OK", completion(if torn && before % 2 == 1 { "NO" } else { "YES" }))
}

#[test]
fn judging_again_shows_how_much_of_the_luck_is_the_judge_s() {
    let server = ChatServer::start(Duration::ZERO, moody);
    let suite = format!(
        "version: 1\nname: stored\ndataset: {{ path: data.jsonl }}\nmodels:\n  judge: {{ provider: openai, model: m, base_url: \"{}/v1\", api_key: none-needed }}\nevaluators:\n  relevancy: {{ model: judge }}\n  length: {{ max: 100 }}\n",
        server.url
    );
    let row =
        |at| format!("{{\"id\":\"q{at}\",\"input\":\"{at}?\",\"answer\":\"{at}\",\"answer_contexts\":[\"c\"]}}\n");
    let rows: String = (0..20).map(row).collect();
    let place = folder(&[("scoregate.yaml", &suite), ("data.jsonl", &rows)]);
    check(place.path(), &["run"], 0);
    let before = server.with(|counts| counts.requests);
    let arguments = ["judge", "repeat", "scoregate-out/results.jsonl", "--times", "4", "--format", "json"];
    let output = scoregate(place.path(), &arguments);
    assert_eq!(code(&output), 0, "{}", err(&output));
    // Every judgement is asked for, whatever the ledger knows, and nothing but judges is.
    assert_eq!(server.with(|counts| counts.requests) - before, 80);
    let found: Value = serde_json::from_str(&out(&output)).expect("JSON");
    let judges = found["judges"].as_array().expect("judges");
    assert_eq!(judges.len(), 1, "{found}");
    assert_eq!((judges[0]["metric"].as_str(), judges[0]["outputs"].as_u64()), (Some("relevancy"), Some(20)));
    // Two of twenty answers flip half of the time: variance 1/3 each of four judgings, 1/30 in the mean, 1/15 flips.
    let variance = judges[0]["variance"].as_f64().expect("a variance");
    assert!((variance - 1.0 / 30.0).abs() < 1e-9, "{variance}");
    assert!((judges[0]["flip_rate"].as_f64().expect("a rate") - 1.0 / 15.0).abs() < 1e-9);
    let said =
        check_text(place.path(), &["judge", "repeat", "scoregate-out/results.jsonl", "--times", "2", "--sample", "5"]);
    assert!(said.contains("5 answers, judged 2 times each") && said.contains("flip rate"), "{said}");
    let pure = suite.replace("  relevancy: { model: judge }\n", "");
    std::fs::write(place.path().join("pure.yaml"), pure).expect("a file");
    let none = check(place.path(), &["judge", "repeat", "scoregate-out/results.jsonl", "--suite", "pure.yaml"], 2);
    assert!(none.contains("no judge"), "{none}");
}

fn check_text(place: &std::path::Path, arguments: &[&str]) -> String {
    let output = scoregate(place, arguments);
    assert_eq!(code(&output), 0, "{}", err(&output));
    out(&output)
}

/// (label, judge, how many) → labels with the judge's score beside them.
fn table(counts: &[(u8, u8, usize)]) -> String {
    let mut text = "id,label,correct\n".to_owned();
    let mut at = 0;
    for (label, judge, count) in counts {
        for _ in 0..*count {
            at += 1;
            let _ = writeln!(text, "q{at},{label},{judge}");
        }
    }
    text
}

#[test]
fn a_judge_beside_labels_has_accuracy_kappa_and_a_corrected_rate() {
    let labels = table(&[(1, 1, 20), (0, 1, 10), (1, 0, 5), (0, 0, 15)]);
    let place = folder(&[("labels.csv", &labels)]);
    let arguments = ["judge", "calibrate", "labels.csv", "--metric", "correct"];
    let said = check_text(place.path(), &arguments);
    for words in ["accuracy   0.700", "kappa      0.400", "fair agreement", "50 labelled cases"] {
        assert!(said.contains(words), "{words} is not in\n{said}");
    }
    let found: Value =
        serde_json::from_str(&check_text(place.path(), &[&arguments[..], &["--format", "json"]].concat()))
            .expect("JSON");
    assert_eq!(
        found["confusion"],
        serde_json::json!({"both_pass": 20, "judge_only": 10, "people_only": 5, "both_fail": 15})
    );
    // Judged 30 of 50 pass; sensitivity 0.8, specificity 0.6: (0.6 + 0.6 − 1)/0.4 = 0.5, what the labels say.
    assert!((found["corrected"]["level"].as_f64().expect("a level") - 0.5).abs() < 1e-9, "{found}");
    check(place.path(), &[&arguments[..], &["--min-kappa", "0.5"]].concat(), 1);
    check(place.path(), &[&arguments[..], &["--min-accuracy", "0.75"]].concat(), 1);
    assert_eq!(
        code(&scoregate(place.path(), &[&arguments[..], &["--min-kappa", "0.4", "--min-accuracy", "0.7"]].concat())),
        0
    );
    // Labels of one kind alone tell nothing of a judge.
    std::fs::write(place.path().join("alike.csv"), table(&[(1, 1, 9)])).expect("a file");
    check(place.path(), &["judge", "calibrate", "alike.csv", "--metric", "correct", "--min-kappa", "0.4"], 3);
    let said = check(place.path(), &["judge", "calibrate", "labels.csv", "--metric", "faithful"], 2);
    assert!(said.contains("it has correct, label"), "{said}");
}

/// The labels of the data set, beside scores of a judge that passes everything but three.
#[test]
fn labels_and_results_may_be_two_files() {
    let labels = root().join("fixtures/peps-rag/labels.jsonl");
    let labels = labels.to_str().expect("UTF-8");
    let scores: String = (1..140)
        .map(|at| format!("{{\"case\":\"q{at:03}\",\"metric\":\"faithfulness\",\"value\":{}}}\n", u8::from(at > 3)))
        .collect();
    let place = folder(&[("scores.jsonl", &scores)]);
    let arguments = ["judge", "calibrate", labels, "scores.jsonl", "--metric", "faithfulness", "--label", "faithful"];
    let several = check(place.path(), &arguments, 2);
    assert!(several.contains("base, regressed") && several.contains("--run"), "{several}");
    let said = check_text(place.path(), &[&arguments[..], &["--run", "base"]].concat());
    assert!(said.contains("139 judged in all") && said.contains("mean level"), "{said}");
}

#[test]
fn labels_may_be_grades() {
    let row = |at: usize| format!("q{at},{},{}\n", 1 + at % 5, 1 + (at + usize::from(at.is_multiple_of(4))) % 5);
    let labels = "id,label,grade\n".to_owned() + &(0..40).map(row).collect::<String>();
    let suite = "version: 1\nname: p\ndataset: { path: d.jsonl }\nevaluators:\n  exact_match: {}\ngate:\n  metrics:\n    grade: { type: ordinal, range: [1, 5], pass_mark: 4 }\n";
    let place = folder(&[("labels.csv", &labels), ("suite.yaml", suite)]);
    let arguments = ["judge", "calibrate", "labels.csv", "--metric", "grade", "--suite", "suite.yaml"];
    let said = check_text(place.path(), &arguments);
    assert!(said.contains("points off on average"), "{said}");
    let odd = labels.replace("q0,1,", "q0,9,");
    std::fs::write(place.path().join("odd.csv"), odd).expect("a file");
    let said = check(place.path(), &["judge", "calibrate", "odd.csv", "--metric", "grade", "--suite", "suite.yaml"], 2);
    assert!(said.contains("case `q0` is 9"), "{said}");
}

#[test]
fn a_judge_behind_a_floating_name_is_warned_of() {
    let suite = |model: &str| {
        format!(
            "version: 1\nname: stored\ndataset: {{ path: data.jsonl }}\nmodels:\n  judge: {{ provider: openai, model: {model}, api_key: none-needed }}\nevaluators:\n  relevancy: {{ model: judge }}\n"
        )
    };
    let row = "{\"id\":\"q\",\"input\":\"?\",\"answer\":\"a\",\"answer_contexts\":[\"c\"]}\n";
    let place = folder(&[
        ("scoregate.yaml", &suite("gpt-4.1")),
        ("fixed.yaml", &suite("gpt-4.1-2025-04-14")),
        ("data.jsonl", row),
    ]);
    let output = scoregate(place.path(), &["check"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    assert!(err(&output).contains("floating-model") && err(&output).contains("scoregate.yaml:5:"), "{}", err(&output));
    assert!(!err(&scoregate(place.path(), &["check", "fixed.yaml"])).contains("floating-model"));
}
