//! Where calls go: names, loopback, refused addresses, proxies.

use super::*;
use crate::domain::{FailureKind, RetryClass};
use std::time::Instant;

#[tokio::test]
async fn http_localhost() {
    let mut families = vec!["127.0.0.1:0"];
    // Some machines have no IPv6.
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        families.push("[::1]:0");
    }
    for family in families {
        let server = RawServer::start_on(family, |_| vec![Step::Send(json("200 OK", "{}")), Step::Close]);
        let url = format!("http://localhost:{}/", server.address.port());
        let begun = Instant::now();
        attempt(&post(&url)).await.unwrap();
        assert!(begun.elapsed() < Duration::from_millis(300), "{family}: {:?}", begun.elapsed());
    }
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let rejection = attempt(&post(&format!("http://u:word@localhost:{free}/q?k=v"))).await.unwrap_err();
    assert_eq!((rejection.kind, rejection.class), (FailureKind::Connection, RetryClass::Retry));
    let tried = format!("could not connect to http://localhost:{free}/q (tried 127.0.0.1:{free} and [::1]:{free}): ");
    assert!(rejection.message.starts_with(&tried) && rejection.message.contains("refused"), "{}", rejection.message);
}

#[tokio::test]
async fn http_metadata_endpoints() {
    let list = String::from_utf8(fixture("http/metadata-addresses.txt")).unwrap();
    for line in list.lines().filter(|line| !line.is_empty()) {
        let rejection = attempt(&post(line)).await.unwrap_err();
        assert_eq!((rejection.kind, rejection.class), (FailureKind::Forbidden, RetryClass::Endpoint), "{line}");
    }
}

/// A name whose address is a link-local one; such names exist in every cloud.
#[tokio::test]
async fn http_metadata_endpoints_are_refused_after_name_resolution() {
    use reqwest::dns::Resolve;
    // The resolver is asked as the client asks it: numbers as names resolve to themselves without any network.
    let resolver = super::super::resolve::Resolver::default();
    let refused = resolver.resolve("169.254.169.254".parse().unwrap()).await;
    let error = refused.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("link-local"), "{error}");
    assert!(resolver.resolve("127.0.0.1".parse().unwrap()).await.is_ok());
}

#[tokio::test]
async fn http_metadata_endpoints_are_refused_after_a_redirect() {
    let head =
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://169.254.169.254/latest/\r\nContent-Length: 0\r\n\r\n";
    let server = RawServer::with_answer(head);
    let mut call = post(&server.url("/"));
    call.redirects = true;
    let rejection = attempt(&call).await.unwrap_err();
    assert_eq!(rejection.kind, FailureKind::Forbidden);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_connection_that_takes_too_long_ends_at_its_own_deadline() {
    // A listener whose queue is full lets nobody in.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while waiting.len() < 5_000 {
        match std::net::TcpStream::connect_timeout(&address, Duration::from_millis(50)) {
            Ok(stream) => waiting.push(stream),
            Err(_) => break,
        }
    }
    let mut call = post(&format!("http://{address}/"));
    call.deadlines.connect = Duration::from_millis(200);
    let begun = Instant::now();
    let rejection = attempt(&call).await.unwrap_err();
    assert_eq!((rejection.kind, rejection.class), (FailureKind::Timeout, RetryClass::Retry), "{}", rejection.message);
    assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
    assert!(
        rejection.message.contains("no connection to") && rejection.message.contains("within 0.2 s"),
        "{}",
        rejection.message
    );
}

#[tokio::test]
async fn proxies_come_from_the_given_environment() {
    let proxy = RawServer::with_answer(json("200 OK", "{\"by\": \"proxy\"}"));
    let env = Env::from_pairs([
        ("HTTP_PROXY", format!("http://user:proxy-word@{}", proxy.address)),
        ("NO_PROXY", "direct.localhost".to_owned()),
    ]);
    let client = Client::new(&env).unwrap();
    let response = client.attempt(&post("http://app.test:8000/q")).await.unwrap();
    assert_eq!(&*response.body, b"{\"by\": \"proxy\"}");
    let request = proxy.requests().remove(0);
    assert!(request.starts_with("POST http://app.test:8000/q HTTP/1.1"), "{request}");
    assert!(request.to_ascii_lowercase().contains("proxy-authorization: basic "), "{request}");
    let server = RawServer::with_answer(json("200 OK", "{}"));
    client.attempt(&post(&format!("http://direct.localhost:{}/", server.address.port()))).await.unwrap();
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_refusing_proxy_is_no_leak_of_its_password() {
    let proxy = RawServer::with_answer("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n");
    let env = Env::from_pairs([("HTTPS_PROXY", format!("http://user:proxy-word@{}", proxy.address))]);
    let rejection = Client::new(&env).unwrap().attempt(&post("https://app.test/q")).await.unwrap_err();
    assert!(proxy.requests().remove(0).starts_with("CONNECT app.test:443"));
    assert!(!rejection.message.contains("proxy-word") && rejection.message.contains("proxy"), "{}", rejection.message);
}
