//! `scoregate evaluators`: its command.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub(in crate::cli) struct EvaluatorsArgs {
    #[command(subcommand)]
    pub(in crate::cli) command: Option<EvaluatorsCommand>,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = ListFormat::Human)]
    pub(in crate::cli) format: ListFormat,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum EvaluatorsCommand {
    /// Show one: what it needs, its settings, and an example
    Show {
        /// Its name, such as `faithfulness`
        name: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ListFormat {
    /// One line each
    Human,
    /// All of all of them: docs/evaluators.md
    Markdown,
}
