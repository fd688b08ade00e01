//! Targets end to end: suite block → call → a real server or program → answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::domain::{Context, Digest, Env, FailureKind, Place, Side};
use crate::net::tests::raw_server::{self, RawServer, Step, fixture};
use crate::net::{Accept, Attempt, Call, Client, Receipt};
use crate::provider;
use crate::suite::RunSettings;

/// Sends each call once and blames as the engine does.
struct Once(Client);

impl Transport for Once {
    fn send<'a>(&'a self, call: &'a Call, accept: &'a Accept<'a>) -> BoxFuture<'a, Result<Receipt, Failure>> {
        Box::pin(async move {
            let result = self.0.attempt(call).await.and_then(|response| accept(&response).map(|_| response));
            result.map(|response| Receipt { attempts: 1, cached: false, latency: response.latency }).map_err(
                |rejection| {
                    let failure = Failure::target(rejection.kind, rejection.message);
                    Failure { attempts: 1, raw: rejection.raw, ..failure }
                },
            )
        })
    }
}

fn suite() -> Suite {
    let folder = std::env::temp_dir().canonicalize().unwrap();
    Suite {
        name: "test".to_owned(),
        path: folder.join("suite.yaml"),
        folder: folder.clone(),
        root: folder.clone(),
        source: Arc::new(crate::diagnostic::Source::new("suite.yaml", "")),
        digest: Digest::of(["suite"]),
        dataset: Vec::new(),
        targets: Vec::new(),
        models: vec![Block::from_value("judge", "openai", json!({}))],
        evaluators: Vec::new(),
        gate: None,
        reports: None,
        alerts: Vec::new(),
        run: RunSettings {
            budget: crate::suite::Budget::default(),
            workers: None,
            batch_size: 1,
            trials: 1,
            looks: vec![1],
            timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(2),
            deadline: None,
            retry_attempts: 1,
            retry_max_elapsed: Duration::from_secs(5),
            record: serde_json::Map::new(),
            ledger: folder.join("ledger.sqlite"),
            ledger_ttl: None,
            ledger_reuse: crate::suite::Reuse::On,
        },
        secrets: Vec::new(),
    }
}

fn case(input: &str) -> Case {
    let context = |text: &str| Context { text: text.to_owned(), ..Context::default() };
    Case {
        id: "q1".into(),
        index: 0,
        input: input.to_owned(),
        reference: Some("the solution".to_owned()),
        contexts: vec![context("first"), context("second")],
        expected_contexts: Vec::new(),
        tags: vec!["critical".into()],
        cluster: None,
        metadata: json!({"topic": "a/b c", "deep": {"er": 7}}).as_object().unwrap().clone(),
        recorded: None,
        place: Place { file: "cases.jsonl".into(), line: 1 },
        content: Digest::of([input]),
    }
}

fn built(kind: &str, value: Value, models: &BTreeMap<String, Model>) -> Result<Ready, Vec<String>> {
    let mut diagnostics = Diagnostics::default();
    let suite = suite();
    let context = BuildContext { suite: &suite, models, version: None };
    match build(&Block::from_value("app", kind, value), &context, &mut diagnostics) {
        Some(ready) => Ok(ready),
        None => Err(diagnostics.iter().map(|found| format!("{}: {}", found.code, found.message)).collect()),
    }
}

