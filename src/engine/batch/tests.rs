//! Waiting for batches with a provider made of memory.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;

use super::Batcher;
use crate::domain::{EndpointLimits, Event, EventSink, Failure, FailureKind, RetryClass, Spent};
use crate::engine::key::key_of;
use crate::engine::{Caller, CallerSettings, Canceller, RetryPolicy, Stop, cancellation};
use crate::net::{
    Attempt, BATCH_HEADER, BatchApi, BatchItem, BatchLimits, BatchStatus, BoxFuture, Call, Deadlines, Dialect,
    Expected, HttpRequest, ItemResult, Patience, Purpose, Receipt, Rejection, Request, Response, Route, Sought,
    exchange,
};
use crate::store::{Batches, Ledger, Remembered};
use crate::suite::Budget;

/// Batches by id; each answers its items with their own bodies.
#[derive(Debug, Default)]
struct Provider {
    batches: Mutex<Vec<Vec<BatchItem>>>,
    looks: Mutex<usize>,
    /// Batches end from this look on.
    ready: usize,
    requests: usize,
    patience: Option<Duration>,
}

impl Provider {
    fn sizes(&self) -> Vec<usize> {
        self.batches.lock().unwrap().iter().map(Vec::len).collect()
    }
}

fn now<'a, T: Send + 'a>(result: Result<T, Rejection>) -> BoxFuture<'a, Result<T, Rejection>> {
    Box::pin(std::future::ready(result))
}

impl BatchApi for Provider {
    fn limits(&self) -> BatchLimits {
        BatchLimits { requests: if self.requests == 0 { 100 } else { self.requests }, bytes: 1_000_000 }
    }

    fn patience(&self) -> Patience {
        Patience { max_wait: self.patience.unwrap_or(Duration::from_secs(60)), poll: Duration::from_millis(10) }
    }

    fn submit<'a>(
        &'a self,
        _: &'a dyn Attempt,
        _: &'a str,
        items: &'a [BatchItem],
    ) -> BoxFuture<'a, Result<String, Rejection>> {
        let mut batches = self.batches.lock().unwrap();
        batches.push(items.to_vec());
        now(Ok(format!("b{}", batches.len())))
    }

    fn find<'a>(&'a self, _: &'a dyn Attempt, _: &'a Sought) -> BoxFuture<'a, Result<Vec<String>, Rejection>> {
        now(Ok(Vec::new()))
    }

    fn status<'a>(&'a self, _: &'a dyn Attempt, id: &'a str) -> BoxFuture<'a, Result<BatchStatus, Rejection>> {
        if id == "gone" {
            return now(Err(Rejection::new(FailureKind::NotFound, RetryClass::Endpoint, "no such batch")));
        }
        let mut looks = self.looks.lock().unwrap();
        *looks += 1;
        now(Ok(if *looks > self.ready {
            BatchStatus::Ended { files: Vec::new() }
        } else {
            BatchStatus::Running { done: 0 }
        }))
    }

    fn results<'a>(
        &'a self,
        _: &'a dyn Attempt,
        id: &'a str,
        _: &'a [String],
    ) -> BoxFuture<'a, Result<HashMap<String, ItemResult>, Rejection>> {
        let place: usize = id.trim_start_matches('b').parse().unwrap();
        let answer = |item: &BatchItem| {
            let headers = vec![(BATCH_HEADER.to_owned(), id.to_owned())];
            let response = Response { status: 200, headers, body: item.body.clone(), latency: Duration::ZERO };
            (item.id.clone(), ItemResult::Answer(response))
        };
        now(Ok(self.batches.lock().unwrap()[place - 1].iter().map(answer).collect()))
    }
}

/// Nothing is asked directly in these tests.
struct Nobody;

impl Attempt for Nobody {
    fn attempt<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Response, Rejection>> {
        panic!("{} was asked directly", call.what)
    }
}

