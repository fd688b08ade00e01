//! Measures the release binary as users run it, against a fake provider and against the floor: a client that does nothing but fire
//! the same calls.
//!
//! `cargo bench --bench engine -- P3 P7 --repeat 3`; see README.md beside this file.
//!
//! One program, four roles, so that nobody's time or memory is counted with another's:
//! the benchmark itself, and, started by it, [`provider`], [`floor`] and [`probe`].
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its table")]

mod arguments;
mod bench;
mod cases;
mod floor;
mod measured;
mod place;
mod probe;
mod provider;
mod rows;
mod table;

use std::process::ExitCode;

/// What went wrong, for the last line.
type Error = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (role, rest) = arguments.split_first().map_or(("", &[][..]), |(role, rest)| (role.as_str(), rest));
    let ended = match role {
        provider::ROLE => provider::serve(rest),
        floor::ROLE => floor::fire(rest),
        probe::ROLE => probe::watch(rest),
        _ => bench::run(&arguments),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("engine benchmark: {error}");
            ExitCode::FAILURE
        }
    }
}
