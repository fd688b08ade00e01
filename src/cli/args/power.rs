//! `scoregate power`: its flags.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::StatsFormat;
use crate::peer;

#[derive(Debug, Args)]
pub(in crate::cli) struct PowerArgs {
    /// A baseline, or results as `compare` reads them: how much its scores vary is what is planned with
    #[arg(required_unless_present_any = ["sd", "flip"])]
    pub(in crate::cli) file: Option<PathBuf>,
    /// Take scales, margins and alpha from this suite
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(in crate::cli) suite: Option<PathBuf>,
    /// Whose file it is, where its content does not say it
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(peer::names()), help_heading = "Input")]
    pub(in crate::cli) from: Option<String>,
    /// This metric only (repeatable)
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    pub(in crate::cli) metric: Vec<String>,
    /// Instead of a file: the standard deviation of the change of a case, from 0 to 1
    #[arg(long, value_name = "SD", conflicts_with_all = ["file", "flip"], help_heading = "Input")]
    pub(in crate::cli) sd: Option<f64>,
    /// Instead of a file: the share of cases that come out differently when they are asked twice (pass or fail)
    #[arg(long, value_name = "SHARE", conflicts_with = "file", help_heading = "Input")]
    pub(in crate::cli) flip: Option<f64>,
    /// The drop to be seen, in points (hundredths of the scale; repeatable). Default: 1, 2, 3, 5 and 10
    #[arg(long, value_name = "POINTS", help_heading = "Plan")]
    pub(in crate::cli) drop: Vec<f64>,
    /// Cases. Default: the file's, else 200
    #[arg(long, value_name = "N", help_heading = "Plan")]
    pub(in crate::cli) cases: Option<u64>,
    /// Trials of a case
    #[arg(long, value_name = "K", default_value_t = 1, help_heading = "Plan")]
    pub(in crate::cli) trials: u32,
    /// Runs of the baseline. Default: the file's, else 5
    #[arg(long, value_name = "R", help_heading = "Plan")]
    pub(in crate::cli) runs: Option<u32>,
    /// Metrics that are judged together. Default: the file's, else 1
    #[arg(long, value_name = "M", help_heading = "Plan")]
    pub(in crate::cli) metrics: Option<u32>,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = StatsFormat::Human, help_heading = "General")]
    pub(in crate::cli) format: StatsFormat,
}
