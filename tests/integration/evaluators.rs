//! Evaluators that ask somebody else: programs, workers, embeddings, panels; with the real binary.
#![cfg(unix)]

use std::process::Output;
use std::time::Duration;

use serde_json::{Value, json};

use crate::chat_server::{ChatServer, completion};
use crate::command::{code, command, err, folder, out, outcomes};

const KEY: &str = "sg-test-secret-7Q/w+x==";

fn suite(cases: usize, rest: &str) -> tempfile::TempDir {
    let rows: String = (0..cases)
        .map(|at| {
            let row = json!({"id": format!("q{at}"), "input": format!("question {at}?"), "reference": format!("answer {at}"),
                "answer": format!("answer number {at}"), "answer_contexts": ["c"]});
            format!("{row}\n")
        })
        .collect();
    let text = format!("version: 1\nname: own\ndataset: {{ path: data.jsonl }}\n{rest}");
    folder(&[("data.jsonl", &rows), ("scoregate.yaml", &text)])
}

fn run(folder: &tempfile::TempDir) -> Output {
    command(folder.path(), &["run"]).env("JUDGE_KEY", KEY).output().expect("a run")
}

fn values(folder: &tempfile::TempDir) -> Vec<Value> {
    outcomes(folder.path()).into_iter().map(|outcome| outcome["scores"][0]["value"].clone()).collect()
}

/// One process for all answers, which counts them, and answers each with the id of its question.
const WORKER: &str = r#"n=0; while read -r line; do n=$((n+1)); id=$(printf '%s' "$line" | sed 's/.*"id":"\([0-9a-f]*\)"}$/\1/'); printf '{"id":"%s","score":%s}\n' "$id" "$n"; done"#;

#[test]
fn a_worker_scores_answer_after_answer_and_its_scores_are_kept() {
    let rest = format!(
        "evaluators:\n  mine: {{ use: command, argv: [sh, -c, {}], worker: true, range: [0, 100], limits: {{ workers: 1 }} }}\n",
        json!(WORKER)
    );
    let folder = suite(5, &rest);
    let output = run(&folder);
    assert_eq!(code(&output), 0, "{}{}", out(&output), err(&output));
    let mut scores: Vec<f64> = values(&folder).iter().filter_map(Value::as_f64).collect();
    scores.sort_by(f64::total_cmp);
    assert_eq!(scores, [1.0, 2.0, 3.0, 4.0, 5.0], "one process answered all of them");
    let before = values(&folder);
    run(&folder);
    assert_eq!(values(&folder), before, "the ledger answered");
    let end = crate::command::results(folder.path()).pop().expect("an end line");
    assert_eq!((&end["calls"]["requests"], &end["calls"]["cache_hits"]), (&json!(0), &json!(5)));
}

#[test]
fn a_program_that_fails_is_an_error_of_every_score_and_never_green() {
    let rest = "evaluators:\n  mine: { use: command, argv: [sh, -c, 'echo no model >&2; exit 3'] }\ngate: { metrics: { mine: { min: 0.5 } } }\n";
    let folder = suite(3, rest);
    let output = run(&folder);
    assert_eq!(code(&output), 3, "{}{}", out(&output), err(&output));
    let score = outcomes(folder.path()).remove(0)["scores"][0].clone();
    assert_eq!(score["error"]["kind"], "command", "{score}");
    assert!(
        score["error"]["message"].as_str().is_some_and(|why| why.contains("exit code 3") && why.contains("no model"))
    );
}

/// Vectors by the number of words, so that every answer is 3 words and every reference 2.
fn embed(_: usize, body: &str) -> (&'static str, String) {
    let body: Value = serde_json::from_str(body).expect("JSON");
    let Some(texts) = body["input"].as_array() else { return ("200 OK", completion("YES")) };
    let entry = |(at, text): (usize, &Value)| {
        let words = text.as_str().unwrap_or_default().split_whitespace().count();
        json!({"object": "embedding", "index": at, "embedding": [if words == 3 { 0.6 } else { 1.0 }, if words == 3 { 0.8 } else { 0.0 }]})
    };
    let data: Vec<Value> = texts.iter().enumerate().map(entry).collect();
    let usage = json!({"prompt_tokens": texts.len(), "total_tokens": texts.len()});
    ("200 OK", json!({"object": "list", "data": data, "model": "e", "usage": usage}).to_string())
}

