//! Run: how it is measured.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(next_help_heading = "Run")]
pub(in crate::cli) struct MeasureArgs {
    /// Calls in flight at most, for each endpoint (default: the suite's `run.workers`, else as many as it keeps up with)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(in crate::cli) workers: Option<u16>,
    /// What the ledger is used for
    #[arg(long, value_enum, default_value_t = LedgerUse::On)]
    pub(in crate::cli) ledger: LedgerUse,
}

/// What the ledger is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum LedgerUse {
    /// Reuse answers that were paid for, keep new ones
    On,
    /// Neither reuse nor keep
    Off,
}
