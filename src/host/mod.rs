//! Shows the verdict where the code review happens.
//!
//! [`detect`] reads the environment once and says which host this is and which change is under review; [`publish`]
//! then writes the job summary, the step's outputs and one comment, and returns the annotation lines for `cli` to print:
//!
//! ```text
//! Env ─► detect ─► HostContext ┐
//! Verdict ─► report ─► Publication ┴─► publish ─► Published { comment_url, lines, warnings }
//! ```
//!
//! Promises: nothing here changes a verdict or an exit code, every trouble ends as one warning that says what to do; one
//! comment for each suite and pull request; no credential is sent anywhere but to the configured API address.
//! Deliberately absent: an "in progress" comment, and any address that is not taken from the runner's variables.
//!
//! Adding a host: a folder with `detect` and `publish`, a variant in [`HostKind`] and `Settings`, a line in [`KINDS`].

mod azure;
mod body;
mod context;
mod github;
mod gitlab;
mod markdown;
mod patience;
mod publication;
mod rest;
mod shown;
mod trouble;
mod warning;

pub use azure::commands::VARIABLES as AZURE_VARIABLES;
pub use body::COMMENT_LIMIT;
pub use context::{Change, HostContext, HostKind, KINDS, Kind, PullRequest, detect};
pub use github::annotations::{annotations, escape_data, escape_property};
pub use github::outputs::OUTPUT_NAMES;
pub use github::summary::SUMMARY_LIMIT;
pub use publication::{
    Annotation, AnnotationLevel, Check, CheckForm, NoVerdict, Outdated, Outputs, Publication, Published, Standing,
};
pub use warning::Warning;

use std::time::Duration;

use context::Settings;

/// How long a cancelled run may take to mark an earlier comment: whoever cancels a job waits for its end.
const FAREWELL: Duration = Duration::from_secs(2);

/// Publishes to the host that `context` describes. The verdict never depends on what comes back.
///
/// **Inputs**: `client` is the shared HTTP client (proxy, TLS and roots are its business), or why there is none: then all but the
/// comment is published.
pub async fn publish(
    context: &HostContext,
    publication: &Publication,
    client: Result<reqwest::Client, String>,
) -> Published {
    match &context.settings {
        Settings::GitHub(settings) => github::publish(settings, context, publication, client).await,
        Settings::Azure(settings) => azure::publish(settings, context, publication, client).await,
        Settings::GitLab(settings) => gitlab::publish(settings, context, publication, client).await,
    }
}

/// Bytes that the job summary may still take, for `report` to cut at case borders; `None` where there is no summary.
pub fn summary_room(context: &HostContext) -> Option<usize> {
    match &context.settings {
        Settings::GitHub(settings) => settings.summary_file.as_deref().map(github::summary::room),
        Settings::Azure(settings) => settings.speaks.then_some(SUMMARY_LIMIT),
        Settings::GitLab(_) => None,
    }
}

#[cfg(test)]
mod tests;
