//! A provider with a batch interface on loopback, in OpenAI's and in Anthropic's form: real HTTP, every request and answer checked
//! against `fixtures/contracts`, every paid request counted, and misfortunes on demand.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    OpenAi,
    Anthropic,
}

pub const FORMS: [Form; 2] = [Form::OpenAi, Form::Anthropic];

/// What becomes of one request in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Says(&'static str),
    /// The provider's own trouble.
    Broken,
    /// The request's fault.
    Invalid,
    Expired,
    Cancelled,
    /// It is not among the results.
    Missing,
}

/// What happens to the first submissions, one each; after them all goes well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    /// The batch is made, and the connection closes without an answer.
    LosesAnswer,
    /// The batch is made, and no answer comes.
    Stalls,
    /// The batch is made, and the answer with its success status is this, which is none.
    Answers(&'static str),
    /// Nothing is made: status and error type.
    Refused(u16, &'static str),
}

#[derive(Clone)]
pub struct Manner {
    /// Looks at a batch before it ends; `usize::MAX`: never, until [`BatchServer::end_all`].
    pub looks: usize,
    pub fate: fn(&str) -> Fate,
    pub submissions: Vec<Submission>,
    /// The list of batches is empty for so many looks at it.
    pub unlisted: usize,
    /// The batch is accepted and then found invalid (OpenAI's form only).
    pub invalid: bool,
}

impl Default for Manner {
    fn default() -> Self {
        Self { looks: 2, fate: |_| Fate::Says("YES"), submissions: Vec::new(), unlisted: 0, invalid: false }
    }
}

#[derive(Clone)]
struct Batch {
    id: String,
    /// Ids and bodies, in their order.
    items: Vec<(String, String)>,
    metadata: Value,
    created: i64,
    looks: usize,
    ended: bool,
}

#[derive(Default)]
pub struct Seen {
    /// Times each body was paid for in a batch.
    pub in_batches: HashMap<String, usize>,
    /// Times each body was asked directly.
    pub direct: HashMap<String, usize>,
    pub submissions: usize,
    pub looks: usize,
    /// Requests and answers that were compared with the contract.
    pub checked: usize,
    pub violations: Vec<String>,
}

struct State {
    form: Form,
    manner: Manner,
    files: BTreeMap<String, Vec<(String, String)>>,
    batches: Vec<Batch>,
    seen: Seen,
}

pub struct BatchServer {
    pub form: Form,
    /// What `base_url` is to be.
    pub url: String,
    state: Arc<Mutex<State>>,
}

struct Asked {
    method: String,
    path: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    body: String,
}

enum Reply {
    Answer(u16, &'static str, String),
    Close,
    Stall,
}

impl BatchServer {
    pub fn start(form: Form, manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let url = match form {
            Form::OpenAi => format!("http://{address}/v1"),
            Form::Anthropic => format!("http://{address}"),
        };
        let (files, batches, seen) = (BTreeMap::new(), Vec::new(), Seen::default());
        let state = Arc::new(Mutex::new(State { form, manner, files, batches, seen }));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(&stream, &shared));
            }
        });
        Self { form, url, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("the state")
    }

    pub fn with<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.state().seen)
    }

    /// From now on no new batch ends, until [`BatchServer::end_all`].
    pub fn hold_all(&self) {
        self.state().manner.looks = usize::MAX;
    }

    /// From now on every batch is at its end.
    pub fn end_all(&self) {
        let mut state = self.state();
        state.manner.looks = 0;
        state.batches.iter_mut().for_each(|batch| batch.looks = 0);
    }

    /// Somebody else's batch of that size, made just now, at its end.
    pub fn add_strange(&self, requests: usize) {
        let items = (0..requests).map(|at| (format!("other-{at}"), "{}".to_owned())).collect();
        self.state().batches.push(Batch {
            id: "msgbatch_strange".to_owned(),
            items,
            metadata: Value::Null,
            created: now(),
            looks: 0,
            ended: true,
        });
    }

    pub fn ids(&self) -> Vec<String> {
        self.state().batches.iter().map(|batch| batch.id.clone()).collect()
    }
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock");
    i64::try_from(since.as_secs()).expect("seconds")
}

