//! How a command ended.

use super::exit_code::ExitCode;

/// A command's exit code, and what the last line on standard error says of it.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) code: ExitCode,
    /// `None` for commands that only print what was asked for.
    pub(super) reason: Option<String>,
}

impl Ending {
    /// What was asked for is printed, and there is nothing to judge.
    pub(super) fn printed() -> Self {
        Self { code: ExitCode::Passed, reason: None }
    }

    pub(super) fn because(code: ExitCode, reason: impl Into<String>) -> Self {
        Self { code, reason: Some(reason.into()) }
    }
}
