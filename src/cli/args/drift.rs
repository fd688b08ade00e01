//! `scoregate drift`: its flags.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::StatsFormat;
use crate::peer;

#[derive(Debug, Args)]
pub(in crate::cli) struct DriftArgs {
    /// Runs in time: results or logs as `compare` reads them, or baselines; sorted by their dates where all say one, else in this order
    #[arg(required = true, value_name = "FILE")]
    pub(in crate::cli) files: Vec<PathBuf>,
    /// Take scales and margins from this suite, and tell its `alerts`
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(in crate::cli) suite: Option<PathBuf>,
    /// Whose files these are, where their content does not say it
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(peer::names()), help_heading = "Input")]
    pub(in crate::cli) from: Option<String>,
    /// This metric only (repeatable)
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    pub(in crate::cli) metric: Vec<String>,
    /// Compare the newest run with this one too, of a release for instance: a slide of many small drops shows there
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(in crate::cli) anchor: Option<PathBuf>,
    /// The smallest change that counts, in points. Default: half of the metric's margin
    #[arg(long, value_name = "POINTS", help_heading = "Gate")]
    pub(in crate::cli) min_effect: Option<f64>,
    /// Chance of a change point where the level never changed
    #[arg(long, value_name = "P", default_value_t = 0.01, help_heading = "Gate")]
    pub(in crate::cli) alpha: f64,
    /// End with exit code 1 where a level fell (without: this is advice, and exit code 0)
    #[arg(long, help_heading = "Gate")]
    pub(in crate::cli) fail: bool,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = StatsFormat::Human, help_heading = "General")]
    pub(in crate::cli) format: StatsFormat,
}