fn call(body: &str, api: &Arc<dyn BatchApi>) -> Call {
    Call {
        request: Request::Http(HttpRequest {
            method: http::Method::POST,
            url: "http://judge.test/".to_owned(),
            headers: Vec::new(),
            credentials: Vec::new(),
            body: Bytes::from(body.to_owned()),
        }),
        endpoint: "judge".into(),
        purpose: Purpose::Judge,
        dialect: Dialect::Plain,
        deadlines: Deadlines { connect: Duration::from_millis(1), whole: Duration::from_millis(1) },
        trial: 0,
        version: None,
        redirects: false,
        route: Route::Batch(Arc::clone(api)),
        what: "a test".to_owned(),
        limits: EndpointLimits::default(),
        expected: Expected::default(),
    }
}

struct Place {
    caller: Caller,
    canceller: Canceller,
    notes: Arc<Mutex<Vec<String>>>,
}

/// One slot, and a ledger where there is a path.
fn place(ledger: Option<&Path>) -> Place {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&notes);
    let events: Arc<dyn EventSink> = Arc::new(move |event: Event| {
        if let Event::Note { text } = event {
            heard.lock().unwrap().push(text);
        }
    });
    let (canceller, cancel) = cancellation();
    let ledger = ledger.map(|path| Arc::new(Ledger::open(path).unwrap()));
    let register = ledger.as_ref().map(|ledger| Batches::open(ledger.path(), super::now()).unwrap());
    let outside: Arc<dyn Attempt> = Arc::new(Nobody);
    let batcher = Batcher::new(Arc::clone(&outside), register, cancel.clone(), Arc::clone(&events)).unwrap();
    let settings = CallerSettings {
        workers: NonZeroUsize::new(1),
        retry: RetryPolicy { attempts: 1, max_elapsed: Duration::from_secs(1) },
        budget: Budget::default(),
        shards: 1,
    };
    let caller = Caller::new(outside, ledger, settings, cancel, events);
    Place { caller: caller.with_batcher(Some(batcher)), canceller, notes }
}

async fn ask(caller: &Caller, call: &Call) -> Result<(String, Receipt), Failure> {
    exchange(caller, call, |response| Ok((String::from_utf8_lossy(&response.body).into_owned(), Spent::default())))
        .await
}

fn remembered(path: &Path) -> Vec<Remembered> {
    Batches::open(path, super::now()).unwrap().remembered().unwrap()
}

fn scene() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    (folder, path)
}

#[tokio::test]
async fn equal_calls_share_one_request_and_pay_once() {
    let (_folder, path) = scene();
    let provider = Arc::new(Provider::default());
    let api: Arc<dyn BatchApi> = provider.clone();
    let place = place(Some(&path));
    let (one, two) = (call("same", &api), call("other", &api));
    let (a, b, c) = tokio::join!(ask(&place.caller, &one), ask(&place.caller, &one), ask(&place.caller, &two));
    let receipts = [a.unwrap(), b.unwrap(), c.unwrap()];
    assert_eq!(receipts.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>(), ["same", "same", "other"]);
    let [(_, a), (_, b), (_, c)] = receipts;
    assert_eq!((a.attempts + b.attempts, c.attempts, provider.sizes()), (1, 1, vec![2]));
    assert!(a.cached != b.cached && !c.cached, "one of the two is the other's answer");
    assert_eq!(place.caller.counts().requests, 2);
    drop(place);
    assert!(remembered(&path).is_empty(), "nothing is left to wait for");
}

#[tokio::test]
async fn many_calls_make_as_many_batches_as_the_provider_s_limits_ask_for() {
    let provider = Arc::new(Provider { requests: 4, ..Provider::default() });
    let api: Arc<dyn BatchApi> = provider.clone();
    let place = place(None);
    let calls: Vec<Call> = (0..10).map(|at| call(&format!("{at}"), &api)).collect();
    let answers = futures_util::future::join_all(calls.iter().map(|call| ask(&place.caller, call))).await;
    for (at, answer) in answers.into_iter().enumerate() {
        assert_eq!(answer.unwrap().0, at.to_string());
    }
    let mut sizes = provider.sizes();
    sizes.sort_unstable();
    assert_eq!(sizes, [2, 4, 4]);
    let ids: HashSet<String> = provider.batches.lock().unwrap().iter().flatten().map(|item| item.id.clone()).collect();
    assert_eq!(ids.len(), 10);
}

