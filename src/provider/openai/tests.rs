use super::*;
use crate::domain::{FailureKind, RetryClass, Usage, Usd};
use crate::net::Purpose;
use crate::provider::support::{self, sent};
use crate::provider::{Model, Models};

const KEY: (&str, &str) = ("OPENAI_API_KEY", "sk-test-key-of-env");

fn models(settings: Value, env: &[(&str, &str)]) -> (Models, Vec<String>) {
    support::models("openai", settings, env)
}

fn model(settings: Value) -> Model {
    support::model("openai", settings, KEY)
}

fn answered(body: &[u8]) -> Result<ChatReply, Rejection> {
    support::read("openai", KEY, Vec::new(), body)
}

fn replied(message: Value, finish_reason: Value) -> Result<ChatReply, Rejection> {
    let body = json!({"model": "m-1", "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 1_000_000, "completion_tokens": 500_000, "total_tokens": 1_500_000}});
    answered(body.to_string().as_bytes())
}

fn rejected(result: Result<ChatReply, Rejection>) -> (FailureKind, RetryClass, bool) {
    let rejection = result.unwrap_err();
    (rejection.kind, rejection.class, rejection.raw.is_some_and(|raw| !raw.is_empty()))
}

#[test]
fn requests_keep_openai_s_contract() {
    let contract = support::openai_contract("createChatCompletion");
    let full = json!({"model": "gpt-4.1", "temperature": 0, "top_p": 0.5, "seed": 7, "max_tokens": 300,
        "extra": {"reasoning_effort": "low", "response_format": {"type": "json_object"}}});
    for value in [json!({"model": "gpt-4.1"}), full.clone()] {
        let (http, _) = sent(&model(value));
        assert_eq!(support::breaches(&contract, &http), Vec::<String>::new());
    }
    let (http, call) = sent(&model(full));
    assert_eq!(http.url, "https://api.openai.com/v1/chat/completions");
    assert_eq!(
        std::str::from_utf8(&http.body).unwrap(),
        "{\"model\":\"gpt-4.1\",\"messages\":[{\"role\":\"system\",\"content\":\"Be strict.\"},{\"role\":\"user\",\
         \"content\":\"Is \\\"it\\\" so?\"},{\"role\":\"assistant\",\"content\":\"…\"},{\"role\":\"user\",\"content\":\"Again.\"}],\"temperature\":0.0,\"top_p\":0.5,\
         \"seed\":7,\"max_completion_tokens\":300,\"reasoning_effort\":\"low\",\"response_format\":{\"type\":\"json_object\"}}"
    );
    assert_eq!(&*call.endpoint, "gpt-4.1 at https://api.openai.com (openai)");
    assert_eq!((call.trial, call.purpose, call.dialect), (1, Purpose::Judge, Dialect::OpenAi));
}

/// Everything that changes an answer is in the request, the key is not.
#[test]
fn ca_key() {
    let base = json!({"model": "m", "base_url": "http://127.0.0.1:1/v1", "api_key": "sk-one-secret"});
    let with = |key: &str, value: Value| {
        let mut changed = base.clone();
        changed[key] = value;
        sent(&model(changed)).0
    };
    let plain = sent(&model(base.clone())).0;
    let same = with("api_key", json!("sk-another-secret"));
    assert_eq!((&plain.url, &plain.headers, &plain.body), (&same.url, &same.headers, &same.body));
    assert_ne!(plain.credentials[0].1, same.credentials[0].1);
    for (key, value) in [
        ("temperature", json!(0.1)),
        ("seed", json!(1)),
        ("max_tokens", json!(9)),
        ("top_p", json!(0.9)),
        ("model", json!("other")),
        ("base_url", json!("http://127.0.0.1:2/v1")),
        ("headers", json!({"x-plain": "1"})),
        ("extra", json!({"stop": ["\n"]})),
        ("extra", json!({"response_format": {"type": "json_object"}})),
        ("extra", json!({"tool_choice": "none"})),
    ] {
        let changed = with(key, value);
        assert_ne!((&plain.url, &plain.headers, &plain.body), (&changed.url, &changed.headers, &changed.body), "{key}");
    }
}

#[test]
fn the_key_of_the_environment_goes_to_openai_only() {
    let credentials = |value: Value| sent(&model(value)).0.credentials;
    assert_eq!(credentials(json!({"model": "m"}))[0].1.expose(), "Bearer sk-test-key-of-env");
    assert!(credentials(json!({"model": "m", "base_url": "http://localhost:11434/v1"})).is_empty());
    let own = credentials(json!({"model": "m", "base_url": "http://localhost:1/v1", "api_key": "sk-of-this-service"}));
    assert_eq!(own[0].1.expose(), "Bearer sk-of-this-service");
    let (models, _) = models(json!({"model": "m"}), &[("OPENAI_API_KEY", "sk-test-key-of-env")]);
    assert_eq!(models.secrets[0].expose(), "sk-test-key-of-env");
}

#[test]
fn a_judge_without_credentials_is_a_mistake_in_the_suite() {
    let (models, problems) = models(json!({"model": "m"}), &[]);
    assert!(models.by_name.is_empty());
    assert_eq!(
        problems,
        ["credentials: model `judge` has no key: the environment variable `OPENAI_API_KEY` is not set"]
    );
}

#[test]
fn settings_are_checked_with_all_problems_at_once() {
    let bad = json!({"model": "m", "base_url": "http://169.254.169.254/v1", "extra": {"stream": true, "top_k": 1},
        "headers": {"bad name": "x", "x-line": "a\nb"}});
    let (_, problems) = models(bad, &[]);
    let codes: Vec<&str> = problems.iter().filter_map(|problem| problem.split(':').next()).collect();
    assert_eq!(codes, ["address", "header", "header", "reserved"], "{problems:?}");
    let (_, problems) = models(json!({"model": "m", "temprature": 0, "price": {"input": -1, "output": 0}}), &[]);
    assert_eq!(problems.len(), 2, "{problems:?}");
    let mut diagnostics = Diagnostics::default();
    crate::provider::build(&[Block::from_value("judge", "opnai", json!({}))], &Env::default(), &mut diagnostics);
    assert!(diagnostics.iter().any(|diagnostic| diagnostic.code == "unknown-kind"));
}

#[test]
fn a_base_address_is_completed_once() {
    for (base, url) in [
        ("http://h:1/v1", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1/", "http://h:1/v1/chat/completions"),
        ("http://h:1", "http://h:1/chat/completions"),
        ("http://h:1/v1/chat/completions", "http://h:1/v1/chat/completions"),
        ("http://h:1/o?api-version=1", "http://h:1/o/chat/completions?api-version=1"),
    ] {
        assert_eq!(sent(&model(json!({"model": "m", "base_url": base}))).0.url, url);
    }
    let (http, _) = sent(&model(json!({"model": "m", "base_url": "http://h:1", "max_tokens": 5})));
    assert!(http.body.ends_with(b"\"max_tokens\":5}"));
}

#[test]
fn a_complete_reply_has_text_usage_and_cost() {
    let reply = replied(json!({"role": "assistant", "content": "YES"}), json!("stop")).unwrap();
    assert_eq!((reply.text.as_str(), reply.model.as_deref()), ("YES", Some("m-1")));
    assert_eq!(reply.usage, Usage { prompt_tokens: 1_000_000, completion_tokens: 500_000 });
    assert_eq!(reply.cost, Some(Usd(6.0)));
    let parts = json!({"content": [{"type": "text", "text": "YE"}, {"type": "text", "text": "S"}]});
    assert_eq!(replied(parts, Value::Null).unwrap().text, "YES");
    assert_eq!(replied(json!({"content": ""}), json!("stop")).unwrap().text, "");
    let blank = b"\n\n\r\n {\"choices\":[{\"message\":{\"content\":\"late\"}}]}";
    let late = answered(blank).unwrap();
    assert_eq!((late.text.as_str(), late.cost), ("late", None));
}

#[test]
fn replies_that_are_none_are_rejected_by_name() {
    use FailureKind as K;
    for (message, reason, kind) in [
        (json!({"content": "Half a sent"}), "length", K::Truncated),
        (json!({"content": ""}), "content_filter", K::Filtered),
        (json!({"content": null, "refusal": "I cannot help with that."}), "stop", K::Declined),
        (json!({"content": null}), "stop", K::Empty),
        (json!({"content": " ", "reasoning_content": "42"}), "stop", K::Empty),
        (json!({"content": null, "tool_calls": [{}]}), "stop", K::Malformed),
        (json!({"content": "x"}), "tool_calls", K::Malformed),
        (json!({"content": 5}), "stop", K::Malformed),
        (json!({"content": "x"}), "aborted", K::Malformed),
    ] {
        let found = rejected(replied(message.clone(), json!(reason)));
        assert_eq!(found, (kind, RetryClass::Unusable, true), "{message} {reason}");
    }
    assert_eq!(rejected(answered(b"{\"choices\": []}")), (K::Malformed, RetryClass::Unusable, true));
    assert_eq!(rejected(answered(b"<html><title>Sign in</title>")), (K::Malformed, RetryClass::Case, false));
    for early in [b"".as_slice(), b"\n \n", b"{\"choices\": [{\"message\": {\"content\": \"The"] {
        assert_eq!(rejected(answered(early)), (K::Truncated, RetryClass::Retry, false));
    }
}

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/fixtures/cases/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn jr_null_content() {
    let rejection = answered(&fixture("judge-replies/jr-null-content.json")).unwrap_err();
    assert_eq!(rejection.kind, FailureKind::Empty);
    assert!(rejection.message.contains("no answer text (reasoning only)"), "{}", rejection.message);
    let rejection = answered(&fixture("judge-replies/jr-tool-call.json")).unwrap_err();
    assert!(rejection.message.contains("tool call"), "{}", rejection.message);
}

#[test]
fn jr_content_filter() {
    let found = rejected(answered(&fixture("judge-replies/jr-content-filter.json")));
    assert_eq!(found, (FailureKind::Filtered, RetryClass::Unusable, true));
}

#[test]
fn http_200_error_body() {
    let answer = fixture("http/200-error-body.http");
    let body = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    let found = rejected(answered(&answer[body..]));
    assert_eq!(found, (FailureKind::RateLimited, RetryClass::Retry, false));
}

#[test]
fn the_fingerprint_tells_models_apart_and_ignores_the_key() {
    let of = |value: Value| model(value).fingerprint;
    let base = json!({"model": "m", "base_url": "http://h/v1", "api_key": "sk-one-secret"});
    let mut other_key = base.clone();
    other_key["api_key"] = json!("sk-another-secret");
    assert_eq!(of(base.clone()), of(other_key));
    let mut warmer = base.clone();
    warmer["temperature"] = json!(1.0);
    let changed = of(base).differences(&of(warmer));
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0].0, "parameters");
}

#[test]
fn a_reply_that_cannot_be_used_is_paid_for() {
    let rejection = replied(json!({"content": "Half a sent"}), json!("length")).unwrap_err();
    assert_eq!(rejection.spent.usage, Usage { prompt_tokens: 1_000_000, completion_tokens: 500_000 });
    assert_eq!(rejection.spent.cost, Some(Usd(6.0)));
}

/// By a schema at OpenAI itself, by words alone elsewhere, and as the suite says.
#[test]
fn replies_in_json_are_held_to_their_form() {
    let contract = support::openai_contract("createChatCompletion");
    let format = |settings: Value| {
        let (body, http) = support::sent_in_json(&model(settings));
        assert_eq!(support::breaches(&contract, &http), Vec::<String>::new());
        body["response_format"].clone()
    };
    let by_schema = format(json!({"model": "m"}));
    assert_eq!((&by_schema["type"], &by_schema["json_schema"]["strict"]), (&json!("json_schema"), &json!(true)));
    assert_eq!(by_schema["json_schema"]["schema"]["required"], json!(["items"]));
    let elsewhere = |word: &str| format(json!({"model": "m", "base_url": "http://h:1/v1", "structured": word}));
    assert_eq!(format(json!({"model": "m", "base_url": "http://h:1/v1"})), Value::Null);
    assert_eq!(elsewhere("json_schema"), by_schema);
    assert_eq!(elsewhere("json_object"), json!({"type": "json_object"}));
    assert_eq!(format(json!({"model": "m", "structured": "off"})), Value::Null);
    let own = json!({"model": "m", "extra": {"response_format": {"type": "text"}}});
    assert_eq!(format(own), json!({"type": "text"}));
    // A verdict in one line is asked for as it is, and the form is part of what a score was measured with.
    assert!(!String::from_utf8_lossy(&sent(&model(json!({"model": "m"}))).0.body).contains("response_format"));
    let off = model(json!({"model": "m", "structured": "off"})).fingerprint;
    assert_eq!(model(json!({"model": "m"})).fingerprint.differences(&off)[0].0, "parameters");
}

/// What an Ollama with a context of 4,096 tokens answers to a prompt of more than twice as many.
#[test]
fn a_prompt_that_was_cut_in_silence_is_no_answer() {
    let text = "The refund window is thirty days long. ".repeat(1_100);
    let answer = |settings: Value, counted: u64| {
        let model = model(settings);
        let question = ChatRequest {
            messages: vec![crate::provider::Message { role: Role::User, text: text.clone() }],
            ..support::request(Purpose::Judge)
        };
        let call = model.chat.call(&question);
        let body = json!({"choices": [{"message": {"content": "YES"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": counted, "completion_tokens": 1}});
        let body = body.to_string().into_bytes().into();
        model.chat.read(&call, &Response { status: 200, headers: Vec::new(), body, latency: std::time::Duration::ZERO })
    };
    let ollama = json!({"model": "m", "base_url": "http://h:1/v1"});
    let rejection = answer(ollama.clone(), 4_096).unwrap_err();
    assert_eq!((rejection.kind, rejection.class), (FailureKind::TooLong, RetryClass::Unusable));
    assert!(
        rejection.message.contains("counted 4096 tokens") && rejection.message.contains("num_ctx"),
        "{}",
        rejection.message
    );
    assert_eq!((rejection.raw.as_deref(), rejection.spent.usage.prompt_tokens), (Some("YES"), 4_096));
    // Enough; not counted; counted otherwise.
    for counted in [9_902, 0, 10] {
        assert!(answer(ollama.clone(), counted).is_ok(), "{counted}");
    }
    let mut unchecked = ollama;
    unchecked["check_prompt"] = json!(false);
    assert!(answer(unchecked, 4_096).is_ok() && answer(json!({"model": "m"}), 4_096).is_ok());
}