fn ready(kind: &str, value: Value) -> Ready {
    built(kind, value, &BTreeMap::new()).unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn problems(kind: &str, value: Value) -> Vec<String> {
    built(kind, value, &BTreeMap::new()).err().unwrap_or_default()
}

fn client() -> Once {
    Once(Client::new(&Env::from_pairs([("PATH", "/usr/local/bin:/usr/bin:/bin")])).unwrap())
}

async fn asked(kind: &str, value: Value, input: &str) -> Result<Answer, Failure> {
    ready(kind, value).target.ask(&case(input), 0, &client()).await
}

fn server(body: &str) -> RawServer {
    RawServer::with_answer(raw_server::json("200 OK", body))
}

#[tokio::test]
async fn an_http_target_fills_its_request_and_reads_its_answer() {
    let server = server(
        r#"{"answer": "A.", "sources": [{"text": "s1", "id": 1}, {"text": "s2", "id": "x"}], "usage": {"in": 5, "out": 2}}"#,
    );
    let settings = json!({
        "url": server.url("/t/{{ metadata.topic }}?q={{ input }}"),
        "headers": {"X-Case": "{{ id }}"},
        "body": {"question": "{{ input }}", "contexts": "{{ contexts }}", "n": 3, "deep": ["{{ metadata.deep.er }}", "as {{ metadata.deep.er }}"]},
        "answer": "$.answer", "contexts": "$.sources[*]", "usage": {"prompt_tokens": "$.usage.in", "completion_tokens": "$.usage.out"},
    });
    let answer = asked("http", settings, "is \"{{ id }}\" & 100%?").await.unwrap();
    assert_eq!(answer.text, "A.");
    assert_eq!(answer.contexts[1], Context { id: Some("x".to_owned()), text: "s2".to_owned(), score: None });
    assert_eq!((answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.attempts), (5, 2, 1));
    assert!(answer.latency.is_some());
    let request = server.requests().remove(0);
    assert!(
        request.starts_with("POST /t/a%2Fb%20c?q=is%20%22%7B%7B%20id%20%7D%7D%22%20%26%20100%25%3F HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(request.to_ascii_lowercase().contains("x-case: q1\r\n"));
    let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(
        body,
        json!({"question": "is \"{{ id }}\" & 100%?", "contexts": ["first", "second"], "n": 3, "deep": [7, "as 7"]})
    );
    assert!(!request.contains("the solution"));
}

#[tokio::test]
async fn a_case_cannot_choose_another_path() {
    let server = server("{}");
    for input in ["..", ".", "%2e%2e"] {
        let result = asked("http", json!({"url": server.url("/t/{{ input }}")}), input).await;
        assert_eq!(result.is_ok(), input.contains('%'), "{input}");
    }
    assert!(server.requests().iter().all(|request| request.starts_with("POST /t/%252e%252e ")));
}

#[tokio::test]
async fn context_ids_may_stand_beside_their_contexts() {
    let body = r#"{"answer": "A.", "texts": ["t1", "t2"], "ids": ["a", 2]}"#;
    let server = server(body);
    let settings =
        json!({"url": server.url("/"), "answer": "$.answer", "contexts": "$.texts", "context_ids": "$.ids[*]"});
    let answer = asked("http", settings.clone(), "q").await.unwrap();
    assert_eq!(answer.contexts[1].id.as_deref(), Some("2"));
    let mut fewer = settings;
    fewer["context_ids"] = json!("$.ids[0]");
    let failure = asked("http", fewer, "q").await.unwrap_err();
    assert!(failure.message.contains("2 contexts and 1 context ids"), "{}", failure.message);
}

#[tokio::test]
async fn an_answer_that_is_not_one_text_is_a_failure_of_the_target() {
    for (body, kind, words) in [
        (r#"{"other": 1}"#, FailureKind::Malformed, "finds nothing"),
        (r#"{"answer": null}"#, FailureKind::Empty, "is null"),
        (r#"{"answer": 5}"#, FailureKind::Malformed, "a number, not a text"),
        (r#"{"answer": ["a"]}"#, FailureKind::Malformed, "a list, not a text"),
        ("<html>Sign in</html>", FailureKind::Malformed, "did not answer with JSON"),
        ("", FailureKind::Malformed, "(nothing)"),
    ] {
        let server = server(body);
        let failure = asked("http", json!({"url": server.url("/q"), "answer": "$.answer"}), "q").await.unwrap_err();
        assert_eq!((failure.kind, failure.side), (kind, Side::Target), "{body}");
        assert!(failure.message.contains(words) && failure.message.contains("/q"), "{}", failure.message);
    }
    let server = server(r#"{"answer": ""}"#);
    assert_eq!(asked("http", json!({"url": server.url("/"), "answer": "$.answer"}), "q").await.unwrap().text, "");
}

#[tokio::test]
async fn a_sign_in_page_is_no_answer_even_where_any_text_would_be() {
    let server = RawServer::with_answer(fixture("http/200-sign-in.http"));
    let failure = asked("http", json!({"url": server.url("/")}), "q").await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Malformed);
    assert!(failure.message.contains("text/html") && failure.message.contains("Sign in"), "{}", failure.message);
}

#[tokio::test]
async fn statuses_that_count_as_answers_can_be_named() {
    let gone = RawServer::with_answer(raw_server::json("404 Not Found", r#"{"answer": "nothing found"}"#));
    let settings = |status: Value| json!({"url": gone.url("/"), "answer": "$.answer", "status": status});
    assert_eq!(asked("http", settings(json!(["2xx", 404])), "q").await.unwrap().text, "nothing found");
    let failure = asked("http", settings(json!([200])), "q").await.unwrap_err();
    assert_eq!((failure.kind, failure.side), (FailureKind::NotFound, Side::Target));
    let empty = server("{}");
    let failure = asked("http", json!({"url": empty.url("/"), "status": [201]}), "q").await.unwrap_err();
    assert!(failure.message.contains("which `status` does not list"), "{}", failure.message);
    assert_eq!(problems("http", json!({"url": "http://h/", "status": ["ok", 99]})).len(), 1);
}

#[tokio::test]
async fn an_address_that_may_not_be_called_is_not_the_target_s_fault() {
    let head = "HTTP/1.1 307 R\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n";
    let server = RawServer::start(move |_| vec![Step::Send(head.into())]);
    let failure = asked("http", json!({"url": server.url("/"), "redirects": "follow"}), "q").await.unwrap_err();
    assert_eq!((failure.kind, failure.side), (FailureKind::Forbidden, Side::Infra));
}

#[test]
fn http_settings_are_checked_before_the_first_call() {
    let list = String::from_utf8(fixture("http/metadata-addresses.txt")).unwrap();
    for line in list.lines().filter(|line| !line.is_empty()) {
        let found = problems("http", json!({"url": line}));
        assert!(found.len() == 1 && found[0].starts_with("address: "), "{line} {found:?}");
    }
    let found = problems(
        "http",
        json!({"url": "http://h/{{ reference }}", "method": "BREW", "headers": {"a b": "x"}, "body": {"q": "{{ inptu }}"},
            "answer": "$.[", "usage": {"prompt_tokens": "$$"}}),
    );
    let codes: Vec<&str> = found.iter().filter_map(|problem| problem.split(':').next()).collect();
    assert_eq!(codes, ["template", "method", "header", "template", "json-path", "json-path"], "{found:?}");
    for url in ["http://{{ input }}/", "http://h.{{ input }}:80/", "{{ input }}/x", "{{ input }}://h/", "h/{{ input }}"]
    {
        assert!(!problems("http", json!({"url": url})).is_empty(), "{url}");
    }
    assert!(problems("http", json!({"url": "http://h:80/{{ input }}"})).is_empty());
}

#[test]
fn a_header_from_the_environment_is_a_credential() {
    let mut block = Block::from_value(
        "app",
        "http",
        json!({"url": "http://h/", "headers": {"X-Tenant": "tenant-from-env", "X-Plain": "1"}}),
    );
    Arc::make_mut(&mut block.written).from_environment.insert("/headers/X-Tenant".to_owned());
    let mut diagnostics = Diagnostics::default();
    let written =
        BTreeMap::from([("X-Tenant".to_owned(), "tenant-from-env".to_owned()), ("X-Plain".to_owned(), "1".to_owned())]);
    let headers = provider::Headers::build(&block, "/headers", &written, &mut diagnostics).unwrap();
    assert_eq!(headers.plain, [("X-Plain".to_owned(), "1".to_owned())]);
    assert_eq!(headers.credentials[0].0, "X-Tenant");
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_target_gets_its_texts_as_they_are() {
    let echo = json!({"argv": ["printf", "%s|%s", "{{ input }}", "{{ metadata.topic }}"]});
    let answer = asked("command", echo, "; touch pwned $(x) `y` \"z\"").await.unwrap();
    assert_eq!(answer.text, "; touch pwned $(x) `y` \"z\"|a/b c");
    let line = asked("command", json!(["cat"]), "two\nlines").await.unwrap();
    assert_eq!(line.text, r#"{"id":"q1","input":"two\nlines","metadata":{"topic":"a/b c","deep":{"er":7}}}"#);
    let text = asked("command", json!({"argv": ["cat"], "stdin": "text"}), "as it is\n\n").await.unwrap();
    assert_eq!(text.text, "as it is\n");
    let nothing = asked("command", json!({"argv": ["cat"], "stdin": "none"}), "q").await.unwrap();
    assert_eq!(nothing.text, "");
    let script = "printf '{\"answer\": \"A.\", \"contexts\": [\"c\"]}'";
    let parts = json!({"argv": ["sh", "-c", script], "contexts": "$.contexts[*]"});
    let answer = asked("command", parts, "q").await.unwrap();
    assert_eq!((answer.text.as_str(), answer.contexts[0].text.as_str()), ("A.", "c"));
}

#[cfg(unix)]
#[tokio::test]
async fn cmd_arguments() {
    for line in String::from_utf8(fixture("commands/arguments.jsonl")).unwrap().lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let input = row["input"].as_str().unwrap();
        let result = asked("command", json!({"argv": ["printf", "%s", "{{ input }}"]}), input).await;
        if input.contains('\0') {
            assert!(result.unwrap_err().message.contains("NUL"));
        } else {
            assert_eq!(result.unwrap().text, input);
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_s_failure_is_the_target_s() {
    let failure = asked("command", json!(["sh", "-c", "echo broken >&2; exit 4"]), "q").await.unwrap_err();
    assert_eq!((failure.kind, failure.side), (FailureKind::Command, Side::Target));
    assert!(failure.message.contains("exit code 4: broken"), "{}", failure.message);
    let slow = json!({"argv": ["sleep", "30"], "timeout": "200ms"});
    assert_eq!(asked("command", slow, "q").await.unwrap_err().kind, FailureKind::Timeout);
    let bytes = asked("command", json!(["printf", "\\377"]), "q").await.unwrap_err();
    assert_eq!(bytes.kind, FailureKind::Malformed);
}

#[test]
fn command_settings_are_checked_before_the_first_call() {
    let code = |value: Value| {
        problems("command", value).first().and_then(|problem| problem.split(':').next().map(str::to_owned))
    };
    assert_eq!(code(json!({"argv": ["{{ input }}"]})).as_deref(), Some("program"));
    assert_eq!(code(json!({"argv": ["x", "{{ reference }}"]})).as_deref(), Some("template"));
    assert_eq!(code(json!({"argv": ["x"], "stdout": "text", "answer": "$.a"})).as_deref(), Some("conflict"));
    assert_eq!(code(json!({"argv": ["x"], "env": {"A=B": "1"}})).as_deref(), Some("variable"));
    assert!(code(json!({"argv": []})).is_some() && code(json!([])).is_some());
}

fn models(base: &str) -> BTreeMap<String, Model> {
    let block = Block::from_value("judge", "openai", json!({"model": "m", "base_url": base}));
    provider::build(&[block], &Env::default(), &mut Diagnostics::default()).by_name
}

async fn chatted(body: &[u8], settings: Value) -> (Result<Answer, Failure>, String) {
    let server = RawServer::with_answer(raw_server::json("200 OK", std::str::from_utf8(body).unwrap()));
    let ready = built("chat", settings, &models(&server.url("/v1"))).unwrap_or_else(|problems| panic!("{problems:?}"));
    let answer = ready.target.ask(&case("why?"), 0, &client()).await;
    (answer, server.requests().remove(0))
}

#[tokio::test]
async fn half_of_the_tokens_is_not_what_an_answer_took() {
    let server = server(r#"{"answer": "A.", "usage": {"in": 5, "out": 0}}"#);
    let counted = async |usage: Value| {
        let answer =
            asked("http", json!({"url": server.url("/"), "answer": "$.answer", "usage": usage}), "?").await.unwrap();
        (answer.usage.prompt_tokens, answer.half_counted)
    };
    let both = json!({"prompt_tokens": "$.usage.in", "completion_tokens": "$.usage.out"});
    assert_eq!(counted(both).await, (5, false), "none written is a number");
    let misspelt = json!({"prompt_tokens": "$.usage.in", "completion_tokens": "$.usage.oot"});
    assert_eq!(counted(misspelt).await, (5, true));
    assert_eq!(counted(json!({"prompt_tokens": "$.usage.in"})).await, (5, true));
    for (usage, half) in
        [(r#"{"prompt_tokens": 9}"#, true), (r#"{"prompt_tokens": 9, "completion_tokens": 1}"#, false), ("{}", false)]
    {
        let body = format!(
            r#"{{"choices": [{{"message": {{"content": "Because."}}, "finish_reason": "stop"}}], "usage": {usage}}}"#
        );
        let (answer, _) = chatted(body.as_bytes(), json!({"model": "judge", "prompt": "{{ input }}"})).await;
        assert_eq!(answer.unwrap().half_counted, half, "{usage}");
    }
}

#[tokio::test]
async fn a_chat_target_asks_a_model_with_its_prompt() {
    let body = br#"{"choices": [{"message": {"content": "Because."}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}"#;
    let settings = json!({"model": "judge", "system": "Short.", "prompt": "{{ contexts }}\n---\n{{ input }}"});
    let (answer, request) = chatted(body, settings).await;
    let answer = answer.unwrap();
    assert_eq!((answer.text.as_str(), answer.usage.prompt_tokens, answer.contexts.len()), ("Because.", 9, 2));
    let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(
        body["messages"],
        json!([{"role": "system", "content": "Short."}, {"role": "user", "content": "first\n\nsecond\n---\nwhy?"}])
    );
}

#[tokio::test]
async fn jr_null_content_of_a_target_is_a_failure_and_no_empty_answer() {
    for name in ["judge-replies/jr-null-content.json", "judge-replies/jr-tool-call.json"] {
        let (answer, _) = chatted(&fixture(name), json!({"model": "judge"})).await;
        let failure = answer.unwrap_err();
        assert_eq!(failure.side, Side::Target);
        assert!(matches!(failure.kind, FailureKind::Empty | FailureKind::Malformed));
    }
}

#[test]
fn a_chat_target_names_a_model_of_the_suite() {
    assert_eq!(
        problems("chat", json!({"model": "jugde"})),
        ["unknown-model: there is no model `jugde` under `models`"]
    );
    // The model is there and has a problem of its own.
    assert!(problems("chat", json!({"model": "judge"})).is_empty());
}

#[test]
fn another_digest_is_another_system_and_a_key_is_no_part_of_it() {
    let made_of = |url: &str, key: &str, version: Option<&str>| {
        let mut block = Block::from_value("app", "http", json!({"url": url, "headers": {"X-Key": key}}));
        Arc::make_mut(&mut block.written).from_environment.insert("/headers/X-Key".to_owned());
        let context = BuildContext { suite: &suite(), models: &BTreeMap::new(), version };
        build(&block, &context, &mut Diagnostics::default()).unwrap().made_of
    };
    let one = made_of("http://h/a", "the-old-key", Some("1"));
    assert_eq!(one, made_of("http://h/a", "the-new-key", Some("1")));
    assert_ne!(one, made_of("http://h/b", "the-old-key", Some("1")));
    assert_ne!(one, made_of("http://h/a", "the-old-key", Some("2")));
}
