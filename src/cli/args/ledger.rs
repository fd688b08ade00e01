//! `scoregate ledger`: its commands.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use crate::text::{duration, size};

/// Where a suite keeps its ledger if it does not say otherwise.
const FILE: &str = ".scoregate/ledger.sqlite";

#[derive(Debug, Args)]
pub(in crate::cli) struct LedgerArgs {
    #[command(subcommand)]
    pub(in crate::cli) command: LedgerCommand,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum LedgerCommand {
    /// Show what a ledger holds, by endpoint, and what it saved
    Stats {
        /// The ledger file
        #[arg(default_value = FILE)]
        file: PathBuf,
        /// What standard output carries
        #[arg(long, value_enum, default_value_t = StatsFormat::Human)]
        format: StatsFormat,
    },
    /// Remove kept answers; they will be asked for, and paid for, again
    Prune(PruneArgs),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct PruneArgs {
    /// The ledger file
    #[arg(default_value = FILE)]
    pub(in crate::cli) file: PathBuf,
    /// Remove answers that were neither made nor used for this long, such as `30d`
    #[arg(long, value_name = "TIME", value_parser = duration::parse, required_unless_present = "keep_size")]
    pub(in crate::cli) older_than: Option<Duration>,
    /// Then remove what was not used for longest until the file takes no more than this, such as `100MB`
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(in crate::cli) keep_size: Option<u64>,
    /// Only say what would be removed
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = StatsFormat::Human)]
    pub(in crate::cli) format: StatsFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum StatsFormat {
    /// Lines for a person
    Human,
    /// JSON
    Json,
}
