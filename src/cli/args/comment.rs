//! `scoregate comment`: which run, and what of it must be so.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(in crate::cli) struct CommentArgs {
    /// The run: the folder of its reports, with `verdict.json` and `results.jsonl`
    pub(in crate::cli) run: PathBuf,
    /// Only a run of the suite with this name: whoever wrote the run cannot replace the comment of another suite
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) suite_name: Option<String>,
    /// Show the old answers from this baseline
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) baseline: Option<PathBuf>,
}
