use super::*;
use crate::domain::{FailureKind, RetryClass, Usage, Usd};
use crate::net::{BATCH_HEADER, Purpose, Route};
use crate::provider::support::{self, request, sent};
use crate::provider::{Model, Models};

const KEY: (&str, &str) = ("ANTHROPIC_API_KEY", "sk-ant-key-of-env");

fn models(settings: Value, env: &[(&str, &str)]) -> (Models, Vec<String>) {
    support::models("anthropic", settings, env)
}

fn model(settings: Value) -> Model {
    support::model("anthropic", settings, KEY)
}

fn answered(body: &[u8], batch: Option<&str>) -> Result<ChatReply, Rejection> {
    let headers = batch.map(|id| (BATCH_HEADER.to_owned(), id.to_owned())).into_iter().collect();
    support::read("anthropic", KEY, headers, body)
}

fn message(content: Value, stop_reason: Value) -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-1", "content": content,
        "stop_reason": stop_reason, "stop_sequence": null,
        "usage": {"input_tokens": 400_000, "cache_read_input_tokens": 600_000, "cache_creation_input_tokens": null,
            "output_tokens": 500_000}})
}

fn replied(content: Value, stop_reason: Value) -> Result<ChatReply, Rejection> {
    answered(message(content, stop_reason).to_string().as_bytes(), None)
}

fn rejected(result: Result<ChatReply, Rejection>) -> (FailureKind, RetryClass) {
    let rejection = result.unwrap_err();
    assert!(rejection.raw.is_some_and(|raw| !raw.is_empty()));
    (rejection.kind, rejection.class)
}

/// The operation in the description of Anthropic's API: its schemas of the body and of the headers.
fn contract() -> [jsonschema::Validator; 2] {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/contracts/anthropic/anthropic-ops.json");
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let operations = file["operations"].as_array().unwrap();
    let operation = operations.iter().find(|operation| operation["id"] == "createMessage").unwrap();
    ["request", "headers"]
        .map(|part| jsonschema::validator_for(&json!({"$defs": file["$defs"], "allOf": [operation[part]]})).unwrap())
}

#[test]
fn requests_keep_anthropic_s_contract() {
    let [of_body, of_headers] = contract();
    let full = json!({"model": "claude-1", "temperature": 0, "top_p": 0.5, "max_tokens": 300,
        "extra": {"top_k": 5, "output_config": {"effort": "low"}}});
    for value in [json!({"model": "claude-1"}), full.clone()] {
        let (http, _) = sent(&model(value));
        let body: Value = serde_json::from_slice(&http.body).unwrap();
        let mut headers = Map::new();
        headers.extend(http.headers.iter().map(|(name, value)| (name.clone(), json!(value))));
        headers.extend(http.credentials.iter().map(|(name, value)| (name.clone(), json!(value.expose()))));
        let mut errors: Vec<String> = of_body.iter_errors(&body).map(|error| error.to_string()).collect();
        errors.extend(of_headers.iter_errors(&Value::Object(headers)).map(|error| error.to_string()));
        assert!(errors.is_empty(), "{errors:?}");
    }
    let (http, call) = sent(&model(full));
    assert_eq!(http.url, "https://api.anthropic.com/v1/messages");
    assert_eq!(
        std::str::from_utf8(&http.body).unwrap(),
        "{\"model\":\"claude-1\",\"system\":\"Be strict.\",\"messages\":[{\"role\":\"user\",\"content\":\"Is \\\"it\\\" so?\"},\
         {\"role\":\"assistant\",\"content\":\"…\"},{\"role\":\"user\",\"content\":\"Again.\"}],\"max_tokens\":300,\
         \"temperature\":0.0,\"top_p\":0.5,\"top_k\":5,\"output_config\":{\"effort\":\"low\"}}"
    );
    assert_eq!(&*call.endpoint, "claude-1 at https://api.anthropic.com (anthropic)");
    assert_eq!((call.trial, call.dialect), (1, Dialect::Anthropic));
    let (http, _) = sent(&model(json!({"model": "m"})));
    assert!(http.body.ends_with(b"\"max_tokens\":4096}"));
}

