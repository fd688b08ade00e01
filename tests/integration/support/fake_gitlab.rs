//! A GitLab that keeps the notes of merge request 7 of project 42, and the statuses of commits. What it asks of a request is what
//! docs.gitlab.com says of the notes, users and commits APIs.
#![allow(dead_code, reason = "each of its users needs another part of it")]
#![allow(clippy::unwrap_used, reason = "a test server may panic; the test then fails")]

use serde_json::{Value, json};

use super::fake_server::{Answer, FakeServer, Host, Seen};

pub const TOKEN: &str = "glpat-0123456789abcdefghij";
pub const US: u64 = 5;

#[derive(Clone, Debug)]
pub struct Note {
    pub id: u64,
    pub author: u64,
    pub body: String,
    pub updated: u64,
}

pub struct GitLab {
    pub notes: Vec<Note>,
    /// Commit and body of each status.
    pub statuses: Vec<(String, Value)>,
    /// Notes of a page at most.
    pub page: usize,
    next: u64,
    clock: u64,
}

pub fn start() -> FakeServer<GitLab> {
    FakeServer::start(GitLab { notes: vec![], statuses: vec![], page: 100, next: 1000, clock: 0 })
}

/// The variables of a job in a pipeline of merge request 7.
pub fn variables(server: &FakeServer<GitLab>) -> Vec<(String, String)> {
    let pairs = [
        ("GITLAB_CI", "true".to_owned()),
        ("CI_API_V4_URL", format!("{}/api/v4", server.url)),
        ("CI_PROJECT_ID", "42".to_owned()),
        ("CI_PROJECT_URL", "https://gitlab.test/octo/demo".to_owned()),
        ("CI_PIPELINE_SOURCE", "merge_request_event".to_owned()),
        ("CI_JOB_URL", "https://gitlab.test/octo/demo/-/jobs/99".to_owned()),
        ("CI_COMMIT_SHA", "2222222222222222222222222222222222222222".to_owned()),
        ("CI_MERGE_REQUEST_IID", "7".to_owned()),
        ("CI_MERGE_REQUEST_PROJECT_ID", "42".to_owned()),
        ("CI_MERGE_REQUEST_PROJECT_URL", "https://gitlab.test/octo/demo".to_owned()),
        ("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "42".to_owned()),
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main".to_owned()),
        ("GITLAB_TOKEN", TOKEN.to_owned()),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

impl GitLab {
    pub fn add(&mut self, author: u64, body: &str) -> u64 {
        self.clock += 1;
        self.next += 1;
        self.notes.push(Note { id: self.next, author, body: body.to_owned(), updated: self.clock });
        self.next
    }

    fn show(note: &Note) -> Value {
        let time = |ticks: u64| format!("2020-01-01T{:02}:{:02}:{:02}.500Z", ticks / 3600, ticks / 60 % 60, ticks % 60);
        json!({
            "id": note.id, "body": note.body, "system": false, "noteable_iid": 7, "updated_at": time(note.updated),
            "author": { "id": note.author, "username": format!("user{}", note.author) },
        })
    }
}

impl Host for GitLab {
    fn check(&self, seen: &Seen) -> Result<(), String> {
        if seen.header("private-token") != Some(TOKEN) {
            return Err("no token".to_owned());
        }
        if !seen.path.starts_with("/api/v4/") {
            return Err("wrong base".to_owned());
        }
        let body = seen.json();
        let texts = |names: &[&str]| {
            let keys = body.as_object().into_iter().flat_map(|body| body.keys());
            let unknown: Vec<&String> = keys.filter(|key| !names.contains(&key.as_str())).collect();
            if unknown.is_empty() { Ok(()) } else { Err(format!("unknown keys {unknown:?}")) }
        };
        match (seen.method.as_str(), seen.path.rsplit('/').nth(1)) {
            ("GET" | "DELETE", _) if seen.body.is_empty() => Ok(()),
            ("POST", Some("statuses")) => {
                let states = ["pending", "running", "success", "failed", "canceled", "skipped"];
                if !body["state"].as_str().is_some_and(|state| states.contains(&state)) {
                    return Err(format!("no state: {body}"));
                }
                texts(&["state", "name", "description", "target_url"])
            }
            ("POST" | "PUT", _) => {
                if body["body"].as_str().is_none_or(str::is_empty) {
                    return Err("body is missing".to_owned());
                }
                texts(&["body"])
            }
            _ => Err("no such operation".to_owned()),
        }
    }

    fn carry_out(&mut self, seen: &Seen) -> Answer {
        let path = seen.path.trim_start_matches("/api/v4/").to_owned();
        let parts: Vec<&str> = path.split('/').collect();
        let body = seen.json();
        let text = || body["body"].as_str().unwrap().to_owned();
        let gone = || (404, json!({ "message": "404 Not found" }), vec![]);
        match (seen.method.as_str(), parts.as_slice()) {
            ("GET", ["user"]) => (200, json!({ "id": US, "username": "project_42_bot" }), vec![]),
            ("GET", ["projects", "42", "merge_requests", "7", "notes"]) => {
                let number = |name: &str| seen.asked(name).unwrap().parse::<usize>().unwrap();
                let (size, page) = (number("per_page").min(self.page), number("page"));
                let shown: Vec<Value> = self.notes.iter().skip((page - 1) * size).take(size).map(Self::show).collect();
                let more = page * size < self.notes.len();
                let next = if more { (page + 1).to_string() } else { String::new() };
                (200, Value::Array(shown), vec![("x-next-page", next)])
            }
            ("POST", ["projects", "42", "merge_requests", "7", "notes"]) => {
                self.add(US, &text());
                (201, Self::show(self.notes.last().unwrap()), vec![])
            }
            ("PUT", ["projects", "42", "merge_requests", "7", "notes", id]) => {
                self.clock += 1;
                let (clock, id) = (self.clock, id.parse::<u64>().unwrap());
                let Some(note) = self.notes.iter_mut().find(|note| note.id == id) else { return gone() };
                (note.body, note.updated) = (text(), clock);
                (200, Self::show(note), vec![])
            }
            ("DELETE", ["projects", "42", "merge_requests", "7", "notes", id]) => {
                let (before, id) = (self.notes.len(), id.parse::<u64>().unwrap());
                self.notes.retain(|note| note.id != id);
                if self.notes.len() < before { (204, Value::Null, vec![]) } else { gone() }
            }
            ("POST", ["projects", "42", "statuses", sha]) => {
                // What has ended stays as it is.
                let known = self.statuses.iter().rev().find(|(of, status)| of == sha && status["name"] == body["name"]);
                let ended = known
                    .and_then(|(_, status)| status["state"].as_str())
                    .filter(|state| ["success", "failed", "canceled", "skipped"].contains(state));
                if let Some(from) = ended {
                    let event = match body["state"].as_str().unwrap() {
                        "pending" | "running" => "enqueue",
                        "failed" => "drop",
                        "canceled" => "cancel",
                        "skipped" => "skip",
                        other => other,
                    };
                    let words = format!(
                        "Cannot transition status via :{event} from :{from} (Reason(s): Status cannot transition via \"{event}\")"
                    );
                    return (400, json!({ "message": words }), vec![]);
                }
                self.statuses.push(((*sha).to_owned(), body.clone()));
                (201, body, vec![])
            }
            _ => gone(),
        }
    }
}
