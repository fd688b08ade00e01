//! The REST API of one repository: addresses, the API's version, and the words for what went wrong.

use http::Method;
use serde_json::Value;

use super::Settings;
use crate::host::Warning;
use crate::host::rest::{Reply, Rest};
use crate::host::trouble::{Trouble, Words};

/// What Azure DevOps Services and Server 2022.1 speak; an older server says which it does.
const VERSION: &str = "7.1";
/// Versions that are tried for one request.
const VERSIONS: usize = 3;

const WORDS: Words = Words {
    name: "Azure DevOps",
    safe: "The verdict is unchanged; the report is in the build's summary.",
    address: "SYSTEM_COLLECTIONURI is the address of an Azure DevOps collection",
};

/// What the request was part of, for the words of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    Thread(u64),
    Status,
}

/// Why nothing can be sent at all.
pub(super) struct Unable {
    pub(super) why: String,
    help: &'static str,
}

impl Unable {
    /// `no comment`, `no status`.
    pub(super) fn for_what(&self, what: &str) -> Warning {
        Warning::new(format!("{what}: {}", self.why)).with_help(self.help)
    }
}

/// The API of one repository.
pub(super) struct Api {
    rest: Rest,
    project: String,
    repository: String,
    collection: String,
    version: String,
}

impl Api {
    /// # Errors
    /// Where address, repository or token are missing or cannot be used.
    pub(super) fn new(settings: &Settings, client: Result<reqwest::Client, String>) -> Result<Self, Unable> {
        let unable = |why: &str, help| Unable { why: why.to_owned(), help };
        let client = client.map_err(|problem| Unable {
            why: format!("the connection could not be prepared: {problem}"),
            help: "Check the proxy and certificate settings of the job.",
        })?;
        let Some(credential) = &settings.credential else {
            return Err(unable(
                "there is no token for the Azure DevOps API",
                "Pass the job's token to the step: `env: { SYSTEM_ACCESSTOKEN: $(System.AccessToken) }`; or turn the comment off.",
            ));
        };
        let (Some(collection), Some(project), Some(repository)) =
            (settings.collection.clone(), settings.project.clone(), settings.repository.clone())
        else {
            return Err(unable(
                "SYSTEM_COLLECTIONURI, SYSTEM_TEAMPROJECTID and BUILD_REPOSITORY_ID do not say where the repository is",
                "Leave these variables as the agent sets them.",
            ));
        };
        let header = ("authorization", credential.header());
        let rest = Rest::new(&collection, header, settings.patience, client).map_err(|why| {
            unable(
                &format!("SYSTEM_COLLECTIONURI or the token {why}"),
                "Check both; the token stands in SYSTEM_ACCESSTOKEN.",
            )
        })?;
        Ok(Self { rest, project, repository, collection, version: VERSION.to_owned() })
    }

    pub(super) fn was_limited(&self) -> bool {
        self.rest.was_limited()
    }

    pub(super) async fn pause(&mut self, trouble: &Trouble) -> bool {
        self.rest.pause(trouble).await
    }

    /// The page of a thread.
    pub(super) fn page(&self, pull_request: u64, thread: u64) -> String {
        let Self { collection, project, repository, .. } = self;
        format!("{collection}/{project}/_git/{repository}/pullrequest/{pull_request}?discussionId={thread}")
    }

    /// **Inputs**: `rest` is the path below the repository.
    ///
    /// # Errors
    /// As [`Rest::send`].
    pub(super) async fn send(&mut self, method: Method, rest: &str, body: Option<&Value>) -> Result<Reply, Trouble> {
        for _ in 1..VERSIONS {
            let path = self.path(rest);
            match self.rest.send(method.clone(), &path, body).await {
                Err(Trouble::Refused { status: 400, message }) => match other_version(&message, &self.version) {
                    Some(version) => self.version = version,
                    None => return Err(Trouble::Refused { status: 400, message }),
                },
                answer => return answer,
            }
        }
        let path = self.path(rest);
        self.rest.send(method, &path, body).await
    }

    fn path(&self, rest: &str) -> String {
        let Self { project, repository, version, .. } = self;
        format!("/{project}/_apis/git/repositories/{repository}/{rest}?api-version={version}")
    }
}

/// The version that a server asks for which refuses ours: "… the latest REST API version this server supports is 6.0", or
/// "… is under preview. The -preview flag must be supplied".
fn other_version(message: &str, tried: &str) -> Option<String> {
    let number = |text: &str| {
        let digits: String = text.trim_start().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        Some(digits.trim_end_matches('.').to_owned()).filter(|digits| digits.contains('.'))
    };
    let supported = message.split_once("server supports is").and_then(|(_, rest)| number(rest));
    let preview = message.contains("-preview").then(|| format!("{}-preview", tried.trim_end_matches("-preview")));
    supported.or(preview).filter(|version| version != tried)
}

/// The one warning that remains.
pub(super) fn warning(trouble: &Trouble, task: Task) -> Warning {
    let what = match task {
        Task::Thread(number) => format!("could not comment on pull request !{number}"),
        Task::Status => "could not set the status".to_owned(),
    };
    trouble.told(&what, &WORDS, |status, _| advice(status, task))
}

fn advice(status: u16, task: Task) -> String {
    const TOKEN: &str = "Pass the job's token to the step: `env: { SYSTEM_ACCESSTOKEN: $(System.AccessToken) }`.";
    let right = match task {
        Task::Thread(_) => "Contribute to pull requests",
        Task::Status => "Contribute to pull requests` and, outside of pull requests, `Contribute",
    };
    match status {
        401 => format!("The token is not accepted. {TOKEN}"),
        403 | 404 => format!(
            "The build's identity (`… Build Service`) lacks the right. Allow it `{right}` in Project settings → Repositories → \
             Security. Builds of forks have it only if the pipeline's settings give them full rights."
        ),
        _ => "Check SYSTEM_COLLECTIONURI and the token.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::other_version;

    #[test]
    fn an_older_server_says_which_version_it_speaks() {
        let older = "The requested REST API version of 7.1 is out of range for this server. The latest REST API version this server supports is 6.0.";
        assert_eq!(other_version(older, "7.1").as_deref(), Some("6.0"));
        let preview = "The requested version \"6.0\" of the resource is under preview. The -preview flag must be supplied in the api-version for such requests. For example: \"6.0-preview\"";
        assert_eq!(other_version(preview, "6.0").as_deref(), Some("6.0-preview"));
        assert_eq!(other_version(preview, "6.0-preview"), None);
        assert_eq!(other_version("The status is not valid", "7.1"), None);
    }
}
