//! Which host this is, and which change is under review.

use std::path::{Path, PathBuf};

use crate::domain::{Env, Secret};
use crate::report::SourceLinks;

use super::{azure, github, gitlab};

/// The hosts we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostKind {
    GitHub,
    Azure,
    GitLab,
}

impl HostKind {
    /// Warnings are not among the lines for standard output: the host reads none.
    pub fn reads_no_log(self) -> bool {
        self == Self::GitLab
    }
}

/// A host's entry in the registry.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// As `--host` takes it.
    pub name: &'static str,
    pub detect: fn(&Env) -> Option<HostContext>,
}

/// All hosts, in the order in which they are asked.
pub const KINDS: &[Kind] = &[
    Kind { name: "github", detect: github::detect },
    Kind { name: "azure", detect: azure::detect },
    Kind { name: "gitlab", detect: gitlab::detect },
];

/// The host this process runs on, if it is one we know.
pub fn detect(env: &Env) -> Option<HostContext> {
    KINDS.iter().find_map(|kind| (kind.detect)(env))
}

/// What the environment says about the host and the change.
#[derive(Clone, Debug)]
pub struct HostContext {
    pub kind: HostKind,
    pub change: Change,
    /// The page of this run, for links.
    pub run_url: Option<String>,
    /// Where the job's files are, and usually the checkout.
    pub workspace: Option<PathBuf>,
    /// Things worth saying that are no trouble: "merge queue: there is no pull request to comment on".
    pub notes: Vec<String>,
    pub(crate) settings: Settings,
}

impl HostContext {
    /// What must be masked in everything that is written: the API token.
    pub fn secrets(&self) -> Vec<Secret> {
        match &self.settings {
            Settings::GitHub(settings) => settings.token.iter().cloned().collect(),
            Settings::Azure(settings) => settings.credential.iter().map(|one| one.secret().clone()).collect(),
            Settings::GitLab(settings) => settings.token.iter().cloned().collect(),
        }
    }

    /// How this host shows a line of a file at the commit under review.
    pub fn source_links(&self) -> Option<SourceLinks> {
        let sha = self.change.head_sha.as_deref()?;
        match &self.settings {
            Settings::GitHub(settings) => settings.source_links(sha),
            Settings::Azure(settings) => settings.source_links(sha),
            Settings::GitLab(settings) => settings.source_links(sha),
        }
    }

    /// For who only comments: nothing is appended to the job's summary and outputs, which are another run's business.
    #[must_use]
    pub fn comment_only(mut self) -> Self {
        match &mut self.settings {
            Settings::GitHub(settings) => (settings.summary_file, settings.output_file) = (None, None),
            Settings::Azure(settings) => settings.speaks = false,
            // There are none.
            Settings::GitLab(_) => {}
        }
        self
    }

    /// The path as the repository has it, of a file that is there; `None`: it is in no repository that we know of.
    ///
    /// A folder with `.git` is a repository. A checkout without it (of an archive, where git is not installed) is the job's
    /// workspace.
    pub fn in_repository(&self, file: &Path) -> Option<String> {
        let file = file.canonicalize().ok()?;
        let repository = file.ancestors().skip(1).find(|folder| folder.join(".git").exists()).map(Path::to_owned);
        let workspace = || self.workspace.as_deref()?.canonicalize().ok();
        let below = file.strip_prefix(repository.or_else(workspace)?).ok()?;
        let parts: Vec<_> = below.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        Some(parts.join("/"))
    }
}

/// What each host keeps for itself.
#[derive(Clone, Debug)]
pub(crate) enum Settings {
    GitHub(github::Settings),
    Azure(azure::Settings),
    GitLab(gitlab::Settings),
}

/// The change under review. Everything in it that a user can choose (names of branches) is for display only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// `pull_request`, `merge_group`, `push`, …
    pub event: String,
    pub pull_request: PullRequest,
    /// The commit that was proposed, not the merge commit that the runner checked out.
    pub head_sha: Option<String>,
    /// The commit to compare with: base of the pull request or merge group, previous commit of a push.
    pub base_sha: Option<String>,
    /// The base branch's name, without `refs/heads/`.
    pub base_ref: Option<String>,
    /// The head lives in another repository, so the token is read-only and there are no secrets.
    pub fork: bool,
}

/// Where a comment belongs. Never taken from the name of a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PullRequest {
    Number(u64),
    /// The event does not say; the API is asked for the open pull request with this head commit.
    LookUp {
        head_sha: String,
        head: Option<String>,
    },
    /// There is none: merge queue, push, schedule.
    #[default]
    None,
}
