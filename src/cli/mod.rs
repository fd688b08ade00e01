//! The command line: choose, connect, exit. The only room that knows all the others.
//!
//! ```text
//! args ─► commands/run: prepare (select, shard) ─► base ─► reference ─► measure: engine ─► conclude: gate ─► reports ─► publish ─► Ending
//!                 merge: reference ─► store ─► conclude                 └► Failed (failure) ─► exit_code, last line
//!                 compare: reference ─► gate ─► reports
//!                 comment: store, report ─► publish
//! ```
//!
//! Standard output carries what was asked for, standard error progress and diagnostics; the last line there repeats exit code and reason.

mod alias;
mod anew;
mod args;
mod base;
mod beside;
mod cassette;
mod clock;
mod commands;
mod conclude;
mod cost;
mod crash;
mod ending;
mod events;
mod exit_code;
mod failure;
mod git;
mod keep;
mod ledger;
mod levels;
mod measure;
mod needs;
mod prepare;
mod publish;
mod reference;
mod reports;
mod roles;
mod schema;
mod screen;
mod select;
mod shard;
mod signals;

use std::ffi::OsString;

use clap::{CommandFactory as _, Parser as _};

use crate::domain::Env;
use args::{Cli, Command};
use ending::Ending;
use exit_code::ExitCode;
use failure::Failed;

/// Runs one command and returns its exit code. A panic is exit code 3 with what is known, never 101.
pub fn main(arguments: impl IntoIterator<Item = OsString>, env: Env) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    crash::listen();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return refused(&error, &arguments, &env),
    };
    let published = matches!(cli.command, Command::Run(_) | Command::Merge(_));
    let Ending { code, reason } = match crash::caught(|| dispatch(cli, &env)) {
        Some(result) => result.unwrap_or_else(Failed::report),
        None => {
            let failed = Failed::CouldNot("internal error in scoregate; what was paid for is in the ledger".to_owned());
            if published {
                stopped(&failed, &env);
            }
            failed.report()
        }
    };
    if let Some(reason) = reason {
        screen::last_line(code, &reason);
    }
    code.code()
}

/// What the last line says of arguments that clap refuses.
const REFUSED: &str = "the command line is wrong";

/// Help and version are printed; a wrong command line is exit code 2, and where a run was meant its host hears of it.
fn refused(error: &clap::Error, arguments: &[OsString], env: &Env) -> u8 {
    screen::clap(error);
    if !error.use_stderr() {
        return ExitCode::Passed.code();
    }
    let word = arguments.get(1).and_then(|word| word.to_str()).unwrap_or_default();
    let other =
        Cli::command().get_subcommands().any(|command| command.get_name() == word && !matches!(word, "run" | "merge"));
    if !other {
        let said = error.to_string();
        let what = said.lines().next().unwrap_or_default().trim_start_matches("error: ");
        stopped(&Failed::usage("command-line", format!("{REFUSED}: {what}"), "see `scoregate run --help`"), env);
    }
    screen::last_line(ExitCode::Usage, REFUSED);
    ExitCode::Usage.code()
}

/// Steps that follow read that there is no verdict, even where nothing is known of the suite.
fn stopped(failed: &Failed, env: &Env) {
    // What went wrong once may do so again.
    let _told = crash::caught(|| publish::stopped(failed, publish::Started::default(), env));
}

fn dispatch(cli: Cli, env: &Env) -> Result<Ending, Failed> {
    match cli.command {
        Command::Run(args) => commands::run::execute(&args, env),
        Command::Check(args) => commands::check::execute(&args, env),
        Command::Compare(args) => commands::compare::execute(&args, env),
        Command::Merge(args) => commands::merge::execute(&args, env),
        Command::Comment(args) => commands::comment::execute(&args, env),
        Command::Baseline(args) => commands::baseline::execute(&args, env),
        Command::Power(args) => commands::power::execute(&args, env),
        Command::Judge(args) => commands::judge::execute(&args, env),
        Command::Drift(args) => commands::drift::execute(&args, env),
        Command::Ledger(args) => commands::ledger::execute(&args),
        Command::Evaluators(args) => commands::evaluators::execute(&args),
        Command::Schema => commands::schema::execute(),
        Command::Completions(args) => commands::completions::execute(&args),
        Command::Man(args) => commands::man::execute(&args),
    }
}
