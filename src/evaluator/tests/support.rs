//! Cases, answers and judges for tests.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::domain::{
    Answer, Case, Context, Digest, EndpointLimits, Env, Failure, FailureKind, Fingerprint, Place, RetryClass, Spent,
    Usage,
};
use crate::evaluator::BuildContext;
use crate::net::{
    Accept, BoxFuture, Call, Deadlines, Dialect, Expected, HttpRequest, Purpose, Receipt, Rejection, Request, Response,
    Route, Transport,
};
use crate::provider::{
    ChatApi, ChatReply, ChatRequest, Embedder, EmbeddingApi, EmbeddingReply, EmbeddingRequest, Model,
};
use crate::suite::{self, Block, Suite};

pub fn block(name: &str, settings: Value) -> Block {
    Block::from_value(name, name, settings)
}

pub fn case(input: &str, reference: Option<&str>) -> Case {
    Case {
        id: "q1".into(),
        index: 0,
        input: input.to_owned(),
        reference: reference.map(str::to_owned),
        contexts: Vec::new(),
        expected_contexts: Vec::new(),
        tags: Vec::new(),
        cluster: None,
        metadata: serde_json::Map::new(),
        recorded: None,
        place: Place { file: "questions.jsonl".into(), line: 1 },
        content: Digest::of([input]),
    }
}

/// An answer with contexts whose id is their text.
pub fn answer(text: &str, contexts: &[&str]) -> Answer {
    let contexts =
        contexts.iter().map(|id| Context { id: Some((*id).to_owned()), text: (*id).to_owned(), score: None }).collect();
    Answer { text: text.to_owned(), contexts, ..Answer::default() }
}

pub fn models<const N: usize>(models: [(&str, Model); N]) -> BTreeMap<String, Model> {
    models.into_iter().map(|(name, model)| (name.to_owned(), model)).collect()
}

static ENV: LazyLock<Env> = LazyLock::new(Env::default);

/// A suite with files beside it.
static SUITE: LazyLock<Suite> = LazyLock::new(|| {
    let path = format!("{}/fixtures/quickstart/scoregate.yaml", env!("CARGO_MANIFEST_DIR"));
    suite::load_with_problems(std::path::Path::new(&path), &ENV).suite.expect("the quickstart's suite")
});

/// `judge` and `embed`, which both embed a text as its length and its number of words.
static EMBEDDERS: LazyLock<BTreeMap<String, Embedder>> = LazyLock::new(|| {
    let vector = |text: &str| vec![text.chars().count() as f64, text.split_whitespace().count() as f64];
    ["judge", "embed"].into_iter().map(|name| (name.to_owned(), embedder(4, vector))).collect()
});

/// An embedding model with vectors of our own.
pub fn embedder(batch_size: usize, vector: impl Fn(&str) -> Vec<f64> + Send + Sync + 'static) -> Embedder {
    let fingerprint = Fingerprint::default().with("model", "vectors").with("parameters", "{}").with("endpoint", "test");
    Embedder { name: "embed".into(), api: Arc::new(Vectors(Box::new(vector))), batch_size, fingerprint }
}

pub fn context_of(models: &BTreeMap<String, Model>) -> BuildContext<'_> {
    let deadlines = Deadlines { connect: Duration::from_secs(1), whole: Duration::from_secs(2) };
    BuildContext { env: &ENV, suite: &SUITE, models, embedders: &EMBEDDERS, deadlines, batch_size: 1, version: None }
}

/// What a scripted judge does with the messages it is sent: a reply, or a rejection by its dialect.
pub type Script = Arc<dyn Fn(&[(String, String)]) -> Result<String, Rejection> + Send + Sync>;

pub fn always(reply: &str) -> Script {
    let reply = reply.to_owned();
    Arc::new(move |_| Ok(reply.clone()))
}

/// One reply a call, the last one again and again.
pub fn in_turn(replies: &[&str]) -> Script {
    let replies: Vec<String> = replies.iter().map(|reply| (*reply).to_owned()).collect();
    let turn = Mutex::new(0);
    Arc::new(move |_| {
        let mut turn = turn.lock().unwrap();
        let reply = replies[(*turn).min(replies.len() - 1)].clone();
        *turn += 1;
        Ok(reply)
    })
}

pub fn judge_model(script: Script) -> Model {
    let fingerprint =
        Fingerprint::default().with("model", "scripted").with("parameters", "{}").with("endpoint", "test");
    Model { name: "judge".into(), chat: Arc::new(Scripted(script)), fingerprint }
}

fn call(endpoint: &str, request: &ChatRequest, body: &Value) -> Call {
    Call {
        request: Request::Http(HttpRequest {
            method: http::Method::POST,
            url: format!("http://{endpoint}.test/"),
            headers: Vec::new(),
            credentials: Vec::new(),
            body: Bytes::from(body.to_string()),
        }),
        endpoint: endpoint.into(),
        purpose: request.purpose,
        dialect: Dialect::Plain,
        deadlines: request.deadlines,
        trial: request.trial,
        version: None,
        redirects: false,
        route: Route::Direct,
        what: request.what.clone(),
        limits: EndpointLimits::default(),
        expected: Expected::default(),
    }
}

