//! The requests about batches, and what their answers have in common.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use crate::domain::{EndpointLimits, FailureKind, RetryClass};
use crate::net::{
    Attempt, BATCH_HEADER, Call, Deadlines, Dialect, Expected, HttpRequest, ItemResult, Purpose, Rejection, Request,
    Response, Route, Url, first_words, shown,
};
use crate::provider::Headers;

/// Time for connecting.
const CONNECT: Duration = Duration::from_secs(10);
/// Time for a question about a batch.
const QUESTION: Duration = Duration::from_secs(60);
/// Time for the requests or the results of a whole batch.
const TRANSFER: Duration = Duration::from_secs(900);
const LONGEST_ID: usize = 200;

/// With what, and in whose name, batches are asked for.
#[derive(Clone, Debug)]
pub(in crate::provider) struct Access {
    pub(in crate::provider) headers: Headers,
    pub(in crate::provider) endpoint: Arc<str>,
    pub(in crate::provider) dialect: Dialect,
}

/// What is sent.
pub(super) enum Sent {
    Nothing,
    Json(Bytes),
    /// With its content type.
    Form(String, Bytes),
}

/// How much is on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Question,
    Transfer,
}

/// What a page of a list means for the search.
pub(super) enum Search {
    /// Nothing further back can be meant.
    Over,
    GoOn,
}

/// A page of a list, and pages looked through.
const PAGE: usize = 100;
const PAGES: usize = 20;

impl Access {
    /// Shows `look` the batches at `list`, the newest first, page by page; `after` names the parameter for the last id of the page before.
    pub(super) async fn look_through(
        &self,
        outside: &dyn Attempt,
        (list, after): (&Url, &str),
        mut look: impl FnMut(&[Value], &Url) -> Result<Search, Rejection> + Send,
    ) -> Result<(), Rejection> {
        let mut url = list.clone();
        url.query_pairs_mut().append_pair("limit", &PAGE.to_string());
        let mut page = url.clone();
        for _ in 0..PAGES {
            let response = self.ask(outside, &page, Sent::Nothing, Size::Question).await?;
            let body = json(&response, &page)?;
            let Some(batches) = body.get("data").and_then(Value::as_array) else {
                // No list is not an empty list: what is not in it would be submitted again.
                let why = format!("{} answered without a list of batches in `data`", shown(&page));
                return Err(Rejection::new(FailureKind::Malformed, RetryClass::Endpoint, why));
            };
            let search = look(batches, &page)?;
            let more = body.get("has_more").and_then(Value::as_bool) == Some(true);
            let (Search::GoOn, true, Some(last)) = (search, more, batches.last()) else { break };
            page = url.clone();
            page.query_pairs_mut().append_pair(after, id_of(last, "id", &url)?);
        }
        Ok(())
    }

    /// Asks, and returns the complete answer with a success status.
    pub(super) async fn ask(
        &self,
        outside: &dyn Attempt,
        url: &Url,
        sent: Sent,
        size: Size,
    ) -> Result<Response, Rejection> {
        outside.attempt(&self.call(url, sent, size)).await
    }

    fn call(&self, url: &Url, sent: Sent, size: Size) -> Call {
        let method = if matches!(sent, Sent::Nothing) { http::Method::GET } else { http::Method::POST };
        let (content_type, body) = match sent {
            Sent::Nothing => (None, Bytes::new()),
            Sent::Json(body) => (Some("application/json".to_owned()), body),
            Sent::Form(content_type, body) => (Some(content_type), body),
        };
        let mut headers: Vec<(String, String)> = Vec::new();
        headers.extend(content_type.map(|value| ("content-type".to_owned(), value)));
        let plain = self.headers.plain.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        headers.extend(plain.cloned());
        Call {
            request: Request::Http(HttpRequest {
                method,
                url: url.to_string(),
                headers,
                credentials: self.headers.credentials.clone(),
                body,
            }),
            endpoint: Arc::clone(&self.endpoint),
            purpose: Purpose::Judge,
            dialect: self.dialect,
            deadlines: Deadlines {
                connect: CONNECT,
                whole: match size {
                    Size::Question => QUESTION,
                    Size::Transfer => TRANSFER,
                },
            },
            trial: 0,
            version: None,
            redirects: false,
            route: Route::Control,
            what: "a batch of judge calls".to_owned(),
            limits: EndpointLimits::default(),
            expected: Expected::default(),
        }
    }
}

/// `url` with more path; the query stays.
pub(super) fn below(url: &Url, parts: &[&str]) -> Url {
    let mut longer = url.clone();
    let path = longer.path().trim_end_matches('/').to_owned();
    longer.set_path(&parts.iter().fold(path, |path, part| format!("{path}/{part}")));
    longer
}

/// The answer as JSON.
pub(super) fn json(response: &Response, url: &Url) -> Result<Value, Rejection> {
    crate::provider::reply::json(response, &shown(url))
}

/// An id from an answer, which must be one that can stand in an address.
pub(super) fn id_of<'v>(value: &'v Value, key: &str, url: &Url) -> Result<&'v str, Rejection> {
    let id = value.get(key).and_then(Value::as_str).unwrap_or_default();
    if is_id(id) {
        return Ok(id);
    }
    let why =
        format!("{} answered without a usable `{key}`: {}", shown(url), first_words(value.to_string().as_bytes()));
    Err(Rejection::new(FailureKind::Malformed, RetryClass::Endpoint, why))
}

pub(super) fn is_id(id: &str) -> bool {
    (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// The answer to one request of the batch `id`, as if it had come directly.
pub(super) fn answer(id: &str, status: u16, body: &str) -> Response {
    Response {
        status,
        headers: vec![(BATCH_HEADER.to_owned(), id.to_owned())],
        body: Bytes::copy_from_slice(body.as_bytes()),
        latency: Duration::ZERO,
    }
}

/// Results of an ended batch. Where not one line can be read, they are none: what is missing in results is asked again, and paid for.
pub(super) fn readable(
    results: HashMap<String, ItemResult>,
    id: &str,
) -> Result<HashMap<String, ItemResult>, Rejection> {
    if results.is_empty() {
        let why = format!("the results of batch {id} hold no line that can be read");
        return Err(Rejection::new(FailureKind::Malformed, RetryClass::Retry, why));
    }
    Ok(results)
}

/// Adds results by the ids of their requests. Whoever is answered twice and differently is not answered: nobody knows which one counts.
pub(super) fn gather(results: &mut HashMap<String, ItemResult>, read: impl Iterator<Item = (String, ItemResult)>) {
    for (id, result) in read {
        results
            .entry(id)
            .and_modify(|known| {
                if *known != result {
                    *known = ItemResult::Skipped("answered twice".to_owned());
                }
            })
            .or_insert(result);
    }
}

/// The lines of a file of results that hold something.
pub(super) fn lines(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty())
}
