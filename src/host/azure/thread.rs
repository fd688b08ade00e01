//! One thread for each suite and pull request, however often and from however many jobs it is published.
//!
//! Ours is the thread that carries the suite's name as the property `scoregate.suite`. Whoever may comment can set properties, but only
//! its author may change a comment, so what cannot be changed is not ours. The newest of ours is updated, otherwise one is created.
//! Two jobs that create at the same moment both look afterwards; the one with the younger thread withdraws it.
//! API: learn.microsoft.com, "Pull Request Threads" and "Pull Request Thread Comments".

use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::api::Api;
use crate::host::body::outdated;
use crate::host::trouble::Trouble;
use crate::host::{Outdated, Standing, body};
use crate::report::{MARKER_START, marker};

const PROPERTY: &str = "scoregate.suite";

#[derive(Clone, Debug, Deserialize)]
struct Threads {
    value: Vec<Thread>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    id: u64,
    #[serde(default)]
    is_deleted: bool,
    properties: Option<Map<String, Value>>,
    comments: Option<Vec<Comment>>,
    /// RFC 3339 in UTC, so that the order of texts is the order of times.
    #[serde(default)]
    last_updated_date: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Comment {
    id: u64,
    #[serde(default)]
    is_deleted: bool,
    content: Option<String>,
    #[serde(default)]
    last_content_updated_date: String,
}

impl Thread {
    /// A property is an object with a `$value`, in some answers the value alone.
    fn is_of(&self, key: &str) -> bool {
        let property = self.properties.as_ref().and_then(|all| all.get(PROPERTY));
        let value = property.map(|property| property.get("$value").unwrap_or(property));
        value.and_then(Value::as_str) == Some(key)
    }

    /// Ours is the first comment; answers of people follow it.
    fn first(&self) -> Option<&Comment> {
        self.comments.as_deref().unwrap_or_default().first().filter(|comment| !comment.is_deleted)
    }
}

/// The suite's name as a property holds it: tame and short, and another for each name.
pub(super) fn key(name: &str) -> String {
    let marker = marker(name);
    marker.trim_start_matches(MARKER_START).trim_end_matches(" -->").to_owned()
}

/// As a policy that asks for resolved comments reads it: `active` and `pending` keep the change from being completed.
fn status(standing: Standing) -> &'static str {
    match standing {
        Standing::Holds => "fixed",
        // Nothing was fixed, but the policy lets it through.
        Standing::Allowed => "closed",
        Standing::Open => "active",
    }
}

/// Updates our thread on the pull request, or creates it. Returns its address.
///
/// # Errors
/// Where neither could be done.
pub(super) async fn publish(
    api: &mut Api,
    number: u64,
    key: &str,
    text: &str,
    standing: Standing,
) -> Result<String, Trouble> {
    let status = status(standing);
    loop {
        for thread in ours(api, number, key).await? {
            match update(api, number, &thread, text, status).await {
                Ok(()) => return Ok(api.page(number, thread.id)),
                // Deleted since, or not ours after all.
                Err(trouble) if trouble.is_gone() || trouble.is_forbidden() => {}
                Err(trouble) => return Err(trouble),
            }
        }
        match create(api, number, key, text, status).await {
            Ok(created) => return Ok(settle(api, number, key, text, status, created).await),
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

/// Says in the thread of an earlier run that it is outdated, and opens it again; its address, `None` where there is none, or where a
/// run that began after this one has updated it already.
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
    let found = ours(api, number, key).await?;
    let Some((thread, said)) = found.first().and_then(|thread| Some((thread, thread.first()?))) else {
        return Ok(None);
    };
    // Of the two, a fraction of a second sorts before the whole one without it.
    if !said.last_content_updated_date.is_empty() && said.last_content_updated_date > news.since {
        return Ok(None);
    }
    let text = outdated(said.content.as_deref().unwrap_or_default(), None, news, head, run_url);
    update(api, number, thread, &body::without_alerts(&text), "pending").await?;
    Ok(Some(api.page(number, thread.id)))
}

/// Text first: a thread is not resolved over what it said before.
async fn update(api: &mut Api, number: u64, thread: &Thread, text: &str, status: &str) -> Result<(), Trouble> {
    let path = format!("pullRequests/{number}/threads/{}", thread.id);
    let comment = thread.first().map_or(1, |comment| comment.id);
    let content = json!({ "content": text });
    api.send(Method::PATCH, &format!("{path}/comments/{comment}"), Some(&content)).await?;
    api.send(Method::PATCH, &path, Some(&json!({ "status": status }))).await?;
    Ok(())
}

async fn create(api: &mut Api, number: u64, key: &str, text: &str, status: &str) -> Result<Thread, Trouble> {
    let body = json!({
        "comments": [{ "parentCommentId": 0, "content": text, "commentType": "text" }],
        "status": status,
        "properties": { PROPERTY: { "$type": "System.String", "$value": key } },
    });
    api.send(Method::POST, &format!("pullRequests/{number}/threads"), Some(&body)).await?.read()
}

/// After creating: where an elder thread of ours has appeared meanwhile, ours gives way and the elder gets the text. Ids grow, so of two
/// jobs at least the later one sees the other's. Trouble here leaves a second thread, no more.
async fn settle(api: &mut Api, number: u64, key: &str, text: &str, status: &str, created: Thread) -> String {
    let own = api.page(number, created.id);
    if api.was_limited() {
        return own;
    }
    let Ok(found) = ours(api, number, key).await else { return own };
    let elder = found.iter().filter(|thread| thread.id < created.id).min_by_key(|thread| thread.id);
    let Some(elder) = elder else { return own };
    if update(api, number, elder, text, status).await.is_err() {
        return own;
    }
    let comment = created.first().map_or(1, |comment| comment.id);
    let path = format!("pullRequests/{number}/threads/{}/comments/{comment}", created.id);
    // A thread without comments is gone. Deleting fails only where somebody else was quicker; the elder one holds the text in any case.
    let _already_updated = api.send(Method::DELETE, &path, None).await;
    api.page(number, elder.id)
}

/// Our threads, the most recently updated first.
async fn ours(api: &mut Api, number: u64, key: &str) -> Result<Vec<Thread>, Trouble> {
    let reply = api.send(Method::GET, &format!("pullRequests/{number}/threads"), None).await?;
    let mut found = reply.read::<Threads>()?.value;
    found.retain(|thread| !thread.is_deleted && thread.is_of(key) && thread.first().is_some());
    found.sort_by(|a, b| (&b.last_updated_date, b.id).cmp(&(&a.last_updated_date, a.id)));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_tame_and_stay_apart() {
        assert_eq!(key("support-rag"), "support-rag");
        let hostile = key("a\n<script> --> ");
        assert!(hostile.chars().all(|c| c.is_ascii_alphanumeric() || " .".contains(c)), "{hostile}");
        assert_ne!(hostile, key("a\n<script> -->"));
    }
}
