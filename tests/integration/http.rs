//! Cases of the topic `http` with the whole program and real servers.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::chat_server::{ChatServer, completion};
use crate::command::{check, checked, command, fixture, folder, outcomes, results};
use crate::raw_server::{RawServer, Step, json};
use crate::tls_server;

/// A suite that asks `target` for `cases` answers.
fn suite(target: &str, run: &str, cases: usize) -> tempfile::TempDir {
    let rows: String = (0..cases).map(|at| format!("{{\"id\":\"q{at}\",\"input\":\"{at}?\"}}\n")).collect();
    let text = format!(
        "version: 1\nname: http\ndataset: {{ path: data.jsonl }}\ntargets:\n  app:\n    {target}\nevaluators:\n  length: {{ min: 1 }}\ngate:\n  metrics:\n    length: {{ case_min: 1 }}\n  min_measured: 1\nrun: {{ {run} }}\n"
    );
    folder(&[("scoregate.yaml", &text), ("data.jsonl", &rows)])
}

fn app(server: &RawServer) -> String {
    format!("http: {{ url: \"{}\", body: {{ q: \"{{{{ input }}}}\" }}, answer: $.answer }}", server.url("/query"))
}

fn good() -> Vec<u8> {
    json("200 OK", "{\"answer\":\"fine\"}")
}

/// A server that notes when each request came.
fn timed(script: impl Fn(usize) -> Vec<Step> + Send + Sync + 'static) -> (RawServer, Arc<Mutex<Vec<Instant>>>) {
    let times: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let noted = Arc::clone(&times);
    let server = RawServer::start(move |number| {
        noted.lock().expect("the times").push(Instant::now());
        script(number)
    });
    (server, times)
}

#[test]
fn http_429_seconds() {
    const WORKERS: usize = 4;
    let (server, times) = timed(|number| {
        let answer = if number < WORKERS { fixture("http/429-seconds.http") } else { good() };
        vec![Step::Send(answer)]
    });
    let place = suite(&app(&server), &format!("workers: {WORKERS}"), 8);
    let said = check(place.path(), &["run"], 0);
    assert!(said.contains("4 retried"), "{said}");
    let times = times.lock().expect("the times");
    assert_eq!(times.len(), 8 + WORKERS);
    let (limited, after) = times.split_at(WORKERS);
    let last = limited.iter().max().expect("a time");
    assert!(
        after.iter().all(|time| time.duration_since(*last) >= Duration::from_millis(1_990)),
        "a worker did not wait"
    );
    let woken = &after[..WORKERS];
    let spread = woken.iter().max().expect("a time").duration_since(*woken.iter().min().expect("a time"));
    assert!(spread >= Duration::from_millis(1), "all woke up at once");
    let attempts: Vec<_> = outcomes(place.path()).iter().map(|line| line["answer"]["attempts"].as_u64()).collect();
    assert_eq!(attempts.iter().filter(|attempts| **attempts == Some(2)).count(), WORKERS, "{attempts:?}");
}

#[test]
fn http_429_date() {
    let in_two_seconds = || {
        let date = httpdate::fmt_http_date(std::time::SystemTime::now() + Duration::from_secs(3));
        format!("HTTP/1.1 429 Too Many Requests\r\nRetry-After: {date}\r\nContent-Length: 0\r\n\r\n").into_bytes()
    };
    // The server's clock is ten minutes ahead; or it does not tell the time, and ours counts (dates have whole seconds).
    type Limited = fn() -> Vec<u8>;
    let with_date: Limited = || fixture("http/429-date.http");
    let variants: [(Limited, Duration); 2] =
        [(with_date, Duration::from_secs(3)), (in_two_seconds, Duration::from_secs(2))];
    for (limited, least) in variants {
        let (server, times) = timed(move |number| vec![Step::Send(if number == 0 { limited() } else { good() })]);
        let place = suite(&app(&server), "workers: 1", 1);
        check(place.path(), &["run"], 0);
        let times = times.lock().expect("the times");
        let waited = times[1].duration_since(times[0]);
        assert_eq!(times.len(), 2);
        assert!(waited >= least && waited < Duration::from_secs(10), "{waited:?}");
    }
}

#[test]
fn http_429_day_quota() {
    for (attempts, workers) in [(1, 1), (6, 1), (6, 4)] {
        let server = RawServer::with_answer(fixture("http/429-day-quota.http"));
        let run = format!("workers: {workers}, retry: {{ attempts: {attempts} }}");
        let place = suite(&app(&server), &run, 20);
        let begun = Instant::now();
        let said = check(place.path(), &["run"], 3);
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        assert!(said.contains("daily quota used up today"), "{said}");
        // Those in flight when the first answer came.
        assert!(server.requests().len() <= workers, "{} requests", server.requests().len());
        let outcomes = outcomes(place.path());
        assert_eq!(outcomes.len(), 20);
        let kinds = |line: &&serde_json::Value| line["error"]["kind"] == "quota";
        assert_eq!(outcomes.iter().filter(kinds).count(), 20);
        let unasked = outcomes.iter().filter(|line| line["error"]["message"].to_string().contains("not evaluated"));
        assert!(unasked.count() >= 20 - workers);
    }
}

