//! One comment for each suite and pull request, however often and from however many jobs it is published.
//!
//! Ours is the comment whose first line is the suite's marker *and* whose author we are: people and bots quote comments, and
//! a token with write permission may edit everybody's. The newest of ours is updated, otherwise one is created. Two jobs that
//! create at the same moment both look afterwards; the one with the younger comment withdraws it and updates the elder's.

use http::Method;
use serde::Deserialize;
use serde_json::json;

use super::api::Api;
use crate::host::trouble::Trouble;
use crate::host::{Outdated, body};
use crate::report::marker;

/// Pages of a hundred comments that are looked through.
const PAGES: usize = 300;

#[derive(Clone, Debug, Deserialize)]
struct Comment {
    id: u64,
    html_url: String,
    body: Option<String>,
    /// None for a deleted account.
    user: Option<User>,
    /// RFC 3339 in UTC, so that the order of texts is the order of times.
    #[serde(default)]
    updated_at: String,
}

#[derive(Clone, Debug, Deserialize)]
struct User {
    login: String,
    #[serde(rename = "type", default)]
    kind: String,
}

/// Who the token speaks for.
enum Viewer {
    Login(String),
    /// An app, which cannot ask for its name. A bot whose comment *starts* with our marker is taken to be us.
    Bot,
}

impl Viewer {
    fn wrote(&self, comment: &Comment) -> bool {
        let Some(user) = &comment.user else { return false };
        match self {
            Self::Login(login) => user.login.eq_ignore_ascii_case(login),
            Self::Bot => user.kind == "Bot",
        }
    }
}

/// Says in the comment of an earlier run that it is outdated; its address, `None` where there is none, or where a run that began after
/// this one has updated it already.
///
/// # Errors
/// Where it could not be looked up or updated.
pub(super) async fn outdate(
    api: &mut Api,
    number: u64,
    key: &str,
    news: &Outdated,
    head: Option<&str>,
    run_url: Option<&str>,
) -> Result<Option<String>, Trouble> {
    let marker = marker(key);
    let found = ours(api, number, &marker, None).await?;
    let Some(newest) = found.first().filter(|newest| newest.updated_at <= news.since) else { return Ok(None) };
    let said = newest.body.as_deref().unwrap_or_default();
    let body = body::outdated(said, Some(&marker), news, head, run_url);
    Ok(Some(update(api, newest.id, &body).await?.html_url))
}

/// Updates our comment on the pull request, or creates it. Returns its address.
///
/// # Errors
/// Where neither could be done.
pub(super) async fn publish(api: &mut Api, number: u64, marker: &str, body: &str) -> Result<String, Trouble> {
    loop {
        for comment in ours(api, number, marker, None).await? {
            match update(api, comment.id, body).await {
                Ok(updated) => return Ok(updated.html_url),
                // Deleted since, or not ours after all.
                Err(trouble) if trouble.is_gone() || trouble.is_forbidden() => {}
                Err(trouble) => return Err(trouble),
            }
        }
        match create(api, number, body).await {
            Ok(created) => return Ok(settle(api, number, marker, body, created).await),
            // Perhaps it was created: look again before sending it again.
            Err(trouble @ Trouble::Lost { .. }) => {
                if !api.pause(&trouble).await {
                    return Err(trouble);
                }
            }
            Err(trouble) => return Err(trouble),
        }
    }
}

/// After creating: where an elder comment of ours has appeared meanwhile, ours gives way and the elder gets the text.
/// Comment ids grow, so of two jobs at least the later one sees the other's. Trouble here leaves a second comment, no more.
async fn settle(api: &mut Api, number: u64, marker: &str, body: &str, created: Comment) -> String {
    let Some(user) = created.user.clone().filter(|_| !api.was_limited()) else { return created.html_url };
    let Ok(own) = ours(api, number, marker, Some(Viewer::Login(user.login))).await else { return created.html_url };
    let Some(elder) = own.iter().map(|comment| comment.id).min().filter(|id| *id < created.id) else {
        return created.html_url;
    };
    let Ok(updated) = update(api, elder, body).await else { return created.html_url };
    let path = api.path(&format!("issues/comments/{}", created.id));
    // Deleting fails only where somebody else was quicker or rights are odd; the elder one holds the text in any case.
    let _already_updated = api.send(Method::DELETE, &path, None).await;
    updated.html_url
}

/// Our comments with the marker, the most recently updated first. Who we are is asked only if somebody has the marker.
async fn ours(api: &mut Api, number: u64, marker: &str, known: Option<Viewer>) -> Result<Vec<Comment>, Trouble> {
    let mut marked = Vec::new();
    let mut path = Some(api.path(&format!("issues/{number}/comments?per_page=100")));
    for _ in 0..PAGES {
        let Some(page) = path.take() else { break };
        let reply = api.send(Method::GET, &page, None).await?;
        let comments: Vec<Comment> = reply.read()?;
        marked.extend(comments.into_iter().filter(|comment| starts_with(comment, marker)));
        path = reply.next.filter(|next| *next != page);
    }
    if marked.is_empty() {
        return Ok(marked);
    }
    let viewer = match known {
        Some(viewer) => viewer,
        None => viewer(api).await?,
    };
    marked.retain(|comment| viewer.wrote(comment));
    marked.sort_by(|a, b| (&b.updated_at, b.id).cmp(&(&a.updated_at, a.id)));
    Ok(marked)
}

/// Edited in a browser, line ends become CRLF and blank lines may come first.
fn starts_with(comment: &Comment, marker: &str) -> bool {
    let body = comment.body.as_deref().unwrap_or_default();
    body.lines().map(str::trim_end).find(|line| !line.is_empty()) == Some(marker)
}

async fn viewer(api: &mut Api) -> Result<Viewer, Trouble> {
    if api.is_installation() {
        return Ok(Viewer::Bot);
    }
    match api.send(Method::GET, "/user", None).await {
        Ok(reply) => Ok(Viewer::Login(reply.read::<User>()?.login)),
        // What an installation's token is told.
        Err(Trouble::Refused { status: 401 | 403 | 404, .. }) => Ok(Viewer::Bot),
        Err(trouble) => Err(trouble),
    }
}

async fn create(api: &mut Api, number: u64, body: &str) -> Result<Comment, Trouble> {
    let path = api.path(&format!("issues/{number}/comments"));
    api.send(Method::POST, &path, Some(&json!({ "body": body }))).await?.read()
}

async fn update(api: &mut Api, id: u64, body: &str) -> Result<Comment, Trouble> {
    let path = api.path(&format!("issues/comments/{id}"));
    api.send(Method::PATCH, &path, Some(&json!({ "body": body }))).await?.read()
}
