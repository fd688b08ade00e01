//! Run: how it is measured.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(next_help_heading = "Run")]
pub(in crate::cli) struct MeasureArgs {
    /// Calls in flight at most, for each endpoint (default: the suite's `run.workers`, else 4)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(in crate::cli) workers: Option<u16>,
    /// Which answers of earlier runs are used (default: the suite's `run.ledger.mode`, else on). In every mode, a run that was stopped
    /// goes on where it was
    #[arg(long, value_enum, value_name = "MODE")]
    pub(in crate::cli) ledger: Option<LedgerChoice>,
}

/// Which answers of earlier runs are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum LedgerChoice {
    /// Those in the ledger that are not too old; new ones are kept
    On,
    /// None: everything is asked again, and the new answers take the place of the old
    Refresh,
    /// None, and nothing is kept for later runs
    Off,
}
