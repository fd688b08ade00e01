//! Host: what is shown where the code review happens.

use clap::{Args, ValueEnum};

use crate::host::CheckForm;

#[derive(Debug, Args)]
#[command(next_help_heading = "Host")]
pub(in crate::cli) struct HostArgs {
    /// Do not comment on the pull request (summary, annotations and outputs stay)
    #[arg(long)]
    pub(in crate::cli) no_comment: bool,
    /// Also show the verdict beside the commit, where a rule for the branch can require it by the name `scoregate / SUITE`: `run` is a check run
    /// (needs `checks: write`), `status` a commit status (needs `statuses: write`)
    #[arg(long, value_enum, value_name = "FORM")]
    pub(in crate::cli) check: Option<CheckChoice>,
}

/// How a verdict stands beside a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum CheckChoice {
    /// A check run
    Run,
    /// A commit status
    Status,
}

impl From<CheckChoice> for CheckForm {
    fn from(choice: CheckChoice) -> Self {
        match choice {
            CheckChoice::Run => Self::Run,
            CheckChoice::Status => Self::Status,
        }
    }
}