#[test]
fn a_version_in_the_suite_goes_before_ours() {
    let versions = |value: Value| -> Vec<String> {
        let (http, _) = sent(&model(value));
        let is_version = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("anthropic-version");
        http.headers.iter().filter(is_version).map(|(_, value)| value.clone()).collect()
    };
    assert_eq!(versions(json!({"model": "m"})), ["2023-06-01"]);
    assert_eq!(versions(json!({"model": "m", "headers": {"Anthropic-Version": "2030-01-01"}})), ["2030-01-01"]);
}

#[test]
fn the_key_of_the_environment_goes_to_anthropic_only() {
    let credentials = |value: Value| sent(&model(value)).0.credentials;
    let own = credentials(json!({"model": "m"}));
    assert_eq!((own[0].0.as_str(), own[0].1.expose()), ("x-api-key", "sk-ant-key-of-env"));
    assert!(credentials(json!({"model": "m", "base_url": "http://localhost:1"})).is_empty());
    let elsewhere = json!({"model": "m", "base_url": "http://localhost:1", "api_key": "sk-of-this-service"});
    assert_eq!(credentials(elsewhere)[0].1.expose(), "sk-of-this-service");
    let (models, problems) = models(json!({"model": "m"}), &[]);
    assert!(models.by_name.is_empty());
    assert_eq!(
        problems,
        ["credentials: model `judge` has no key: the environment variable `ANTHROPIC_API_KEY` is not set"]
    );
}

#[test]
fn a_base_address_is_completed_once() {
    for (base, url) in [
        ("http://h:1", "http://h:1/v1/messages"),
        ("http://h:1/", "http://h:1/v1/messages"),
        ("http://h:1/v1", "http://h:1/v1/messages"),
        ("http://h:1/anthropic/v1/messages", "http://h:1/anthropic/v1/messages"),
        ("http://h:1/anthropic?x=1", "http://h:1/anthropic/v1/messages?x=1"),
    ] {
        assert_eq!(sent(&model(json!({"model": "m", "base_url": base}))).0.url, url);
    }
}

#[test]
fn settings_are_checked_with_all_problems_at_once() {
    let bad = json!({"model": "m", "base_url": "http://169.254.169.254", "extra": {"stream": true, "system": "x", "top_k": 1},
        "batch": {"poll": "1s"}});
    let (_, problems) = models(bad, &[]);
    let codes: Vec<&str> = problems.iter().filter_map(|problem| problem.split(':').next()).collect();
    assert_eq!(codes, ["address", "reserved", "reserved", "unused"], "{problems:?}");
    let (_, problems) = models(json!({"model": "m", "temperature": 1.5, "mode": "batches"}), &[]);
    assert_eq!(problems.len(), 2, "{problems:?}");
}

#[test]
fn a_complete_reply_has_text_usage_and_cost() {
    let content = json!([{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "YES"},
        {"type": "text", "text": "."}]);
    let reply = replied(content.clone(), json!("end_turn")).unwrap();
    assert_eq!((reply.text.as_str(), reply.model.as_deref()), ("YES.", Some("claude-1")));
    assert_eq!(reply.usage, Usage { prompt_tokens: 1_000_000, completion_tokens: 500_000 });
    assert_eq!(reply.cost, Some(Usd(6.0)));
    let in_batch = answered(message(content, json!("stop_sequence")).to_string().as_bytes(), Some("msgbatch_1"));
    assert_eq!(in_batch.unwrap().cost, Some(Usd(3.0)));
    assert_eq!(replied(json!([{"type": "text", "text": ""}]), json!("end_turn")).unwrap().text, "");
}

