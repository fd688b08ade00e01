//! `scoregate man`

use std::path::Path;

use clap::CommandFactory as _;
use clap_mangen::Man;

use crate::cli::args::{Cli, ManArgs};
use crate::cli::ending::Ending;
use crate::cli::failure::Failed;
use crate::cli::screen;

pub(in crate::cli) fn execute(args: &ManArgs) -> Result<Ending, Failed> {
    match &args.out {
        Some(folder) => pages(folder).map_err(|error| {
            Failed::CouldNot(format!("the manual pages could not be written to `{}`: {error}", folder.display()))
        })?,
        None => {
            let mut page = Vec::new();
            let rendered = Man::new(Cli::command()).render(&mut page);
            rendered.map_err(|error| Failed::CouldNot(format!("the manual page could not be made: {error}")))?;
            screen::data(&String::from_utf8_lossy(&page));
        }
    }
    Ok(Ending::printed())
}

/// `scoregate.1`, `scoregate-run.1`, `scoregate-baseline-update.1`, …
fn pages(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(Cli::command().disable_help_subcommand(true), folder)
}
