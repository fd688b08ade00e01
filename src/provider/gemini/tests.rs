use serde_json::{Value, json};

use super::super::support::{self, sent};
use super::super::{Model, Models};
use super::*;

const KEY: (&str, &str) = ("GEMINI_API_KEY", "gemini-key-of-env");
const HOME: &str = "https://generativelanguage.googleapis.com";

fn models(settings: Value) -> (Models, Vec<String>) {
    support::models("gemini", settings, &[KEY])
}

fn model(settings: Value) -> Model {
    support::model("gemini", settings, KEY)
}

#[test]
fn what_is_sent_is_what_google_documents() {
    let full = json!({"model": "gemini-2.5-flash", "temperature": 0, "top_p": 0.5, "seed": 7, "max_tokens": 300,
        "extra": {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}, "safetySettings": []}});
    let (http, call) = sent(&model(full));
    assert_eq!(http.url, format!("{HOME}/v1beta/models/gemini-2.5-flash:generateContent"));
    assert_eq!(
        std::str::from_utf8(&http.body).unwrap(),
        "{\"systemInstruction\":{\"parts\":[{\"text\":\"Be strict.\"}]},\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"Is \\\"it\\\" so?\"}]},\
         {\"role\":\"model\",\"parts\":[{\"text\":\"…\"}]},{\"role\":\"user\",\"parts\":[{\"text\":\"Again.\"}]}],\
         \"generationConfig\":{\"temperature\":0.0,\"topP\":0.5,\"seed\":7,\"maxOutputTokens\":300,\"thinkingConfig\":{\"thinkingBudget\":0}},\
         \"safetySettings\":[]}"
    );
    assert_eq!(&*call.endpoint, "gemini-2.5-flash at https://generativelanguage.googleapis.com (gemini)");
    assert_eq!(call.dialect, Dialect::Gemini);
    assert_eq!((http.credentials[0].0.as_str(), http.credentials[0].1.expose()), ("x-goog-api-key", KEY.1));
    let (http, _) = sent(&model(json!({"model": "models/gemini-2.5-flash"})));
    assert_eq!(http.url, format!("{HOME}/v1beta/models/gemini-2.5-flash:generateContent"));
    assert!(!String::from_utf8_lossy(&http.body).contains("generationConfig"));
}

#[test]
fn a_base_address_is_completed_once() {
    let vertex =
        "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/publishers/google/models";
    for (base, url) in [
        ("http://h:1", "http://h:1/v1beta/models/m:generateContent"),
        ("http://h:1/", "http://h:1/v1beta/models/m:generateContent"),
        ("http://h:1/v1", "http://h:1/v1/models/m:generateContent"),
        ("http://h:1/v1beta/", "http://h:1/v1beta/models/m:generateContent"),
        ("http://h:1/v1beta/models", "http://h:1/v1beta/models/m:generateContent"),
        ("http://h:1/g?x=1", "http://h:1/g/v1beta/models/m:generateContent?x=1"),
        (vertex, &format!("{vertex}/m:generateContent")),
    ] {
        let (http, _) = sent(&model(json!({"model": "m", "base_url": base})));
        assert_eq!(http.url, url);
        assert!(http.credentials.is_empty(), "the key of the environment went to {base}");
    }
}

#[test]
fn replies_in_json_are_held_to_their_form() {
    let config = |settings: Value| support::sent_in_json(&model(settings)).0["generationConfig"].clone();
    let by_schema = config(json!({"model": "m", "temperature": 0}));
    assert_eq!((&by_schema["responseMimeType"], &by_schema["temperature"]), (&json!("application/json"), &json!(0.0)));
    assert_eq!(by_schema["responseJsonSchema"]["required"], json!(["items"]));
    let object = config(json!({"model": "m", "structured": "json_object"}));
    assert_eq!(object, json!({"responseMimeType": "application/json"}));
    assert_eq!(config(json!({"model": "m", "structured": "off"})), Value::Null);
    assert_eq!(config(json!({"model": "m", "base_url": "http://h:1"})), Value::Null);
}

#[test]
fn what_cannot_be_asked_is_a_mistake_in_the_suite() {
    for (settings, code) in [
        (json!({"model": "a/../../b"}), "model-name"),
        (json!({"model": "m?key=1"}), "model-name"),
        (json!({"model": "m", "mode": "batch"}), "no-batches"),
        (json!({"model": "m", "extra": {"contents": []}}), "reserved"),
        (json!({"model": "m", "extra": {"generationConfig": {"candidateCount": 2}}}), "reserved"),
        (json!({"model": "m", "temperature": 0, "extra": {"generationConfig": {"temperature": 1}}}), "reserved"),
        (json!({"model": "m", "temprature": 0}), "unknown-key"),
    ] {
        let (models, problems) = models(settings.clone());
        assert!(models.by_name.is_empty(), "{settings}");
        assert!(problems.len() == 1 && problems[0].starts_with(&format!("{code}: ")), "{settings}: {problems:?}");
    }
}
