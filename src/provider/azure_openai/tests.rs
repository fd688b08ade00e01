use serde_json::{Value, json};

use super::super::support::{self, breaches, openai_contract, sent};
use super::super::{Model, Models};
use super::*;

const KEY: (&str, &str) = ("AZURE_OPENAI_API_KEY", "azure-key-of-env");
const BASE: &str = "https://sg-test.openai.azure.com";

fn with(more: Value) -> Value {
    let mut settings = json!({"model": "gpt-4.1", "base_url": BASE});
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    settings
}

fn model(more: Value) -> Model {
    support::model("azure_openai", with(more), KEY)
}

fn models(settings: Value) -> (Models, Vec<String>) {
    support::models("azure_openai", settings, &[KEY])
}

#[test]
fn addresses_name_the_deployment_where_the_version_is_dated() {
    let dated = json!({"deployment": "judge-1", "api_version": "2024-10-21"});
    let completions = "/openai/deployments/judge-1/chat/completions?api-version=2024-10-21";
    for (more, path) in [
        (json!({}), "/openai/v1/chat/completions"),
        (json!({"api_version": "preview"}), "/openai/v1/chat/completions?api-version=preview"),
        (json!({"base_url": format!("{BASE}/")}), "/openai/v1/chat/completions"),
        (json!({"base_url": format!("{BASE}/openai/v1/")}), "/openai/v1/chat/completions"),
        (dated.clone(), completions),
        (json!({"deployment": "judge-1", "base_url": format!("{BASE}{completions}")}), completions),
        (
            json!({"deployment": "judge-1", "base_url": format!("{BASE}/openai/deployments/judge-1"), "api_version": "2024-10-21"}),
            completions,
        ),
    ] {
        let (http, call) = sent(&model(more.clone()));
        assert_eq!(http.url, format!("{BASE}{path}"), "{more}");
        assert_eq!(call.dialect, Dialect::AzureOpenAi);
        assert_eq!((http.credentials[0].0.as_str(), http.credentials[0].1.expose()), ("api-key", KEY.1), "{more}");
    }
    let (http, call) = sent(&model(dated));
    assert_eq!(&*call.endpoint, "judge-1 at https://sg-test.openai.azure.com (azure_openai)");
    let body: Value = serde_json::from_slice(&http.body).unwrap();
    assert_eq!(body["model"], "judge-1");
}

#[test]
fn requests_keep_openai_s_contract_and_old_versions_get_the_old_name() {
    let contract = openai_contract("createChatCompletion");
    let body = |more: Value| -> Value {
        let (http, _) = sent(&model(more));
        assert_eq!(breaches(&contract, &http), Vec::<String>::new());
        serde_json::from_slice(&http.body).unwrap()
    };
    let today = body(json!({"max_tokens": 300, "temperature": 0, "seed": 7}));
    assert_eq!((&today["max_completion_tokens"], &today["temperature"]), (&json!(300), &json!(0.0)));
    let dated = |version: &str| body(json!({"max_tokens": 300, "api_version": version}));
    assert_eq!(dated("2024-06-01")["max_tokens"], 300);
    assert_eq!(dated("2024-12-01-preview")["max_completion_tokens"], 300);
    let said =
        body(json!({"max_tokens": 300, "api_version": "2024-06-01", "max_tokens_field": "max_completion_tokens"}));
    assert_eq!(said["max_completion_tokens"], 300);
    let (in_json, http) = support::sent_in_json(&model(json!({})));
    assert_eq!(breaches(&contract, &http), Vec::<String>::new());
    assert_eq!(in_json["response_format"]["type"], "json_schema");
}

#[test]
fn the_key_of_the_environment_goes_to_azure_only() {
    for own in [
        "https://x.openai.azure.com",
        "https://x.cognitiveservices.azure.com",
        "https://x.services.ai.azure.com/openai/v1",
    ] {
        assert_eq!(sent(&model(json!({"base_url": own}))).0.credentials.len(), 1, "{own}");
    }
    for other in ["https://openai.azure.com.example.org", "https://x-openai.azure.com", "http://127.0.0.1:1"] {
        assert!(sent(&model(json!({"base_url": other}))).0.credentials.is_empty(), "{other}");
    }
    let entra = sent(&model(json!({"headers": {"authorization": "Bearer of-entra-1"}}))).0;
    assert_eq!(entra.credentials.len(), 1);
    assert_eq!(entra.credentials[0].0, "authorization");
}

#[test]
fn what_cannot_be_asked_is_a_mistake_in_the_suite() {
    for (settings, code) in [
        (json!({"model": "gpt-4.1"}), "missing-key"),
        (with(json!({"deployment": "a/../b"})), "deployment"),
        (with(json!({"deployment": ".."})), "deployment"),
        (with(json!({"base_url": "http://169.254.169.254/"})), "address"),
        (with(json!({"mode": "batch"})), "no-batches"),
        (with(json!({"extra": {"stream": true}})), "reserved"),
        (with(json!({"api_verison": "2024-10-21"})), "unknown-key"),
    ] {
        let (models, problems) = models(settings.clone());
        assert!(models.by_name.is_empty(), "{settings}");
        assert!(problems.len() == 1 && problems[0].starts_with(&format!("{code}: ")), "{settings}: {problems:?}");
    }
    let (_, problems) = support::models("azure_openai", with(json!({})), &[]);
    assert!(problems[0].contains("`AZURE_OPENAI_API_KEY` is not set"), "{problems:?}");
}

/// The same model under another deployment may have another version and another filter.
#[test]
fn the_deployment_is_part_of_what_a_score_was_measured_with() {
    let (one, two) = (model(json!({"deployment": "a"})).fingerprint, model(json!({"deployment": "b"})).fingerprint);
    let differences = one.differences(&two);
    assert_eq!(differences, [("deployment".to_owned(), "a".to_owned(), "b".to_owned())]);
}
