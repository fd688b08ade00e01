//! Run: how it is measured.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(next_help_heading = "Run")]
pub(in crate::cli) struct MeasureArgs {
    /// Calls in flight at most, for each endpoint (default: the suite's `run.workers`, else as many as it keeps up with)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(in crate::cli) workers: Option<u16>,
    /// Which answers of earlier runs are used (default: the suite's `run.ledger.mode`, else on). In every mode, a run that was stopped
    /// goes on where it was
    #[arg(long, value_enum, value_name = "MODE")]
    pub(in crate::cli) ledger: Option<LedgerChoice>,
    /// Record every call of target and judge into this cassette, for a later --replay
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub(in crate::cli) record: Option<PathBuf>,
    /// What to do where the cassette exists
    #[arg(long, value_enum, default_value_t = RecordMode::Once, requires = "record")]
    pub(in crate::cli) record_mode: RecordMode,
    /// Take every answer from this cassette: no network, no keys; the ledger is off, as its answers may be newer than the recording
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) replay: Option<PathBuf>,
    /// Write what happens while it happens into this file or named pipe, one JSON object a line (docs/events.md). `-` is standard output;
    /// what people read then goes to standard error
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) events: Option<PathBuf>,
}

/// What to do where the cassette exists. The words are those of VCR; its mode `none` is `--replay`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum RecordMode {
    /// Refuse
    Once,
    /// Play what it holds, ask and add what it lacks
    NewEpisodes,
    /// Record everything anew and replace it when the run is complete
    All,
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
