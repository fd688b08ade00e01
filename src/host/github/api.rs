//! Requests to the REST API, sent again only where that is safe and worth the wait.
//!
//! octocrab brings addresses, authorization and headers; we look at the raw answers, because its typed calls are strict about
//! fields that nobody reads (a GHES of another age would fail) and its errors print as just "GitHub".
//! Whoever sends a POST whose answer was lost must look before sending it again: see `comment`.

use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderMap, Method};
use http_body_util::{BodyExt, Limited};
use octocrab::Octocrab;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::host::Warning;
use crate::host::patience::Waiting;
use crate::host::trouble::Trouble;

use super::{Repository, Settings};

/// A page of a hundred comments of GitHub's largest size is 26 MB.
const ANSWER_LIMIT: usize = 32 * 1024 * 1024;

/// A successful answer.
pub(super) struct Reply {
    body: Bytes,
    /// Path and query of the next page.
    pub(super) next: Option<String>,
}

impl Reply {
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, Trouble> {
        serde_json::from_slice(&self.body).map_err(|error| Trouble::Unreadable { message: error.to_string() })
    }
}

/// The API of one repository, with what is left of the patience.
pub(super) struct Api {
    octocrab: Octocrab,
    repository: Repository,
    installation: bool,
    waiting: Waiting,
}

impl Api {
    /// # Errors
    /// A warning where address, repository or token are missing or cannot be used.
    pub(super) fn new(settings: &Settings, client: reqwest::Client) -> Result<Self, Warning> {
        let no_comment = |why: &str, help: &str| Warning::new(format!("no comment: {why}")).with_help(help);
        let Some(token) = &settings.token else {
            return Err(no_comment(
                "there is no token for the GitHub API",
                "Pass `github-token: ${{ github.token }}` to the action, or set GITHUB_TOKEN; or turn the comment off.",
            ));
        };
        // octocrab unwraps this conversion.
        if http::HeaderValue::from_str(token.expose()).is_err() {
            return Err(no_comment("the token has characters that no token has", "Check the secret in GITHUB_TOKEN."));
        }
        let Some(repository) = settings.repository.clone() else {
            return Err(no_comment("GITHUB_REPOSITORY is not `owner/name`", "Run inside a GitHub Actions job."));
        };
        let address: Option<http::Uri> =
            settings.api_url.parse().ok().filter(|uri: &http::Uri| {
                uri.authority().is_some() && matches!(uri.scheme_str(), Some("https" | "http"))
            });
        let Some(address) = address else {
            return Err(no_comment("GITHUB_API_URL is not an http(s) address", "Leave it as the runner sets it."));
        };
        let octocrab = Octocrab::builder()
            .base_uri(address)
            .map(|builder| builder.personal_token(token.expose().to_owned()))
            .and_then(|builder| builder.build_with_reqwest(client))
            .map_err(|error| no_comment(&format!("the GitHub client could not be made: {error}"), "Report this."))?;
        Ok(Self {
            octocrab,
            repository,
            // Tokens of an app's installation, the job's own among them, cannot ask who they are
            // (github.blog, "Behind GitHub's new authentication token formats").
            installation: token.expose().starts_with("ghs_"),
            waiting: Waiting::new(settings.patience),
        })
    }

    pub(super) fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Is the token known to be an app's installation token?
    pub(super) fn is_installation(&self) -> bool {
        self.installation
    }

    /// Did the server ask to slow down? Then only what is needed is sent.
    pub(super) fn was_limited(&self) -> bool {
        self.waiting.was_limited()
    }

    /// `/repos/owner/name` and the rest.
    pub(super) fn path(&self, rest: &str) -> String {
        format!("/repos/{}/{}/{rest}", self.repository.owner, self.repository.name)
    }

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

    /// Waits as the trouble asks for, if another request is allowed and the wait is within the budget.
    /// False: give up, without having waited.
    pub(super) async fn pause(&mut self, trouble: &Trouble) -> bool {
        self.waiting.pause(trouble).await
    }

    async fn attempt(&self, method: &Method, path: &str, body: Option<&Value>) -> Result<Reply, Trouble> {
        let lost = |message: String| Trouble::Lost { message };
        let request = http::Request::builder().method(method).uri(path);
        let request = self.octocrab.build_request(request, body).map_err(|error| lost(error.to_string()))?;
        let exchange = async {
            let answer = self.octocrab.execute(request).await.map_err(|error| lost(story(&error)))?;
            let (parts, body) = answer.into_parts();
            let body = Limited::new(body, ANSWER_LIMIT).collect().await.map_err(|error| lost(error.to_string()))?;
            Ok((parts, body.to_bytes()))
        };
        let (parts, body) = tokio::time::timeout(self.waiting.request(), exchange)
            .await
            .map_err(|_| lost(format!("no complete answer within {} s", self.waiting.request().as_secs())))??;
        if parts.status.is_success() {
            return Ok(Reply { next: self.next_page(&parts.headers), body });
        }
        Err(Trouble::of_answer(parts.status, &parts.headers, &body, SystemTime::now()))
    }

    /// Path and query of the `rel="next"` link; only these, so that a link cannot lead the token to another server.
    fn next_page(&self, headers: &HeaderMap) -> Option<String> {
        let links = headers.get("link")?.to_str().ok()?;
        let next = links.split(',').find(|link| link.contains("rel=\"next\""))?;
        let (_, rest) = next.split_once('<')?;
        let (address, _) = rest.split_once('>')?;
        let address: http::Uri = address.parse().ok()?;
        Some(address.path_and_query()?.to_string())
    }
}

/// The innermost cause too: "error sending request" alone helps nobody.
fn story(error: &octocrab::Error) -> String {
    let mut deepest: &dyn std::error::Error = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    let (outer, inner) = (error.to_string(), deepest.to_string());
    if outer.contains(&inner) { outer } else { format!("{outer}: {inner}") }
}
