//! What services answer, recorded, in all dialects; and what holds for every kind.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::{fixture, models, request, sent};
use super::{Model, kinds};
use crate::domain::{FailureKind, RetryClass, Usd};
use crate::net::{Call, Purpose, Rejection, Response, classify};

const ENV: &[(&str, &str)] = &[
    ("OPENAI_API_KEY", "sk-test-key-of-env"),
    ("AZURE_OPENAI_API_KEY", "azure-key-of-env"),
    ("ANTHROPIC_API_KEY", "sk-ant-key-of-env"),
    ("GEMINI_API_KEY", "gemini-key-of-env"),
];

/// The model that an entry of the fixtures is about.
fn model(provider: &str, base: &Value, price: bool) -> Model {
    let mut settings = json!({"model": "m"});
    if let Some(base) = base.as_str() {
        settings["base_url"] = json!(base);
    }
    if price {
        settings["price"] = json!({"input": 2.0, "output": 8.0});
    }
    let (mut models, problems) = models(provider, settings, ENV);
    assert!(problems.is_empty(), "{provider}: {problems:?}");
    models.by_name.remove("judge").unwrap()
}

fn entries(file: &str) -> Vec<Value> {
    fixture(file).as_array().unwrap().clone()
}

fn response(status: u16, headers: &Value, body: &[u8]) -> Response {
    let headers = headers.as_object().into_iter().flatten();
    Response {
        status,
        headers: headers.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect(),
        body: body.to_vec().into(),
        latency: Duration::ZERO,
    }
}

fn class(rejection: &Rejection) -> &'static str {
    match rejection.class {
        RetryClass::Retry => "retry",
        RetryClass::Case => "case",
        RetryClass::Endpoint => "endpoint",
        RetryClass::Unusable => "unusable",
    }
}

#[test]
fn every_recorded_refusal_is_what_it_means() {
    let entries = entries("providers/errors.json");
    for entry in &entries {
        let provider = entry["provider"].as_str().unwrap();
        let (_, call) = sent(&model(provider, &entry["base_url"], false));
        let status = u16::try_from(entry["status"].as_u64().unwrap()).unwrap();
        let answer = response(status, &entry["headers"], entry["body"].to_string().as_bytes());
        let rejection = classify(&answer, call.dialect, "http://x/");
        let found = (rejection.kind.word(), class(&rejection));
        assert_eq!(found, (entry["kind"].as_str().unwrap(), entry["class"].as_str().unwrap()), "{entry}");
        assert_eq!(rejection.hint.retry_after.map(|wait| wait.as_secs_f64()), entry["wait"].as_f64(), "{entry}");
    }
    // No provider is left without one of each.
    for kind in kinds() {
        let told: BTreeSet<&str> = entries
            .iter()
            .filter(|entry| entry["provider"] == kind.name)
            .filter_map(|entry| entry["kind"].as_str())
            .collect();
        for class in ["rate_limited", "quota", "auth", "not_found", "too_long", "server"] {
            assert!(told.contains(class), "{}: {class}", kind.name);
        }
    }
}

#[test]
fn every_recorded_answer_is_what_it_says() {
    for entry in entries("providers/replies.json") {
        let priced = !entry.as_object().unwrap().contains_key("price");
        let model = model(entry["provider"].as_str().unwrap(), &entry["base_url"], priced);
        let (_, call) = sent(&model);
        let read = model.chat.read(&call, &response(200, &Value::Null, entry["body"].to_string().as_bytes()));
        let (usage, cost) = match read {
            Ok(reply) => {
                assert_eq!(
                    (Some(reply.text.as_str()), reply.model.as_deref()),
                    (entry["text"].as_str(), entry["model"].as_str()),
                    "{entry}"
                );
                (reply.usage, reply.cost)
            }
            Err(rejection) => {
                let found = (Some(rejection.kind.word()), Some(class(&rejection)));
                assert_eq!(found, (entry["kind"].as_str(), entry["class"].as_str()), "{entry}: {}", rejection.message);
                (rejection.spent.usage, rejection.spent.cost)
            }
        };
        if let Some(counted) = entry["usage"].as_array() {
            assert_eq!([json!(usage.prompt_tokens), json!(usage.completion_tokens)].as_slice(), counted, "{entry}");
        }
        if let Some(stated) = entry["cost"].as_f64() {
            assert_eq!(cost, Some(Usd(stated)), "{entry}");
        }
    }
}

