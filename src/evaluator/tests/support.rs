//! Cases, answers and judges for tests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::domain::{
    Answer, Case, Context, Digest, EndpointLimits, Env, Failure, Fingerprint, Place, RetryClass, Usage,
};
use crate::evaluator::BuildContext;
use crate::net::{
    Accept, BoxFuture, Call, Deadlines, Dialect, Expected, HttpRequest, Receipt, Rejection, Request, Response, Route,
    Transport,
};
use crate::provider::{ChatApi, ChatReply, ChatRequest, Model};
use crate::suite::Block;

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

static ENV: std::sync::LazyLock<Env> = std::sync::LazyLock::new(Env::default);

pub fn context_of(models: &BTreeMap<String, Model>) -> BuildContext<'_> {
    let deadlines = Deadlines { connect: Duration::from_secs(1), whole: Duration::from_secs(2) };
    BuildContext { env: &ENV, models, deadlines, batch_size: 1 }
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

/// A dialect whose request is the messages as JSON, and whose response body is the request sent back.
struct Scripted(Script);

impl ChatApi for Scripted {
    fn call(&self, request: &ChatRequest) -> Call {
        let messages: Vec<Value> =
            request.messages.iter().map(|message| json!([format!("{:?}", message.role), message.text])).collect();
        Call {
            request: Request::Http(HttpRequest {
                method: http::Method::POST,
                url: "http://judge.test/".to_owned(),
                headers: Vec::new(),
                credentials: Vec::new(),
                body: Bytes::from(serde_json::to_vec(&messages).unwrap()),
            }),
            endpoint: "judge".into(),
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

    fn read(&self, response: &Response) -> Result<ChatReply, Rejection> {
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
    /// Fails the calls after this many.
    pub breaks_after: Option<usize>,
}

impl Transport for Loopback {
    fn send<'a>(&'a self, call: &'a Call, accept: &'a Accept<'a>) -> BoxFuture<'a, Result<Receipt, Failure>> {
        let Request::Http(request) = &call.request else { panic!("no program is called here") };
        let sent = {
            let mut sent = self.sent.lock().unwrap();
            sent.push(serde_json::from_slice(&request.body).unwrap());
            sent.len()
        };
        if self.breaks_after.is_some_and(|limit| sent > limit) {
            let failure = Failure::infra(crate::domain::FailureKind::Timeout, "no answer within 2 s");
            return Box::pin(async move { Err(Failure { attempts: 3, ..failure }) });
        }
        let response =
            Response { status: 200, headers: Vec::new(), body: request.body.clone(), latency: Duration::ZERO };
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
