//! The command line: choose, connect, exit. The only room that knows all the others.
//!
//! ```text
//! args ─► commands/run: prepare ─► reference ─► engine ─► gate ─► reports ─► publish ─► Ending
//!                 compare: reference ─► gate ─► reports        └► Failed (failure) ─► exit_code, last line
//! ```
//!
//! Standard output carries what was asked for, standard error progress and diagnostics; the last line there repeats exit code and reason.

mod args;
mod commands;
mod crash;
mod ending;
mod exit_code;
mod failure;
mod git;
mod ledger;
mod needs;
mod prepare;
mod publish;
mod reference;
mod reports;
mod schema;
mod screen;
mod signals;

use std::ffi::OsString;

use clap::Parser as _;

use crate::domain::Env;
use args::{Cli, Command};
use ending::Ending;
use exit_code::ExitCode;
use failure::Failed;

/// Runs one command and returns its exit code. A panic is exit code 3 with what is known, never 101.
pub fn main(arguments: impl IntoIterator<Item = OsString>, env: Env) -> u8 {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            screen::clap(&error);
            let wrong = error.use_stderr();
            if wrong {
                screen::last_line(ExitCode::Usage, "the command line is wrong");
            }
            return if wrong { ExitCode::Usage.code() } else { ExitCode::Passed.code() };
        }
    };
    crash::listen();
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| dispatch(cli, &env)));
    let Ending { code, reason } = match ended {
        Ok(result) => result.unwrap_or_else(Failed::report),
        Err(_) => {
            Ending::because(ExitCode::NotEvaluated, "internal error in scoregate; what was paid for is in the ledger")
        }
    };
    if let Some(reason) = reason {
        screen::last_line(code, &reason);
    }
    code.code()
}

fn dispatch(cli: Cli, env: &Env) -> Result<Ending, Failed> {
    match cli.command {
        Command::Run(args) => commands::run::execute(&args, env),
        Command::Check(args) => commands::check::execute(&args, env),
        Command::Compare(args) => commands::compare::execute(&args, env),
        Command::Baseline(args) => commands::baseline::execute(&args, env),
        Command::Ledger(args) => commands::ledger::execute(&args),
        Command::Schema => commands::schema::execute(),
        Command::Completions(args) => commands::completions::execute(&args),
    }
}
