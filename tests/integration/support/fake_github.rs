//! A GitHub that keeps comments: a real HTTP server on loopback that checks every request, and its own answers, against
//! `fixtures/contracts/github/github-ops.json`, and fails on demand. Used by `src/host` and by the integration tests.
#![allow(dead_code, reason = "each of its users needs another part of it")]
#![allow(clippy::unwrap_used, reason = "a test server may panic; the test then fails")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Barrier, Mutex, MutexGuard};

use serde_json::{Value, json};

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    pub path: String,
    pub query: String,
    pub authorization: Option<String>,
    pub body: String,
}

/// What happens instead of a proper answer.
#[derive(Clone, Debug)]
pub enum Fault {
    /// These bytes, and nothing is done.
    Answer(Vec<u8>),
    /// The request is carried out, but the connection closes before the answer.
    LoseAnswer,
    /// The connection closes before anything is done.
    LoseRequest,
    /// Somebody deletes all comments just before.
    Vanish,
}

#[derive(Clone, Debug)]
pub struct Stored {
    pub id: u64,
    pub login: String,
    pub kind: String,
    pub body: String,
    pub updated: u64,
}

struct Planned {
    method: &'static str,
    path: &'static str,
    left: usize,
    fault: Fault,
}

struct State {
    contract: Value,
    prefix: String,
    comments: Vec<Stored>,
    pulls: Vec<Value>,
    next_id: u64,
    clock: u64,
    page_cap: usize,
    /// None: the token is an installation's.
    login: Option<String>,
    seen: Vec<Seen>,
    violations: Vec<String>,
    faults: Vec<Planned>,
    lists_to_meet: usize,
    meeting: Option<Arc<Barrier>>,
}

/// The server; it lives as long as the test process.
pub struct FakeGithub {
    /// What `GITHUB_API_URL` is to be.
    pub url: String,
    state: Arc<Mutex<State>>,
}

impl FakeGithub {
    /// The repository is `octo/demo`; the token is an installation's.
    pub fn start() -> Self {
        Self::start_under("")
    }

    /// As [`Self::start`], with the API below a path, as a GHES has it (`/api/v3`).
    pub fn start_under(prefix: &str) -> Self {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/contracts/github/github-ops.json");
        let contract = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let state = State {
            contract,
            prefix: prefix.to_owned(),
            comments: Vec::new(),
            pulls: Vec::new(),
            next_id: 1_000,
            clock: 0,
            page_cap: 100,
            login: None,
            seen: Vec::new(),
            violations: Vec::new(),
            faults: Vec::new(),
            lists_to_meet: 0,
            meeting: None,
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}{prefix}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        Self { url, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The token is a person's.
    pub fn with_login(self, login: &str) -> Self {
        self.state().login = Some(login.to_owned());
        self
    }

    /// The most comments on a page, whatever is asked for.
    pub fn with_pages_of(self, cap: usize) -> Self {
        self.state().page_cap = cap;
        self
    }

    /// Adds a comment by somebody; returns its id.
    pub fn add(&self, login: &str, kind: &str, body: &str) -> u64 {
        self.state().add(login, kind, body)
    }

    pub fn add_pull(&self, number: u64, state: &str, head_sha: &str) {
        let pull = self.state().pull(number, state, head_sha);
        self.state().pulls.push(pull);
    }

    /// The next `times` requests whose path contains `path` fail.
    pub fn fail(&self, method: &'static str, path: &'static str, times: usize, fault: Fault) {
        self.state().faults.push(Planned { method, path, left: times, fault });
    }

    /// The first `count` lists wait for each other, so that `count` jobs see the same state.
    pub fn let_lists_meet(&self, count: usize) {
        let mut state = self.state();
        state.lists_to_meet = count;
        state.meeting = Some(Arc::new(Barrier::new(count)));
    }

    pub fn comments(&self) -> Vec<Stored> {
        self.state().comments.clone()
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.state().seen.clone()
    }

    /// `GET /…` lines of what arrived, without queries.
    pub fn log(&self) -> Vec<String> {
        self.state().seen.iter().map(|seen| format!("{} {}", seen.method, seen.path)).collect()
    }

    /// Requests or answers that break the contract.
    pub fn violations(&self) -> Vec<String> {
        self.state().violations.clone()
    }
}

fn serve(stream: TcpStream, shared: &Mutex<State>) {
    let Some(seen) = read_request(&stream) else { return };
    let meeting = {
        let mut state = shared.lock().unwrap();
        state.seen.push(seen.clone());
        state.meeting_of(&seen)
    };
    if let Some(meeting) = meeting {
        meeting.wait();
    }
    let answer = shared.lock().unwrap().answer(&seen);
    if let Some(bytes) = answer {
        let mut stream = stream;
        let _closed_early = stream.write_all(&bytes);
    }
}

fn read_request(stream: &TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut parts = line.split_whitespace();
    let (method, target) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    let (mut length, mut chunked, mut authorization) = (0usize, false, None);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "transfer-encoding" => chunked = value.trim() == "chunked",
            "authorization" => authorization = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    let mut body = Vec::new();
    if chunked {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            reader.read_exact(&mut chunk).ok()?;
            if size == 0 {
                break;
            }
            body.extend_from_slice(&chunk[..size]);
        }
    } else {
        body.resize(length, 0);
        reader.read_exact(&mut body).ok()?;
    }
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    Some(Seen { method, path, query, authorization, body: String::from_utf8(body).ok()? })
}

impl State {
    fn meeting_of(&mut self, seen: &Seen) -> Option<Arc<Barrier>> {
        let list = seen.method == "GET" && seen.path.ends_with("/comments");
        if !list || self.lists_to_meet == 0 {
            return None;
        }
        self.lists_to_meet -= 1;
        self.meeting.clone()
    }

