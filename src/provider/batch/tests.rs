//! The forms of both interfaces against answers that no good provider gives; the good ones are in the integration tests.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Access, AnthropicBatches, OpenAiBatches};
use crate::domain::{FailureKind, RetryClass};
use crate::net::{
    Attempt, BatchApi, BatchItem, BatchStatus, BoxFuture, Call, Dialect, ItemResult, NotSubmitted, Patience, Rejection,
    Request, Response, Sought, Url,
};
use crate::provider::Headers;

/// Answers by the end of the address.
struct Outside {
    answers: HashMap<&'static str, String>,
    seen: Mutex<Vec<String>>,
    bodies: Mutex<Vec<String>>,
}

impl Outside {
    fn new(answers: &[(&'static str, Value)]) -> Self {
        Self::of_texts(&answers.iter().map(|(end, value)| (*end, value.to_string())).collect::<Vec<_>>())
    }

    fn of_texts(answers: &[(&'static str, String)]) -> Self {
        Self { answers: answers.iter().cloned().collect(), seen: Mutex::default(), bodies: Mutex::default() }
    }
}

impl Attempt for Outside {
    fn attempt<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Response, Rejection>> {
        let Request::Http(request) = &call.request else { panic!("only HTTP") };
        self.seen.lock().unwrap().push(format!("{} {}", request.method, request.url));
        self.bodies.lock().unwrap().push(String::from_utf8_lossy(&request.body).into_owned());
        let body = self.answers.iter().find(|(end, _)| request.url.ends_with(**end)).map(|(_, body)| body.clone());
        let body = Bytes::from(body.unwrap_or_else(|| panic!("no answer for {}", request.url)));
        let response = Response { status: 200, headers: Vec::new(), body, latency: Duration::ZERO };
        Box::pin(std::future::ready(Ok(response)))
    }
}

const PATIENCE: Patience =
    Patience { max_wait: Duration::from_secs(1), poll: Duration::from_secs(1), appears: Duration::from_secs(1) };

fn access(dialect: Dialect) -> Access {
    Access { headers: Headers::default(), endpoint: "judge".into(), dialect }
}

fn openai() -> OpenAiBatches {
    let url = Url::parse("http://h.test/v1/chat/completions?x=1").unwrap();
    OpenAiBatches::new(&url, "/chat/completions", access(Dialect::OpenAi), PATIENCE)
}

fn anthropic() -> AnthropicBatches {
    let url = Url::parse("http://h.test/v1/messages").unwrap();
    AnthropicBatches::new(&url, access(Dialect::Anthropic), PATIENCE)
}

#[tokio::test]
async fn an_id_that_leads_elsewhere_is_refused() {
    let item = [BatchItem { id: "a".to_owned(), body: Bytes::from_static(b"{}") }];
    for id in [json!("../../other"), json!("a?b"), json!(""), json!(7), Value::Null] {
        let outside = Outside::new(&[("/files?x=1", json!({"id": id}))]);
        let NotSubmitted::Refused(rejection) = openai().submit(&outside, "tag", &item).await.unwrap_err() else {
            panic!("without its file there is no batch");
        };
        assert_eq!((rejection.kind, rejection.class), (FailureKind::Malformed, RetryClass::Endpoint), "{id}");
        let outside = Outside::new(&[("/messages/batches", json!({"id": id}))]);
        let unknown = anthropic().submit(&outside, "tag", &item).await.unwrap_err();
        assert!(matches!(unknown, NotSubmitted::Unknown(rejection) if rejection.kind == FailureKind::Malformed));
        assert_eq!(*outside.seen.lock().unwrap(), ["POST http://h.test/v1/messages/batches"]);
    }
}

/// Responses have a batch endpoint of their own, beside the same files.
#[tokio::test]
async fn batches_go_to_the_endpoint_of_their_requests() {
    let item = [BatchItem { id: "a".to_owned(), body: Bytes::from_static(b"{\"input\":1}") }];
    let answers = [("/v1/files", json!({"id": "f1"})), ("/v1/batches", json!({"id": "b1"}))];
    for path in ["/chat/completions", "/responses"] {
        let outside = Outside::new(&answers);
        let url = Url::parse(&format!("http://h.test/v1{path}")).unwrap();
        let batches = OpenAiBatches::new(&url, path, access(Dialect::OpenAi), PATIENCE);
        assert_eq!(batches.submit(&outside, "tag", &item).await.unwrap(), "b1");
        assert_eq!(*outside.seen.lock().unwrap(), ["POST http://h.test/v1/files", "POST http://h.test/v1/batches"]);
        let bodies = outside.bodies.lock().unwrap();
        assert!(bodies[0].contains(&format!("\"url\":\"/v1{path}\",\"body\":{{\"input\":1}}")), "{}", bodies[0]);
        let batch: Value = serde_json::from_str(&bodies[1]).unwrap();
        assert_eq!(batch["endpoint"], format!("/v1{path}"));
    }
}

#[tokio::test]
async fn every_page_of_the_list_is_looked_through() {
    let sought = Sought { tag: "mine".to_owned(), since: 1000, requests: 2 };
    let page = |id: &str, tag: &str, more: bool| json!({"data": [{"id": id, "created_at": 2000, "metadata": {"scoregate": tag}}], "has_more": more});
    let pages = [("limit=100", page("b1", "other", true)), ("after=b1", page("b2", "mine", true))];
    assert_eq!(openai().find(&Outside::new(&pages), &sought).await.unwrap(), ["b2"]);
    let pages = [("limit=100", page("b1", "other", true)), ("after=b1", page("b2", "another", false))];
    assert!(openai().find(&Outside::new(&pages), &sought).await.unwrap().is_empty());
    // Older than the submission by more than clocks differ: it is on no later page.
    let old = json!({"data": [{"id": "b1", "created_at": 1000 - 3601, "metadata": null}], "has_more": true});
    assert!(openai().find(&Outside::new(&[("limit=100", old)]), &sought).await.unwrap().is_empty());
}

/// A page of a proxy, an answer without its list: nobody knows what would be in it.
#[tokio::test]
async fn an_answer_without_a_list_is_no_empty_list() {
    let sought = Sought { tag: "mine".to_owned(), since: 1000, requests: 2 };
    for body in ["{}", "{\"data\": null}", "<html>"] {
        let outside = Outside::of_texts(&[("limit=100", body.to_owned())]);
        assert_eq!(openai().find(&outside, &sought).await.unwrap_err().kind, FailureKind::Malformed, "{body}");
        assert_eq!(anthropic().find(&outside, &sought).await.unwrap_err().kind, FailureKind::Malformed, "{body}");
    }
}

/// Only a plain no says that there is no batch.
#[tokio::test]
async fn an_unreadable_answer_to_a_submission_may_be_a_batch() {
    let item = [BatchItem { id: "a".to_owned(), body: Bytes::from_static(b"{}") }];
    for body in ["<html>", "{\"id\"", "{}", ""] {
        let outside = Outside::of_texts(&[
            ("/files?x=1", "{\"id\": \"f1\"}".to_owned()),
            ("/batches?x=1", body.to_owned()),
            ("/messages/batches", body.to_owned()),
        ]);
        for end in [openai().submit(&outside, "tag", &item).await, anthropic().submit(&outside, "tag", &item).await] {
            assert!(matches!(end, Err(NotSubmitted::Unknown(_))), "{body}: {end:?}");
        }
    }
    for (kind, class, unknown) in [
        (FailureKind::Auth, RetryClass::Endpoint, false),
        (FailureKind::BadRequest, RetryClass::Case, false),
        (FailureKind::RateLimited, RetryClass::Retry, false),
        (FailureKind::Server, RetryClass::Retry, true),
        (FailureKind::Connection, RetryClass::Retry, true),
        // A body beyond the size limit.
        (FailureKind::Malformed, RetryClass::Case, true),
    ] {
        let end = NotSubmitted::of(Rejection::new(kind, class, "why"));
        assert_eq!(matches!(end, NotSubmitted::Unknown(_)), unknown, "{kind:?}");
    }
}

#[tokio::test]
async fn of_batches_without_words_of_ours_time_and_size_decide() {
    let batch = |id: &str, created: &str, count: u64| {
        json!({"id": id, "created_at": created,
            "request_counts": {"processing": count, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}})
    };
    let list = json!({"has_more": false, "data": [
        batch("later", "2026-11-30T10:05:00Z", 2), batch("right", "2026-11-30T10:00:01Z", 2),
        batch("large", "2026-11-30T10:00:01Z", 3), batch("early", "2026-11-30T09:00:00Z", 2), batch("broken", "today", 2)]});
    let since = "2026-11-30T10:00:00Z".parse::<jiff::Timestamp>().unwrap().as_second();
    let sought = Sought { tag: "mine".to_owned(), since, requests: 2 };
    let outside = Outside::new(&[("limit=100", list)]);
    assert_eq!(anthropic().find(&outside, &sought).await.unwrap(), ["right", "later"]);
}

#[tokio::test]
async fn a_refused_batch_says_why_and_not_too_much() {
    let error = |line: u64| json!({"code": "c", "message": format!("bad {line}"), "line": line});
    let status = json!({"status": "failed", "errors": {"data": (1..=5).map(error).collect::<Vec<_>>()}});
    let outside = Outside::new(&[("/batches/b1?x=1", status)]);
    assert_eq!(
        openai().status(&outside, "b1").await.unwrap(),
        BatchStatus::Refused("line 1: bad 1; line 2: bad 2; line 3: bad 3; and 2 more problems".to_owned())
    );
    let outside = Outside::new(&[("/batches/b1?x=1", json!({"status": "failed"}))]);
    assert_eq!(openai().status(&outside, "b1").await.unwrap(), BatchStatus::Refused("no reason was given".to_owned()));
}

#[tokio::test]
async fn a_status_of_the_future_is_waited_for() {
    let outside =
        Outside::new(&[("/b1?x=1", json!({"status": "resting", "request_counts": {"completed": 3, "failed": 1}}))]);
    assert_eq!(openai().status(&outside, "b1").await.unwrap(), BatchStatus::Running { done: 4 });
    let outside = Outside::new(&[(
        "/b1",
        json!({"processing_status": "resting", "request_counts": {"processing": 1, "succeeded": 3}}),
    )]);
    assert_eq!(anthropic().status(&outside, "b1").await.unwrap(), BatchStatus::Running { done: 3 });
    let outside = Outside::new(&[("/b1", json!({"id": "b1"}))]);
    assert_eq!(anthropic().status(&outside, "b1").await.unwrap_err().kind, FailureKind::Malformed);
}

/// What is missing in results is asked again at the full price; a page of a proxy is no results.
#[tokio::test]
async fn results_without_a_readable_line_are_no_results() {
    for text in ["<html>\n<body>", "", "\n"] {
        let outside = Outside::of_texts(&[
            ("/files/f/content?x=1", text.to_owned()),
            ("/messages/batches/b1/results", text.to_owned()),
        ]);
        let files = ["f".to_owned()];
        for end in [openai().results(&outside, "b1", &files).await, anthropic().results(&outside, "b1", &[]).await] {
            let rejection = end.unwrap_err();
            assert_eq!((rejection.kind, rejection.class), (FailureKind::Malformed, RetryClass::Retry), "{text}");
        }
        assert!(openai().results(&outside, "b1", &[]).await.unwrap().is_empty(), "nothing was done, nothing is there");
    }
}

/// Two answers to one request, in one file or two: neither is believed, and the request is asked directly.
#[tokio::test]
async fn who_is_answered_twice_and_differently_is_not_answered() {
    let line = |id: &str, x: f64| {
        json!({"custom_id": id, "response": {"status_code": 200, "body": {"x": x}}, "error": null}).to_string()
    };
    let outside = Outside::of_texts(&[
        ("/files/f/content?x=1", [line("a", 1.0), line("b", 1.0), line("b", 1.0), line("c", 1.0)].join("\n")),
        ("/files/g/content?x=1", line("c", 2.0)),
    ]);
    let results = openai().results(&outside, "b1", &["f".to_owned(), "g".to_owned()]).await.unwrap();
    assert_eq!(results["c"], ItemResult::Skipped("answered twice".to_owned()));
    assert!(matches!((&results["a"], &results["b"]), (ItemResult::Answer(_), ItemResult::Answer(_))), "{results:?}");
    let line = |x: u64| json!({"custom_id": "a", "result": {"type": "succeeded", "message": {"x": x}}}).to_string();
    let outside = Outside::of_texts(&[("/messages/batches/b1/results", [line(1), line(2)].join("\n"))]);
    let results = anthropic().results(&outside, "b1", &[]).await.unwrap();
    assert_eq!(results["a"], ItemResult::Skipped("answered twice".to_owned()));
}

#[tokio::test]
async fn a_damaged_line_costs_its_own_request_only() {
    let good = json!({"custom_id": "a", "response": {"status_code": 200, "body": {"x": 1.10}}, "error": null});
    let text = format!("{good}\r\n\n{{\"custom_id\": \"b\", \"respo\n{}\n", json!({"custom_id": "c"}));
    let outside = Outside::of_texts(&[("/files/f/content?x=1", text)]);
    let results = openai().results(&outside, "b1", &["f".to_owned()]).await.unwrap();
    assert_eq!(results.len(), 2);
    let Some(ItemResult::Answer(response)) = results.get("a") else { panic!("{results:?}") };
    assert_eq!((response.batch(), &*response.body), (Some("b1"), b"{\"x\":1.1}".as_slice()));
    assert_eq!(results.get("c"), Some(&ItemResult::Skipped("without an answer".to_owned())));
}
