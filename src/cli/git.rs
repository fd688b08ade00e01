//! What git says about the folder of the suite.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::clock;
use crate::domain::{Digest, Env};
use crate::net::Git;

/// Git answers these questions from a file or two.
const DEADLINE: Duration = Duration::from_secs(5);

/// What is checked out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Checkout {
    /// `None` without git, a repository or a commit.
    pub(super) commit: Option<String>,
    /// `HEAD` where no branch is checked out; `None` as for the commit.
    pub(super) branch: Option<String>,
}

impl Checkout {
    /// Asks git once: starting it is most of what a short run takes.
    pub(super) fn of(folder: &Path, env: &Env) -> Self {
        let said = ask(folder, env, &["rev-parse", "HEAD", "--abbrev-ref", "HEAD"]);
        let mut lines = said.as_deref().unwrap_or_default().lines().map(str::to_owned);
        Self { commit: lines.next(), branch: lines.next() }
    }
}

/// The commit that is checked out in `root`, with a digest of what is changed since; changes of the files `except` do not count, nor do
/// files that git does not know. `None` without git, a repository or a commit.
pub(super) fn version(root: &Path, except: &[PathBuf], env: &Env) -> Option<String> {
    let commit = ask(root, env, &["rev-parse", "HEAD"])?;
    let except = except.iter().filter_map(|path| path.strip_prefix(root).ok()?.to_str());
    let except: Vec<String> = except.map(|path| format!(":(exclude,literal){path}")).collect();
    let question = ["diff", "--no-ext-diff", "--no-textconv", "--binary", "HEAD", "--", "."];
    let question: Vec<&str> = question.into_iter().chain(except.iter().map(String::as_str)).collect();
    match output(root, env, &question) {
        Some(changes) if !changes.is_empty() => Some(format!("{commit} {}", Digest::of([changes]))),
        Some(_) => Some(commit),
        // What is changed is too much for git to say in time, or to be read: then no kept answer is of this version.
        None => Some(format!("{commit} changed, as found at {}", clock::now())),
    }
}

/// The answer in one text, which is not empty.
fn ask(folder: &Path, env: &Env, arguments: &[&str]) -> Option<String> {
    let text = String::from_utf8(output(folder, env, arguments)?).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// What git prints, where it succeeds in time.
fn output(folder: &Path, env: &Env, arguments: &[&str]) -> Option<Vec<u8>> {
    // What is left out is said with a word of git's.
    let git = Git::new(folder, env).with("GIT_LITERAL_PATHSPECS", "0");
    let ended = git.run(arguments, &[], DEADLINE).ok()?;
    (ended.code == Some(0)).then_some(ended.out)
}