    fn answer(&mut self, seen: &Seen) -> Option<Vec<u8>> {
        let fault = self
            .faults
            .iter_mut()
            .find(|planned| planned.left > 0 && planned.method == seen.method && seen.path.contains(planned.path));
        let fault = fault.map(|planned| {
            planned.left -= 1;
            planned.fault.clone()
        });
        let operation = match self.check_request(seen) {
            Ok(operation) => operation,
            Err(violation) => {
                self.violations.push(violation.clone());
                return Some(http(422, &json!({ "message": violation }), None));
            }
        };
        match fault {
            Some(Fault::Answer(bytes)) => return Some(bytes),
            Some(Fault::LoseRequest) => return None,
            Some(Fault::Vanish) => self.comments.clear(),
            Some(Fault::LoseAnswer) | None => {}
        }
        let (status, body, link) = self.carry_out(seen);
        self.check_answer(&operation, status, &body);
        match fault {
            Some(Fault::LoseAnswer) => None,
            _ => Some(http(status, &body, link)),
        }
    }

    /// Method, path, query and body must be an operation of the contract.
    fn check_request(&self, seen: &Seen) -> Result<Value, String> {
        let what = format!("{} {}?{}", seen.method, seen.path, seen.query);
        if seen.authorization.as_deref().is_none_or(|value| !value.starts_with("Bearer ")) {
            return Err(format!("{what}: no token"));
        }
        let Some(path) = seen.path.strip_prefix(&self.prefix) else { return Err(format!("{what}: wrong base")) };
        let operation = self.contract["operations"].as_array().unwrap().iter().find(|operation| {
            operation["method"] == seen.method.as_str() && matches_template(operation["path"].as_str().unwrap(), path)
        });
        let operation = operation.ok_or_else(|| format!("{what}: no such operation in the contract"))?.clone();
        for (name, value) in seen.query.split('&').filter_map(|pair| pair.split_once('=')) {
            let known = &operation["query"]["properties"][name];
            let allowed = known.get("enum").and_then(Value::as_array);
            if known.is_null() || allowed.is_some_and(|allowed| !allowed.contains(&json!(value))) {
                return Err(format!("{what}: the query `{name}={value}` is not in the contract"));
            }
        }
        if !operation["request"].is_null() {
            let body: Value = serde_json::from_str(&seen.body).map_err(|error| format!("{what}: {error}"))?;
            self.validate(&operation["request"], &body).map_err(|error| format!("{what}: {error}"))?;
        } else if !seen.body.is_empty() {
            return Err(format!("{what}: a body where there is none"));
        }
        Ok(operation)
    }

    fn check_answer(&mut self, operation: &Value, status: u16, body: &Value) {
        let schema = &operation["responses"][status.to_string()];
        if schema.is_object()
            && let Err(error) = self.validate(schema, body)
        {
            self.violations.push(format!("the fake's own answer to {}: {error}", operation["path"]));
        }
    }