#[test]
fn what_is_no_complete_reply_is_rejected_by_name() {
    use FailureKind as K;
    let text = json!([{"type": "text", "text": "YES"}]);
    for (content, stop, kind) in [
        (text.clone(), json!("max_tokens"), K::Truncated),
        (text.clone(), json!("model_context_window_exceeded"), K::Truncated),
        (text.clone(), json!("refusal"), K::Declined),
        (json!([]), json!("refusal"), K::Declined),
        (text.clone(), json!("pause_turn"), K::Malformed),
        (json!([{"type": "tool_use", "id": "t", "name": "n", "input": {}}]), json!("tool_use"), K::Malformed),
        (json!([{"type": "thinking", "thinking": "hm"}]), json!("end_turn"), K::Empty),
        (json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": " "}]), json!("end_turn"), K::Empty),
        (json!([]), json!("end_turn"), K::Empty),
        (json!("YES"), json!("end_turn"), K::Malformed),
    ] {
        assert_eq!(rejected(replied(content.clone(), stop.clone())), (kind, RetryClass::Unusable), "{content} {stop}");
    }
}

#[test]
fn errors_with_a_success_status_are_errors() {
    let body = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}).to_string();
    let rejection = answered(body.as_bytes(), None).unwrap_err();
    assert_eq!((rejection.kind, rejection.class), (FailureKind::Server, RetryClass::Retry));
    assert_eq!(answered(b"{\"content\": [", None).unwrap_err().class, RetryClass::Retry);
    assert_eq!(answered(b"<html>", None).unwrap_err().class, RetryClass::Case);
}

#[test]
fn only_judges_wait_for_batches() {
    let batched = model(json!({"model": "m", "mode": "batch"}));
    assert!(batched.chat.batches());
    assert!(matches!(batched.chat.call(&request(Purpose::Judge)).route, Route::Batch(_)));
    assert!(matches!(batched.chat.call(&request(Purpose::Target)).route, Route::Direct));
    let direct = model(json!({"model": "m"}));
    assert!(!direct.chat.batches());
    assert!(matches!(direct.chat.call(&request(Purpose::Judge)).route, Route::Direct));
    // The way there is no part of what is asked.
    assert_eq!(batched.fingerprint, direct.fingerprint);
    assert_eq!(sent(&batched).0.body, sent(&direct).0.body);
}

proptest::proptest! {
    #[test]
    fn any_body_is_survived(body in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
        let _ = answered(&body, None);
    }
}

#[test]
fn a_reply_that_cannot_be_used_is_paid_for() {
    let rejection = replied(json!([{"type": "text", "text": "Half a sent"}]), json!("max_tokens")).unwrap_err();
    assert_eq!(rejection.spent.usage, Usage { prompt_tokens: 1_000_000, completion_tokens: 500_000 });
    assert_eq!(rejection.spent.cost, Some(Usd(6.0)));
}

/// As every block: a person sees all problems at once.
#[test]
fn a_misspelt_key_hides_no_other_problem() {
    let (_, problems) =
        models(json!({"model": "m", "temprature": 0, "base_url": "ftp://x", "extra": {"system": "s"}}), &[]);
    let codes: Vec<&str> = problems.iter().filter_map(|problem| problem.split(':').next()).collect();
    assert_eq!(codes, ["unknown-key", "address", "reserved"], "{problems:?}");
}

#[test]
fn replies_in_json_are_held_to_their_form_where_the_suite_says_so() {
    let [of_body, _] = contract();
    let plain = support::sent_in_json(&model(json!({"model": "m"}))).0;
    assert_eq!(plain.get("output_config"), None);
    let settings = json!({"model": "m", "structured": "json_schema", "extra": {"output_config": {"effort": "low"}}});
    let (body, http) = support::sent_in_json(&model(settings));
    assert_eq!(support::breaches(&of_body, &http), Vec::<String>::new());
    assert_eq!(body["output_config"]["effort"], "low");
    assert_eq!(body["output_config"]["format"]["schema"]["required"], json!(["items"]));
    let (_, problems) = models(json!({"model": "m", "structured": "json_object"}), &[KEY]);
    assert_eq!(problems.len(), 1, "{problems:?}");
}
