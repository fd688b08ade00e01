//! The only place of this room that prints. A closed pipe or a full disk on a stream never changes a verdict.

use std::io::Write as _;

use super::exit_code::ExitCode;
use crate::diagnostic::{Diagnostics, render};
use crate::report::escape::{terminal, terminal_block};

/// Characters of the reason on the last line.
const REASON: usize = 600;

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
    err(terminal_block(&render(problems)).trim_end());
}

/// `scoregate: exit 1: …`; the reason may quote names of cases, and the log belongs to a host that reads commands in it.
pub(super) fn last_line(code: ExitCode, reason: &str) {
    err(&format!("scoregate: exit {}: {}", code.code(), terminal(reason, REASON)));
}
