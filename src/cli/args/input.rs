//! Input: what is evaluated.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(in crate::cli) struct SuiteInput {
    /// The suite file
    #[arg(default_value = "scoregate.yaml")]
    pub(in crate::cli) suite: PathBuf,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(in crate::cli) struct ResultsInput {
    /// Results of the run under test (results.jsonl, or lines of case, metric and value)
    pub(in crate::cli) current: PathBuf,
    /// Results or baseline file to compare with
    pub(in crate::cli) baseline: Option<PathBuf>,
    /// Take the gate's policy from this suite
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) suite: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub(in crate::cli) struct ShardsInput {
    /// The results of every shard, in any order: results.jsonl files, or the folders that hold them
    #[arg(required = true, value_name = "SHARD")]
    pub(in crate::cli) shards: Vec<PathBuf>,
    /// The suite that the shards ran
    #[arg(long, value_name = "FILE", default_value = "scoregate.yaml")]
    pub(in crate::cli) suite: PathBuf,
}
