//! An Azure DevOps that keeps the threads and statuses of pull request 12, and checks every request and its own answers against
//! `fixtures/contracts/azure-devops/ado-ops.json`.
#![allow(dead_code, reason = "each of its users needs another part of it")]
#![allow(clippy::unwrap_used, reason = "a test server may panic; the test then fails")]

use serde_json::{Value, json};

use super::fake_server::{Answer, FakeServer, Host, Seen, matches_template};

pub const PROJECT: &str = "11111111-2222-3333-4444-555555555555";
pub const REPOSITORY: &str = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee";
pub const TOKEN: &str = "azure-job-token-0123456789";

#[derive(Clone, Debug)]
pub struct Thread {
    pub id: u64,
    pub suite: Option<String>,
    pub status: String,
    /// Text of the first comment.
    pub text: String,
    /// The first comment's author is the token's.
    pub ours: bool,
    pub deleted: bool,
    pub updated: u64,
}

pub struct Azure {
    contract: Value,
    /// What stands before the collection: `/tfs` on a server of one's own.
    prefix: &'static str,
    /// The newest version that is spoken.
    version: &'static str,
    pub threads: Vec<Thread>,
    /// Bodies of statuses, with where they went.
    pub statuses: Vec<(String, Value)>,
    next: u64,
    clock: u64,
}

/// In the cloud.
pub fn start() -> FakeServer<Azure> {
    start_as("", "7.1")
}

pub fn start_as(prefix: &'static str, version: &'static str) -> FakeServer<Azure> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/contracts/azure-devops/ado-ops.json");
    let contract = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let azure = Azure { contract, prefix, version, threads: vec![], statuses: vec![], next: 1, clock: 0 };
    FakeServer::start(azure)
}