/// Every kind at one address.
fn every_kind() -> Vec<(&'static str, Model, Call)> {
    let base = json!("http://127.0.0.1:1");
    let asked = |kind: &'static str| {
        let model = model(kind, &base, false);
        let call = model.chat.call(&request(Purpose::Judge));
        (kind, model, call)
    };
    kinds().iter().map(|kind| asked(kind.name)).collect()
}

/// Another provider is another question, even for the same model at the same address.
#[test]
fn no_two_kinds_share_an_endpoint() {
    let endpoints: BTreeSet<String> = every_kind().iter().map(|(_, _, call)| call.endpoint.to_string()).collect();
    assert_eq!(endpoints.len(), kinds().len(), "{endpoints:?}");
}

/// What is no JSON, ends early, or comes after blank lines is the same in every dialect.
#[test]
fn broken_bodies_are_the_same_in_every_dialect() {
    for (kind, model, call) in every_kind() {
        let read = |body: &[u8]| model.chat.read(&call, &response(200, &Value::Null, body)).unwrap_err();
        for (body, expected) in [
            (b"<html><title>Sign in</title>".as_slice(), (FailureKind::Malformed, RetryClass::Case)),
            (b"", (FailureKind::Truncated, RetryClass::Retry)),
            (b"\n\n\r\n", (FailureKind::Truncated, RetryClass::Retry)),
            (b"{\"id\": \"x\", \"cont", (FailureKind::Truncated, RetryClass::Retry)),
            (b"\n\n{}", (FailureKind::Malformed, RetryClass::Unusable)),
            (b"[]", (FailureKind::Malformed, RetryClass::Unusable)),
        ] {
            let rejection = read(body);
            assert_eq!((rejection.kind, rejection.class), expected, "{kind}: {}", String::from_utf8_lossy(body));
        }
    }
}

/// Bodies that look like answers, with anything in their places.
fn near_answers() -> impl Strategy<Value = Value> {
    let keys = prop_oneof![
        Just("choices"),
        Just("message"),
        Just("content"),
        Just("text"),
        Just("type"),
        Just("output"),
        Just("status"),
        Just("candidates"),
        Just("parts"),
        Just("finishReason"),
        Just("finish_reason"),
        Just("stop_reason"),
        Just("usage"),
        Just("usageMetadata"),
        Just("promptTokenCount"),
        Just("prompt_tokens"),
        Just("error"),
        Just("code"),
        Just("refusal"),
        Just("promptFeedback"),
        Just("blockReason"),
        Just("incomplete_details"),
        Just("reason"),
        Just("cost"),
    ];
    let words = prop_oneof![
        Just("stop"),
        Just("STOP"),
        Just("message"),
        Just("output_text"),
        Just("text"),
        Just("completed"),
        Just("SAFETY"),
        Just("\u{fffd}"),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        words.prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((keys.clone(), inner), 0..5)
                .prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Value>()),
        ]
    })
}

proptest! {
    #[test]
    fn any_bytes_are_survived_by_every_reader(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        for (_, model, call) in every_kind() {
            let _ = model.chat.read(&call, &response(200, &Value::Null, &body));
        }
    }

    #[test]
    fn anything_in_the_place_of_an_answer_is_survived(body in near_answers()) {
        for (kind, model, call) in every_kind() {
            if let Err(rejection) = model.chat.read(&call, &response(200, &Value::Null, body.to_string().as_bytes())) {
                prop_assert!(!rejection.message.is_empty(), "{}", kind);
            }
        }
    }
}