#[test]
fn http_200_error_body() {
    let broken = RawServer::with_answer(fixture("http/200-error-body.http"));
    let healthy = ChatServer::start(Duration::ZERO, |_, _| ("200 OK", completion("fine")));
    let chat = "chat: { model: m, prompt: \"{{ input }}\" }";
    let place = suite(chat, "retry: { attempts: 2 }", 3);
    let path = place.path().join("scoregate.yaml");
    let text = std::fs::read_to_string(&path).expect("the suite");
    let with = |url: &str| {
        let models =
            format!("models:\n  m: {{ provider: openai, model: x, base_url: \"{url}/v1\", api_key: none-needed }}\n");
        std::fs::write(&path, format!("{text}{models}")).expect("a file");
    };
    with(&broken.url(""));
    let said = check(place.path(), &["run"], 3);
    assert!(said.contains("rate_limited") && said.contains("try again later"), "{said}");
    assert_eq!(broken.requests().len(), 6, "two attempts a case");
    assert!(outcomes(place.path()).iter().all(|line| line["scores"][0].get("value").is_none()), "an error was scored");
    // Nothing was kept.
    let ledger = rusqlite::Connection::open(place.path().join(".scoregate/ledger.sqlite")).expect("the ledger");
    let kept: i64 = ledger.query_row("SELECT count(*) FROM call", [], |row| row.get(0)).expect("a count");
    assert_eq!(kept, 0);
    drop(ledger);
    with(&healthy.url);
    check(place.path(), &["run"], 0);
    assert_eq!(healthy.with(|counts| counts.requests), 3);
}

#[test]
fn http_stalled_body() {
    type Ending = fn() -> Step;
    let silent: Ending = || Step::Stall;
    let dripping: Ending = || Step::Drip(b' ', Duration::from_millis(100));
    for ending in [silent, dripping] {
        let server = RawServer::start(move |number| match number {
            0 => vec![Step::Send(fixture("http/stalled-body.http")), ending()],
            _ => vec![Step::Send(good())],
        });
        let place = suite(&app(&server), "timeout: 700ms, workers: 2, retry: { attempts: 1 }", 10);
        let begun = Instant::now();
        let said = check(place.path(), &["run"], 3);
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        assert!(said.contains("no complete answer") && said.contains("within 0.7 s"), "{said}");
        let outcomes = outcomes(place.path());
        let timed_out = outcomes.iter().filter(|line| line["error"]["kind"] == "timeout").count();
        let answered = outcomes.iter().filter(|line| line["answer"]["text"] == "fine").count();
        assert_eq!((timed_out, answered), (1, 9), "{outcomes:?}");
    }
}

/// Closes one in fifty reused connections right after the request was read, and those that are idle for long.
#[test]
fn http_keepalive_race() {
    const CASES: usize = 1_000;
    let server = tls_server::closing_in_between(50, Duration::from_secs(1), good());
    let target = format!("http: {{ url: \"{}/q\", body: {{ q: \"{{{{ input }}}}\" }}, answer: $.answer }}", server.url);
    let place = suite(&target, "workers: 8, retry: { attempts: 1 }", CASES);
    let said = check(place.path(), &["run"], 0);
    let outcomes = outcomes(place.path());
    assert_eq!(outcomes.iter().filter(|line| line["answer"]["text"] == "fine").count(), CASES);
    let end = results(place.path()).pop().expect("an end");
    let (seen, closed) = server.counts();
    assert!(closed > 5, "only {closed} connections were closed");
    assert_eq!(end["calls"]["requests"], seen, "{}", end["calls"]);
    assert_eq!(end["calls"]["retries"], closed, "{}", end["calls"]);
    assert!(said.contains(&format!("{closed} retried")), "{said}");
}

#[test]
fn http_private_ca() {
    let place = folder(&[]);
    let server = tls_server::private(place.path(), good());
    let target = format!("http: {{ url: \"{}/q\", body: {{ q: \"{{{{ input }}}}\" }}, answer: $.answer }}", server.url);
    let place = suite(&target, "retry: { attempts: 1 }", 2);
    let said = check(place.path(), &["run"], 3);
    assert!(said.contains("Throw-away Test CA") && said.contains("SCOREGATE_CA_FILE"), "{said}");
    assert!(!said.to_lowercase().contains("insecure") && !said.to_lowercase().contains("skip"), "{said}");
    for variable in ["SCOREGATE_CA_FILE", "SSL_CERT_FILE"] {
        let mut run = command(place.path(), &["run", "--ledger", "off"]);
        checked(&run.env(variable, &server.authority).output().expect("a run"), 0);
    }
}

/// A proxy that refuses: its credentials are in no message, and what `NO_PROXY` names does not pass it.
#[test]
fn http_private_ca_behind_a_proxy() {
    let proxy = RawServer::with_answer(json("407 Proxy Authentication Required", "{}"));
    let address = format!("http://someone:sg-test-secret-1@{}", proxy.address);
    let target = "http: { url: \"https://app.example.invalid/q\", body: { q: \"{{ input }}\" }, answer: $.answer }";
    let place = suite(target, "retry: { attempts: 1 }, timeout: 5s", 1);
    let run = |no_proxy: &str| {
        let mut run = command(place.path(), &["run"]);
        let output = run.env("HTTPS_PROXY", &address).env("NO_PROXY", no_proxy).output().expect("a run");
        let said = checked(&output, 3);
        assert!(!said.contains("sg-test-secret-1"), "{said}");
        said
    };
    run("");
    let asked = proxy.requests();
    assert!(asked.len() == 1 && asked[0].starts_with("CONNECT app.example.invalid:443 "), "{asked:?}");
    for listed in ["app.example.invalid", ".example.invalid", "app.example.invalid:443"] {
        run(listed);
    }
    assert_eq!(proxy.requests().len(), 1, "the proxy was asked for what NO_PROXY names");
    run("other.invalid,10.0.0.0/8,[::1]");
    assert_eq!(proxy.requests().len(), 2);
}
