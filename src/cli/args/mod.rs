//! The commands and their flags. Flags are grouped for the reader: one file and one struct per help heading.

mod baseline;
mod comment;
mod drift;
mod evaluators;
mod gate;
mod host;
mod input;
mod judge;
mod ledger;
mod output;
mod power;
mod report;
mod run;
mod select;

use clap::{Args, Parser, Subcommand};

pub(super) use baseline::{BaselineArgs, BaselineCommand};
pub(super) use comment::CommentArgs;
pub(super) use drift::DriftArgs;
pub(super) use evaluators::{EvaluatorsArgs, EvaluatorsCommand, ListFormat};
pub(super) use gate::{BaseArgs, GateArgs};
pub(super) use host::HostArgs;
pub(super) use input::{ResultsInput, ShardsInput, SuiteInput};
pub(super) use judge::{CalibrateArgs, JudgeArgs, JudgeCommand, RepeatArgs};
pub(super) use ledger::{LedgerArgs, LedgerCommand, PruneArgs, StatsFormat};
pub(super) use output::{Format, OutputArgs};
pub(super) use power::PowerArgs;
pub(super) use report::ReportArgs;
pub(super) use run::{LedgerChoice, MeasureArgs, RecordMode};
pub(super) use select::{SelectArgs, ShardWish};

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
    /// Validate a suite and its data, and say what a run would take, without calling anything
    Check(CheckArgs),
    /// Gate from result files
    Compare(CompareArgs),
    /// Join the shards of one run, then gate and report
    Merge(MergeArgs),
    /// Post the stored verdict of a run as the comment on its pull request, believing nothing that is in it
    Comment(CommentArgs),
    /// Look at a baseline, or accept a run into it
    Baseline(BaselineArgs),
    /// Say how many cases, trials or baseline runs it takes to see a drop
    Power(PowerArgs),
    /// Find out how noisy and how biased a judge is
    Judge(JudgeArgs),
    /// Look through runs in time for the places where a metric's level changed
    Drift(DriftArgs),
    /// Look at the kept answers of paid calls, or remove old ones
    Ledger(LedgerArgs),
    /// List the evaluators, or show one with its settings and an example
    Evaluators(EvaluatorsArgs),
    /// Print the JSON Schema of the suite file
    Schema,
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for each command
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(super) input: SuiteInput,
    #[command(flatten)]
    pub(super) select: SelectArgs,
    #[command(flatten)]
    pub(super) measure: MeasureArgs,
    #[command(flatten)]
    pub(super) gate: GateArgs,
    #[command(flatten)]
    pub(super) report: ReportArgs,
    #[command(flatten)]
    pub(super) host: HostArgs,
}

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    pub(super) input: SuiteInput,
    #[command(flatten)]
    pub(super) select: SelectArgs,
    #[command(flatten)]
    pub(super) base: BaseArgs,
    /// Look at the baseline where it is kept, though that be elsewhere; without it a baseline that is no file is not looked at
    #[arg(long, help_heading = "Gate")]
    pub(super) fetch: bool,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = StatsFormat::Human, help_heading = "General")]
    pub(super) format: StatsFormat,
}

#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    #[command(flatten)]
    pub(super) input: ShardsInput,
    #[command(flatten)]
    pub(super) gate: GateArgs,
    #[command(flatten)]
    pub(super) report: ReportArgs,
    #[command(flatten)]
    pub(super) host: HostArgs,
}

#[derive(Debug, Args)]
pub(super) struct CompareArgs {
    #[command(flatten)]
    pub(super) input: ResultsInput,
    #[command(flatten)]
    pub(super) base: BaseArgs,
    #[command(flatten)]
    pub(super) report: ReportArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    pub(super) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// Write a page for each command into this folder instead
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<std::path::PathBuf>,
}
