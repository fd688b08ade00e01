//! What git says about the folder of the suite.

use std::path::Path;

use crate::domain::Env;
use crate::net::Git;

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
        let said = Git::new(folder, env).text(&["rev-parse", "HEAD", "--abbrev-ref", "HEAD"]);
        let said = said.unwrap_or_default();
        let mut lines = said.lines().map(str::to_owned);
        Self { commit: lines.next(), branch: lines.next() }
    }
}
