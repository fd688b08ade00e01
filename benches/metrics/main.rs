//! Measures the text metrics, as a run calls them, against the Python packages that define them: the same texts, one after the other, in
//! one sitting.
//!
//! `cargo bench --bench metrics -- --python venv/bin/python`; see README.md beside this file.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its table")]

mod kernel;
mod reference;
mod rows;
mod table;
mod texts;

use std::process::ExitCode;

/// What went wrong, for the last line.
type Error = Box<dyn std::error::Error>;

const HELP: &str = "\
cargo bench --bench metrics -- [--python PATH] [--repeat N]

  --python PATH  a Python with the packages of tests/scripts/reference_metrics.txt (default: python3)
  --repeat N     passes over the texts, of which the median counts (default 5)
";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("metrics benchmark: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Error> {
    let (mut python, mut repeat) = ("python3".to_owned(), 5usize);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            // Cargo's own.
            "--bench" => {}
            "--help" | "-h" => {
                println!("{HELP}");
                return Ok(());
            }
            "--python" => python = words.next().ok_or("--python needs a path")?,
            "--repeat" => repeat = words.next().ok_or("--repeat needs a number")?.parse()?,
            other => return Err(format!("`{other}` is not understood\n\n{HELP}").into()),
        }
    }
    let texts = texts::all()?;
    let reference = reference::measure(&python, repeat.max(1), &texts)?;
    let mut lines = Vec::new();
    for row in rows::ROWS {
        let set = texts.get(row.texts).ok_or("a row of unknown texts")?;
        let mine = kernel::measure(row, repeat.max(1), set)?;
        let theirs = reference.get(row.name).ok_or_else(|| format!("Python did not measure `{}`", row.name))?;
        lines.push(row.line(&mine, theirs, set));
    }
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    println!("{cores} cores, one used at a time; Python {}\n", reference::version(&python)?);
    table::print(&lines);
    Ok(())
}