/// The variables of a build of pull request 12.
pub fn variables(server: &FakeServer<Azure>, prefix: &str) -> Vec<(String, String)> {
    let pairs = [
        ("TF_BUILD", "True".to_owned()),
        ("BUILD_REASON", "PullRequest".to_owned()),
        ("SYSTEM_COLLECTIONURI", format!("{}{prefix}/octo/", server.url)),
        ("SYSTEM_TEAMPROJECT", "My Project".to_owned()),
        ("SYSTEM_TEAMPROJECTID", PROJECT.to_owned()),
        ("BUILD_REPOSITORY_ID", REPOSITORY.to_owned()),
        ("BUILD_REPOSITORY_PROVIDER", "TfsGit".to_owned()),
        ("BUILD_BUILDID", "99".to_owned()),
        ("SYSTEM_PULLREQUEST_PULLREQUESTID", "12".to_owned()),
        ("SYSTEM_PULLREQUEST_SOURCECOMMITID", "2222222222222222222222222222222222222222".to_owned()),
        ("SYSTEM_PULLREQUEST_TARGETBRANCH", "refs/heads/main".to_owned()),
        ("BUILD_SOURCEVERSION", "3333333333333333333333333333333333333333".to_owned()),
        ("SYSTEM_ACCESSTOKEN", TOKEN.to_owned()),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

impl Azure {
    pub fn add(&mut self, suite: Option<&str>, text: &str, ours: bool) -> u64 {
        self.clock += 1;
        let id = self.next;
        self.next += 1;
        let (suite, text) = (suite.map(str::to_owned), text.to_owned());
        let status = "active".to_owned();
        self.threads.push(Thread { id, suite, status, text, ours, deleted: false, updated: self.clock });
        id
    }

    fn operation(&self, seen: &Seen) -> Result<&Value, String> {
        let path = seen.path.strip_prefix(self.prefix).ok_or("wrong base")?;
        let all = self.contract["operations"].as_array().unwrap();
        let mut fitting = all.iter().filter(|operation| {
            operation["method"] == seen.method.as_str() && matches_template(operation["path"].as_str().unwrap(), path)
        });
        fitting.next().ok_or_else(|| "no such operation in the contract".to_owned())
    }

    fn validate(&self, schema: &Value, value: &Value) -> Result<(), String> {
        let schema = json!({ "$defs": self.contract["$defs"], "allOf": [schema] });
        let validator = jsonschema::validator_for(&schema).map_err(|error| error.to_string())?;
        validator.validate(value).map_err(|error| format!("{error} at {}", error.instance_path()))
    }

    fn show(&self, thread: &Thread) -> Value {
        let time = |ticks: u64| format!("2020-01-01T{:02}:{:02}:{:02}.5Z", ticks / 3600, ticks / 60 % 60, ticks % 60);
        let date = time(thread.updated);
        let author = json!({ "displayName": if thread.ours { "Build Service" } else { "Somebody" }, "id": "u" });
        let comment = |id: u64, text: &str| {
            json!({
                "id": id, "parentCommentId": id - 1, "content": text, "commentType": "text", "author": author,
                "publishedDate": date, "lastUpdatedDate": date, "lastContentUpdatedDate": date,
            })
        };
        let property = |suite: &String| json!({ "scoregate.suite": { "$type": "System.String", "$value": suite } });
        json!({
            "id": thread.id, "status": thread.status, "isDeleted": thread.deleted, "lastUpdatedDate": date,
            "comments": [comment(1, &thread.text), comment(2, "An answer of a person")],
            "properties": thread.suite.as_ref().map_or_else(|| json!({}), property),
        })
    }

    fn out_of_range(&self, seen: &Seen) -> Option<Answer> {
        let asked: f64 = seen.asked("api-version").unwrap().parse().unwrap();
        let newest: f64 = self.version.parse().unwrap();
        let words = format!(
            "The requested REST API version of {asked} is out of range for this server. The latest REST API version this server \
             supports is {newest:.1}."
        );
        (asked > newest).then(|| (400, json!({ "message": words, "typeKey": "VssVersionOutOfRangeException" }), vec![]))
    }

    fn answer(&mut self, seen: &Seen) -> Answer {
        let path = seen.path.strip_prefix(self.prefix).unwrap_or_default().to_owned();
        let below =
            path.split_once(&format!("/{PROJECT}/_apis/git/repositories/{REPOSITORY}/")).map_or("", |(_, rest)| rest);
        let parts: Vec<&str> = below.split('/').collect();
        let gone = || (404, json!({ "message": "TF401180: not found" }), vec![]);
        let body = seen.json();
        match (seen.method.as_str(), parts.as_slice()) {
            ("GET", ["pullRequests", "12", "threads"]) => {
                let all: Vec<Value> = self.threads.iter().map(|thread| self.show(thread)).collect();
                (200, json!({ "count": all.len(), "value": all }), vec![])
            }
            ("POST", ["pullRequests", "12", "threads"]) => {
                let suite = body["properties"]["scoregate.suite"]["$value"].as_str().map(str::to_owned);
                let id = self.add(suite.as_deref(), body["comments"][0]["content"].as_str().unwrap(), true);
                let thread = self.threads.last_mut().unwrap();
                thread.status = body["status"].as_str().unwrap().to_owned();
                let thread = self.threads.iter().find(|thread| thread.id == id).unwrap();
                (200, self.show(thread), vec![])
            }
            ("PATCH" | "DELETE", ["pullRequests", "12", "threads", id, rest @ ..]) => {
                self.clock += 1;
                let clock = self.clock;
                let id: u64 = id.parse().unwrap();
                let Some(thread) = self.threads.iter_mut().find(|thread| thread.id == id && !thread.deleted) else {
                    return gone();
                };
                match rest {
                    ["comments", "1"] if !thread.ours => {
                        return (
                            403,
                            json!({ "message": "TF401027: You need the Git 'PullRequestContribute' permission" }),
                            vec![],
                        );
                    }
                    ["comments", "1"] if seen.method == "DELETE" => thread.deleted = true,
                    ["comments", "1"] => body["content"].as_str().unwrap().clone_into(&mut thread.text),
                    [] => body["status"].as_str().unwrap().clone_into(&mut thread.status),
                    _ => return gone(),
                }
                thread.updated = clock;
                if seen.method == "DELETE" {
                    return (200, Value::Null, vec![]);
                }
                let thread = self.threads.iter().find(|thread| thread.id == id).unwrap();
                let shown = self.show(thread);
                (200, if rest.is_empty() { shown } else { shown["comments"][0].clone() }, vec![])
            }
            ("POST", [_, _, "statuses"]) => {
                self.statuses.push((below.to_owned(), body.clone()));
                (200, body, vec![])
            }
            _ => gone(),
        }
    }
}

impl Host for Azure {
    fn check(&self, seen: &Seen) -> Result<(), String> {
        let known = [format!("Bearer {TOKEN}"), "Basic OmF6dXJlLXBlcnNvbmFsLXRva2Vu".to_owned()];
        if !seen.header("authorization").is_some_and(|value| known.iter().any(|known| known == value)) {
            return Err("no token".to_owned());
        }
        let operation = self.operation(seen)?;
        let query: Value = seen.query.split('&').filter_map(|pair| pair.split_once('=')).collect();
        self.validate(&operation["query"], &query)?;
        if operation["request"].is_null() {
            return if seen.body.is_empty() { Ok(()) } else { Err("a body where there is none".to_owned()) };
        }
        if seen.header("content-type") != Some("application/json") {
            return Err("no JSON".to_owned());
        }
        self.validate(&operation["request"], &serde_json::from_str(&seen.body).map_err(|error| error.to_string())?)
    }

    fn carry_out(&mut self, seen: &Seen) -> Answer {
        if let Some(refusal) = self.out_of_range(seen) {
            return refusal;
        }
        let answer = self.answer(seen);
        let schema = self.operation(seen).unwrap()["responses"][answer.0.to_string()].clone();
        if schema.is_object() {
            self.validate(&schema, &answer.1).unwrap_or_else(|error| panic!("the fake's own answer: {error}"));
        }
        answer
    }
}
