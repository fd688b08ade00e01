//! General: what standard output carries.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(next_help_heading = "General")]
pub(in crate::cli) struct OutputArgs {
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(in crate::cli) format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Format {
    /// The verdict for a person
    Human,
    /// `verdict.json`
    Json,
}
