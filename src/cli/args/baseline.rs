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
        /// The baseline file to write
        #[arg(long, value_name = "FILE")]
        to: PathBuf,
        /// Add the run to the pool of accepted runs instead of replacing it
        #[arg(long)]
        add: bool,
    },
    /// Show what a baseline holds
    Show {
        /// The baseline file
        baseline: PathBuf,
    },
    /// Compare two baselines case by case
    Diff {
        /// The earlier baseline file
        old: PathBuf,
        /// The later one
        new: PathBuf,
    },
}
