//! Input: what is evaluated.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::peer;

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
    /// Results of the run under test: ours, or those of promptfoo, deepeval, ragas, inspect_ai, JUnit, or plain scores (CSV, JSONL)
    pub(in crate::cli) current: PathBuf,
    /// What to compare with: a baseline file, or results as above; several files are runs of one pool
    pub(in crate::cli) baseline: Vec<PathBuf>,
    /// Whose files these are, where their content does not say it
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(peer::names()))]
    pub(in crate::cli) from: Option<String>,
    /// Compare this metric only (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) metric: Vec<String>,
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
