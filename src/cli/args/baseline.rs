//! `scoregate baseline`: its commands.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(in crate::cli) struct BaselineArgs {
    #[command(subcommand)]
    pub(in crate::cli) command: BaselineCommand,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum BaselineCommand {
    /// Accept a complete, unfiltered run as the baseline
    Update {
        /// The run's results.jsonl
        results: PathBuf,
        /// The baseline to write: a file, `git:BRANCH`, or an address (https, s3, gs, az). Default: where the suite keeps it
        #[arg(long, value_name = "PLACE")]
        to: Option<String>,
        /// The suite that says where, without `--to`
        #[arg(long, value_name = "FILE", default_value = "scoregate.yaml")]
        suite: PathBuf,
        /// Add the run to the pool of accepted runs instead of replacing it
        #[arg(long)]
        add: bool,
    },
    /// Show what a baseline holds
    Show {
        /// The baseline: a file, `git:BRANCH`, or an address
        baseline: String,
    },
    /// Compare two baselines case by case
    Diff {
        /// The earlier baseline: a file, `git:BRANCH`, or an address
        old: String,
        /// The later one
        new: String,
    },
}
