//! Takes the environment once, calls the command line, returns its exit code.

use std::process::ExitCode;

use scoregate::domain::Env;

fn main() -> ExitCode {
    let variables =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let env = Env::from_pairs(variables);
    ExitCode::from(scoregate::cli::main(std::env::args_os(), env))
}
