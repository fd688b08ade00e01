//! What the runner's variables say, checked.

use std::path::PathBuf;

use crate::domain::Secret;
use crate::host::patience::Patience;
use crate::report::SourceLinks;

/// Where to publish and how patiently.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// `GITHUB_API_URL`; on a GHES with its path (`https://ghes.example/api/v3`).
    pub(crate) api_url: String,
    pub(crate) repository: Option<Repository>,
    /// `GITHUB_SERVER_URL`.
    pub(crate) server: Option<String>,
    pub(crate) token: Option<Secret>,
    pub(crate) summary_file: Option<PathBuf>,
    pub(crate) output_file: Option<PathBuf>,
    pub(crate) patience: Patience,
}

impl Settings {
    pub(crate) fn source_links(&self, sha: &str) -> Option<SourceLinks> {
        let (Repository { owner, name }, server) = (self.repository.as_ref()?, self.server.as_deref()?);
        // As text: other views of a file have no lines.
        Some(SourceLinks { before: format!("{server}/{owner}/{name}/blob/{sha}/"), between: "?plain=1#L".to_owned() })
    }
}

/// `owner/name`, of characters that need no escape in a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    pub(crate) owner: String,
    pub(crate) name: String,
}

impl Repository {
    /// `None` where the text is no `owner/name` of GitHub's characters.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (owner, name) = text.split_once('/')?;
        let fine = |part: &str| {
            !part.is_empty()
                && !part.chars().all(|c| c == '.')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        };
        (fine(owner) && fine(name)).then(|| Self { owner: owner.to_owned(), name: name.to_owned() })
    }

    /// Do two names mean the same repository? GitHub ignores letter case.
    pub(crate) fn is(&self, full_name: &str) -> bool {
        format!("{}/{}", self.owner, self.name).eq_ignore_ascii_case(full_name)
    }
}
