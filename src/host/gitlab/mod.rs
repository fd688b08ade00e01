//! GitLab, on gitlab.com and self-managed alike: one note on the merge request, and the verdict as a commit status.
//!
//! `detect` (variables) → `publish`: note and status, by REST. The test view and the code-quality widget read the reports of the job
//! (`junit.xml`, `codequality.json`); a job has no summary page and no annotations of its own, so nothing is printed for it.
//! The job's own token may not write notes (docs.gitlab.com, "CI/CD job token"), so a project access token is needed for both.

mod api;
mod detect;
mod note;
mod status;

pub(crate) use detect::detect;

use super::body::{body, line};
use super::context::{HostContext, PullRequest};
use super::patience::Patience;
use super::shown::{Shown, outdated};
use super::{Publication, Published, Warning};
use crate::domain::Secret;
use crate::report::{SourceLinks, marker};
use api::{Api, Task};

/// What the runner's variables say, checked.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// `CI_API_V4_URL`: `https://gitlab.example/api/v4`.
    pub(crate) api_url: Option<String>,
    /// The project that the merge request is for.
    pub(crate) project: Option<u64>,
    /// Where the pipeline runs: another one for a fork.
    pub(crate) own_project: Option<u64>,
    /// The pipeline's own project.
    pub(crate) own_page: Option<String>,
    /// The page of the merge request.
    pub(crate) page: Option<String>,
    pub(crate) token: Option<Secret>,
    pub(crate) patience: Patience,
}

impl Settings {
    pub(crate) fn source_links(&self, sha: &str) -> Option<SourceLinks> {
        let page = self.own_page.as_deref()?;
        Some(SourceLinks { before: format!("{page}/-/blob/{sha}/"), between: "#L".to_owned() })
    }
}

/// Shows the publication.
pub(super) async fn publish(
    settings: &Settings,
    context: &HostContext,
    publication: &Publication,
    client: Result<reqwest::Client, String>,
) -> Published {
    let mut published = Published { notes: context.notes.clone(), ..Published::default() };
    // Side by side: whoever cancels a job waits for both.
    let (commented, checked) = tokio::join!(
        remark(settings, context, publication, client.clone()),
        status::show(settings, context, publication, client)
    );
    published.take(commented);
    published.warnings.extend(checked.err());
    published.mask(&context.secrets());
    published
}

/// The note of this run, or what becomes of an earlier one's.
async fn remark(
    settings: &Settings,
    context: &HostContext,
    publication: &Publication,
    client: Result<reqwest::Client, String>,
) -> Result<Shown, Warning> {
    let PullRequest::Number(number) = context.change.pull_request else { return Ok(Shown::Nowhere(None)) };
    let marker = marker(&publication.key);
    let url = context.run_url.as_deref();
    let page =
        |note: u64| settings.page.as_ref().map_or_else(|| format!("note {note}"), |page| format!("{page}#note_{note}"));
    let fork = context.change.fork;
    if let Some(text) = &publication.comment_markdown {
        let mut api = Api::new(settings, settings.project, client).map_err(|unable| unable.for_what("no comment"))?;
        let published = note::publish(&mut api, number, &marker, &body(Some(&marker), text, url)).await;
        return match published {
            Ok(note) => Ok(Shown::At(page(note))),
            Err(trouble) => Err(api::warning(&trouble, Task::Note(number), fork)),
        };
    }
    let Some(news) = &publication.outdated else { return Ok(Shown::Nowhere(None)) };
    if settings.token.is_none() {
        return Ok(Shown::Nowhere(None));
    }
    let attempt = async {
        let mut api = Api::new(settings, settings.project, client).map_err(|unable| unable.why)?;
        let head = context.change.head_sha.as_deref();
        let marked = note::outdate(&mut api, number, &marker, news, head, url).await;
        marked.map(|note| note.map(page)).map_err(|trouble| api::warning(&trouble, Task::Note(number), fork).message)
    };
    Ok(outdated(news, &settings.patience, attempt).await)
}
