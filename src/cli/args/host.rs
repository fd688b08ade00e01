//! Host: what is shown where the code review happens.

use clap::Args;

#[derive(Debug, Args)]
#[command(next_help_heading = "Host")]
pub(in crate::cli) struct HostArgs {
    /// Do not comment on the pull request (summary, annotations and outputs stay)
    #[arg(long)]
    pub(in crate::cli) no_comment: bool,
}
