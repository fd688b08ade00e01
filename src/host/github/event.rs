//! Which pull request, which commits: from `GITHUB_EVENT_NAME` and the payload at `GITHUB_EVENT_PATH`.
//!
//! The number comes from the payload's own number fields, never from the name of a branch, which anybody can choose.
//! Payloads: docs.github.com, "Events that trigger workflows" and "Webhook events and payloads".

use std::path::PathBuf;

use serde_json::Value;

use crate::domain::{Env, Secret};
use crate::host::context::{Change, HostContext, HostKind, PullRequest, Settings as HostSettings};
use crate::host::patience::Patience;

use super::{Repository, Settings};

/// Payloads are at most 25 MB (docs.github.com, "Webhook events and payloads").
const PAYLOAD_LIMIT: u64 = 32 * 1024 * 1024;

/// The context of a GitHub Actions job; `None` elsewhere. What is missing or unreadable becomes a note.
pub(crate) fn detect(env: &Env) -> Option<HostContext> {
    if env.get("GITHUB_ACTIONS") != Some("true") {
        return None;
    }
    let mut notes = Vec::new();
    let event = env.get("GITHUB_EVENT_NAME").unwrap_or_default();
    let payload = read_payload(env).unwrap_or_else(|note| {
        notes.push(note);
        Value::Null
    });
    let repository = env.get("GITHUB_REPOSITORY").and_then(Repository::parse);
    let (change, note) = read_event(event, &payload, repository.as_ref());
    notes.extend(note);
    Some(HostContext {
        kind: HostKind::GitHub,
        change,
        run_url: run_url(env, repository.as_ref()),
        workspace: env.get("GITHUB_WORKSPACE").filter(|path| !path.is_empty()).map(PathBuf::from),
        notes,
        settings: HostSettings::GitHub(settings(env, repository)),
    })
}

fn settings(env: &Env, repository: Option<Repository>) -> Settings {
    let token = env.get("GITHUB_TOKEN").or_else(|| env.get("GH_TOKEN")).map(str::trim);
    Settings {
        api_url: env.get("GITHUB_API_URL").unwrap_or("https://api.github.com").trim_end_matches('/').to_owned(),
        repository,
        server: env.get("GITHUB_SERVER_URL").map(|server| server.trim_end_matches('/').to_owned()),
        token: token.and_then(|value| Secret::new("GITHUB_TOKEN", value).ok()),
        summary_file: env.get("GITHUB_STEP_SUMMARY").map(PathBuf::from),
        output_file: env.get("GITHUB_OUTPUT").map(PathBuf::from),
        patience: Patience::default(),
    }
}

fn run_url(env: &Env, repository: Option<&Repository>) -> Option<String> {
    let repository = repository?;
    let server = env.get("GITHUB_SERVER_URL")?.trim_end_matches('/');
    let id: u64 = env.get("GITHUB_RUN_ID")?.parse().ok()?;
    Some(format!("{server}/{}/{}/actions/runs/{id}", repository.owner, repository.name))
}

fn read_payload(env: &Env) -> Result<Value, String> {
    let path = env.get("GITHUB_EVENT_PATH").ok_or("GITHUB_EVENT_PATH is not set: the pull request is not known")?;
    let size = std::fs::metadata(path).map(|data| data.len());
    if size.is_ok_and(|size| size > PAYLOAD_LIMIT) {
        return Err(format!("the event payload {path} is larger than {PAYLOAD_LIMIT} bytes: it was not read"));
    }
    let bytes = std::fs::read(path).map_err(|error| format!("the event payload {path} could not be read: {error}"))?;
    serde_json::from_slice(&bytes).map_err(|error| format!("the event payload {path} is not JSON: {error}"))
}

/// The change an event is about, and a note where there is no pull request.
pub(crate) fn read_event(event: &str, payload: &Value, repository: Option<&Repository>) -> (Change, Option<String>) {
    match event {
        "pull_request" | "pull_request_target" | "pull_request_review" | "pull_request_review_comment" => {
            of_pull_request(event, payload)
        }
        "issue_comment" => of_issue_comment(payload),
        "workflow_run" => of_workflow_run(payload, repository),
        "merge_group" => of_merge_group(payload),
        "push" => of_push(payload),
        other => without_pull_request(Change { event: other.to_owned(), ..Change::default() }),
    }
}

fn without_pull_request(change: Change) -> (Change, Option<String>) {
    let event = if change.event.is_empty() { "unknown" } else { &change.event };
    let note = format!("no comment: the event `{event}` belongs to no pull request");
    (change, Some(note))
}

fn of_pull_request(event: &str, payload: &Value) -> (Change, Option<String>) {
    let change = Change {
        event: event.to_owned(),
        pull_request: PullRequest::None,
        head_sha: sha(payload, "/pull_request/head/sha"),
        base_sha: sha(payload, "/pull_request/base/sha"),
        base_ref: text(payload, "/pull_request/base/ref"),
        fork: is_fork(payload),
    };
    match number(payload, "/pull_request/number") {
        Some(number) => (Change { pull_request: PullRequest::Number(number), ..change }, None),
        None => (change, Some(format!("no comment: the payload of `{event}` has no pull request number"))),
    }
}

