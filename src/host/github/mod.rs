//! GitHub Actions: job summary, outputs, annotations and one comment on the pull request, on github.com and GHES alike.
//!
//! `detect` (event) → `publish`: summary → comment (lookup, find, update or create) and check → outputs.
//! Requests go through octocrab over the shared reqwest client (`api`); octocrab's own retry is not compiled in, because it
//! would send a POST again whose answer was lost. What may be sent again, and when, is decided in `trouble` and `api`.

pub(crate) mod annotations;
mod api;
mod check;
pub(crate) mod comment;
mod event;
mod lookup;
pub(crate) mod outputs;
mod settings;
pub(crate) mod summary;
mod trouble;

pub(crate) use event::detect;
pub(crate) use settings::{Repository, Settings};

use super::body;
use super::context::{HostContext, PullRequest};
use super::shown::{Shown, outdated};
use super::trouble::Trouble;
use super::{Outdated, Publication, Published, Warning};
use crate::report::marker;
use api::Api;
use trouble::Task;

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
    // Side by side: whoever cancels a job waits for both.
    let (commented, checked) = tokio::join!(
        comment_on(settings, context, publication, client.clone()),
        check::show(settings, context, publication, client)
    );
    published.take(commented);
    published.warnings.extend(checked.err());
    if let Some(file) = &settings.output_file {
        let comment_url = published.comment_url.as_deref();
        published.warnings.extend(outputs::write(file, &publication.outputs, comment_url).err());
    }
    published.mask(&context.secrets());
    let troubles = published.warnings.iter().map(Warning::as_annotation);
    published.lines = annotations::annotations(&troubles.chain(publication.annotations.clone()).collect::<Vec<_>>());
    published
}

/// The comment of this run, or what becomes of an earlier one's.
async fn comment_on(
    settings: &Settings,
    context: &HostContext,
    publication: &Publication,
    client: Result<reqwest::Client, String>,
) -> Result<Shown, Warning> {
    if let Some(text) = &publication.comment_markdown {
        return show_comment(settings, context, &publication.key, text, client).await;
    }
    match &publication.outdated {
        Some(news) => Ok(outdate(settings, context, &publication.key, news, client).await),
        None => Ok(Shown::Nowhere(None)),
    }
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
    let mut api = api(settings, client)?;
    let number = match number(&mut api, context).await {
        Ok(lookup::Found::One(number)) => number,
        Ok(lookup::Found::None(note)) => return Ok(Shown::Nowhere(Some(note))),
        Err(trouble) => return Err(trouble.warning(Task::LookUp, change.fork)),
    };
    let body = body::body(Some(&marker(key)), text, context.run_url.as_deref());
    comment::publish(&mut api, number, &marker(key), &body)
        .await
        .map(Shown::At)
        .map_err(|trouble: Trouble| trouble.warning(Task::Comment(number), change.fork))
}

fn api(settings: &Settings, client: Result<reqwest::Client, String>) -> Result<Api, Warning> {
    let client = client.map_err(|problem| {
        Warning::new(format!("no comment: the connection could not be prepared: {problem}"))
            .with_help("Check the proxy and certificate settings of the job.")
    })?;
    Api::new(settings, client)
}

async fn number(api: &mut Api, context: &HostContext) -> Result<lookup::Found, Trouble> {
    match &context.change.pull_request {
        PullRequest::None => Ok(lookup::Found::None("no comment: there is no pull request".to_owned())),
        PullRequest::Number(number) => Ok(lookup::Found::One(*number)),
        PullRequest::LookUp { head_sha, head } => lookup::by_commit(api, head_sha, head.as_deref()).await,
    }
}

/// The earlier comment, if there is one, says so.
async fn outdate(
    settings: &Settings,
    context: &HostContext,
    key: &str,
    news: &Outdated,
    client: Result<reqwest::Client, String>,
) -> Shown {
    if context.change.pull_request == PullRequest::None || settings.token.is_none() {
        return Shown::Nowhere(None);
    }
    let attempt = async {
        let mut api = api(settings, client).map_err(|warning| warning.message)?;
        let fork = context.change.fork;
        let told = |trouble: Trouble, task| trouble.warning(task, fork).message;
        let number = match number(&mut api, context).await {
            Ok(lookup::Found::One(number)) => number,
            Ok(lookup::Found::None(_)) => return Ok(None),
            Err(trouble) => return Err(told(trouble, Task::LookUp)),
        };
        let (head, url) = (context.change.head_sha.as_deref(), context.run_url.as_deref());
        let marked = comment::outdate(&mut api, number, key, news, head, url).await;
        marked.map_err(|trouble| told(trouble, Task::Comment(number)))
    };
    outdated(news, &settings.patience, attempt).await
}
