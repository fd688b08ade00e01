//! What the tests of all dialects share.

use std::time::Duration;

use serde_json::{Value, json};

use super::{ChatReply, ChatRequest, Message, Model, Models, Role, build};
use crate::diagnostic::Diagnostics;
use crate::domain::Env;
use crate::net::{Call, Deadlines, HttpRequest, Purpose, Rejection, Request, Response};
use crate::suite::Block;

/// The models of a suite with the one model `judge`, and the problems, as `code: message`.
pub(super) fn models(provider: &str, settings: Value, env: &[(&str, &str)]) -> (Models, Vec<String>) {
    let mut diagnostics = Diagnostics::default();
    let block = Block::from_value("judge", provider, settings);
    let models = build(&[block], &Env::from_pairs(env.iter().copied()), &mut diagnostics);
    (models, diagnostics.iter().map(|diagnostic| format!("{}: {}", diagnostic.code, diagnostic.message)).collect())
}

/// The model `judge`, whose key the environment holds.
pub(super) fn model(provider: &str, settings: Value, key: (&str, &str)) -> Model {
    let (mut models, problems) = models(provider, settings, &[key]);
    assert!(problems.is_empty(), "{problems:?}");
    models.by_name.remove("judge").unwrap()
}

/// A conversation that ends as it does when a verdict is to be given again.
pub(super) fn request(purpose: Purpose) -> ChatRequest {
    let message = |role, text: &str| Message { role, text: text.to_owned() };
    ChatRequest {
        messages: vec![
            message(Role::System, "Be strict."),
            message(Role::User, "Is \"it\" so?"),
            message(Role::Assistant, "…"),
            message(Role::User, "Again."),
        ],
        trial: 1,
        purpose,
        deadlines: Deadlines { connect: Duration::from_secs(1), whole: Duration::from_secs(60) },
        what: "faithfulness of case q1".to_owned(),
        form: None,
    }
}

/// What a judge's question sends.
pub(super) fn sent(model: &Model) -> (HttpRequest, Call) {
    let call = model.chat.call(&request(Purpose::Judge));
    let Request::Http(http) = call.request.clone() else { panic!("a model is called by HTTP") };
    (http, call)
}

/// What the model makes of an answer with this body; with a price, so that costs are seen.
pub(super) fn read(
    provider: &str,
    key: (&str, &str),
    headers: Vec<(String, String)>,
    body: &[u8],
) -> Result<ChatReply, Rejection> {
    let response = Response { status: 200, headers, body: body.to_vec().into(), latency: Duration::ZERO };
    let mut settings = json!({"model": "m", "price": {"input": 2.0, "output": 8.0}});
    if provider == "azure_openai" {
        settings["base_url"] = json!("https://sg-test.openai.azure.com");
    }
    let model = model(provider, settings, key);
    let (_, call) = sent(&model);
    model.chat.read(&call, &response)
}

/// The request's schema of an operation in OpenAI's own description.
pub(super) fn openai_contract(operation: &str) -> jsonschema::Validator {
    let mut file = fixture("contracts/openai/openai-ops.json");
    // A word of an older draft in a part that no request of ours uses; the validator refuses it.
    file["$defs"]["CompoundFilter"].as_object_mut().unwrap().remove("$recursiveAnchor");
    let operations = file["operations"].as_array().unwrap();
    let operation = operations.iter().find(|known| known["id"] == operation).unwrap();
    jsonschema::validator_for(&json!({"$defs": file["$defs"], "allOf": [operation["request"]]})).unwrap()
}

/// A JSON file of `fixtures`.
pub(super) fn fixture(name: &str) -> Value {
    let path = format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))).unwrap()
}

/// What a request breaks of a contract; nothing.
pub(super) fn breaches(contract: &jsonschema::Validator, http: &HttpRequest) -> Vec<String> {
    let body: Value = serde_json::from_slice(&http.body).unwrap();
    contract.iter_errors(&body).map(|error| error.to_string()).collect()
}

/// What a question sends whose reply is asked for in JSON, as a value.
pub(super) fn sent_in_json(model: &Model) -> (Value, HttpRequest) {
    let schema = json!({"type": "object", "properties": {"items": {"type": "array", "items": {"type": "string"}}},
        "required": ["items"], "additionalProperties": false});
    let form = Some(super::ReplyForm { name: "items", schema });
    let call = model.chat.call(&ChatRequest { form, ..request(Purpose::Judge) });
    let Request::Http(http) = call.request else { panic!("a model is called by HTTP") };
    (serde_json::from_slice(&http.body).unwrap(), http)
}