/// Its case comes up long after the batch of an earlier run was fetched.
#[tokio::test]
async fn a_late_call_finds_its_answer_in_a_batch_that_was_fetched() {
    let (_folder, path) = scene();
    let provider = Arc::new(Provider::default());
    let api: Arc<dyn BatchApi> = provider.clone();
    let (early, late) = (call("early", &api), call("late", &api));
    let keys: Vec<[u8; 32]> = [&early, &late].into_iter().map(key_of).collect();
    let items = keys.iter().zip(["early", "late"]);
    let item = |(key, body): (&[u8; 32], &str)| BatchItem { id: super::parcel::hex(key), body: body.to_owned().into() };
    provider.batches.lock().unwrap().push(items.map(item).collect());
    drop(Ledger::open(&path).unwrap());
    let batch = Remembered {
        tag: "t".to_owned(),
        id: Some("b1".to_owned()),
        endpoint: "judge".to_owned(),
        since: super::now(),
        keys,
    };
    Batches::open(&path, super::now()).unwrap().begin(&batch).unwrap();
    let place = place(Some(&path));
    assert_eq!(ask(&place.caller, &early).await.unwrap().0, "early");
    let looks = *provider.looks.lock().unwrap();
    let (text, receipt) = ask(&place.caller, &late).await.unwrap();
    assert_eq!((text.as_str(), receipt.cached, *provider.looks.lock().unwrap()), ("late", false, looks));
    assert_eq!((provider.sizes(), place.caller.counts().requests), (vec![2], 0), "nothing was submitted now");
    drop(place);
    assert!(remembered(&path).is_empty());
}

#[tokio::test]
async fn a_batch_that_is_gone_is_submitted_again() {
    let (_folder, path) = scene();
    let provider = Arc::new(Provider::default());
    let api: Arc<dyn BatchApi> = provider.clone();
    let wanted = call("wanted", &api);
    drop(Ledger::open(&path).unwrap());
    let batch = Remembered {
        tag: "t".to_owned(),
        id: Some("gone".to_owned()),
        endpoint: "judge".to_owned(),
        since: super::now(),
        keys: vec![key_of(&wanted), [7; 32]],
    };
    Batches::open(&path, super::now()).unwrap().begin(&batch).unwrap();
    let place = place(Some(&path));
    assert_eq!(ask(&place.caller, &wanted).await.unwrap().0, "wanted");
    assert_eq!(provider.sizes(), [1]);
    assert!(place.notes.lock().unwrap().iter().any(|note| note.contains("batch gone of an earlier run is not there")));
}

#[tokio::test]
async fn a_call_that_gives_up_or_is_cancelled_leaves_its_batch() {
    let (_folder, path) = scene();
    let patience = Some(Duration::from_secs(1));
    let api: Arc<dyn BatchApi> = Arc::new(Provider { ready: usize::MAX, patience, ..Provider::default() });
    let at = place(Some(&path));
    let failure = ask(&at.caller, &call("a", &api)).await.unwrap_err();
    assert_eq!(
        (failure.kind, failure.message.contains("batch b1 (1 request) has not ended")),
        (FailureKind::Timeout, true)
    );
    // Whoever looks at the batch holds the register until the run ends.
    at.canceller.cancel(Stop::Cancelled);
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop(at);
    assert_eq!(remembered(&path)[0].id.as_deref(), Some("b1"));
    let api: Arc<dyn BatchApi> = Arc::new(Provider { ready: usize::MAX, ..Provider::default() });
    let at = place(Some(&path));
    let (first, second) = (call("b", &api), call("c", &api));
    let stop = async {
        while !at.notes.lock().unwrap().iter().any(|note| note.contains("in progress")) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        at.canceller.cancel(Stop::Cancelled);
    };
    let (a, b, ()) = tokio::join!(ask(&at.caller, &first), ask(&at.caller, &second), stop);
    assert_eq!([a.unwrap_err().kind, b.unwrap_err().kind], [FailureKind::Cancelled; 2]);
    let told = at.notes.lock().unwrap().iter().filter(|note| note.contains("goes on at the provider")).count();
    assert_eq!(told, 1);
}
