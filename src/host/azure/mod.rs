//! Azure Pipelines, with its cloud and Azure DevOps Server alike: issues, outputs, test results and a summary page by logging
//! commands; one thread on the pull request, and the verdict as a status for branch policies, by REST.
//!
//! `detect` (variables) → `publish`: summary → thread and status → commands. Everything works in a plain `script:` step; the task in
//! `azure/` only fetches the binary and starts it.
//! The thread is found again by a property of its own, so its text needs no marker; while the verdict is no pass it is `active`, which
//! a policy that asks for resolved comments takes for a no, and `fixed` when it is.

mod api;
pub(crate) mod commands;
mod detect;
mod settings;
mod status;
mod thread;

pub(crate) use detect::detect;
pub(crate) use settings::{Credential, Settings};

use std::path::{Path, PathBuf};

use super::body::{body, line, without_alerts};
use super::context::{HostContext, PullRequest};
use super::shown::{Shown, outdated};
use super::{Publication, Published, SUMMARY_LIMIT, Warning, markdown};
use api::Api;

/// Shows the publication.
pub(super) async fn publish(
    settings: &Settings,
    context: &HostContext,
    publication: &Publication,
    client: Result<reqwest::Client, String>,
) -> Published {
    let mut published = Published { notes: context.notes.clone(), ..Published::default() };
    let page = match settings.speaks {
        true => summary_page(settings, publication),
        false => Ok(None),
    };
    // Side by side: whoever cancels a job waits for both.
    let (commented, checked) = tokio::join!(
        discuss(settings, context, publication, client.clone()),
        status::show(settings, context, publication, client)
    );
    published.take(commented);
    published.warnings.extend(checked.err());
    let page = page.unwrap_or_else(|warning| {
        published.warnings.push(warning);
        None
    });
    published.mask(&context.secrets());
    published.lines = lines(settings, publication, &published, page.as_deref());
    published
}

/// For the agent, which reads the log.
fn lines(settings: &Settings, publication: &Publication, published: &Published, page: Option<&Path>) -> Vec<String> {
    let troubles = published.warnings.iter().map(Warning::as_annotation);
    if !settings.speaks {
        return commands::issues(&troubles.collect::<Vec<_>>());
    }
    let mut lines = commands::issues(&troubles.chain(publication.annotations.clone()).collect::<Vec<_>>());
    lines.extend(commands::variables(&publication.outputs, published.comment_url.as_deref()));
    lines.extend(page.map(commands::summary));
    let junit = publication.outputs.junit_path.as_deref().filter(|_| publication.tests);
    lines.extend(junit.and_then(|junit| commands::results(junit, &publication.key)));
    lines
}

/// The agent shows a file under its own name, and fetches it after we are gone: so it lies in the job's own folder, apart from others.
fn summary_page(settings: &Settings, publication: &Publication) -> Result<Option<PathBuf>, Warning> {
    let text = without_alerts(&publication.summary_markdown);
    if text.trim().is_empty() {
        return Ok(None);
    }
    let Some(temp) = &settings.temp else { return Ok(publication.outputs.summary_path.clone()) };
    let text = markdown::cut(&text, SUMMARY_LIMIT).unwrap_or(&text);
    let written = tempfile::Builder::new().prefix("scoregate-").tempdir_in(temp).and_then(|folder| {
        let file = folder.keep().join("scoregate.md");
        std::fs::write(&file, text).map(|()| file)
    });
    written.map(Some).map_err(|error| {
        Warning::new(format!("no summary page: {} could not be written: {error}", temp.display()))
            .with_help("The report files hold the same content.")
    })
}

/// The thread of this run, or what becomes of an earlier one's.
async fn discuss(
    settings: &Settings,
    context: &HostContext,
    publication: &Publication,
    client: Result<reqwest::Client, String>,
) -> Result<Shown, Warning> {
    let PullRequest::Number(number) = context.change.pull_request else { return Ok(Shown::Nowhere(None)) };
    let key = thread::key(&publication.key);
    let url = context.run_url.as_deref();
    if let Some(text) = &publication.comment_markdown {
        let mut api = Api::new(settings, client).map_err(|problem| problem.for_what("no comment"))?;
        let text = body(None, &without_alerts(text), url);
        let published = thread::publish(&mut api, number, &key, &text, publication.standing).await;
        return published.map(Shown::At).map_err(|trouble| api::warning(&trouble, api::Task::Thread(number)));
    }
    let Some(news) = &publication.outdated else { return Ok(Shown::Nowhere(None)) };
    if settings.credential.is_none() {
        return Ok(Shown::Nowhere(None));
    }
    let attempt = async {
        let mut api = Api::new(settings, client).map_err(|problem| problem.why)?;
        let head = context.change.head_sha.as_deref();
        let marked = thread::outdate(&mut api, number, &key, news, head, url).await;
        marked.map_err(|trouble| api::warning(&trouble, api::Task::Thread(number)).message)
    };
    Ok(outdated(news, &settings.patience, attempt).await)
}
