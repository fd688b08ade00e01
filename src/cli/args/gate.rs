//! Gate: what decides.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(next_help_heading = "Gate")]
pub(in crate::cli) struct GateArgs {
    /// Compare with this baseline file instead of the suite's
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) baseline: Option<PathBuf>,
}
