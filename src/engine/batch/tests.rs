//! Waiting for batches with a provider made of memory.

use std::collections::{HashMap, HashSet, VecDeque};
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
    Expected, HttpRequest, ItemResult, NotSubmitted, Patience, Purpose, Receipt, Rejection, Request, Response, Route,
    Sought, exchange,
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
    appears: Duration,
    /// What becomes of the first submissions; after them all goes well.
    submissions: Mutex<VecDeque<Submission>>,
    /// When each submission came.
    submitted_us: Mutex<Vec<i64>>,
    /// Searches so far.
    finds: Mutex<Vec<Sought>>,
    /// How many batches the list shows at each search; at the last of these and after it, all.
    listed: Vec<usize>,
    /// Its results say that each request is wrong.
    refuses: bool,
}

/// What becomes of a submission.
#[derive(Debug)]
enum Submission {
    /// A batch is made, and the answer does not tell.
    Made(Rejection),
    /// No batch is made, and the answer does not tell.
    NotMade(Rejection),
    /// No batch is made, and no answer comes.
    Stalls,
}

fn lost() -> Rejection {
    Rejection::new(FailureKind::Connection, RetryClass::Retry, "cut off")
}

fn unreadable() -> Rejection {
    Rejection::new(FailureKind::Malformed, RetryClass::Case, "answered 200 without JSON")
}

impl Provider {
    fn sizes(&self) -> Vec<usize> {
        self.batches.lock().unwrap().iter().map(Vec::len).collect()
    }
}

fn now<'a, T: Send + 'a, E: Send + 'a>(result: Result<T, E>) -> BoxFuture<'a, Result<T, E>> {
    Box::pin(std::future::ready(result))
}

impl BatchApi for Provider {
    fn limits(&self) -> BatchLimits {
        BatchLimits { requests: if self.requests == 0 { 100 } else { self.requests }, bytes: 1_000_000 }
    }

    fn patience(&self) -> Patience {
        let max_wait = self.patience.unwrap_or(Duration::from_secs(60));
        Patience { max_wait, poll: Duration::from_millis(10), appears: self.appears }
    }