fn time(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).expect("a time").to_string()
}

fn serve(stream: &TcpStream, shared: &Mutex<State>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let asked = read(&mut reader)?;
        let reply = shared.lock().expect("the state").answer(&asked);
        match reply {
            Reply::Close => return None,
            Reply::Stall => {
                std::thread::sleep(std::time::Duration::from_secs(3600));
                return None;
            }
            Reply::Answer(status, kind, body) => {
                let head = format!(
                    "HTTP/1.1 {status} Status\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                let mut out = stream;
                out.write_all(head.as_bytes()).and_then(|()| out.write_all(body.as_bytes())).ok()?;
            }
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let pair = |pair: &str| pair.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let query = query.split('&').filter_map(pair).collect();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or(Some(0), |length| length.parse().ok())?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { method, path: path.to_owned(), query, headers, body: String::from_utf8(body).ok()? })
}

impl State {
    fn answer(&mut self, asked: &Asked) -> Reply {
        let reply = match self.form {
            Form::OpenAi => self.openai(asked),
            Form::Anthropic => self.anthropic(asked),
        };
        if let Reply::Answer(200, "application/json", body) = &reply {
            let value = serde_json::from_str(body).expect("JSON");
            self.check(asked, "responses", &value);
        }
        reply
    }

    /// Notes what breaks the contract.
    fn check(&mut self, asked: &Asked, part: &str, value: &Value) {
        let path = match self.form {
            Form::OpenAi => asked.path.trim_start_matches("/v1"),
            Form::Anthropic => &asked.path,
        };
        if let Some(schema) = contract(self.form, &asked.method, path, part) {
            let errors = schema.iter_errors(value).map(|error| format!("{part} of {path}: {error}"));
            self.seen.violations.extend(errors);
            self.seen.checked += 1;
        }
    }

    fn openai(&mut self, asked: &Asked) -> Reply {
        if asked.headers.get("authorization").is_none_or(|key| !key.starts_with("Bearer ")) {
            self.seen.violations.push(format!("no key: {}", asked.path));
        }
        let parts: Vec<&str> = asked.path.trim_start_matches("/v1/").split('/').collect();
        match (asked.method.as_str(), parts.as_slice()) {
            ("POST", ["chat", "completions"]) => self.direct(asked),
            ("POST", ["files"]) => self.upload(asked),
            ("POST", ["batches"]) => {
                let body: Value = serde_json::from_str(&asked.body).expect("JSON");
                self.check(asked, "request", &body);
                let file = body["input_file_id"].as_str().expect("a file").to_owned();
                let items = self.files.get(&file).cloned().expect("the file was uploaded");
                self.submit(items, body["metadata"].clone())
            }
            ("GET", ["batches"]) => {
                let mut batches: Vec<Value> = self.listed().iter().map(|batch| self.openai_batch(batch)).collect();
                batches.reverse();
                json_answer(&json!({"object": "list", "data": batches, "has_more": false}))
            }
            ("GET", ["batches", id]) => self.look(id),
            ("GET", ["files", file, "content"]) => {
                self.results(file.trim_start_matches("out_").trim_start_matches("err_"), file)
            }
            _ => error(404, "not_found"),
        }
    }

    fn anthropic(&mut self, asked: &Asked) -> Reply {
        let headers = json!(asked.headers);
        self.check(asked, "headers", &headers);
        self.check(asked, "query", &json!(asked.query));
        let parts: Vec<&str> = asked.path.trim_start_matches("/v1/messages").split('/').skip(1).collect();
        match (asked.method.as_str(), parts.as_slice()) {
            ("POST", []) => self.direct(asked),
            ("POST", ["batches"]) => {
                let body: Value = serde_json::from_str(&asked.body).expect("JSON");
                self.check(asked, "request", &body);
                let item =
                    |item: &Value| (item["custom_id"].as_str().expect("an id").to_owned(), item["params"].to_string());
                let items = body["requests"].as_array().expect("requests").iter().map(item).collect();
                self.submit(items, Value::Null)
            }
            ("GET", ["batches"]) => {
                let mut batches: Vec<Value> = self.listed().iter().map(anthropic_batch).collect();
                batches.reverse();
                json_answer(&json!({"data": batches, "has_more": false, "first_id": null, "last_id": null}))
            }
            ("GET", ["batches", id]) => self.look(id),
            ("GET", ["batches", id, "results"]) => self.results(id, "out_"),
            _ => error(404, "not_found_error"),
        }
    }

    fn direct(&mut self, asked: &Asked) -> Reply {
        let body: Value = serde_json::from_str(&asked.body).expect("JSON");
        self.check(asked, "request", &body);
        *self.seen.direct.entry(body.to_string()).or_default() += 1;
        json_answer(&self.message("YES"))
    }

    fn upload(&mut self, asked: &Asked) -> Reply {
        let boundary = asked.headers["content-type"].split_once("boundary=").expect("a form").1;
        let mut fields = BTreeMap::new();
        for part in asked.body.split(&format!("--{boundary}")).filter(|part| part.contains("form-data")) {
            let (head, value) = part.split_once("\r\n\r\n").expect("head and value");
            let name = head.split("name=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a name");
            fields.insert(name.to_owned(), value.strip_suffix("\r\n").expect("an end").to_owned());
        }
        self.check(asked, "request", &json!(fields));
        let mut items = Vec::new();
        for line in fields["file"].lines() {
            let line: Value = serde_json::from_str(line).expect("a line of JSON");
            assert_eq!((&line["method"], &line["url"]), (&json!("POST"), &json!("/v1/chat/completions")));
            let direct = Asked { path: "/v1/chat/completions".to_owned(), ..empty() };
            self.check(&direct, "request", &line["body"]);
            items.push((line["custom_id"].as_str().expect("an id").to_owned(), line["body"].to_string()));
        }
        let id = format!("file-{}", self.files.len());
        self.files.insert(id.clone(), items);
        json_answer(&json!({"id": id, "object": "file", "bytes": fields["file"].len(), "created_at": now(),
            "filename": "requests.jsonl", "purpose": fields["purpose"], "status": "processed"}))
    }

    fn submit(&mut self, items: Vec<(String, String)>, metadata: Value) -> Reply {
        let submission =
            if self.manner.submissions.is_empty() { None } else { Some(self.manner.submissions.remove(0)) };
        if let Some(Submission::Refused(status, kind)) = submission {
            return error(status, kind);
        }
        self.seen.submissions += 1;
        for (_, body) in &items {
            *self.seen.in_batches.entry(body.clone()).or_default() += 1;
        }
        let prefix = if self.form == Form::OpenAi { "batch" } else { "msgbatch" };
        let id = format!("{prefix}_{}", self.batches.len() + 1);
        let batch = Batch { id, items, metadata, created: now(), looks: self.manner.looks, ended: false };
        self.batches.push(batch.clone());
        match submission {
            Some(Submission::LosesAnswer) => Reply::Close,
            Some(Submission::Stalls) => Reply::Stall,
            Some(Submission::Answers(text)) => Reply::Answer(200, "text/plain", text.to_owned()),
            Some(Submission::Refused(..)) | None => json_answer(&self.shown(&batch)),
        }
    }

    /// What the list shows at this look.
    fn listed(&mut self) -> Vec<Batch> {
        if self.manner.unlisted > 0 {
            self.manner.unlisted -= 1;
            return Vec::new();
        }
        self.batches.clone()
    }

    fn look(&mut self, id: &str) -> Reply {
        self.seen.looks += 1;
        let Some(batch) = self.batches.iter_mut().find(|batch| batch.id == id) else {
            return error(404, "not_found_error");
        };
        if batch.looks == 0 {
            batch.ended = true;
        } else if batch.looks != usize::MAX {
            batch.looks -= 1;
        }
        let batch = batch.clone();
        json_answer(&self.shown(&batch))
    }

    fn shown(&self, batch: &Batch) -> Value {
        match self.form {
            Form::OpenAi => self.openai_batch(batch),
            Form::Anthropic => anthropic_batch(batch),
        }
    }

    fn openai_batch(&self, batch: &Batch) -> Value {
        let fate = |wanted: Fate| batch.items.iter().any(|(_, body)| (self.manner.fate)(body) == wanted);
        let total = batch.items.len();
        let mut value = json!({"id": batch.id, "object": "batch", "endpoint": "/v1/chat/completions",
            "input_file_id": "file-0", "completion_window": "24h", "status": "in_progress", "created_at": batch.created,
            "request_counts": {"total": total, "completed": total / 2, "failed": 0}});
        if batch.metadata.is_object() {
            value["metadata"] = batch.metadata.clone();
        }
        if self.manner.invalid {
            value["status"] = json!("failed");
            value["errors"] = json!({"object": "list", "data": [
                {"code": "model_not_found", "message": "The provided model is not supported by the Batch API.", "param": "body.model", "line": 1}]});
        } else if batch.ended {
            let status = if fate(Fate::Expired) {
                "expired"
            } else if fate(Fate::Cancelled) {
                "cancelled"
            } else {
                "completed"
            };
            value["status"] = json!(status);
            value["output_file_id"] = json!(format!("out_{}", batch.id));
            value["error_file_id"] = json!(format!("err_{}", batch.id));
        }
        value
    }

    /// OpenAI's form has two files of results, Anthropic's one.
    fn results(&self, id: &str, file: &str) -> Reply {
        let Some(batch) = self.batches.iter().find(|batch| batch.id == id && batch.ended) else {
            return error(404, "not_found_error");
        };
        let mut lines: Vec<String> = batch
            .items
            .iter()
            .filter_map(|(id, body)| self.result(id, (self.manner.fate)(body)))
            .filter(|(good, _)| self.form == Form::Anthropic || *good == file.starts_with("out_"))
            .map(|(_, line)| line.to_string())
            .collect();
        // Results come in any order.
        lines.reverse();
        Reply::Answer(200, "application/x-jsonl", lines.iter().map(|line| format!("{line}\n")).collect())
    }

    /// A line of the results, and whether it is one of the good ones.
    fn result(&self, id: &str, fate: Fate) -> Option<(bool, Value)> {
        let good = matches!(fate, Fate::Says(_));
        let value = match (self.form, fate) {
            (_, Fate::Missing) => return None,
            (Form::OpenAi, Fate::Says(text)) => {
                json!({"id": "r", "custom_id": id, "error": null,
                    "response": {"status_code": 200, "request_id": "q", "body": self.message(text)}})
            }
            (Form::OpenAi, Fate::Broken) => json!({"id": "r", "custom_id": id, "error": null,
                "response": {"status_code": 500, "request_id": "q", "body": {"error": {"message": "oh", "type": "server_error"}}}}),
            (Form::OpenAi, Fate::Invalid) => json!({"id": "r", "custom_id": id, "error": null,
                "response": {"status_code": 400, "request_id": "q",
                    "body": {"error": {"message": "too long", "type": "invalid_request_error"}}}}),
            (Form::OpenAi, Fate::Expired) => json!({"id": "r", "custom_id": id, "response": null,
                "error": {"code": "batch_expired", "message": "This request could not be executed before the completion window expired."}}),
            (Form::OpenAi, Fate::Cancelled) => json!({"id": "r", "custom_id": id, "response": null,
                "error": {"code": "batch_cancelled", "message": "This batch was cancelled."}}),
            (Form::Anthropic, Fate::Says(text)) => {
                json!({"custom_id": id, "result": {"type": "succeeded", "message": self.message(text)}})
            }
            (Form::Anthropic, Fate::Broken) => json!({"custom_id": id, "result": {"type": "errored",
                "error": {"type": "error", "error": {"type": "api_error", "message": "oh"}, "request_id": "q"}}}),
            (Form::Anthropic, Fate::Invalid) => json!({"custom_id": id, "result": {"type": "errored",
                "error": {"type": "error", "error": {"type": "invalid_request_error", "message": "too long"}}}}),
            (Form::Anthropic, Fate::Expired) => json!({"custom_id": id, "result": {"type": "expired"}}),
            (Form::Anthropic, Fate::Cancelled) => json!({"custom_id": id, "result": {"type": "canceled"}}),
        };
        Some((good, value))
    }

    /// Ten tokens asked, two answered.
    fn message(&self, text: &str) -> Value {
        match self.form {
            Form::OpenAi => json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
                "choices": [{"index": 0, "message": {"role": "assistant", "content": text, "refusal": null},
                    "finish_reason": "stop", "logprobs": null}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}}),
            Form::Anthropic => json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
                "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "stop_sequence": null,
                "usage": {"input_tokens": 10, "output_tokens": 2}}),
        }
    }
}

