//! The commands and their flags, grouped for the reader.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Decides whether a change to an LLM or RAG application may merge.
#[derive(Debug, Parser)]
#[command(name = "scoregate", version, propagate_version = true, after_help = EXIT_CODES)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 passed (or passed with a warning) · 1 the evidence says no · 2 the suite or the command line is wrong · \
3 the evidence does not suffice · 130, 143 cancelled";

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Evaluate, gate and report
    Run(RunArgs),
    /// Validate a suite and its data without calling anything
    Check(SuiteArgs),
    /// Gate from result files
    Compare(CompareArgs),
    /// Look at a baseline, or accept a run into it
    Baseline(BaselineArgs),
    /// Print the JSON Schema of the suite file
    Schema,
    /// Print completions for a shell
    Completions(CompletionsArgs),
}

#[derive(Debug, Args)]
pub(super) struct SuiteArgs {
    /// The suite file
    #[arg(default_value = "scoregate.yaml")]
    pub(super) suite: PathBuf,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Run")]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(super) suite: SuiteArgs,
    /// Folder for the reports (default: the suite's `reports.dir`, else `scoregate-out`)
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Calls in flight at most, for each endpoint (default: the suite's `run.workers`, else 4)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) workers: Option<u16>,
    /// What the ledger is used for
    #[arg(long, value_enum, default_value_t = LedgerUse::On)]
    pub(super) ledger: LedgerUse,
    /// Post the comment, summary, annotations and outputs where the host is known
    #[arg(long)]
    pub(super) publish: bool,
}

/// What the ledger is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum LedgerUse {
    /// Reuse answers that were paid for, keep new ones
    On,
    /// Neither reuse nor keep
    Off,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(super) struct CompareArgs {
    /// Results of the run under test (results.jsonl, or lines of case, metric and value)
    pub(super) current: PathBuf,
    /// Results or baseline file to compare with
    pub(super) baseline: Option<PathBuf>,
    /// Take the gate's policy from this suite
    #[arg(long, value_name = "FILE")]
    pub(super) suite: Option<PathBuf>,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(super) format: Format,
    /// Folder for the reports; without it none are written
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    Human,
    Json,
}

#[derive(Debug, Args)]
pub(super) struct BaselineArgs {
    #[command(subcommand)]
    pub(super) command: BaselineCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum BaselineCommand {
    /// Accept a complete, unfiltered run as the baseline
    Update {
        /// The run's results.jsonl
        results: PathBuf,
        /// The baseline file to write
        #[arg(long, value_name = "FILE")]
        to: PathBuf,
    },
    /// Show what a baseline holds
    Show {
        /// The baseline file
        baseline: PathBuf,
    },
    /// Compare two baselines case by case
    Diff {
        old: PathBuf,
        new: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    pub(super) shell: clap_complete::Shell,
}
