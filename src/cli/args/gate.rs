//! Gate: what decides.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(next_help_heading = "Gate")]
pub(in crate::cli) struct GateArgs {
    /// Compare with this baseline file instead of the suite's
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) baseline: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) base: BaseArgs,
}

/// What a proposed change is judged by.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Gate")]
pub(in crate::cli) struct BaseArgs {
    /// Take policy and baseline from where the change left this commit or branch; in pull requests it is found by itself. `none`: from
    /// the change itself
    #[arg(long, value_name = "COMMIT")]
    pub(in crate::cli) base: Option<String>,
    /// Judge a pull request by its own policy and baseline where they differ from the base's; the differences become warnings
    #[arg(long)]
    pub(in crate::cli) accept_policy_changes: bool,
}
