//! What the GitHub runner takes for a command in a log.
//!
//! Rule: actions/runner, `src/Runner.Common/ActionCommand.cs`: a line whose text begins with `::` after `TrimStart()` (Unicode white
//! space), and, in the older form, a line with `##[` anywhere.

use std::borrow::Cow;

/// Whether the runner looks for a command in this line.
pub(crate) fn is_command(line: &str) -> bool {
    line.trim_start().starts_with("::")
}

/// The older form broken wherever it stands: `##[` → `##_[`.
pub(crate) fn break_commands(text: &str) -> Cow<'_, str> {
    if text.contains("##[") { Cow::Owned(text.replace("##[", "##_[")) } else { Cow::Borrowed(text) }
}
