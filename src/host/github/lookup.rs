//! The open pull request whose head is a given commit.

use http::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use super::api::Api;
use crate::host::trouble::Trouble;

/// What the search came to.
#[derive(Debug)]
pub(super) enum Found {
    One(u64),
    /// None or several, in words.
    None(String),
}

#[derive(Deserialize)]
struct Candidate {
    number: u64,
    state: String,
    head: Side,
    base: Side,
}

#[derive(Deserialize)]
struct Side {
    sha: String,
    repo: Option<Repo>,
}

#[derive(Deserialize)]
struct Repo {
    full_name: String,
}

/// Asks for the pull requests of the commit, and where that lists none (commits of forks) for those of the head's branch.
/// Only an open one into this repository whose head *is* the commit counts.
///
/// # Errors
/// Where the API cannot be asked.
pub(super) async fn by_commit(api: &mut Api, head_sha: &str, head: Option<&str>) -> Result<Found, Trouble> {
    let path = api.path(&format!("commits/{head_sha}/pulls?per_page=100"));
    let mut numbers = ask(api, &path, head_sha).await?;
    if let Some(head) = head.filter(|_| numbers.is_empty()) {
        let term = utf8_percent_encode(head, NON_ALPHANUMERIC);
        let path = api.path(&format!("pulls?state=open&head={term}&per_page=100"));
        numbers = ask(api, &path, head_sha).await?;
    }
    Ok(match numbers.as_slice() {
        [number] => Found::One(*number),
        [] => Found::None(format!("no comment: no open pull request has {head_sha} as its head")),
        several => {
            Found::None(format!("no comment: {} open pull requests have {head_sha} as their head", several.len()))
        }
    })
}

async fn ask(api: &mut Api, path: &str, head_sha: &str) -> Result<Vec<u64>, Trouble> {
    let candidates: Vec<Candidate> = match api.send(Method::GET, path, None).await {
        Ok(reply) => reply.read()?,
        // 409 for an empty repository, 422 for a commit it does not know (a fork's).
        Err(Trouble::Refused { status: 409 | 422, .. }) => Vec::new(),
        Err(trouble) => return Err(trouble),
    };
    let here = |side: &Side| side.repo.as_ref().is_some_and(|repo| api.repository().is(&repo.full_name));
    let fits = |candidate: &&Candidate| {
        candidate.state == "open" && candidate.head.sha.eq_ignore_ascii_case(head_sha) && here(&candidate.base)
    };
    Ok(candidates.iter().filter(fits).map(|candidate| candidate.number).collect())
}