/// A base that is a fork itself marks the heads of its own branches as `fork: true`, so the repositories' names decide
/// where both are known. A head repository that is gone was a fork.
fn is_fork(payload: &Value) -> bool {
    let head = text(payload, "/pull_request/head/repo/full_name");
    let base = text(payload, "/pull_request/base/repo/full_name");
    match (head, base) {
        (Some(head), Some(base)) => !head.eq_ignore_ascii_case(&base),
        _ => payload.pointer("/pull_request/head/repo/fork").and_then(Value::as_bool).unwrap_or(true),
    }
}

fn of_issue_comment(payload: &Value) -> (Change, Option<String>) {
    let change = Change { event: "issue_comment".to_owned(), ..Change::default() };
    let on_pull_request = payload.pointer("/issue/pull_request").is_some_and(|value| !value.is_null());
    match number(payload, "/issue/number").filter(|_| on_pull_request) {
        Some(number) => (Change { pull_request: PullRequest::Number(number), ..change }, None),
        None => without_pull_request(change),
    }
}

/// `pull_requests` is empty for forks, and names pull requests of *other* repositories that share the commit: only one whose
/// base is this repository and whose head is the tested commit counts, otherwise the API is asked.
fn of_workflow_run(payload: &Value, repository: Option<&Repository>) -> (Change, Option<String>) {
    let head_repository = text(payload, "/workflow_run/head_repository/full_name");
    let here = |name: &str| match repository {
        Some(repository) => repository.is(name),
        None => text(payload, "/repository/full_name").is_some_and(|own| own.eq_ignore_ascii_case(name)),
    };
    let change = Change {
        event: "workflow_run".to_owned(),
        head_sha: sha(payload, "/workflow_run/head_sha"),
        fork: !head_repository.as_deref().is_some_and(here),
        ..Change::default()
    };
    let source = text(payload, "/workflow_run/event").unwrap_or_default();
    let Some(head_sha) = change.head_sha.clone().filter(|_| source.starts_with("pull_request")) else {
        let note = format!("no comment: the workflow run was started by `{source}`, not by a pull request");
        return (change, Some(note));
    };
    let own = payload.pointer("/repository/id").and_then(Value::as_u64);
    let listed = payload.pointer("/workflow_run/pull_requests").and_then(Value::as_array);
    let matching = listed.into_iter().flatten().find(|candidate| {
        let base = candidate.pointer("/base/repo/id").and_then(Value::as_u64);
        base.is_some() && base == own && sha(candidate, "/head/sha").as_deref() == Some(&head_sha)
    });
    let pull_request = match matching.and_then(|candidate| number(candidate, "/number")) {
        Some(number) => PullRequest::Number(number),
        None => PullRequest::LookUp { head_sha, head: head_of_run(payload) },
    };
    let base_sha = matching.and_then(|candidate| sha(candidate, "/base/sha"));
    let base_ref = matching.and_then(|candidate| text(candidate, "/base/ref"));
    (Change { pull_request, base_sha, base_ref, ..change }, None)
}

/// `owner:branch` of the run's head, a search term only: the head commit of what is found is checked.
fn head_of_run(payload: &Value) -> Option<String> {
    let owner = text(payload, "/workflow_run/head_repository/owner/login")?;
    let branch = text(payload, "/workflow_run/head_branch")?;
    Some(format!("{owner}:{branch}"))
}

fn of_merge_group(payload: &Value) -> (Change, Option<String>) {
    without_pull_request(Change {
        event: "merge_group".to_owned(),
        head_sha: sha(payload, "/merge_group/head_sha"),
        base_sha: sha(payload, "/merge_group/base_sha"),
        base_ref: branch(payload, "/merge_group/base_ref"),
        ..Change::default()
    })
}

fn of_push(payload: &Value) -> (Change, Option<String>) {
    without_pull_request(Change {
        event: "push".to_owned(),
        head_sha: sha(payload, "/after"),
        base_sha: sha(payload, "/before"),
        base_ref: branch(payload, "/ref"),
        ..Change::default()
    })
}

fn text(payload: &Value, pointer: &str) -> Option<String> {
    payload.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn branch(payload: &Value, pointer: &str) -> Option<String> {
    text(payload, pointer).and_then(|name| name.strip_prefix("refs/heads/").map(str::to_owned))
}

fn number(payload: &Value, pointer: &str) -> Option<u64> {
    payload.pointer(pointer).and_then(Value::as_u64).filter(|number| *number > 0)
}

/// A full commit id; all zeros ("nothing was there before") is none.
fn sha(payload: &Value, pointer: &str) -> Option<String> {
    text(payload, pointer).filter(|id| {
        matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit()) && id.bytes().any(|b| b != b'0')
    })
}
