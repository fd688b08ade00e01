//! What can go wrong with one request, each with a name. A fault makes its steps from the good answer's body.

use std::io::Write as _;
use std::time::Duration;

use crate::chat_server::completion;
use crate::raw_server::{Step, json};

/// The deadline of a call in the runs that use these faults.
pub const DEADLINE: Duration = Duration::from_millis(700);

pub type Fault = (&'static str, fn(&str) -> Vec<Step>);

/// Ways of answering nothing usable that say nothing about load.
pub const BROKEN: &[Fault] = &[
    ("400", |_| refused("400 Bad Request")),
    ("408", |_| refused("408 Request Timeout")),
    ("409", |_| refused("409 Conflict")),
    ("413", |_| refused("413 Content Too Large")),
    ("422", |_| refused("422 Unprocessable Content")),
    ("500", |_| refused("500 Internal Server Error")),
    ("502 with a page", |_| vec![Step::Send(answer("502 Bad Gateway", "text/html", b"<html>bad gateway</html>"))]),
    ("504", |_| refused("504 Gateway Timeout")),
    ("a redirect to elsewhere", |_| {
        vec![send("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.2:9/\r\nContent-Length: 0\r\n\r\n")]
    }),
    ("103 and no more", |_| vec![send("HTTP/1.1 103 Early Hints\r\n\r\n"), Step::Close]),
    ("204", |_| vec![send("HTTP/1.1 204 No Content\r\n\r\n")]),
    ("200 with an error", |_| ok("{\"error\":{\"message\":\"something broke\",\"type\":\"server_error\"}}")),
    ("nothing", |_| ok("")),
    ("null", |_| ok("null")),
    ("another shape", |_| ok("{\"reply\":[1,2,3],\"choices\":{}}")),
    ("half of the JSON", |good| ok(&good[..good.len() / 2])),
    ("a page", |_| vec![Step::Send(answer("200 OK", "text/html", b"<html>please log in</html>"))]),
    ("bytes that are no text", |_| vec![Step::Send(answer("200 OK", "application/json", b"{\"answer\":\xff\xfe}"))]),
    ("shorter than its length", |good| {
        vec![send(&format!("{}{}", head(good.len()), &good[..good.len() - 1])), Step::Close]
    }),
    ("a chunk that ends early", |good| {
        vec![send(&format!("{CHUNKED}{:x}\r\n{}", good.len(), &good[..good.len() / 2])), Step::Close]
    }),
    ("chunks without an end", |good| vec![send(&format!("{CHUNKED}{:x}\r\n{good}\r\n", good.len())), Step::Close]),
    ("a chunk of no size", |good| vec![send(&format!("{CHUNKED}zz\r\n{good}\r\n0\r\n\r\n")), Step::Close]),
    ("gzip that ends early", |good| {
        let packed = gzip(good);
        vec![Step::Send(zipped(&packed[..packed.len() / 2]))]
    }),
    ("gzip with a wrong sum", |good| {
        let mut packed = gzip(good);
        let at = packed.len() - 6;
        packed[at] ^= 0xff;
        vec![Step::Send(zipped(&packed))]
    }),
    ("gzip that is none", |good| vec![Step::Send(zipped(good.as_bytes()))]),
    ("two lengths", |good| {
        vec![
            send(&format!("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: {}\r\n\r\n{good}", good.len())),
            Step::Close,
        ]
    }),
    ("no HTTP", |_| vec![send("220 smtp.example.test ESMTP\r\n"), Step::Close]),
    ("a head without end", |_| vec![send(&format!("HTTP/1.1 200 OK\r\nX-Long: {}", "x".repeat(700_000))), Step::Close]),
    ("more than any answer", |_| {
        let size = 17 * 1024 * 1024;
        vec![send(&head(size)), Step::Send(vec![b' '; size]), Step::Close]
    }),
    ("silence", |_| vec![Step::Stall]),
    ("silence in the head", |_| vec![send("HTTP/1.1 200 OK\r\nContent-"), Step::Stall]),
    ("silence in the body", |good| {
        vec![send(&format!("{}{}", head(good.len()), &good[..good.len() - 1])), Step::Stall]
    }),
    ("a slow drip", |good| vec![send(&head(good.len() + 10_000)), Step::Drip(b' ', Duration::from_millis(20))]),
    ("too late", |good| {
        vec![Step::Pause(DEADLINE + Duration::from_millis(100)), send(&format!("{}{good}", head(good.len())))]
    }),
    ("closed", |_| vec![Step::Close]),
    ("closed in the head", |_| vec![send("HTTP/1.1 200 OK\r\nContent-"), Step::Close]),
    ("reset", |_| vec![Step::Reset]),
    ("reset in the head", |_| vec![send("HTTP/1.1 200 OK\r\nContent-"), Step::Reset]),
    ("reset in the body", |good| vec![send(&format!("{}{}", head(good.len()), &good[..good.len() / 2])), Step::Reset]),
];

/// Replies of a judge that hold no verdict.
pub const GARBAGE: &[Fault] = &[
    ("an empty reply", |_| ok(&completion(""))),
    ("a blank reply", |_| ok(&completion(" \n\u{200b}\u{a0}\n"))),
    ("no verdict", |_| ok(&completion("It depends on what one expects of such an answer."))),
    ("another verdict", |_| ok(&completion("PERHAPS"))),
    ("both verdicts", |_| ok(&completion("YES and NO"))),
    ("a number", |_| ok(&completion("0.7"))),
    ("no number", |_| ok(&completion("NaN"))),
    ("JSON with something else", |_| ok(&completion("{\"verdict\": \"perhaps\", \"score\": 1e999}"))),
    ("a long ramble", |_| ok(&completion(&"and then again, one might say otherwise, ".repeat(2_000)))),
    ("no choices", |_| ok("{\"id\":\"c\",\"object\":\"chat.completion\",\"model\":\"fake\",\"choices\":[]}")),
    ("no content", |_| finished("null", "stop")),
    ("cut off at YES", |_| finished("\"YES\"", "length")),
    ("filtered at YES", |_| finished("\"YES\"", "content_filter")),
];

/// Complaints about load.
pub const LOADED: &[Fault] = &[
    ("429", |_| refused("429 Too Many Requests")),
    ("429 with seconds", |_| limited("Retry-After: 1")),
    ("429 with milliseconds", |_| limited("retry-after-ms: 30")),
    ("429 with a date that has passed", |_| limited("Retry-After: Thu, 01 Jan 2026 00:00:00 GMT")),
    ("429 with nonsense", |_| limited("Retry-After: soon")),
    ("503", |_| refused("503 Service Unavailable")),
    ("503 with seconds", |_| {
        vec![send("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n")]
    }),
    ("529", |_| refused("529 Overloaded")),
];

/// What no other request to the endpoint would fare better with.
pub const STOPPING: &[Fault] = &[
    ("401", |_| refused("401 Unauthorized")),
    ("402", |_| refused("402 Payment Required")),
    ("403", |_| refused("403 Forbidden")),
    ("404", |_| refused("404 Not Found")),
    ("410", |_| refused("410 Gone")),
    ("a wait of a day", |_| limited("Retry-After: 86400")),
];

/// What a program does that is asked for the fault of this name (`sh`, `$0` is the question).
pub const PROGRAMS: &[(&str, &str)] = &[
    ("fails", "echo half an answer; echo broken >&2; exit 3"),
    ("is killed", "echo half an answer; kill -9 $$"),
    ("crashes", "kill -SEGV $$"),
    ("hangs", "sleep 60"),
    ("hangs after its answer", "echo fine; exec sleep 60"),
    ("hangs with a child", "sleep 60 & sleep 60"),
    ("ignores the end", "trap '' TERM INT HUP; while :; do sleep 1; done"),
    ("says no text", "printf '\\377\\376'"),
];

/// What a program does that leaves something behind and has answered all the same.
pub const LEAVING: &[(&str, &str)] = &[
    ("leaves a child", "sleep 60 & printf 'fine %s\\n' \"$0\""),
    ("leaves a daemon", "setsid sleep 2 & printf 'fine %s\\n' \"$0\""),
    ("closes its input", "exec <&-; printf 'fine %s\\n' \"$0\""),
];

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";

pub fn ok(body: &str) -> Vec<Step> {
    vec![Step::Send(json("200 OK", body))]
}

fn send(text: &str) -> Step {
    Step::Send(text.as_bytes().to_vec())
}

fn refused(status: &str) -> Vec<Step> {
    vec![Step::Send(json(status, "{\"error\":{\"message\":\"injected\"}}"))]
}

fn limited(header: &str) -> Vec<Step> {
    vec![send(&format!("HTTP/1.1 429 Too Many Requests\r\n{header}\r\nContent-Length: 0\r\n\r\n"))]
}

fn head(length: usize) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n")
}

fn answer(status: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn finished(content: &str, reason: &str) -> Vec<Step> {
    ok(&format!(
        "{{\"id\":\"c\",\"object\":\"chat.completion\",\"model\":\"fake\",\"choices\":[{{\"index\":0,\"message\":{{\"role\":\"assistant\",\"content\":{content}}},\"finish_reason\":\"{reason}\"}}]}}"
    ))
}

fn gzip(text: &str) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(text.as_bytes()).expect("memory");
    packer.finish().expect("memory")
}

fn zipped(body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}