    fn submit<'a>(
        &'a self,
        _: &'a dyn Attempt,
        _: &'a str,
        items: &'a [BatchItem],
    ) -> BoxFuture<'a, Result<String, NotSubmitted>> {
        self.submitted_us.lock().unwrap().push(super::now_us());
        let submission = self.submissions.lock().unwrap().pop_front();
        let mut batches = self.batches.lock().unwrap();
        match submission {
            Some(Submission::Stalls) => return Box::pin(std::future::pending()),
            Some(Submission::NotMade(rejection)) => return now(Err(NotSubmitted::of(rejection))),
            Some(Submission::Made(_)) | None => batches.push(items.to_vec()),
        }
        match submission {
            Some(Submission::Made(rejection)) => now(Err(NotSubmitted::of(rejection))),
            _ => now(Ok(format!("b{}", batches.len()))),
        }
    }

    fn find<'a>(&'a self, _: &'a dyn Attempt, sought: &'a Sought) -> BoxFuture<'a, Result<Vec<String>, Rejection>> {
        let mut finds = self.finds.lock().unwrap();
        let shown = self.listed.get(finds.len()).copied().unwrap_or(usize::MAX);
        finds.push(sought.clone());
        let batches = self.batches.lock().unwrap().len();
        now(Ok((1..=batches.min(shown)).map(|at| format!("b{at}")).collect()))
    }

    fn status<'a>(&'a self, _: &'a dyn Attempt, id: &'a str) -> BoxFuture<'a, Result<BatchStatus, Rejection>> {
        if id == "gone" {
            return now(Err(Rejection::new(FailureKind::NotFound, RetryClass::Endpoint, "no such batch")));
        }
        if id == "hidden" {
            return now(Err(Rejection::new(FailureKind::Auth, RetryClass::Endpoint, "another key is needed")));
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
            if self.refuses {
                let wrong = Rejection::new(FailureKind::BadRequest, RetryClass::Case, "too long");
                return (item.id.clone(), ItemResult::Failed(wrong));
            }
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

/// Whoever is asked directly never answers.
struct Silent;

impl Attempt for Silent {
    fn attempt<'a>(&'a self, _: &'a Call) -> BoxFuture<'a, Result<Response, Rejection>> {
        Box::pin(std::future::pending())
    }
}

struct Place {
    caller: Caller,
    canceller: Canceller,
    notes: Arc<Mutex<Vec<String>>>,
}

/// One slot, and a ledger where there is a path.
fn place(ledger: Option<&Path>) -> Place {
    place_with(ledger, Budget::default(), Arc::new(Nobody))
}

fn place_with(ledger: Option<&Path>, budget: Budget, outside: Arc<dyn Attempt>) -> Place {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&notes);
    let events: Arc<dyn EventSink> = Arc::new(move |event: Event| {
        if let Event::Note { text } = event {
            heard.lock().unwrap().push(text);
        }
    });
    let (canceller, cancel) = cancellation();
    let ledger = ledger.map(|path| Arc::new(Ledger::open(path).unwrap()));
    let register = ledger.as_ref().map(|ledger| Batches::open(ledger, super::now_us()).unwrap());
    let batcher = Batcher::new(Arc::clone(&outside), register, cancel.clone(), Arc::clone(&events)).unwrap();
    let settings = CallerSettings {
        workers: NonZeroUsize::new(1),
        retry: RetryPolicy { attempts: 1, max_elapsed: Duration::from_secs(1) },
        budget,
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
    Batches::open(&Ledger::open(path).unwrap(), super::now_us()).unwrap().remembered().unwrap()
}

fn remember(path: &Path, batch: &Remembered) {
    Batches::open(&Ledger::open(path).unwrap(), super::now_us()).unwrap().begin(batch).unwrap();
}

/// A batch of an earlier run.
fn earlier(id: Option<&str>, keys: Vec<[u8; 32]>) -> Remembered {
    let requests = keys.len();
    Remembered {
        tag: "t".to_owned(),
        id: id.map(str::to_owned),
        endpoint: "judge".to_owned(),
        since_us: super::now_us(),
        keys,
        requests,
    }
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
    remember(&path, &earlier(Some("b1"), keys));
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
    remember(&path, &earlier(Some("gone"), vec![key_of(&wanted), [7; 32]]));
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
        (FailureKind::InBatch, true)
    );
    assert!(at.caller.leaves_batches(), "so the run has not ended");
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

/// A provider's list lags behind: what is not there at once is no reason to pay again.
#[tokio::test]
async fn a_batch_that_appears_late_is_not_submitted_again() {
    for answer in [lost(), unreadable()] {
        let submissions = Mutex::new([Submission::Made(answer)].into());
        let (appears, listed) = (Duration::from_secs(60), vec![0; 8]);
        let provider = Arc::new(Provider { submissions, appears, listed, ..Provider::default() });
        let api: Arc<dyn BatchApi> = provider.clone();
        let place = place(None);
        assert_eq!(ask(&place.caller, &call("a", &api)).await.unwrap().0, "a");
        assert_eq!((provider.sizes(), provider.finds.lock().unwrap().len()), (vec![1], 9));
        assert_eq!(place.caller.counts().requests, 1);
    }
}

#[tokio::test]
async fn a_batch_that_never_appears_is_submitted_again_with_a_new_beginning() {
    let (_folder, path) = scene();
    let submissions = Mutex::new([Submission::NotMade(lost()), Submission::Stalls].into());
    let appears = Duration::from_millis(30);
    let provider = Arc::new(Provider { submissions, appears, ..Provider::default() });
    let api: Arc<dyn BatchApi> = provider.clone();
    let at = place(Some(&path));
    let asked = call("a", &api);
    let stop = async {
        while !provider.submissions.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        at.canceller.cancel(Stop::Cancelled);
    };
    let (end, ()) = tokio::join!(ask(&at.caller, &asked), stop);
    assert_eq!(end.unwrap_err().kind, FailureKind::Cancelled);
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop(at);
    // A later run looks for it so long after the second attempt, not after the first.
    let since = remembered(&path)[0].since_us;
    let first = provider.submitted_us.lock().unwrap()[0];
    assert!(since > first, "{since} {first}");
    assert!(provider.finds.lock().unwrap().len() > 1);
    let later = place(Some(&path));
    assert_eq!(ask(&later.caller, &asked).await.unwrap().0, "a");
    assert_eq!(provider.sizes(), [1]);
}

/// What cannot be read may be a yes: one order a run.
#[tokio::test]
async fn an_unreadable_yes_without_a_batch_is_remembered_for_a_later_run() {
    let (_folder, path) = scene();
    let submissions = Mutex::new([Submission::NotMade(unreadable())].into());
    let provider = Arc::new(Provider { submissions, ..Provider::default() });
    let api: Arc<dyn BatchApi> = provider.clone();
    let place = place(Some(&path));
    let failure = ask(&place.caller, &call("a", &api)).await.unwrap_err();
    assert!(failure.message.contains("may have been submitted, and is not in the list"), "{}", failure.message);
    assert!(provider.sizes().is_empty() && provider.finds.lock().unwrap().len() == 1);
    drop(place);
    assert_eq!(remembered(&path).len(), 1);
}

/// Two batches of the same size: whose is whose, only their results tell.
#[tokio::test]
async fn a_stranger_in_the_list_does_not_hide_the_batch_that_appears_after_it() {
    let (_folder, path) = scene();
    let listed = vec![1];
    let provider = Arc::new(Provider { listed, ..Provider::default() });
    let api: Arc<dyn BatchApi> = provider.clone();
    let wanted = call("wanted", &api);
    let item = |id: String, body: &str| vec![BatchItem { id, body: body.to_owned().into() }];
    let own = super::parcel::hex(&key_of(&wanted));
    provider.batches.lock().unwrap().extend([item("other".to_owned(), "other"), item(own, "wanted")]);
    remember(&path, &earlier(None, vec![key_of(&wanted)]));
    let place = place(Some(&path));
    assert_eq!(ask(&place.caller, &wanted).await.unwrap().0, "wanted");
    assert_eq!((provider.sizes(), place.caller.counts().requests), (vec![1, 1], 0), "nothing was submitted now");
}

/// What of it arrived already is no part of what is waited for, and still of its size.
#[tokio::test]
async fn a_batch_is_looked_for_by_the_size_it_was_submitted_with() {
    let (_folder, path) = scene();
    let provider = Arc::new(Provider::default());
    let api: Arc<dyn BatchApi> = provider.clone();
    let wanted = call("wanted", &api);
    remember(&path, &Remembered { requests: 5, ..earlier(None, vec![key_of(&wanted)]) });
    let place = place(Some(&path));
    assert_eq!(ask(&place.caller, &wanted).await.unwrap().0, "wanted");
    assert_eq!(provider.finds.lock().unwrap()[0].requests, 5);
}

/// Twenty tokens of thirty.
fn costly(mut call: Call, endpoint: &str) -> Call {
    call.endpoint = endpoint.into();
    call.expected = Expected { prompt_tokens: 20, completion_tokens: Some(0), ..Expected::default() };
    call
}

#[tokio::test]
async fn a_batch_that_cannot_be_looked_at_stays_in_the_budget_and_a_refused_request_does_not() {
    let budget = Budget { tokens: Some(30), ..Budget::default() };
    for refused in [false, true] {
        let (_folder, path) = scene();
        let wrong: Arc<dyn BatchApi> = Arc::new(Provider { refuses: refused, ..Provider::default() });
        let api: Arc<dyn BatchApi> = Arc::new(Provider::default());
        let first = costly(call("a", &wrong), "judge");
        if !refused {
            remember(&path, &earlier(Some("hidden"), vec![key_of(&first)]));
        }
        let place = place_with(Some(&path), budget, Arc::new(Nobody));
        let failure = ask(&place.caller, &first).await.unwrap_err();
        assert_eq!(failure.kind, if refused { FailureKind::BadRequest } else { FailureKind::Auth });
        let second = ask(&place.caller, &costly(call("b", &api), "another")).await;
        match refused {
            true => assert_eq!(second.unwrap().0, "b"),
            false => assert_eq!(second.unwrap_err().kind, FailureKind::Budget),
        }
    }
}

#[tokio::test]
async fn whoever_waits_for_room_in_the_budget_hears_that_the_run_is_to_stop() {
    let budget = Budget { tokens: Some(30), ..Budget::default() };
    let api: Arc<dyn BatchApi> = Arc::new(Provider::default());
    let place = place_with(None, budget, Arc::new(Silent));
    let direct = Call { route: Route::Direct, ..costly(call("a", &api), "target") };
    let batched = costly(call("b", &api), "judge");
    let stop = async { place.canceller.cancel(Stop::Cancelled) };
    let (a, b, ()) = tokio::join!(ask(&place.caller, &direct), ask(&place.caller, &batched), stop);
    assert_eq!([a.unwrap_err().kind, b.unwrap_err().kind], [FailureKind::Cancelled; 2]);
}
