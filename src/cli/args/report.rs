//! Report: what is written where.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(next_help_heading = "Report")]
pub(in crate::cli) struct ReportArgs {
    /// Folder for the reports (`run`, `merge`: default the suite's `reports.dir`, else `scoregate-out`; `compare`: none are written without it)
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) out: Option<PathBuf>,
}
