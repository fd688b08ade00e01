use serde_json::{Value, json};

use super::super::support::{self, breaches, openai_contract, request, sent};
use super::super::{Model, Models};
use crate::net::{Dialect, Purpose, Route};

const KEY: (&str, &str) = ("OPENAI_API_KEY", "sk-test-key-of-env");

fn models(settings: Value) -> (Models, Vec<String>) {
    support::models("openai_responses", settings, &[KEY])
}

fn model(settings: Value) -> Model {
    support::model("openai_responses", settings, KEY)
}

#[test]
fn requests_keep_openai_s_contract() {
    let contract = openai_contract("createResponse");
    let full = json!({"model": "gpt-4.1", "temperature": 0, "top_p": 0.5, "max_tokens": 300,
        "extra": {"reasoning": {"effort": "low"}, "text": {"verbosity": "low"}}});
    for value in [json!({"model": "gpt-4.1"}), full.clone()] {
        assert_eq!(breaches(&contract, &sent(&model(value.clone())).0), Vec::<String>::new());
        let (body, http) = support::sent_in_json(&model(value));
        assert_eq!(breaches(&contract, &http), Vec::<String>::new());
        assert_eq!(
            (&body["text"]["format"]["type"], &body["text"]["format"]["name"]),
            (&json!("json_schema"), &json!("items"))
        );
    }
    let (http, call) = sent(&model(full));
    assert_eq!(http.url, "https://api.openai.com/v1/responses");
    assert_eq!(
        std::str::from_utf8(&http.body).unwrap(),
        "{\"model\":\"gpt-4.1\",\"instructions\":\"Be strict.\",\"input\":[{\"role\":\"user\",\"content\":\"Is \\\"it\\\" so?\"},\
         {\"role\":\"assistant\",\"content\":\"…\"},{\"role\":\"user\",\"content\":\"Again.\"}],\"temperature\":0.0,\"top_p\":0.5,\
         \"max_output_tokens\":300,\"store\":false,\"reasoning\":{\"effort\":\"low\"},\"text\":{\"verbosity\":\"low\"}}"
    );
    assert_eq!(&*call.endpoint, "gpt-4.1 at https://api.openai.com (openai_responses)");
    assert_eq!((call.trial, call.purpose, call.dialect), (1, Purpose::Judge, Dialect::OpenAi));
    assert_eq!(http.credentials[0].1.expose(), "Bearer sk-test-key-of-env");
}

/// The contract would notice: it is no empty one.
#[test]
fn a_request_that_breaks_the_contract_is_noticed() {
    let contract = openai_contract("createResponse");
    let mut http = sent(&model(json!({"model": "m"}))).0;
    http.body = br#"{"model": "m", "input": [{"role": "robot", "content": 5}]}"#.as_slice().into();
    assert!(!breaches(&contract, &http).is_empty());
}

#[test]
fn what_cannot_be_asked_is_a_mistake_in_the_suite() {
    for (settings, code) in [
        (json!({"model": "m", "max_tokens": 15}), "range"),
        (json!({"model": "m", "seed": 1}), "unknown-key"),
        (json!({"model": "m", "extra": {"background": true}}), "reserved"),
        (json!({"model": "m", "extra": {"max_output_tokens": 9}}), "reserved"),
    ] {
        let (models, problems) = models(settings.clone());
        assert!(models.by_name.is_empty(), "{settings}");
        assert!(problems.len() == 1 && problems[0].starts_with(&format!("{code}: ")), "{settings}: {problems:?}");
    }
    let (_, problems) = models(json!({"model": "gpt-5", "temperature": 0}));
    assert!(problems.len() == 1 && problems[0].starts_with("reasoning-model:"), "{problems:?}");
    let (_, problems) =
        models(json!({"model": "gpt-5.1", "temperature": 0, "extra": {"reasoning": {"effort": "none"}}}));
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn judges_may_wait_for_batches() {
    let batched = model(json!({"model": "m", "mode": "batch"}));
    assert!(batched.chat.batches());
    assert!(matches!(batched.chat.call(&request(Purpose::Judge)).route, Route::Batch(_)));
    assert!(matches!(batched.chat.call(&request(Purpose::Target)).route, Route::Direct));
}
