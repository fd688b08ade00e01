//! Text for a terminal, which may be the log of any build host: one line, nothing that steers the screen, no host's command.
//!
//! Rule: ECMA-48 (ESC, C0, C1: already shown as escapes in a [`Clean`] text), and the logs' rules beside this file.

use std::fmt;

use super::{break_azure_commands, break_github_commands, is_command};
use crate::report::clean::{Clean, Cleaner};

/// Stands before a line that a host would take for a command.
const GUARD: &str = "│ ";

/// A line for a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TerminalText(String);

impl TerminalText {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TerminalText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(&self.0)
    }
}

/// One line: line ends and tabs become spaces.
pub(crate) fn terminal_line(text: &Clean) -> TerminalText {
    let line = text.as_str().replace(['\n', '\t'], " ");
    let line = break_azure_commands(&line).into_owned();
    let line = break_github_commands(&line).into_owned();
    TerminalText(if is_command(&line) { format!("{GUARD}{line}") } else { line })
}

/// A whole screen once more, line by line: wrapping must not have moved a text to a line's beginning.
pub(crate) fn guard(screen: &str) -> String {
    let mut guarded = String::with_capacity(screen.len());
    for line in screen.split_inclusive('\n') {
        if is_command(&anstream::adapter::strip_str(line).to_string()) {
            guarded.push_str(GUARD);
        }
        guarded.push_str(line);
    }
    guarded
}

/// Lines whose control characters are already shown: the hosts' commands are broken, nothing else changes.
pub fn terminal_block(text: &str) -> String {
    let text = break_azure_commands(text);
    guard(&break_github_commands(&text))
}

/// One message line of at most `limit` characters, for texts whose secrets are already masked.
pub fn terminal(text: &str, limit: usize) -> String {
    terminal_line(&Cleaner::default().line(text, limit)).0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(file: &str) -> Vec<String> {
        let bytes = std::fs::read(format!("fixtures/cases/logs/{file}")).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        text.split_inclusive('\n').map(str::to_owned).chain([text.clone()]).collect()
    }

    #[test]
    fn lg_terminal() {
        for text in lines("terminal.bin") {
            let shown = terminal(&text, 10_000);
            assert!(!shown.chars().any(|c| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c)), "{shown:?}");
            assert!(!shown.contains(['\u{200b}', '\u{2066}', '\u{2069}']));
        }
        assert!(terminal(&lines("terminal.bin").concat(), 10_000).contains("\\u{202e}gnp.exe"));
    }

    #[test]
    fn a_wrapped_line_is_guarded_too() {
        assert_eq!(guard("ok\n  ::debug::x\n\u{a0}::y\n"), "ok\n│   ::debug::x\n│ \u{a0}::y\n");
        assert_eq!(terminal_block("| ##vso[a]\n::b\n ##[c]"), "| ##_vso[a]\n│ ::b\n ##_[c]");
        assert_eq!(guard("\u{1b}[1m::x\u{1b}[0m\n"), "│ \u{1b}[1m::x\u{1b}[0m\n");
    }
}