fn anthropic_batch(batch: &Batch) -> Value {
    let total = batch.items.len();
    let (processing, succeeded) = if batch.ended { (0, total) } else { (total, 0) };
    let ended = batch.ended.then(|| time(batch.created + 1));
    json!({"id": batch.id, "type": "message_batch", "processing_status": if batch.ended { "ended" } else { "in_progress" },
        "request_counts": {"processing": processing, "succeeded": succeeded, "errored": 0, "canceled": 0, "expired": 0},
        "created_at": time(batch.created), "expires_at": time(batch.created + 86_400), "ended_at": ended,
        "archived_at": null, "cancel_initiated_at": null,
        "results_url": batch.ended.then(|| format!("https://api.anthropic.com/v1/messages/batches/{}/results", batch.id))})
}

fn empty() -> Asked {
    let (query, headers) = (BTreeMap::new(), BTreeMap::new());
    Asked { method: "POST".to_owned(), path: String::new(), query, headers, body: String::new() }
}

fn json_answer(value: &Value) -> Reply {
    Reply::Answer(200, "application/json", value.to_string())
}

/// In the form that both providers' errors share.
fn error(status: u16, kind: &str) -> Reply {
    let body = json!({"type": "error", "error": {"type": kind, "code": kind, "message": format!("refused: {kind}")}});
    Reply::Answer(status, "application/json", body.to_string())
}

