//! The REST API of one project, and the words for what went wrong.

use http::Method;
use serde_json::Value;

use super::Settings;
use crate::host::Warning;
use crate::host::rest::{Reply, Rest};
use crate::host::trouble::{Trouble, Words};

const WORDS: Words = Words {
    name: "GitLab",
    safe: "The verdict is unchanged; the report is among the job's files.",
    address: "CI_API_V4_URL is the address of a GitLab REST API",
};

/// What the request was part of, for the words of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    Note(u64),
    Status,
}

/// Why nothing can be sent at all.
pub(super) struct Unable {
    pub(super) why: String,
    help: &'static str,
}

impl Unable {
    /// `no comment`, `no commit status`.
    pub(super) fn for_what(&self, what: &str) -> Warning {
        Warning::new(format!("{what}: {}", self.why)).with_help(self.help)
    }
}

/// The API of one project.
pub(super) struct Api {
    pub(super) rest: Rest,
    project: u64,
}

impl Api {
    /// # Errors
    /// Where address, project or token are missing or cannot be used.
    pub(super) fn new(
        settings: &Settings,
        project: Option<u64>,
        client: Result<reqwest::Client, String>,
    ) -> Result<Self, Unable> {
        let unable = |why: String, help| Unable { why, help };
        let client = client.map_err(|problem| {
            let why = format!("the connection could not be prepared: {problem}");
            unable(why, "Check the proxy and certificate settings of the job.")
        })?;
        let Some(token) = &settings.token else {
            return Err(unable(
                "there is no token for the GitLab API".to_owned(),
                "Make a project access token (role Reporter, scope `api`; for --check role Developer) and keep it as the masked \
                 variable GITLAB_TOKEN; or turn the comment off with --no-comment.",
            ));
        };
        let (Some(address), Some(project)) = (settings.api_url.as_deref(), project) else {
            let why = "CI_API_V4_URL and CI_PROJECT_ID do not say where the project is".to_owned();
            return Err(unable(why, "Leave these variables as the runner sets them."));
        };
        let header = ("private-token", token.expose().to_owned());
        let rest = Rest::new(address, header, settings.patience, client)
            .map_err(|why| unable(format!("CI_API_V4_URL or GITLAB_TOKEN {why}"), "Check both."))?;
        Ok(Self { rest, project })
    }

    /// The path of something of the project.
    pub(super) fn path(&self, rest: &str) -> String {
        format!("/projects/{}/{rest}", self.project)
    }

    /// # Errors
    /// As [`Rest::send`].
    pub(super) async fn send(&mut self, method: Method, path: &str, body: Option<&Value>) -> Result<Reply, Trouble> {
        self.rest.send(method, path, body).await
    }
}

/// The one warning that remains.
pub(super) fn warning(trouble: &Trouble, task: Task, fork: bool) -> Warning {
    let what = match task {
        Task::Note(number) => format!("could not comment on merge request !{number}"),
        Task::Status => "could not set the commit status".to_owned(),
    };
    trouble.told(&what, &WORDS, |status, _| advice(status, task, fork))
}

fn advice(status: u16, task: Task, fork: bool) -> String {
    let role = match task {
        Task::Note(_) => "Reporter",
        Task::Status => "Developer",
    };
    match status {
        401 => "The token is not accepted: it may have expired. Make a new one and keep it as GITLAB_TOKEN.".to_owned(),
        403 | 404 if fork => format!(
            "The token lacks the right: pipelines of forks have the fork's variables. Run the pipeline in the parent project, or give \
             GITLAB_TOKEN the role {role} there."
        ),
        403 | 404 => format!("The token lacks the right: it needs the scope `api` and the role {role} in the project."),
        _ => "Check CI_API_V4_URL and GITLAB_TOKEN.".to_owned(),
    }
}
