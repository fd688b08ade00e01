//! `scoregate schema`

use crate::cli::ending::Ending;
use crate::cli::failure::Failed;
use crate::cli::{schema, screen};

pub(in crate::cli) fn execute() -> Result<Ending, Failed> {
    screen::data(&schema::text()?);
    Ok(Ending::printed())
}
