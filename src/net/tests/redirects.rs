//! http-redirect: an error by default, and never a way for credentials to leave.

use super::*;
use crate::domain::{FailureKind, RetryClass};

fn redirect(status: u16, location: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} R\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n").into_bytes()
}

fn allowed(url: &str) -> Call {
    Call { redirects: true, ..post(url) }
}

#[tokio::test]
async fn http_redirect_is_an_error_that_shows_the_new_address_without_its_query() {
    let server = RawServer::with_answer(fixture("http/redirect-302.http"));
    let rejection = attempt(&post(&server.url("/v1/chat"))).await.unwrap_err();
    assert_eq!((rejection.kind, rejection.class), (FailureKind::Redirect, RetryClass::Case));
    assert!(rejection.message.contains("http://other-host.invalid/v1/chat"), "{}", rejection.message);
    assert!(!rejection.message.contains("keep-out"), "{}", rejection.message);
}

#[tokio::test]
async fn http_redirect_to_another_origin_carries_no_credentials() {
    let other = RawServer::with_answer(json("200 OK", "{}"));
    let to = other.url("/elsewhere");
    let server = RawServer::start(move |_| vec![Step::Send(redirect(307, &to))]);
    let mut call = allowed(&server.url("/"));
    if let Request::Http(request) = &mut call.request {
        request.headers.push(("Cookie".to_owned(), "a=keep-out".to_owned()));
        request.headers.push(("X-Plain".to_owned(), "kept".to_owned()));
    }
    attempt(&call).await.unwrap();
    let (first, second) = (server.requests().remove(0), other.requests().remove(0));
    assert!(first.contains("sk-very-long-key") && first.contains("keep-out"));
    assert!(second.starts_with("POST /elsewhere") && second.ends_with("{\"question\": 1}"), "{second}");
    assert!(!second.contains("sk-very-long-key") && !second.contains("keep-out"), "{second}");
    assert!(second.to_ascii_lowercase().contains("x-plain: kept"));
}

#[tokio::test]
async fn http_redirect_within_the_origin_keeps_credentials() {
    let server = RawServer::start(|number| match number {
        0 => vec![Step::Send(redirect(308, "/new"))],
        _ => vec![Step::Send(json("200 OK", "{}"))],
    });
    attempt(&allowed(&server.url("/"))).await.unwrap();
    assert!(server.requests().remove(1).contains("sk-very-long-key"));
}

#[tokio::test]
async fn http_redirect_never_turns_a_post_into_a_get() {
    for status in [301, 302, 303] {
        let server = RawServer::start(move |_| vec![Step::Send(redirect(status, "/new"))]);
        let rejection = attempt(&allowed(&server.url("/"))).await.unwrap_err();
        assert_eq!(rejection.kind, FailureKind::Redirect);
        assert!(rejection.message.contains("would turn the POST into a GET"), "{}", rejection.message);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn http_redirect_follows_at_most_five_hops() {
    let server = RawServer::start(|number| vec![Step::Send(redirect(307, &format!("/{number}")))]);
    let rejection = attempt(&allowed(&server.url("/"))).await.unwrap_err();
    assert!(rejection.message.ends_with("more than 5 redirects"), "{}", rejection.message);
    assert_eq!(server.requests().len(), 6);
}

#[tokio::test]
async fn http_redirect_to_a_port_where_nothing_listens_is_a_connection_error() {
    let server = RawServer::with_answer(fixture("http/redirect-307-port.http"));
    let rejection = attempt(&allowed(&server.url("/"))).await.unwrap_err();
    assert_eq!(rejection.kind, FailureKind::Connection);
    assert!(rejection.message.contains("http://127.0.0.1:9/elsewhere"), "{}", rejection.message);
}
