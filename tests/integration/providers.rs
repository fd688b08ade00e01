//! Every provider's dialect with the whole program and a real server; what becomes of the name that answers state.

use std::time::Duration;

use serde_json::{Value, json};

use crate::chat_server::{ChatServer, completion};
use crate::command::{check, code, err, folder, out, outcomes, results, scoregate, verdict};

const CASES: usize = 3;

/// `YES` in the dialect that the question is in.
fn yes(_: usize, body: &str) -> (&'static str, String) {
    let asked: Value = serde_json::from_str(body).expect("JSON");
    let has = |key: &str| asked.get(key).is_some();
    let answer = if has("contents") {
        json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "YES"}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 1, "thoughtsTokenCount": 1}, "modelVersion": "m-gemini"})
    } else if has("input") {
        json!({"status": "completed", "error": null, "model": "m-responses",
            "output": [{"type": "message", "content": [{"type": "output_text", "text": "YES"}]}],
            "usage": {"input_tokens": 10, "output_tokens": 2}})
    } else if has("system") {
        json!({"model": "m-anthropic", "content": [{"type": "text", "text": "YES"}], "stop_reason": "end_turn",
            "usage": {"input_tokens": 10, "output_tokens": 2}})
    } else {
        return ("200 OK", completion("YES"));
    };
    ("200 OK", answer.to_string())
}

fn suite(model: &str, more: &str) -> tempfile::TempDir {
    let row = |at| {
        format!("{{\"id\":\"q{at}\",\"input\":\"{at}?\",\"answer\":\"answer-{at}\",\"answer_contexts\":[\"c\"]}}\n")
    };
    let rows: String = (0..CASES).map(row).collect();
    folder(&[("scoregate.yaml", &text(model, more)), ("data.jsonl", &rows)])
}

fn text(model: &str, more: &str) -> String {
    format!(
        "version: 1\nname: providers\ndataset: {{ path: data.jsonl }}\nmodels:\n  judge: {{ {model} }}\nevaluators:\n  faithfulness: {{ model: judge }}\n{more}"
    )
}

/// (provider, further settings, where it is asked, header of the key, the model that answers)
const DIALECTS: &[(&str, &str, &str, &str, &str)] = &[
    ("openai", "", "/chat/completions", "authorization: Bearer key-of-the-suite", "fake"),
    ("openai_responses", "", "/responses", "authorization: Bearer key-of-the-suite", "m-responses"),
    ("azure_openai", "", "/openai/v1/chat/completions", "api-key: key-of-the-suite", "fake"),
    (
        "azure_openai",
        "deployment: d-1, api_version: 2024-10-21, ",
        "/openai/deployments/d-1/chat/completions?api-version=2024-10-21",
        "api-key: key-of-the-suite",
        "fake",
    ),
    ("anthropic", "", "/v1/messages", "x-api-key: key-of-the-suite", "m-anthropic"),
    ("gemini", "", "/v1beta/models/m:generateContent", "x-goog-api-key: key-of-the-suite", "m-gemini"),
];

/// In one folder, so with one ledger: another provider is another question, the same one is paid for once.
#[test]
fn every_provider_judges_in_its_own_dialect_and_is_paid_once() {
    let server = ChatServer::start(Duration::ZERO, yes);
    let place = suite("provider: openai, model: x", "");
    let mut asked = 0;
    for (provider, more, path, key, model) in DIALECTS {
        let settings = format!(
            "provider: {provider}, model: m, {more}base_url: \"{}\", api_key: key-of-the-suite, price: {{ input: 1, output: 2 }}",
            server.url
        );
        std::fs::write(place.path().join("scoregate.yaml"), text(&settings, "")).expect("a file");
        let output = scoregate(place.path(), &["check"]);
        assert_eq!(code(&output), 0, "{provider}: {}", err(&output));
        assert!(out(&output).contains(&format!("({provider})")), "{provider} is not in\n{}", out(&output));
        for _ in 0..2 {
            check(place.path(), &["run"], 0);
        }
        asked += CASES;
        server.with(|counts| {
            assert_eq!(counts.requests, asked, "{provider}");
            let head = counts.heads.last().expect("a request").replace("\r\n", "\n");
            assert!(head.starts_with(&format!("POST {path} HTTP/1.1\n")), "{provider}: {head}");
            assert!(head.lines().any(|line| line.eq_ignore_ascii_case(key)), "{provider}: {head}");
        });
        let lines = outcomes(place.path());
        assert_eq!(lines.len(), CASES);
        for line in lines {
            let score = &line["scores"][0];
            assert_eq!(
                (score["value"].as_f64(), score["model"].as_str()),
                (Some(1.0), Some(*model)),
                "{provider}: {line}"
            );
        }
    }
    // What it took is what the answers counted.
    std::fs::remove_dir_all(place.path().join(".scoregate")).expect("the ledger");
    check(place.path(), &["run"], 0);
    let end = results(place.path()).pop().expect("an end");
    assert_eq!(end["usage"], json!({"prompt_tokens": 10 * CASES, "completion_tokens": 2 * CASES}));
    assert!((end["cost"].as_f64().expect("a cost") - 14e-6 * CASES as f64).abs() < 1e-12, "{end}");
}

