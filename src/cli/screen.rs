//! The only place of this room that prints. A closed pipe or a full disk on a stream never changes a verdict.

use std::io::Write as _;

use super::exit_code::ExitCode;
use crate::diagnostic::{Diagnostics, render};
use crate::report::escape::{terminal, without_commands};

/// Characters of the last line.
const LAST_LINE: usize = 4_000;

pub(super) fn out(text: &str) {
    let mut stream = anstream::stdout().lock();
    let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
}

pub(super) fn err(text: &str) {
    let mut stream = anstream::stderr().lock();
    let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.write_all(b"\n"));
}

pub(super) fn clap(error: &clap::Error) {
    // clap chooses the stream: help and version go to standard output.
    let _ = error.print();
}

pub(super) fn diagnostics(problems: &Diagnostics) {
    // They quote files of whoever opened the pull request.
    err(&without_commands(render(problems).trim_end()));
}

/// `scoregate: exit 1: …`
pub(super) fn last_line(code: ExitCode, reason: &str) {
    err(&terminal(&format!("scoregate: exit {}: {reason}", code.code()), LAST_LINE));
}
