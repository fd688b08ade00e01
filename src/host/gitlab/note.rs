//! One note for each suite and merge request, however often and from however many jobs it is published.
//!
//! Ours is the note whose first line is the suite's marker *and* whose author we are: people quote notes, and maintainers may edit
//! everybody's. The newest of ours is updated, otherwise one is created. Two jobs that create at the same moment both look afterwards;
//! the one with the younger note withdraws it. API: docs.gitlab.com, "Notes API", merge requests.

use http::Method;
use serde::Deserialize;
use serde_json::json;

use super::api::Api;
use crate::host::Outdated;
use crate::host::body::outdated;
use crate::host::trouble::Trouble;

/// Pages of a hundred notes that are looked through.
const PAGES: usize = 300;

#[derive(Clone, Debug, Deserialize)]
struct Note {
    id: u64,
    #[serde(default)]
    body: String,
    #[serde(default)]
    system: bool,
    author: User,
    /// RFC 3339 in UTC, so that the order of texts is the order of times.
    #[serde(default)]
    updated_at: String,
}

#[derive(Clone, Debug, Deserialize)]
struct User {
    id: u64,
}

/// Updates our note on the merge request, or creates it. Returns its id.
///
/// # Errors
/// Where neither could be done.
pub(super) async fn publish(api: &mut Api, number: u64, marker: &str, body: &str) -> Result<u64, Trouble> {
    loop {
        for note in ours(api, number, marker, None).await? {
            match update(api, number, note.id, body).await {
                Ok(()) => return Ok(note.id),
                // Deleted since, or not ours after all.
                Err(trouble) if trouble.is_gone() || trouble.is_forbidden() => {}
                Err(trouble) => return Err(trouble),
            }
        }
        let path = api.path(&format!("merge_requests/{number}/notes"));
        let created = api.send(Method::POST, &path, Some(&json!({ "body": body }))).await;
        match created.and_then(|reply| reply.read::<Note>()) {
            Ok(created) => return Ok(settle(api, number, marker, body, created).await),
            // Perhaps it was created: look again before sending it again.
            Err(trouble @ Trouble::Lost { .. }) => {
                if !api.rest.pause(&trouble).await {
                    return Err(trouble);
                }
            }
            Err(trouble) => return Err(trouble),
        }
    }
}

/// Says in the note of an earlier run that it is outdated; its id, `None` where there is none, or where a run that began after this one has
/// updated it already.
///
/// # Errors
/// Where it could not be looked up or updated.
pub(super) async fn outdate(
    api: &mut Api,
    number: u64,
    marker: &str,
    news: &Outdated,
    head: Option<&str>,
    run_url: Option<&str>,
) -> Result<Option<u64>, Trouble> {
    let found = ours(api, number, marker, None).await?;
    // A fraction of a second sorts before the whole one without it.
    let Some(newest) = found.first().filter(|newest| newest.updated_at <= news.since) else { return Ok(None) };
    let body = outdated(&newest.body, Some(marker), news, head, run_url);
    update(api, number, newest.id, &body).await?;
    Ok(Some(newest.id))
}

async fn update(api: &mut Api, number: u64, id: u64, body: &str) -> Result<(), Trouble> {
    let path = api.path(&format!("merge_requests/{number}/notes/{id}"));
    api.send(Method::PUT, &path, Some(&json!({ "body": body }))).await.map(|_| ())
}

/// After creating: where an elder note of ours has appeared meanwhile, ours gives way and the elder gets the text. Ids grow, so of two
/// jobs at least the later one sees the other's. Trouble here leaves a second note, no more.
async fn settle(api: &mut Api, number: u64, marker: &str, body: &str, created: Note) -> u64 {
    if api.rest.was_limited() {
        return created.id;
    }
    let Ok(own) = ours(api, number, marker, Some(created.author)).await else { return created.id };
    let elder = own.iter().map(|note| note.id).min().filter(|id| *id < created.id);
    let Some(elder) = elder else { return created.id };
    if update(api, number, elder, body).await.is_err() {
        return created.id;
    }
    let path = api.path(&format!("merge_requests/{number}/notes/{}", created.id));
    // Deleting fails only where somebody else was quicker; the elder one holds the text in any case.
    let _already_updated = api.send(Method::DELETE, &path, None).await;
    elder
}

/// Our notes with the marker, the most recently updated first. Who we are is asked only if somebody has the marker.
async fn ours(api: &mut Api, number: u64, marker: &str, known: Option<User>) -> Result<Vec<Note>, Trouble> {
    let mut marked: Vec<Note> = Vec::new();
    let mut page = 1u64;
    for _ in 0..PAGES {
        let query = format!("merge_requests/{number}/notes?per_page=100&sort=asc&order_by=created_at&page={page}");
        let reply = api.send(Method::GET, &api.path(&query), None).await?;
        marked.extend(reply.read::<Vec<Note>>()?.into_iter().filter(|note| !note.system && starts_with(note, marker)));
        match reply.header("x-next-page").and_then(|next| next.parse::<u64>().ok()).filter(|next| *next > page) {
            Some(next) => page = next,
            None => break,
        }
    }
    if marked.is_empty() {
        return Ok(marked);
    }
    let us = match known {
        Some(user) => user,
        None => api.send(Method::GET, "/user", None).await?.read()?,
    };
    marked.retain(|note| note.author.id == us.id);
    marked.sort_by(|a, b| (&b.updated_at, b.id).cmp(&(&a.updated_at, a.id)));
    Ok(marked)
}

/// Edited in a browser, line ends become CRLF and blank lines may come first.
fn starts_with(note: &Note, marker: &str) -> bool {
    note.body.lines().map(str::trim_end).find(|line| !line.is_empty()) == Some(marker)
}