type Vector = dyn Fn(&str) -> Vec<f64> + Send + Sync;

/// A dialect whose request is the texts as JSON, and whose response body is the request sent back.
struct Vectors(Box<Vector>);

impl EmbeddingApi for Vectors {
    fn call(&self, request: &EmbeddingRequest<'_>) -> Call {
        let asked = ChatRequest {
            messages: Vec::new(),
            trial: 0,
            purpose: Purpose::Embedding,
            deadlines: request.deadlines,
            what: request.what.clone(),
            form: None,
        };
        call("embed", &asked, &json!({ "texts": request.texts }))
    }

    fn read(&self, response: &Response, count: usize) -> Result<EmbeddingReply, Rejection> {
        let body: Value = serde_json::from_slice(&response.body).unwrap();
        let texts: Vec<&str> = body["texts"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(texts.len(), count);
        if texts.iter().any(|text| text.contains("too long")) {
            return Err(Rejection::new(FailureKind::Malformed, RetryClass::Unusable, "a text is too long"));
        }
        let usage = Usage { prompt_tokens: count as u64, completion_tokens: 0 };
        Ok(EmbeddingReply {
            vectors: texts.iter().map(|text| (self.0)(text)).collect(),
            spent: Spent { usage, cost: None },
        })
    }
}

/// A dialect whose request is the messages as JSON, and whose response body is the request sent back.
struct Scripted(Script);

impl ChatApi for Scripted {
    fn call(&self, request: &ChatRequest) -> Call {
        let messages: Vec<Value> =
            request.messages.iter().map(|message| json!([format!("{:?}", message.role), message.text])).collect();
        call("judge", request, &json!(messages))
    }

    fn read(&self, _: &Call, response: &Response) -> Result<ChatReply, Rejection> {
        let messages: Vec<(String, String)> = serde_json::from_slice(&response.body).unwrap();
        Ok(ChatReply {
            text: self.0(&messages)?,
            usage: Usage { prompt_tokens: 10, completion_tokens: 1 },
            cost: None,
            model: None,
            stop_reason: None,
        })
    }
}

/// Sends every request's body back, and keeps it; a rejection becomes the failure that the engine would make of it.
#[derive(Default)]
pub struct Loopback {
    pub sent: Mutex<Vec<Vec<(String, String)>>>,
    /// Requests that embedded texts: the texts of each.
    pub embedded: Mutex<Vec<Vec<String>>>,
    /// What evaluators of one's own answer, one a call; the last one again and again.
    pub outputs: Mutex<VecDeque<String>>,
    /// What these were given.
    pub given: Mutex<Vec<Value>>,
    pub calls: AtomicUsize,
    /// Fails the calls after this many.
    pub breaks_after: Option<usize>,
}

impl Loopback {
    pub fn answering(outputs: &[&str]) -> Self {
        let outputs = outputs.iter().map(|output| (*output).to_owned()).collect();
        Self { outputs: Mutex::new(outputs), ..Self::default() }
    }

    /// Keeps what was asked; returns the body of the answer.
    fn note(&self, call: &Call, body: &Bytes) -> Bytes {
        if call.endpoint.starts_with("evaluator ") {
            self.given.lock().unwrap().push(serde_json::from_slice(body).unwrap());
            let mut outputs = self.outputs.lock().unwrap();
            let output = if outputs.len() > 1 { outputs.pop_front() } else { outputs.front().cloned() };
            return Bytes::from(output.expect("an output"));
        }
        let value: Value = serde_json::from_slice(body).unwrap();
        match value.get("texts") {
            Some(texts) => self.embedded.lock().unwrap().push(serde_json::from_value(texts.clone()).unwrap()),
            None => self.sent.lock().unwrap().push(serde_json::from_value(value).unwrap()),
        }
        body.clone()
    }
}

impl Transport for Loopback {
    fn send<'a>(&'a self, call: &'a Call, accept: &'a Accept<'a>) -> BoxFuture<'a, Result<Receipt, Failure>> {
        let body = match &call.request {
            Request::Http(request) => request.body.clone(),
            Request::Command(request) => request.stdin.clone(),
        };
        let sent = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let answer = self.note(call, &body);
        if self.breaks_after.is_some_and(|limit| sent > limit) {
            let failure = Failure::infra(FailureKind::Timeout, "no answer within 2 s");
            return Box::pin(async move { Err(Failure { attempts: 3, ..failure }) });
        }
        let response = Response { status: 200, headers: Vec::new(), body: answer, latency: Duration::ZERO };
        let result = match accept(&response) {
            Ok(_) => Ok(Receipt { attempts: 1, cached: false, latency: Duration::ZERO }),
            Err(rejection) => {
                assert_eq!(rejection.class, RetryClass::Unusable, "would be retried: {}", rejection.message);
                let mut failure = Failure::infra(rejection.kind, rejection.message);
                (failure.attempts, failure.raw) = (1, rejection.raw);
                Err(failure)
            }
        };
        Box::pin(async { result })
    }
}
