//! The caller against a scripted outside: what is sent, kept, repeated and given up.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::{Caller, CallerSettings, Canceller, RetryPolicy, Stop, cancellation};
use crate::domain::{
    Complaint, EndpointLimits, Event, EventSink, Failure, FailureKind, RateHint, RetryClass, Secret, Spent,
};
use crate::net::{
    Attempt, BoxFuture, Call, Deadlines, Dialect, Expected, HttpRequest, Purpose, Receipt, Rejection, Request,
    Response, Route, exchange,
};
use crate::store::Ledger;
use crate::suite::Budget;

type Answer = Result<&'static str, (FailureKind, RetryClass, Option<Duration>)>;

/// Answers by URL, one entry a request; the last one repeats.
#[derive(Default)]
struct Outside {
    script: HashMap<String, Vec<Answer>>,
    seen: Mutex<Vec<(String, Instant)>>,
    /// How long each answer takes.
    slow: Duration,
}

impl Outside {
    fn answering(url: &str, answers: &[Answer]) -> Self {
        Self { script: HashMap::from([(url.to_owned(), answers.to_vec())]), ..Self::default() }
    }

    fn seen(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

impl Attempt for Outside {
    fn attempt<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Response, Rejection>> {
        Box::pin(async move {
            let Request::Http(request) = &call.request else { panic!("only HTTP is scripted") };
            let before = {
                let mut seen = self.seen.lock().unwrap();
                let before = seen.iter().filter(|(url, _)| *url == request.url).count();
                seen.push((request.url.clone(), Instant::now()));
                before
            };
            tokio::time::sleep(self.slow).await;
            let answers = self.script.get(&request.url).cloned().unwrap_or_else(|| vec![Ok("fine")]);
            match answers.get(before).or(answers.last()).unwrap() {
                Ok(text) => Ok(Response {
                    status: 200,
                    headers: Vec::new(),
                    body: Bytes::from(format!("{text} {before}")),
                    latency: Duration::from_millis(3),
                }),
                Err((kind, class, wait)) => Err(Rejection {
                    hint: RateHint { retry_after: *wait, complaint: complaint(*kind), ..RateHint::default() },
                    ..Rejection::new(*kind, *class, "scripted")
                }),
            }
        })
    }
}

fn complaint(kind: FailureKind) -> Option<Complaint> {
    (kind == FailureKind::RateLimited).then_some(Complaint::Unclear)
}

fn call(url: &str) -> Call {
    Call {
        request: Request::Http(HttpRequest {
            method: http::Method::POST,
            url: url.to_owned(),
            headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
            credentials: vec![("authorization".to_owned(), Secret::new("KEY", "sg-test-secret-1").unwrap())],
            body: Bytes::from_static(b"question"),
        }),
        endpoint: "judge".into(),
        purpose: Purpose::Judge,
        dialect: Dialect::Plain,
        deadlines: Deadlines { connect: Duration::from_secs(1), whole: Duration::from_secs(1) },
        trial: 0,
        version: None,
        redirects: false,
        route: Route::Direct,
        what: "a test".to_owned(),
        limits: EndpointLimits::default(),
        expected: Expected::default(),
    }
}

fn settings(attempts: u32) -> CallerSettings {
    CallerSettings {
        workers: NonZeroUsize::new(4),
        retry: RetryPolicy { attempts, max_elapsed: Duration::from_secs(30) },
        budget: Budget::default(),
        shards: 1,
    }
}

fn caller(outside: &Arc<Outside>, ledger: Option<&Path>) -> (Caller, Canceller) {
    let (canceller, cancel) = cancellation();
    let ledger = ledger.map(|path| Arc::new(Ledger::open(path).unwrap()));
    let events: Arc<dyn EventSink> = Arc::new(|_: Event| {});
    let attempts: Arc<dyn Attempt> = outside.clone();
    (Caller::new(attempts, ledger, settings(4), cancel, events), canceller)
}

async fn ask(caller: &Caller, call: &Call) -> Result<(String, Receipt), Failure> {
    exchange(caller, call, |response| Ok((String::from_utf8_lossy(&response.body).into_owned(), Spent::default())))
        .await
}

const BUSY: Answer = Err((FailureKind::Server, RetryClass::Retry, None));

#[tokio::test]
async fn what_can_succeed_is_tried_again_and_every_attempt_is_counted() {
    let outside = Arc::new(Outside::answering("u", &[BUSY, BUSY, Ok("yes")]));
    let (caller, _canceller) = caller(&outside, None);
    let (text, receipt) = ask(&caller, &call("u")).await.unwrap();
    assert_eq!((text.as_str(), receipt.attempts, receipt.cached), ("yes 2", 3, false));
    assert_eq!((caller.counts().requests, caller.counts().retries), (3, 2));
}

#[tokio::test]
async fn attempts_are_bounded_and_said() {
    let outside = Arc::new(Outside::answering("u", &[BUSY]));
    let (caller, _canceller) = caller(&outside, None);
    let failure = ask(&caller, &call("u")).await.unwrap_err();
    assert_eq!((failure.kind, failure.attempts, outside.seen()), (FailureKind::Server, 4, 4));
    assert!(failure.message.contains("4 attempts"), "{}", failure.message);
}

#[tokio::test]
async fn http_429_seconds() {
    let wait = Duration::from_millis(300);
    let limited = Err((FailureKind::RateLimited, RetryClass::Retry, Some(wait)));
    let outside = Arc::new(Outside::answering("u", &[limited, Ok("yes")]));
    let (caller, _canceller) = caller(&outside, None);
    let begun = Instant::now();
    let (_, receipt) = ask(&caller, &call("u")).await.unwrap();
    assert_eq!(receipt.attempts, 2);
    // Another worker of the same endpoint was held back as well.
    ask(&caller, &call("other")).await.unwrap();
    let seen = outside.seen.lock().unwrap();
    assert!(seen.iter().skip(1).all(|(_, at)| at.duration_since(begun) >= wait), "{seen:?}");
}

/// A provider at its limit refuses some and answers others: whoever is refused waits for its turn instead of giving up.
#[tokio::test]
async fn refusals_of_a_busy_provider_do_not_use_up_the_attempts() {
    let limited = Err((FailureKind::RateLimited, RetryClass::Retry, Some(Duration::from_millis(1))));
    let outside = Arc::new(Outside::answering("u", &[limited, limited, limited, Ok("yes")]));
    let (_canceller, cancel) = cancellation();
    let attempts: Arc<dyn Attempt> = outside.clone();
    let caller = Caller::new(attempts, None, settings(2), cancel, Arc::new(|_: Event| {}));
    let others = async {
        loop {
            ask(&caller, &call("other")).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let refused = call("u");
    tokio::select! {
        answer = ask(&caller, &refused) => assert_eq!(answer.unwrap().1.attempts, 4),
        () = others => {}
    }
}

#[tokio::test]
async fn http_429_day_quota() {
    let spent = Err((FailureKind::Quota, RetryClass::Endpoint, None));
    let outside = Arc::new(Outside::answering("u", &[spent]));
    let (caller, _canceller) = caller(&outside, None);
    ask(&caller, &call("u")).await.unwrap_err();
    let failure = ask(&caller, &call("another")).await.unwrap_err();
    assert_eq!((failure.kind, failure.attempts, outside.seen()), (FailureKind::Quota, 0, 1));
    assert!(failure.message.contains("not evaluated"), "{}", failure.message);
}

/// The day's quota with the wait it comes with, or a wait longer than a call may take: nobody sits and waits.
#[tokio::test]
async fn http_429_day_quota_holds_nobody_back() {
    let wait = Some(Duration::from_secs(86_400));
    for class in [RetryClass::Endpoint, RetryClass::Retry] {
        let spent = Err((FailureKind::RateLimited, class, wait));
        let outside = Arc::new(Outside::answering("u", &[spent]));
        let (caller, _canceller) = caller(&outside, None);
        let begun = Instant::now();
        let (one, two) = (call("u"), call("u"));
        let (one, two) = tokio::join!(ask(&caller, &one), ask(&caller, &two));
        let third = ask(&caller, &call("u")).await;
        assert!(one.is_err() && two.is_err() && third.is_err());
        assert!(begun.elapsed() < Duration::from_secs(5) && outside.seen() <= 2, "{:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn ca_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    let outside = Arc::new(Outside::default());
    let (caller, _canceller) = caller(&outside, Some(&path));
    ask(&caller, &call("u")).await.unwrap();
    let (_, again) = ask(&caller, &call("u")).await.unwrap();
    assert!(again.cached && outside.seen() == 1);
    // A changed credential alone is the same call.
    let mut other_key = call("u");
    let Request::Http(request) = &mut other_key.request else { unreachable!() };
    request.credentials = vec![("authorization".to_owned(), Secret::new("KEY", "sg-test-secret-2").unwrap())];
    assert!(ask(&caller, &other_key).await.unwrap().1.cached);
    let changes: [fn(&mut Call, &mut HttpRequest); 8] = [
        |_, request| request.url.push('x'),
        |_, request| request.method = http::Method::PUT,
        |_, request| request.body = Bytes::from_static(b"Question"),
        |_, request| request.headers.push(("x-variant".to_owned(), "b".to_owned())),
        |_, request| request.headers.clear(),
        |call, _| call.trial = 1,
        |call, _| call.endpoint = "judge-2".into(),
        |call, _| call.dialect = Dialect::OpenAi,
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let mut changed = call("u");
        let Request::Http(mut request) = changed.request.clone() else { unreachable!() };
        change(&mut changed, &mut request);
        changed.request = Request::Http(request);
        assert!(!ask(&caller, &changed).await.unwrap().1.cached, "change {at} was answered by the ledger");
    }
}

#[tokio::test]
async fn ca_repeats() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    let outside = Arc::new(Outside::default());
    let texts = |caller: Caller| async move {
        let mut texts = Vec::new();
        for trial in 0..5 {
            let call = Call { trial, ..call("u") };
            texts.push(ask(&caller, &call).await.unwrap().0);
        }
        texts
    };
    let first = texts(caller(&outside, Some(&path)).0).await;
    let second = texts(caller(&outside, Some(&path)).0).await;
    assert_eq!(first, second);
    assert_eq!(first.iter().collect::<std::collections::HashSet<_>>().len(), 5);
    assert_eq!(outside.seen(), 5, "the second run asked again");
}

#[tokio::test]
async fn ca_no_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    for (at, class) in [RetryClass::Retry, RetryClass::Case, RetryClass::Unusable].into_iter().enumerate() {
        let url = format!("u{at}");
        let broken = Arc::new(Outside::answering(&url, &[Err((FailureKind::Unusable, class, None))]));
        ask(&caller(&broken, Some(&path)).0, &call(&url)).await.unwrap_err();
        let healthy = Arc::new(Outside::default());
        let (_, receipt) = ask(&caller(&healthy, Some(&path)).0, &call(&url)).await.unwrap();
        assert!(!receipt.cached && healthy.seen() == 1);
    }
}

#[tokio::test]
async fn an_answer_that_the_reader_refuses_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    let outside = Arc::new(Outside::default());
    let (caller, _canceller) = caller(&outside, Some(&path));
    let refuse = |_: &Response| -> Result<((), Spent), Rejection> {
        Err(Rejection::new(FailureKind::Unusable, RetryClass::Unusable, "no verdict"))
    };
    exchange(&caller, &call("u"), refuse).await.unwrap_err();
    assert!(!ask(&caller, &call("u")).await.unwrap().1.cached);
    assert_eq!(outside.seen(), 2);
}

/// Nothing is used that could not be kept, and nothing more is paid for.
#[tokio::test]
async fn a_failing_ledger_uses_no_answer_and_sends_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    let outside = Arc::new(Outside { slow: Duration::from_millis(100), ..Outside::default() });
    let (caller, _canceller) = caller(&outside, Some(&path));
    ask(&caller, &call("kept")).await.unwrap();
    let (first, second) = (call("u"), call("v"));
    let broken = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        rusqlite::Connection::open(&path).unwrap().execute_batch("DROP TABLE call").unwrap();
    };
    let (first, second, ()) = tokio::join!(ask(&caller, &first), ask(&caller, &second), broken);
    for failure in [first.unwrap_err(), second.unwrap_err()] {
        assert_eq!((failure.kind, failure.attempts), (FailureKind::Internal, 1));
        assert!(failure.message.contains("could not be kept"), "{}", failure.message);
    }
    assert!(caller.ended().is_some_and(|trouble| trouble.contains("no such table")));
    assert_eq!(ask(&caller, &call("w")).await.unwrap_err().kind, FailureKind::Internal);
    assert_eq!(outside.seen(), 3);
}

#[tokio::test]
async fn a_wait_beyond_the_budget_ends_the_endpoint() {
    let limited = Err((FailureKind::RateLimited, RetryClass::Retry, Some(Duration::from_secs(31))));
    let outside = Arc::new(Outside::answering("u", &[limited]));
    let (caller, _canceller) = caller(&outside, None);
    let begun = Instant::now();
    let failure = ask(&caller, &call("u")).await.unwrap_err();
    assert!(failure.message.contains("wait 31 s"), "{}", failure.message);
    assert!(ask(&caller, &call("other")).await.unwrap_err().message.contains("not evaluated"));
    assert!(outside.seen() == 1 && begun.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn who_waits_for_a_slot_sends_nothing_after_the_wish_to_stop() {
    for _ in 0..20 {
        let outside = Arc::new(Outside { slow: Duration::from_secs(60), ..Outside::default() });
        let (caller, canceller) = caller(&outside, None);
        let calls: Vec<Call> = (0..12).map(|at| call(&at.to_string())).collect();
        let asked = futures_util::future::join_all(calls.iter().map(|call| ask(&caller, call)));
        let stop = async {
            tokio::task::yield_now().await;
            canceller.cancel(Stop::Cancelled);
        };
        let (results, ()) = tokio::join!(asked, stop);
        assert!(results.iter().all(|result| result.as_ref().is_err_and(|it| it.kind == FailureKind::Cancelled)));
        assert_eq!(outside.seen(), 4, "one a slot");
    }
}

#[tokio::test]
async fn cancelling_ends_a_call_in_any_wait() {
    let long = Duration::from_secs(60);
    let limited = Err((FailureKind::RateLimited, RetryClass::Retry, Some(Duration::from_secs(20))));
    let waiting = Outside::answering("u", &[limited]);
    let hanging = Outside { slow: long, ..Outside::default() };
    for outside in [waiting, hanging] {
        let outside = Arc::new(outside);
        let (caller, canceller) = caller(&outside, None);
        let begun = Instant::now();
        let question = call("u");
        let asked = ask(&caller, &question);
        let cancelled = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            canceller.cancel(Stop::Cancelled);
        };
        let (result, ()) = tokio::join!(asked, cancelled);
        assert_eq!(result.unwrap_err().kind, FailureKind::Cancelled);
        assert!(begun.elapsed() < Duration::from_secs(2));
    }
}
