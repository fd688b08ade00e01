//! GitHub Actions: job summary, outputs, annotations and one comment on the pull request, on github.com and GHES alike.
//!
//! `detect` (event) → `publish`: summary → comment (lookup, find, update or create) → outputs.
//! Requests go through octocrab over the shared reqwest client (`api`); octocrab's own retry is not compiled in, because it
//! would send a POST again whose answer was lost. What may be sent again, and when, is decided in `trouble` and `api`.

pub(crate) mod annotations;
mod api;
pub(crate) mod comment;
mod event;
mod lookup;
mod markdown;
pub(crate) mod outputs;
mod settings;
pub(crate) mod summary;
mod trouble;

pub(crate) use event::detect;
pub(crate) use settings::{Patience, Repository, Settings};

use super::context::{HostContext, PullRequest};
use super::{Publication, Published, Warning};
use crate::domain::Redactor;
use api::Api;
use trouble::{Task, Trouble};

/// Shows the publication. Summary first: it needs no permission, and warnings can point to it.
pub(super) async fn publish(
    settings: &Settings,
    context: &HostContext,
    publication: &Publication,
    client: Result<reqwest::Client, String>,
) -> Published {
    let mut published = Published { notes: context.notes.clone(), ..Published::default() };
    if let Some(file) = &settings.summary_file {
        published.warnings.extend(summary::append(file, &publication.summary_markdown).err());
    }
    if let Some(text) = &publication.comment_markdown {
        match show_comment(settings, context, &publication.key, text, client).await {
            Ok(Shown::At(url)) => published.comment_url = Some(url),
            Ok(Shown::Nowhere(note)) => published.notes.extend(note),
            Err(warning) => published.warnings.push(warning),
        }
    }
    if let Some(file) = &settings.output_file {
        let comment_url = published.comment_url.as_deref();
        published.warnings.extend(outputs::write(file, &publication.outputs, comment_url).err());
    }
    let redactor = Redactor::new(&context.secrets());
    for warning in &mut published.warnings {
        // A server may repeat what it was sent.
        *warning = warning.masked(&redactor);
    }
    let troubles = published.warnings.iter().map(Warning::as_annotation);
    published.lines = annotations::annotations(&troubles.chain(publication.annotations.clone()).collect::<Vec<_>>());
    published
}

/// Where the comment went.
enum Shown {
    At(String),
    /// There is no pull request to comment on, which is no trouble.
    Nowhere(Option<String>),
}

async fn show_comment(
    settings: &Settings,
    context: &HostContext,
    key: &str,
    text: &str,
    client: Result<reqwest::Client, String>,
) -> Result<Shown, Warning> {
    let change = &context.change;
    if change.pull_request == PullRequest::None {
        return Ok(Shown::Nowhere(None));
    }
    let client = client.map_err(|problem| {
        Warning::new(format!("no comment: the connection could not be prepared: {problem}"))
            .with_help("Check the proxy and certificate settings of the job.")
    })?;
    let mut api = Api::new(settings, client)?;
    let number = match &change.pull_request {
        PullRequest::None => return Ok(Shown::Nowhere(None)),
        PullRequest::Number(number) => *number,
        PullRequest::LookUp { head_sha, head } => {
            let found = lookup::by_commit(&mut api, head_sha, head.as_deref()).await;
            match found.map_err(|trouble| trouble.warning(Task::LookUp, change.fork))? {
                lookup::Found::One(number) => number,
                lookup::Found::None(note) => return Ok(Shown::Nowhere(Some(note))),
            }
        }
    };
    let body = comment::body(key, text, context.run_url.as_deref());
    comment::publish(&mut api, number, &comment::marker(key), &body)
        .await
        .map(Shown::At)
        .map_err(|trouble: Trouble| trouble.warning(Task::Comment(number), change.fork))
}