    fn validate(&self, schema: &Value, value: &Value) -> Result<(), String> {
        let schema = json!({ "$defs": self.contract["$defs"], "allOf": [schema] });
        let validator = jsonschema::validator_for(&schema).map_err(|error| error.to_string())?;
        validator.validate(value).map_err(|error| format!("{error} at {}", error.instance_path()))
    }

    fn carry_out(&mut self, seen: &Seen) -> (u16, Value, Option<String>) {
        let path = seen.path.strip_prefix(&self.prefix).unwrap_or_default().to_owned();
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let text = || serde_json::from_str::<Value>(&seen.body).unwrap()["body"].as_str().unwrap().to_owned();
        match (seen.method.as_str(), parts.as_slice()) {
            ("GET", ["user"]) => match &self.login {
                Some(login) => (200, self.user(login, "User"), None),
                None => (403, json!({ "message": "Resource not accessible by integration" }), None),
            },
            ("GET", ["repos", "octo", "demo", "issues", _, "comments"]) => self.list(seen),
            ("POST", ["repos", "octo", "demo", "issues", _, "comments"]) => {
                let (login, kind) = match &self.login {
                    Some(login) => (login.clone(), "User"),
                    None => ("github-actions[bot]".to_owned(), "Bot"),
                };
                let id = self.add(&login, kind, &text());
                (201, self.show(id), None)
            }
            ("PATCH", ["repos", "octo", "demo", "issues", "comments", id]) => {
                self.clock += 1;
                let (clock, id) = (self.clock, id.parse().unwrap());
                match self.comments.iter_mut().find(|comment| comment.id == id) {
                    Some(comment) => {
                        (comment.body, comment.updated) = (text(), clock);
                        (200, self.show(id), None)
                    }
                    None => not_found(),
                }
            }
            ("DELETE", ["repos", "octo", "demo", "issues", "comments", id]) => {
                let (before, id) = (self.comments.len(), id.parse::<u64>().unwrap());
                self.comments.retain(|comment| comment.id != id);
                if self.comments.len() < before { (204, Value::Null, None) } else { not_found() }
            }
            ("POST", ["repos", "octo", "demo", "statuses", _]) => (201, self.made("status"), None),
            ("POST", ["repos", "octo", "demo", "check-runs"]) => (201, self.made("check-run"), None),
            ("GET", ["repos", "octo", "demo", "commits", sha, "pulls"]) => {
                let of_commit = |pull: &&Value| pull["head"]["sha"] == *sha && pull["head"]["repo"]["fork"] == false;
                (200, self.pulls.iter().filter(of_commit).cloned().collect(), None)
            }
            ("GET", ["repos", "octo", "demo", "pulls"]) => (200, self.pulls.iter().cloned().collect(), None),
            _ => not_found(),
        }
    }

    fn list(&self, seen: &Seen) -> (u16, Value, Option<String>) {
        let number = |name: &str, otherwise: usize| {
            let pair = seen.query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")));
            pair.and_then(|value| value.parse().ok()).unwrap_or(otherwise)
        };
        let size = number("per_page", 30).min(self.page_cap);
        let page = number("page", 1);
        let all: Vec<u64> = self.comments.iter().map(|comment| comment.id).collect();
        let items: Value = all.iter().skip((page - 1) * size).take(size).map(|id| self.show(*id)).collect();
        let link = (page * size < all.len()).then(|| {
            let address = format!("http://127.0.0.1{}?per_page={size}&page=", seen.path);
            let last = all.len().div_ceil(size);
            format!("<{address}{}>; rel=\"next\", <{address}{last}>; rel=\"last\"", page + 1)
        });
        (200, items, link)
    }

    fn add(&mut self, login: &str, kind: &str, body: &str) -> u64 {
        self.clock += 1;
        self.next_id += 1;
        let (login, kind, body) = (login.to_owned(), kind.to_owned(), body.to_owned());
        self.comments.push(Stored { id: self.next_id, login, kind, body, updated: self.clock });
        self.next_id
    }

    fn show(&self, id: u64) -> Value {
        let comment = self.comments.iter().find(|comment| comment.id == id).unwrap();
        let time = |ticks: u64| format!("2020-01-01T{:02}:{:02}:{:02}Z", ticks / 3600, ticks / 60 % 60, ticks % 60);
        json!({
            "id": id, "node_id": format!("IC_{id}"), "body": comment.body,
            "url": format!("https://api.github.test/repos/octo/demo/issues/comments/{id}"),
            "html_url": format!("https://github.test/octo/demo/pull/12#issuecomment-{id}"),
            "issue_url": "https://api.github.test/repos/octo/demo/issues/12",
            "user": self.user(&comment.login, &comment.kind),
            "created_at": time(0), "updated_at": time(comment.updated), "author_association": "NONE",
        })
    }

