//! Diagnostics as text: message, `file:line:column`, the line, a caret, help.

use std::fmt::Write as _;

use super::{Diagnostic, Diagnostics};

/// Plain text, one block a diagnostic, a blank line between. The caller redacts and escapes for its sink.
pub fn render(diagnostics: &Diagnostics) -> String {
    let mut text = String::new();
    for diagnostic in diagnostics.iter() {
        one(&mut text, diagnostic);
    }
    text
}

fn one(text: &mut String, diagnostic: &Diagnostic) {
    let _ = writeln!(text, "error[{}]: {}", diagnostic.code, diagnostic.message);
    if let (Some(source), Some(span)) = (&diagnostic.source, diagnostic.span) {
        let _ = writeln!(text, "  --> {}:{}:{}", source.path, span.line, span.column);
    }
    if let Some(help) = &diagnostic.help {
        let _ = writeln!(text, "  help: {help}");
    }
}
