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
        /// Refuse a run whose means are lower than the baseline's by more than this, on the 0 to 1 scale. Default: the suite's
        /// `gate.baseline.ratchet`
        #[arg(long, value_name = "TOLERANCE")]
        ratchet: Option<f64>,
        /// Accept a lower level, or one that cannot be compared, all the same
        #[arg(long, conflicts_with = "ratchet")]
        allow_lower: bool,
    },
    /// Measure the suite anew and add the runs to the pool, up to the number that it asks for
    Refresh {
        /// The suite file
        #[arg(default_value = "scoregate.yaml")]
        suite: PathBuf,
        /// The baseline to add to: a file, `git:BRANCH`, or an address. Default: where the suite keeps it
        #[arg(long, value_name = "PLACE")]
        to: Option<String>,
        /// How many runs it is to have, 1 to 10. Default: the suite's `gate.baseline.runs`
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10))]
        runs: Option<u32>,
        /// The folder for the runs' results
        #[arg(long, value_name = "DIR", default_value = "scoregate-out/refresh")]
        out: PathBuf,
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
