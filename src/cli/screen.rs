//! The only place of this room that prints. A closed pipe or a full disk on a stream never changes a verdict.
//!
//! What people read passes the escape of terminals and logs, line by line; what programs read is written as it is.

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use super::exit_code::ExitCode;
use crate::diagnostic::{Colours, Diagnostics, render, render_with};
use crate::report::escape::{terminal, terminal_block};

/// Characters of a line of a message.
const LONGEST: usize = 2_000;
/// Characters of the reason on the last line.
const REASON: usize = 600;

/// Standard output belongs to the events of a run.
static LEFT: AtomicBool = AtomicBool::new(false);

/// From now on everything here goes to standard error: what else stands on standard output is read line by line.
pub(super) fn leave_stdout() {
    LEFT.store(true, Ordering::Relaxed);
}

/// Standard output for programs: JSON, a schema, a script, a host's own commands.
pub(super) fn data(text: &str) {
    if LEFT.load(Ordering::Relaxed) {
        let mut stream = anstream::stderr().lock();
        let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
        return;
    }
    let mut stream = anstream::stdout().lock();
    let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
}

/// Standard output for people: lines that are laid out already.
pub(super) fn out(text: &str) {
    data(&terminal_block(text));
}

/// Standard error: lines that are laid out already.
pub(super) fn err(text: &str) {
    let mut stream = anstream::stderr().lock();
    let text = terminal_block(text);
    let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.write_all(b"\n"));
}

/// A message on standard error, whatever it holds; its secrets are masked already. Its own line ends stay.
pub(super) fn message(text: &str) {
    let lines: Vec<String> = text.lines().map(|line| terminal(line, LONGEST)).collect();
    err(&lines.join("\n"));
}

pub(super) fn clap(error: &clap::Error) {
    // clap chooses the stream: help and version go to standard output.
    let _ = error.print();
}

pub(super) fn diagnostics(problems: &Diagnostics) {
    if !std::io::stderr().is_terminal() {
        return err(render(problems).trim_end());
    }
    // What files say is shown as escapes already; the colours are ours, and go where they are not wanted (NO_COLOR).
    let text = render_with(problems, Colours::Ansi);
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// `scoregate: exit 1: …`
pub(super) fn last_line(code: ExitCode, reason: &str) {
    err(&format!("scoregate: exit {}: {}", code.code(), terminal(reason, REASON)));
}