    fn user(&self, login: &str, kind: &str) -> Value {
        let url = format!("https://api.github.test/users/{login}");
        let mut user = json!({
            "login": login, "id": 1, "node_id": "U_1", "gravatar_id": "", "type": kind, "site_admin": false,
            "name": null, "company": null, "blog": null, "location": null, "email": null, "hireable": null, "bio": null,
            "public_repos": 1, "public_gists": 0, "followers": 0, "following": 0,
            "created_at": "2020-01-01T00:00:00Z", "updated_at": "2020-01-01T00:00:00Z", "user_view_type": "public",
        });
        let addresses = [
            "url",
            "avatar_url",
            "events_url",
            "followers_url",
            "following_url",
            "gists_url",
            "html_url",
            "organizations_url",
            "received_events_url",
            "repos_url",
            "starred_url",
            "subscriptions_url",
        ];
        for name in addresses {
            user[name] = json!(url);
        }
        user
    }

    /// The plainest answer of this kind.
    fn made(&self, kind: &str) -> Value {
        let mut value = if kind == "check-run" { json!({ "app": null }) } else { json!({}) };
        self.complete(&json!({ "$ref": format!("#/$defs/{kind}") }), &mut value);
        value
    }

    /// Adds what the contract requires and a trimmed sample leaves out.
    fn complete(&self, schema: &Value, value: &mut Value) {
        let schema = match schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
            Some(name) => &self.contract["$defs"][name],
            None => schema,
        };
        if value.is_null() && schema["type"].as_array().is_some_and(|types| types.contains(&json!("null"))) {
            return;
        }
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let inner = &schema["properties"][name];
            let target = inner["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/"));
            if value.get(name).is_none() {
                value[name] = plain(target.map_or(inner, |target| &self.contract["$defs"][target]));
            }
        }
        for (name, inner) in value.as_object_mut().into_iter().flatten() {
            self.complete(&schema["properties"][name], inner);
        }
        for item in value.as_array_mut().into_iter().flatten() {
            self.complete(&schema["items"], item);
        }
    }

    /// From the webhook sample, which has the same shape; the head of a fork where `state` says `fork`.
    fn pull(&self, number: u64, state: &str, head_sha: &str) -> Value {
        let file =
            concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/contracts/github/events/pull_request.synchronize.fork.json");
        let event: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let mut pull = event["pull_request"].clone();
        let fork = state == "fork";
        pull["number"] = json!(number);
        pull["state"] = json!(if fork { "open" } else { state });
        pull["head"]["sha"] = json!(head_sha);
        pull["head"]["repo"]["fork"] = json!(fork);
        pull["base"]["repo"]["full_name"] = json!("octo/demo");
        self.complete(&json!({ "$ref": "#/$defs/pull-request-simple" }), &mut pull);
        pull
    }
}

/// The plainest value of a schema's type.
fn plain(schema: &Value) -> Value {
    let first = |value: &Value| value.as_array().map_or_else(|| value.clone(), |all| all[0].clone());
    match first(&schema["type"]).as_str() {
        Some("string") => schema["enum"].as_array().map_or_else(|| json!("x"), |allowed| allowed[0].clone()),
        Some("integer" | "number") => json!(0),
        Some("boolean") => json!(false),
        Some("array") => json!([]),
        _ => json!({}),
    }
}

fn matches_template(template: &str, path: &str) -> bool {
    let (template, path): (Vec<&str>, Vec<&str>) = (template.split('/').collect(), path.split('/').collect());
    template.len() == path.len()
        && template
            .iter()
            .zip(&path)
            .all(|(expected, part)| expected.starts_with('{') && !part.is_empty() || expected == part)
}

fn not_found() -> (u16, Value, Option<String>) {
    (404, json!({ "message": "Not Found" }), None)
}

fn http(status: u16, body: &Value, link: Option<String>) -> Vec<u8> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let link = link.map(|link| format!("link: {link}\r\n")).unwrap_or_default();
    let head = format!("HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-type: application/json\r\n{link}");
    format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