#[test]
fn embeddings_are_asked_for_together_and_kept() {
    let server = ChatServer::start(Duration::ZERO, embed);
    let rest = format!(
        "models:\n  embed: {{ provider: openai_embeddings, model: e, base_url: \"{}/v1\", api_key: \"${{JUDGE_KEY}}\", batch_size: 8, \
         price: {{ input: 1000000 }} }}\nevaluators:\n  similar: {{ use: semantic_similarity, model: embed, threshold: 0.5 }}\n",
        server.url
    );
    let folder = suite(10, &rest);
    let check = command(folder.path(), &["check"]).env("JUDGE_KEY", KEY).output().expect("a check");
    assert!(out(&check).contains("similar: 4 cases in a request: 3 embedding calls instead of 10"), "{}", out(&check));
    let output = run(&folder);
    assert_eq!(code(&output), 0, "{}{}", out(&output), err(&output));
    assert_eq!(values(&folder), vec![json!(0.6); 10]);
    assert_eq!(server.with(|counts| counts.requests), 3);
    let end = crate::command::results(folder.path()).pop().expect("an end line");
    assert_eq!((&end["usage"]["prompt_tokens"], &end["cost"]), (&json!(20), &json!(20.0)), "{end}");
    run(&folder);
    assert_eq!(server.with(|counts| counts.requests), 3, "the second run paid again");
    let head = server.with(|counts| counts.heads[0].to_lowercase());
    assert!(head.starts_with("post /v1/embeddings ") && head.contains("authorization: bearer "), "{head}");
}

/// Scores by the length of the answer; the third question meets a server in trouble, once.
fn service(before: usize, body: &str) -> (&'static str, String) {
    let body: Value = serde_json::from_str(body).expect("JSON");
    if body["case"]["id"] == "q2" && before == 0 {
        return ("503 Service Unavailable", "{}".to_owned());
    }
    let length = body["answer"]["text"].as_str().map_or(0, str::len);
    ("200 OK", json!({"score": length, "reason": "its length"}).to_string())
}

#[test]
fn a_service_scores_with_its_key_and_is_asked_again_where_it_is_in_trouble() {
    let server = ChatServer::start(Duration::ZERO, service);
    let rest = format!(
        "evaluators:\n  mine: {{ use: http, url: \"{}/score\", headers: {{ x-key: \"${{JUDGE_KEY}}\" }}, range: [0, 100] }}\n",
        server.url
    );
    let folder = suite(3, &rest);
    let output = run(&folder);
    assert_eq!(code(&output), 0, "{}{}", out(&output), err(&output));
    assert_eq!(values(&folder), vec![json!(15.0); 3]);
    assert_eq!(server.with(|counts| counts.requests), 4);
    assert!(server.with(|counts| counts.heads.iter().all(|head| head.contains(KEY))));
    let kept = std::fs::read(folder.path().join("scoregate-out/results.jsonl")).expect("the results");
    assert!(!String::from_utf8_lossy(&kept).contains(KEY));
}

/// Says YES for the model `a`, and NO for the others.
fn judge(_: usize, body: &str) -> (&'static str, String) {
    let body: Value = serde_json::from_str(body).expect("JSON");
    ("200 OK", completion(if body["model"] == "a" { "YES" } else { "NO" }))
}

#[test]
fn a_panel_decides_by_majority_and_says_that_it_disagrees() {
    let server = ChatServer::start(Duration::ZERO, judge);
    let model = |name: &str| {
        format!(
            "  {name}: {{ provider: openai, model: {name}, base_url: \"{}/v1\", api_key: \"${{JUDGE_KEY}}\" }}\n",
            server.url
        )
    };
    let models: String = ["a", "b", "c"].map(model).concat();
    let rest =
        format!("models:\n{models}evaluators:\n  faithfulness: {{ model: [a, b, c] }}\nrun: {{ batch_size: 2 }}\n");
    let folder = suite(2, &rest);
    let output = run(&folder);
    assert_eq!(code(&output), 0, "{}{}", out(&output), err(&output));
    let score = outcomes(folder.path()).remove(0)["scores"][0].clone();
    assert_eq!((&score["value"], &score["flags"]), (&json!(0.0), &json!(["judges_disagree"])), "{score}");
    assert_eq!(server.with(|counts| counts.requests), 6);
}
