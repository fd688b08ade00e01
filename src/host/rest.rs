//! Requests to a host's REST API over the shared client, sent again only where that is safe and worth the wait.
//!
//! Whoever sends a POST whose answer was lost must look before sending it again: what it makes may be there.

use std::time::SystemTime;

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::patience::{Patience, Waiting};
use super::trouble::Trouble;

/// A page of a hundred comments of the largest size.
const ANSWER_LIMIT: usize = 32 * 1024 * 1024;

/// A successful answer.
pub(super) struct Reply {
    headers: HeaderMap,
    body: Bytes,
}

impl Reply {
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, Trouble> {
        serde_json::from_slice(&self.body).map_err(|error| Trouble::Unreadable { message: error.to_string() })
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// The API below one address, with what is left of the patience.
pub(super) struct Rest {
    client: reqwest::Client,
    base: reqwest::Url,
    header: (&'static str, HeaderValue),
    waiting: Waiting,
}

impl Rest {
    /// **Inputs**: `base` is the address that paths are put behind; `header` carries the credential.
    ///
    /// # Errors
    /// In words: what is wrong with the address or the credential, which is not shown.
    pub(super) fn new(
        base: &str,
        (name, value): (&'static str, String),
        patience: Patience,
        client: reqwest::Client,
    ) -> Result<Self, &'static str> {
        let base = reqwest::Url::parse(base).ok().filter(|url| matches!(url.scheme(), "https" | "http"));
        let base = base.ok_or("is no http(s) address")?;
        let mut value = HeaderValue::from_str(&value).map_err(|_| "has characters that no token has")?;
        value.set_sensitive(true);
        Ok(Self { client, base, header: (name, value), waiting: Waiting::new(patience) })
    }

    /// Did the server ask to slow down? Then only what is needed is sent.
    pub(super) fn was_limited(&self) -> bool {
        self.waiting.was_limited()
    }

    /// Waits as the trouble asks for, within what is left. False: give up.
    pub(super) async fn pause(&mut self, trouble: &Trouble) -> bool {
        self.waiting.pause(trouble).await
    }

    /// **Inputs**: `path` begins with a slash; its parts are escaped already.
    ///
    /// # Errors
    /// What is left after the repetitions that patience allows. A [`Trouble::Lost`] POST is not repeated here.
    pub(super) async fn send(&mut self, method: Method, path: &str, body: Option<&Value>) -> Result<Reply, Trouble> {
        loop {
            let trouble = match self.attempt(&method, path, body).await {
                Ok(reply) => return Ok(reply),
                Err(trouble) => trouble,
            };
            let may_have_happened = matches!(trouble, Trouble::Lost { .. }) && !method.is_idempotent();
            // PATCH sets the same text again, so repeating it changes nothing.
            let safe = !may_have_happened || method == Method::PATCH;
            if !safe || !self.pause(&trouble).await {
                return Err(trouble);
            }
        }
    }

    /// Sends what may be sent again all the same: of one name the newest counts.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub(super) async fn set(&mut self, path: &str, body: &Value) -> Result<(), Trouble> {
        loop {
            match self.send(Method::POST, path, Some(body)).await {
                Ok(_) => return Ok(()),
                Err(trouble @ Trouble::Lost { .. }) if self.pause(&trouble).await => {}
                Err(trouble) => return Err(trouble),
            }
        }
    }

    async fn attempt(&self, method: &Method, path: &str, body: Option<&Value>) -> Result<Reply, Trouble> {
        let lost = |message: String| Trouble::Lost { message };
        let address = format!("{}{path}", self.base.as_str().trim_end_matches('/'));
        let (name, value) = &self.header;
        let request = self.client.request(method.clone(), address).header(*name, value.clone());
        let request = request.header(ACCEPT, "application/json");
        let request = match body {
            Some(body) => request.header(CONTENT_TYPE, "application/json").body(body.to_string()),
            None => request,
        };
        let exchange = async {
            let mut answer = request.send().await.map_err(|error| lost(story(error)))?;
            let mut bytes = BytesMut::new();
            while let Some(chunk) = answer.chunk().await.map_err(|error| lost(story(error)))? {
                bytes.extend_from_slice(&chunk);
                if bytes.len() > ANSWER_LIMIT {
                    return Err(Trouble::Unreadable { message: format!("it is larger than {ANSWER_LIMIT} bytes") });
                }
            }
            Ok((answer.status(), answer.headers().clone(), bytes.freeze()))
        };
        let seconds = self.waiting.request().as_secs();
        let (status, headers, body) = tokio::time::timeout(self.waiting.request(), exchange)
            .await
            .map_err(|_| lost(format!("no complete answer within {seconds} s")))??;
        if asks_to_sign_in(status, &headers, &body) {
            let message = "it shows a page to sign in on instead of an answer".to_owned();
            return Err(Trouble::Refused { status: StatusCode::UNAUTHORIZED.as_u16(), message });
        }
        if status.is_success() {
            return Ok(Reply { headers, body });
        }
        Err(Trouble::of_answer(status, &headers, &body, SystemTime::now()))
    }
}

/// Azure DevOps answers who it does not know with 203 or a redirect to a page in HTML, and proxies do so too.
fn asks_to_sign_in(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> bool {
    let json = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).is_some_and(|kind| kind.contains("json"));
    status == StatusCode::NON_AUTHORITATIVE_INFORMATION
        || status.is_redirection()
        || status.is_success() && !json && !body.iter().all(u8::is_ascii_whitespace)
}

/// The innermost cause too, and no address: it is in the settings.
fn story(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut deepest: &dyn std::error::Error = &error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    let (outer, inner) = (error.to_string(), deepest.to_string());
    if outer.contains(&inner) { outer } else { format!("{outer}: {inner}") }
}
