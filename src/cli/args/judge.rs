//! `scoregate judge`: its commands.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::StatsFormat;

#[derive(Debug, Args)]
pub(in crate::cli) struct JudgeArgs {
    #[command(subcommand)]
    pub(in crate::cli) command: JudgeCommand,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum JudgeCommand {
    /// Judge stored answers several times: how much of the noise is the judge's?
    Repeat(RepeatArgs),
    /// Compare a judge with people's labels: accuracy, agreement, and the level corrected for its errors
    Calibrate(CalibrateArgs),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct RepeatArgs {
    /// Results of a run (results.jsonl) whose answers are judged again
    pub(in crate::cli) results: PathBuf,
    /// The suite whose judges are asked
    #[arg(long, value_name = "FILE", default_value = "scoregate.yaml")]
    pub(in crate::cli) suite: PathBuf,
    /// How often each answer is judged, at least 2
    #[arg(long, value_name = "R", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=50))]
    pub(in crate::cli) times: u32,
    /// How many cases are taken
    #[arg(long, value_name = "M", default_value = "30")]
    pub(in crate::cli) sample: NonZeroUsize,
    /// Another seed, another sample
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(in crate::cli) seed: u64,
    /// A baseline or results with several trials or runs: what the application's answers vary by
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) baseline: Option<PathBuf>,
    /// The folder for the judgements
    #[arg(long, value_name = "DIR", default_value = "scoregate-out/judge-repeat")]
    pub(in crate::cli) out: PathBuf,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = StatsFormat::Human)]
    pub(in crate::cli) format: StatsFormat,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct CalibrateArgs {
    /// People's labels: CSV or JSON lines with a case's id and a column of labels
    pub(in crate::cli) labels: PathBuf,
    /// Results with the judge's scores, as `compare` reads them. Default: a column of the labels' file
    pub(in crate::cli) results: Option<PathBuf>,
    /// The judge's metric
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) metric: String,
    /// The column of the labels, on the metric's scale (true and false, 0 and 1, or a number)
    #[arg(long, value_name = "COLUMN", default_value = "label")]
    pub(in crate::cli) label: String,
    /// Which run of the labels' file, where it has a column `run`
    #[arg(long, value_name = "RUN")]
    pub(in crate::cli) run: Option<String>,
    /// Take the metric's scale and pass mark from this suite
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) suite: Option<PathBuf>,
    /// End with exit code 1 where Cohen's kappa is below this
    #[arg(long, value_name = "KAPPA")]
    pub(in crate::cli) min_kappa: Option<f64>,
    /// End with exit code 1 where the share of agreements is below this
    #[arg(long, value_name = "SHARE")]
    pub(in crate::cli) min_accuracy: Option<f64>,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = StatsFormat::Human)]
    pub(in crate::cli) format: StatsFormat,
}