/// Azure's filter refuses one prompt: that case has no score, the others do, and nothing is asked twice.
#[test]
fn a_prompt_that_azure_s_filter_stops_is_no_score_and_no_end() {
    let server = ChatServer::start(Duration::ZERO, |_, body| {
        if body.contains("answer-1") {
            let refusal = json!({"error": {"code": "content_filter", "message": "The response was filtered.", "status": 400,
                "innererror": {"code": "ResponsibleAIPolicyViolation"}}});
            return ("400 Bad Request", refusal.to_string());
        }
        ("200 OK", completion("YES"))
    });
    let model = format!("provider: azure_openai, model: m, base_url: \"{}\", api_key: key-of-the-suite", server.url);
    let place = suite(&model, "");
    let said = check(place.path(), &["run"], 3);
    assert!(said.contains("filtered") && said.contains("content filter"), "{said}");
    let kinds: Vec<Value> =
        outcomes(place.path()).iter().map(|line| line["scores"][0]["unusable"]["kind"].clone()).collect();
    assert_eq!(kinds, [Value::Null, json!("filtered"), Value::Null]);
    assert_eq!(server.with(|counts| counts.requests), CASES);
}

/// The same name is asked for, another model answers: the comparison says so.
#[test]
fn a_judge_that_answers_under_another_name_is_named() {
    let server = ChatServer::start(Duration::ZERO, |before, _| {
        let model = if before == 0 { "gpt-4.1-2025-04-14" } else { "gpt-4.1-2026-01-01" };
        ("200 OK", completion("YES").replace("\"fake\"", &format!("\"{model}\"")))
    });
    let model = format!("provider: openai, model: gpt-4.1, base_url: \"{}/v1\", api_key: none-needed", server.url);
    let gate = "gate:\n  metrics:\n    faithfulness: { min: 0.1 }\n  baseline: { from: file, path: base.jsonl, missing: warn }\n";
    let place = suite(&model, gate);
    scoregate(place.path(), &["run"]);
    let update = ["baseline", "update", "scoregate-out/results.jsonl", "--to", "base.jsonl"];
    let updated = scoregate(place.path(), &update);
    assert_eq!(code(&updated), 0, "{}{}", out(&updated), err(&updated));
    let header = std::fs::read_to_string(place.path().join("base.jsonl")).expect("the baseline");
    let header: Value = serde_json::from_str(header.lines().next().expect("a header")).expect("JSON");
    assert_eq!(header["runs"][0]["judges"], json!({"faithfulness": ["gpt-4.1-2025-04-14"]}));
    // From the ledger the same model answered.
    scoregate(place.path(), &["run"]);
    assert_eq!(verdict(place.path())["comparable"], true);
    let output = scoregate(place.path(), &["run", "--ledger", "refresh"]);
    let said = format!("{}{}", out(&output), err(&output));
    let change = "judge answered as gpt-4.1-2026-01-01, baseline as gpt-4.1-2025-04-14 (faithfulness)";
    assert!(said.contains(change), "{said}");
    assert_eq!(verdict(place.path())["comparable"], false);
    assert!(verdict(place.path())["notes"].to_string().contains(change));
    let comment = std::fs::read_to_string(place.path().join("scoregate-out/comment.md")).expect("the comment");
    assert!(comment.contains("baseline as") && comment.contains("2026"), "{comment}");
}
