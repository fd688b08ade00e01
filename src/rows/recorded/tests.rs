use super::*;
use crate::domain::Side;
use crate::rows::support::suite_in;

fn settings(value: Value) -> RecordedSettings {
    serde_json::from_value(value).unwrap()
}

fn opened(name: &str, content: &str, fields: Value) -> Result<(Recorded, tempfile::TempDir), Diagnostics> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), content).unwrap();
    let suite = suite_in(folder.path());
    let block = Block::from_value("app", "recorded", Value::Null);
    Recorded::open(&settings(serde_json::json!({"path": name, "fields": fields})), &suite, &block)
        .map(|found| (found, folder))
}

fn messages(found: Result<(Recorded, tempfile::TempDir), Diagnostics>) -> String {
    let problems = found.err().unwrap();
    problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>().join("; ")
}

#[test]
fn every_format_gives_the_same_answers() {
    let jsonl =
        "{\"id\":\"b\",\"answer\":\"B\",\"latency_ms\":12}\n{\"id\":\"a\",\"answer\":\"A\",\"latency_ms\":1.5}\n";
    let json = format!("[{}]", jsonl.trim().replace('\n', ","));
    let yaml = "- {id: b, answer: B, latency_ms: 12}\n- {id: a, answer: A, latency_ms: 1.5}\n";
    let csv = "id,answer,latency_ms\nb,B,12\na,A,1.5\n";
    for (name, content) in [("a.jsonl", jsonl), ("a.json", json.as_str()), ("a.yaml", yaml), ("a.csv", csv)] {
        let (recorded, _folder) = opened(name, content, serde_json::json!({})).unwrap();
        assert_eq!(recorded.len, 2);
        for (id, text, milliseconds) in [("a", "A", 1.5), ("b", "B", 12.0)] {
            let answer = recorded.answer(id).unwrap().unwrap();
            assert_eq!(
                (answer.text.as_str(), answer.latency.map(|time| time.as_secs_f64() * 1_000.0)),
                (text, Some(milliseconds))
            );
        }
        assert!(recorded.answer("c").is_none());
    }
}

#[test]
fn null_and_error_are_failures_and_an_empty_text_is_an_answer() {
    let content = concat!(
        r#"{"id":1,"output":null}"#,
        "\n",
        r#"{"id":2}"#,
        "\n",
        r#"{"id":3,"output":""}"#,
        "\n",
        r#"{"id":4,"output":" \n "}"#,
        "\n",
        r#"{"id":5,"error":"timed out"}"#,
        "\n",
        r#"{"id":6,"output":"x","error":{"message":"no"}}"#,
        "\n",
        r#"{"id":7,"output":"x","error":null}"#,
    );
    let (recorded, _folder) = opened("a.jsonl", content, serde_json::json!({})).unwrap();
    let kind = |id: &str| {
        recorded.answer(id).unwrap().map(|answer| answer.text).map_err(|failure| (failure.kind, failure.side))
    };
    assert_eq!(kind("1"), Err((FailureKind::Empty, Side::Target)));
    assert_eq!(kind("2"), Err((FailureKind::Empty, Side::Target)));
    assert_eq!(kind("3"), Ok(String::new()));
    assert_eq!(kind("4"), Ok(" \n ".to_owned()));
    assert_eq!(kind("5"), Err((FailureKind::Recorded, Side::Target)));
    assert_eq!(kind("6"), Err((FailureKind::Recorded, Side::Target)));
    assert_eq!(kind("7"), Ok("x".to_owned()));
}

#[test]
fn vd_odd_outputs() {
    let content = include_str!("../../../fixtures/cases/verdicts/odd-outputs.jsonl");
    let (recorded, _folder) = opened("odd.jsonl", content, serde_json::json!({"answer": "output"})).unwrap();
    for id in ["o1", "o2", "o4", "o5", "o6", "o7"] {
        assert!(recorded.answer(id).unwrap().is_ok(), "{id}");
    }
    assert_eq!(recorded.answer("o3").unwrap().unwrap_err().kind, FailureKind::Empty);
}

#[test]
fn recorded_runs_of_the_quickstart_are_read() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/peps-rag");
    let suite = suite_in(&root);
    let block = Block::from_value("app", "recorded", Value::Null);
    let recorded =
        Recorded::open(&settings(serde_json::json!({"path": "runs/lost-documents.jsonl"})), &suite, &block).unwrap();
    assert_eq!(recorded.len, 140);
    let answer = recorded.answer("q001").unwrap().unwrap();
    assert!(answer.latency.is_some() && answer.usage.prompt_tokens > 0 && answer.contexts.len() == 3);
    assert!(answer.contexts.iter().all(|context| context.id.is_some() && context.score.is_some()));
    assert!(recorded.answer("zh003").unwrap().unwrap().contexts.is_empty());
}

#[test]
fn broken_files_are_refused() {
    for (content, word) in [
        ("{\"id\":1,\"answer\":\"a\"}\n\n{\"id\":\"1\",\"answer\":\"b\"}\n", "lines 1 and 3"),
        ("{\"answer\":\"a\"}\n", "no id"),
        ("\n", "no recorded answer"),
        ("{\"id\":1,\"text\":\"a\"}\n", "no row has an answer"),
        ("{\"id\":1,\"answer\":\"a\",\"output\":\"a\"}\n", "`answer` and `output`"),
        ("{\"id\":1,\"answer\":\"a\",\"latency_ms\":-1}\n", "latency_ms"),
        ("{\"id\":1,\"answer\":{\"text\":\"a\"}}\n", "an object"),
        ("{\"id\":1,\"answer\":NaN}\n", "NaN"),
    ] {
        let found = messages(opened("a.jsonl", content, serde_json::json!({})));
        assert!(found.contains(word), "{found}");
    }
    let found =
        messages(opened("a.jsonl", "{\"id\":1,\"answer\":\"a\"}\n", serde_json::json!({"contexts": "$.node[*].text"})));
    assert!(found.contains("`$.node[*].text`"), "{found}");
}

#[test]
fn a_file_that_changes_is_a_failure_and_never_another_answer() {
    let lines = "{\"id\":\"a\",\"answer\":\"A\"}\n{\"id\":\"b\",\"answer\":\"B\"}\n";
    let (recorded, folder) = opened("a.jsonl", lines, serde_json::json!({})).unwrap();
    std::fs::write(folder.path().join("a.jsonl"), lines.replace("\"a\"", "\"c\"")).unwrap();
    let failure = recorded.answer("a").unwrap().unwrap_err();
    assert!(failure.message.contains("changed"), "{}", failure.message);
}
