//! Answers that are cut, damaged, late, or errors.

use super::*;
use crate::domain::{FailureKind, RetryClass};
use std::time::Instant;

async fn rejected(name: &str) -> Rejection {
    let server = RawServer::with_answer(fixture(name));
    attempt(&post(&server.url("/v1/chat?key=keep-out"))).await.unwrap_err()
}

#[tokio::test]
async fn http_truncated_chunked() {
    let rejection = rejected("http/truncated-chunked.http").await;
    assert_eq!((rejection.kind, rejection.class), (FailureKind::Truncated, RetryClass::Retry));
    assert!(
        rejection.message.contains("/v1/chat ended early") && !rejection.message.contains("keep-out"),
        "{}",
        rejection.message
    );
}

#[tokio::test]
async fn http_short_content_length() {
    let rejection = rejected("http/short-content-length.http").await;
    assert_eq!((rejection.kind, rejection.class), (FailureKind::Truncated, RetryClass::Retry));
}

#[tokio::test]
async fn http_truncated_gzip() {
    for name in ["http/truncated-gzip.http", "http/bad-checksum-gzip.http"] {
        let rejection = rejected(name).await;
        assert_eq!((rejection.kind, rejection.class), (FailureKind::Truncated, RetryClass::Retry), "{name}");
    }
}

#[tokio::test]
async fn a_whole_gzip_body_is_decoded() {
    let mut answer = fixture("http/bad-checksum-gzip.http");
    let end = answer.len();
    // The eight bytes at the end are checksum and length; the fixture's checksum differs in one byte.
    let found = (end - 8..end - 4).flat_map(|at| (0..=255_u8).map(move |byte| (at, byte))).find_map(|(at, byte)| {
        let mut mended = answer.clone();
        mended[at] = byte;
        let body = mended.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
        let mut text = String::new();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&mended[body..]), &mut text).ok()?;
        Some((at, byte, text))
    });
    let (at, byte, text) = found.unwrap();
    answer[at] = byte;
    let server = RawServer::with_answer(answer);
    let response = attempt(&post(&server.url("/"))).await.unwrap();
    assert_eq!(response.body, text.as_bytes());
}

#[tokio::test]
async fn http_stalled_body() {
    for ending in [Step::Stall, Step::Drip(b' ', Duration::from_millis(50))] {
        let server = RawServer::start(move |_| vec![Step::Send(fixture("http/stalled-body.http")), ending.clone()]);
        let mut call = post(&server.url("/"));
        call.deadlines.whole = Duration::from_millis(400);
        let begun = Instant::now();
        let rejection = attempt(&call).await.unwrap_err();
        assert!(begun.elapsed() < Duration::from_millis(650), "{:?}", begun.elapsed());
        assert_eq!((rejection.kind, rejection.class), (FailureKind::Timeout, RetryClass::Retry));
    }
}

#[tokio::test]
async fn http_429_seconds() {
    let rejection = rejected("http/429-seconds.http").await;
    assert_eq!((rejection.kind, rejection.class), (FailureKind::RateLimited, RetryClass::Retry));
    assert_eq!(rejection.hint.retry_after, Some(Duration::from_secs(2)));
}

#[tokio::test]
async fn http_429_html_and_an_empty_503() {
    assert!(rejected("http/429-html.http").await.message.ends_with("429 Too Many Requests: Too many requests"));
    assert!(rejected("http/503-empty.http").await.message.ends_with("/v1/chat answered 503 Service Unavailable"));
}

#[tokio::test]
async fn a_cut_error_page_does_not_hide_its_status() {
    let server = RawServer::with_answer("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 900\r\n\r\n<h1>upstream");
    let rejection = attempt(&post(&server.url("/"))).await.unwrap_err();
    assert_eq!(rejection.kind, FailureKind::Server);
    assert!(rejection.message.ends_with("502 Bad Gateway: upstream"), "{}", rejection.message);
}

#[tokio::test]
async fn an_endless_answer_stops_at_the_limit() {
    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
    let server = RawServer::start(move |_| {
        vec![Step::Send(head.into()), Step::Send(vec![b'x'; super::super::BODY_LIMIT + 1]), Step::Close]
    });
    let rejection = attempt(&post(&server.url("/"))).await.unwrap_err();
    assert!(rejection.message.contains("16 MiB, the size limit"), "{}", rejection.message);
    assert_eq!(rejection.class, RetryClass::Case);
}

#[tokio::test]
async fn a_good_answer_keeps_its_useful_headers_only() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nSet-Cookie: a=b\r\nX-Request-Id: r1\r\nContent-Length: 2\r\n\r\nhi";
    let server = RawServer::with_answer(answer);
    let response = attempt(&post(&server.url("/"))).await.unwrap();
    assert_eq!((response.status, &*response.body), (200, b"hi".as_slice()));
    let names: Vec<&str> = response.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["content-type", "x-request-id"]);
    let request = server.requests().remove(0).to_ascii_lowercase();
    assert!(
        request.contains("authorization: bearer sk-very-long-key") && request.contains("accept-encoding: gzip"),
        "{request}"
    );
    assert!(response.latency > Duration::ZERO);
}

/// The server closes one pooled connection in three right after it has read the next request.
#[tokio::test]
async fn http_keepalive_race() {
    let server = RawServer::start(|number| match number % 3 {
        1 => vec![Step::Close],
        _ => vec![Step::Send(json("200 OK", "{}"))],
    });
    let client = client();
    let call = post(&server.url("/"));
    for _ in 0..40 {
        assert!(client.attempt(&call).await.is_ok());
    }
    assert_eq!(server.requests().len() as u64, 40 + client.repeats());
    assert!(client.repeats() >= 10, "{}", client.repeats());
}

#[tokio::test]
async fn a_new_connection_that_closes_is_not_tried_again_here() {
    for step in [Step::Close, Step::Reset] {
        let server = RawServer::start(move |_| vec![step.clone()]);
        let client = client();
        let rejection = client.attempt(&post(&server.url("/"))).await.unwrap_err();
        assert_eq!((rejection.kind, rejection.class), (FailureKind::Connection, RetryClass::Retry));
        assert_eq!((client.repeats(), server.connections()), (0, 1));
    }
}

#[tokio::test]
async fn a_header_with_a_line_end_is_refused_without_being_shown() {
    let mut call = post("http://127.0.0.1:9/");
    if let Request::Http(request) = &mut call.request {
        request.headers.push(("x-question".to_owned(), "a\r\nhost: evil".to_owned()));
    }
    let rejection = attempt(&call).await.unwrap_err();
    assert_eq!((rejection.kind, rejection.class), (FailureKind::BadRequest, RetryClass::Case));
    assert!(!rejection.message.contains("evil"));
}
