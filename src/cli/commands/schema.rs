//! `scoregate schema`

use crate::cli::exit_code::ExitCode;
use crate::cli::failure::Failed;
use crate::cli::{schema, screen};

pub(in crate::cli) fn execute() -> Result<(ExitCode, String), Failed> {
    screen::out(&schema::text());
    Ok((ExitCode::Passed, String::new()))
}
