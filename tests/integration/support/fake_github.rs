//! A GitHub that keeps comments: a real HTTP server on loopback that checks every request, and its own answers, against
//! `fixtures/contracts/github/github-ops.json`, and fails on demand. Used by `src/host` and by the integration tests.
#![allow(dead_code, reason = "each of its users needs another part of it")]
#![allow(clippy::unwrap_used, reason = "a test server may panic; the test then fails")]

use std::sync::{Arc, Barrier};

use serde_json::{Value, json};

use super::fake_server::{self, Answer, FakeServer, Host, Seen, matches_template};

/// What happens instead of a proper answer.
pub type Fault = fake_server::Fault<Github>;

#[derive(Clone, Debug)]
pub struct Stored {
    pub id: u64,
    pub login: String,
    pub kind: String,
    pub body: String,
    pub updated: u64,
}

/// Its comments and pull requests.
pub struct Github {
    contract: Value,
    prefix: String,
    pub comments: Vec<Stored>,
    pulls: Vec<Value>,
    next_id: u64,
    clock: u64,
    page_cap: usize,
    /// None: the token is an installation's.
    login: Option<String>,
    /// Answers of ours that break the contract.
    broken: Vec<String>,
    lists_to_meet: usize,
    meeting: Option<Arc<Barrier>>,
}

/// The server; it lives as long as the test process.
pub struct FakeGithub {
    /// What `GITHUB_API_URL` is to be.
    pub url: String,
    server: FakeServer<Github>,
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
        let server = FakeServer::start(Github {
            contract,
            prefix: prefix.to_owned(),
            comments: Vec::new(),
            pulls: Vec::new(),
            next_id: 1_000,
            clock: 0,
            page_cap: 100,
            login: None,
            broken: Vec::new(),
            lists_to_meet: 0,
            meeting: None,
        });
        Self { url: format!("{}{prefix}", server.url), server }
    }

    /// The token is a person's.
    pub fn with_login(self, login: &str) -> Self {
        self.server.with(|github| github.login = Some(login.to_owned()));
        self
    }

    /// The most comments on a page, whatever is asked for.
    pub fn with_pages_of(self, cap: usize) -> Self {
        self.server.with(|github| github.page_cap = cap);
        self
    }

    /// Adds a comment by somebody; returns its id.
    pub fn add(&self, login: &str, kind: &str, body: &str) -> u64 {
        self.server.with(|github| github.add(login, kind, body))
    }

    pub fn add_pull(&self, number: u64, state: &str, head_sha: &str) {
        self.server.with(|github| {
            let pull = github.pull(number, state, head_sha);
            github.pulls.push(pull);
        });
    }

    /// The next `times` requests whose path contains `path` fail.
    pub fn fail(&self, method: &'static str, path: &'static str, times: usize, fault: Fault) {
        self.server.fail(method, path, times, fault);
    }

    /// The first `count` lists wait for each other, so that `count` jobs see the same state.
    pub fn let_lists_meet(&self, count: usize) {
        self.server.with(|github| {
            github.lists_to_meet = count;
            github.meeting = Some(Arc::new(Barrier::new(count)));
        });
    }

    pub fn comments(&self) -> Vec<Stored> {
        self.server.with(|github| github.comments.clone())
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.server.seen()
    }

    /// `GET /…` lines of what arrived, without queries.
    pub fn log(&self) -> Vec<String> {
        self.server.log()
    }

    /// Requests or answers that break the contract.
    pub fn violations(&self) -> Vec<String> {
        let broken = self.server.with(|github| github.broken.clone());
        self.server.violations().into_iter().chain(broken).collect()
    }
}

impl Host for Github {
    fn check(&self, seen: &Seen) -> Result<(), String> {
        self.operation(seen).map(drop)
    }

    fn carry_out(&mut self, seen: &Seen) -> Answer {
        let operation = self.operation(seen).unwrap_or_default();
        let (status, body, link) = self.answer(seen);
        self.check_answer(&operation, status, &body);
        (status, body, link.map(|link| ("link", link)).into_iter().collect())
    }

    fn meeting(&mut self, seen: &Seen) -> Option<Arc<Barrier>> {
        let list = seen.method == "GET" && seen.path.ends_with("/comments");
        if !list || self.lists_to_meet == 0 {
            return None;
        }
        self.lists_to_meet -= 1;
        self.meeting.clone()
    }
}

impl Github {
    /// Method, path, query and body must be an operation of the contract.
    fn operation(&self, seen: &Seen) -> Result<Value, String> {
        if seen.header("authorization").is_none_or(|value| !value.starts_with("Bearer ")) {
            return Err("no token".to_owned());
        }
        let Some(path) = seen.path.strip_prefix(&self.prefix) else { return Err("wrong base".to_owned()) };
        let operation = self.contract["operations"].as_array().unwrap().iter().find(|operation| {
            operation["method"] == seen.method.as_str() && matches_template(operation["path"].as_str().unwrap(), path)
        });
        let operation = operation.ok_or_else(|| "no such operation in the contract".to_owned())?.clone();
        for (name, value) in seen.query.split('&').filter_map(|pair| pair.split_once('=')) {
            let known = &operation["query"]["properties"][name];
            let allowed = known.get("enum").and_then(Value::as_array);
            if known.is_null() || allowed.is_some_and(|allowed| !allowed.contains(&json!(value))) {
                return Err(format!("the query `{name}={value}` is not in the contract"));
            }
        }
        if !operation["request"].is_null() {
            let body: Value = serde_json::from_str(&seen.body).map_err(|error| error.to_string())?;
            self.validate(&operation["request"], &body)?;
        } else if !seen.body.is_empty() {
            return Err("a body where there is none".to_owned());
        }
        Ok(operation)
    }

    fn check_answer(&mut self, operation: &Value, status: u16, body: &Value) {
        let schema = &operation["responses"][status.to_string()];
        if schema.is_object()
            && let Err(error) = self.validate(schema, body)
        {
            self.broken.push(format!("the fake's own answer to {}: {error}", operation["path"]));
        }
    }

    fn validate(&self, schema: &Value, value: &Value) -> Result<(), String> {
        let schema = json!({ "$defs": self.contract["$defs"], "allOf": [schema] });
        let validator = jsonschema::validator_for(&schema).map_err(|error| error.to_string())?;
        validator.validate(value).map_err(|error| format!("{error} at {}", error.instance_path()))
    }

    fn answer(&mut self, seen: &Seen) -> (u16, Value, Option<String>) {
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

fn not_found() -> (u16, Value, Option<String>) {
    (404, json!({ "message": "Not Found" }), None)
}
