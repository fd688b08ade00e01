//! What is written is read, and what cannot be right is refused with its line.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;

use super::*;
use crate::domain::{CallCounts, Failure, FailureKind};
use crate::net::Response;
use crate::store::StoreError;

fn call(key: u8, target: &str, what: &str, body: &[u8]) -> CallLine {
    let response = Response {
        status: 200,
        headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
        body: Bytes::copy_from_slice(body),
        latency: Duration::ZERO,
    };
    CallLine {
        key: CallKey([key; 32]),
        target: target.to_owned(),
        what: what.to_owned(),
        trial: 0,
        request: RequestLine::default(),
        response: Some(ResponseLine::of(&response)),
        error: None,
        attempts: 1,
        cached: false,
        latency_ns: 1_234_567,
    }
}

fn recorded(calls: &[CallLine]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/cassette.jsonl");
    let writer = CassetteWriter::create(&path, &CassetteHeader::default()).unwrap();
    calls.iter().for_each(|call| writer.append(call).unwrap());
    writer.finish(Some(CallCounts::default())).unwrap();
    (folder, path)
}

fn body(line: &CallLine) -> Vec<u8> {
    line.response.as_ref().unwrap().response(Duration::ZERO).unwrap().body.to_vec()
}

#[test]
fn any_bytes_come_back_as_they_were() {
    let bodies: [&[u8]; 5] =
        [b"", "ja, \"naïve\"\r\n\u{0} \u{2028}".as_bytes(), b"\xff\x00\xfe", b"{}", "\u{feff}x".as_bytes()];
    let calls: Vec<CallLine> =
        (0..).zip(bodies).map(|(key, body)| call(key, "app", &format!("answer {key}"), body)).collect();
    let (_folder, path) = recorded(&calls);
    let cassette = Cassette::open(&path).unwrap();
    assert_eq!((cassette.len(), cassette.cut_at(), cassette.end().unwrap().calls), (5, None, 5));
    for (call, bytes) in calls.iter().zip(bodies) {
        let found = cassette.find(call.key, "app", &call.what).unwrap().unwrap();
        assert_eq!((&found, body(&found)), (call, bytes.to_vec()));
    }
    assert_eq!((cassette.used(), cassette.first_unused().unwrap()), (5, None));
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(r#""body":"{}""#) && text.contains(r#""body_base64":"/wD+""#), "{text}");
}

#[test]
fn the_same_question_is_answered_for_each_as_it_was() {
    let failed = Failure { attempts: 4, ..Failure::infra(FailureKind::Timeout, "too late") };
    let failed = CallLine { response: None, error: Some((&failed).into()), ..call(1, "b", "answer to case q1", b"") };
    let calls = [
        call(1, "a", "answer to case q1", b"first"),
        failed.clone(),
        call(1, "a", "answer to case q1", b"second"),
        call(1, "a", "answer to case q2", b"other"),
    ];
    let (_folder, path) = recorded(&calls);
    let cassette = Cassette::open(&path).unwrap();
    let found = |target: &str, what: &str| cassette.find(CallKey([1; 32]), target, what).unwrap().unwrap();
    assert_eq!(found("b", "answer to case q1"), failed);
    let of_a: Vec<Vec<u8>> = (0..3).map(|_| body(&found("a", "answer to case q1"))).collect();
    assert_eq!(of_a, [b"first".to_vec(), b"second".to_vec(), b"second".to_vec()]);
    assert_eq!(cassette.first_unused().unwrap().unwrap().what, "answer to case q2");
    // Nothing of this place was recorded: the same `what`, then the first.
    assert_eq!(body(&found("renamed", "answer to case q2")), b"other");
    assert_eq!(body(&found("renamed", "answer to case q9")), b"first");
    assert!(cassette.find(CallKey([2; 32]), "a", "answer to case q1").unwrap().is_none());
}

#[test]
fn a_recording_goes_on_behind_half_a_line() {
    let (_folder, path) = recorded(&[call(1, "a", "one", b"1"), call(2, "a", "two", b"2")]);
    let whole = std::fs::read_to_string(&path).unwrap();
    let ends: Vec<usize> = whole.match_indices('\n').map(|(at, _)| at + 1).collect();
    let second = ends[1];
    for cut in second..ends[2] {
        std::fs::write(&path, &whole.as_bytes()[..cut]).unwrap();
        let cassette = Cassette::open(&path).unwrap();
        let all = cut + 1 == ends[2];
        assert_eq!((cassette.len(), cassette.end()), (if all { 2 } else { 1 }, None), "{cut}");
        assert_eq!(cassette.cut_at().is_some(), cut > second && !all, "{cut}");
        let (_, writer) = CassetteWriter::extend(&path).unwrap();
        writer.append(&call(3, "a", "three", b"3")).unwrap();
        writer.finish(Some(CallCounts::default())).unwrap();
        let cassette = Cassette::open(&path).unwrap();
        let calls = if all { 3 } else { 2 };
        assert_eq!((cassette.len(), cassette.end().map(|end| end.calls)), (calls, Some(calls as u64)), "{cut}");
        assert_eq!(body(&cassette.find(CallKey([3; 32]), "a", "three").unwrap().unwrap()), b"3");
    }
}

#[test]
fn what_cannot_be_right_is_refused_with_its_line() {
    let (_folder, path) = recorded(&[call(1, "a", "one", b"1"), call(2, "a", "two", b"2")]);
    let whole = std::fs::read_to_string(&path).unwrap();
    let key = format!("\"{}\"", "01".repeat(32));
    let breakages = [
        (key.as_str(), "\"01\"", 2, "64 hexadecimal digits"),
        ("\"body\":\"1\"", "\"body_base64\":\"?\"", 2, "no Base64"),
        ("\"body\":\"1\"", "\"body\":\"1\",\"body_base64\":\"MQ==\"", 2, "cannot both"),
        ("\"status\":200", "\"status\":99999", 2, "99999"),
        ("\"what\":\"one\"", "\"what\":\"one\",\"what\":\"two\"", 2, "duplicate"),
        ("\"type\":\"call\"", "\"type\":\"cell\"", 2, "neither"),
        ("\"response\"", "\"respons\"", 2, "neither a `response`"),
        ("\"what\":\"one\"", "\"what\":\"one", 2, ""),
        ("\"type\":\"cassette\"", "\"type\":\"run\"", 1, "of type `run`"),
        ("\"schema\":1", "\"schema\":null", 1, "no `schema`"),
    ];
    for (good, bad, line, said) in breakages {
        let text = whole.replacen(good, bad, 1);
        assert_ne!(text, whole, "{good}");
        std::fs::write(&path, text).unwrap();
        let error = Cassette::open(&path).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { line: found, .. } if found == line), "{bad}: {error}");
        assert!(error.to_string().contains(said), "{bad}: {error}");
    }
    std::fs::write(&path, whole.replacen("\"schema\":1", "\"schema\":2", 1)).unwrap();
    assert!(matches!(Cassette::open(&path), Err(StoreError::Newer { found: 2, known: 1, .. })));
    for bytes in [&b""[..], b"\xff\xfe\n", b"{\"type\":\"cassette\",\"schema\":1}\n\xff\n{}\n", b"notes\n"] {
        std::fs::write(&path, bytes).unwrap();
        assert!(matches!(Cassette::open(&path), Err(StoreError::Corrupt { .. })), "{bytes:?}");
    }
}

#[test]
fn nothing_is_overwritten_unasked_and_replaced_only_by_a_whole_recording() {
    let (_folder, path) = recorded(&[call(1, "a", "one", b"1")]);
    let before = std::fs::read(&path).unwrap();
    let header = CassetteHeader::default();
    let refused = CassetteWriter::create(&path, &header).unwrap_err();
    assert!(matches!(refused, StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::AlreadyExists));
    let writer = CassetteWriter::replace(&path, &header).unwrap();
    assert!(matches!(CassetteWriter::extend(&path), Err(StoreError::Busy { .. })));
    writer.append(&call(2, "a", "two", b"2")).unwrap();
    writer.finish(None).unwrap();
    drop(writer);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let writer = CassetteWriter::replace(&path, &header).unwrap();
    writer.append(&call(2, "a", "two", b"2")).unwrap();
    writer.finish(Some(CallCounts::default())).unwrap();
    drop(writer);
    assert!(Cassette::open(&path).unwrap().find(CallKey([2; 32]), "a", "two").unwrap().is_some());
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
}
