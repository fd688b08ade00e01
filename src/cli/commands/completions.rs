//! `scoregate completions SHELL`

use clap::CommandFactory as _;

use crate::cli::args::{Cli, CompletionsArgs};
use crate::cli::ending::Ending;
use crate::cli::failure::Failed;
use crate::cli::screen;

pub(in crate::cli) fn execute(args: &CompletionsArgs) -> Result<Ending, Failed> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "scoregate", &mut script);
    screen::data(&String::from_utf8_lossy(&script));
    Ok(Ending::printed())
}
