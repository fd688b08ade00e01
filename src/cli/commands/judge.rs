//! `scoregate judge repeat|calibrate`: how noisy and how biased a judge is (statistics §18).

mod calibrate;
mod repeat;

use crate::cli::args::{JudgeArgs, JudgeCommand};
use crate::cli::ending::Ending;
use crate::cli::failure::Failed;
use crate::domain::Env;

/// Version of the JSON.
const SCHEMA: u32 = 1;
/// Characters of a name.
const NAME: usize = 200;

pub(in crate::cli) fn execute(args: &JudgeArgs, env: &Env) -> Result<Ending, Failed> {
    match &args.command {
        JudgeCommand::Repeat(args) => repeat::execute(args, env),
        JudgeCommand::Calibrate(args) => calibrate::execute(args, env),
    }
}