type Schemas = HashMap<(String, String), jsonschema::Validator>;

/// The schema of a part of an operation, made once; `None` where the description has none.
fn contract(form: Form, method: &str, path: &str, part: &str) -> Option<&'static jsonschema::Validator> {
    static OPENAI: OnceLock<Schemas> = OnceLock::new();
    static ANTHROPIC: OnceLock<Schemas> = OnceLock::new();
    let schemas = match form {
        Form::OpenAi => OPENAI.get_or_init(|| schemas("openai/openai-ops.json", "/chat /files /batches")),
        Form::Anthropic => ANTHROPIC.get_or_init(|| schemas("anthropic/anthropic-ops.json", "/v1")),
    };
    let segments: Vec<&str> = path.split('/').collect();
    let fits = |template: &str| {
        let wanted: Vec<&str> = template.split('/').collect();
        wanted.len() == segments.len() && wanted.iter().zip(&segments).all(|(a, b)| a.starts_with('{') || a == b)
    };
    schemas
        .iter()
        .find(|((operation, of), _)| {
            of == part && operation.split_once(' ').is_some_and(|(verb, template)| verb == method && fits(template))
        })
        .map(|(_, schema)| schema)
}

/// Of the operations below one of these paths, by `METHOD /path` and part.
fn schemas(file: &str, roots: &str) -> Schemas {
    let path = crate::command::root().join("fixtures/contracts").join(file);
    let mut file: Value = serde_json::from_slice(&std::fs::read(path).expect("a contract")).expect("JSON");
    // A word of an older draft in a part that nobody uses here; the validator refuses it.
    if let Some(filter) = file["$defs"].get_mut("CompoundFilter").and_then(Value::as_object_mut) {
        filter.remove("$recursiveAnchor");
    }
    let mut schemas = Schemas::new();
    for operation in file["operations"].as_array().expect("operations") {
        let path = operation["path"].as_str().expect("a path");
        if !roots.split(' ').any(|root| path.starts_with(root)) {
            continue;
        }
        let name = format!("{} {path}", operation["method"].as_str().expect("a method"));
        let parts = [
            ("request", &operation["request"]),
            ("headers", &operation["headers"]),
            ("query", &operation["query"]),
            ("responses", &operation["responses"]["200"]),
        ];
        for (part, schema) in parts.into_iter().filter(|(_, schema)| schema.is_object()) {
            let whole = json!({"$defs": file["$defs"], "allOf": [schema]});
            let schema = jsonschema::validator_for(&whole).expect("a schema");
            schemas.insert((name.clone(), part.to_owned()), schema);
        }
    }
    schemas
}
