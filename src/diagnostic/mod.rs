//! A problem in a file, described so that a person can fix it: code, message, place, the line itself, help.
//!
//! Owners of a file format collect [`Diagnostic`]s in [`Diagnostics`], all of one file at once; `cli` renders them.

mod clean;
mod collect;
mod excerpt;
mod located;
mod render;
mod source;

pub use collect::{Diagnostics, UNSET};
pub use located::Located;
pub use render::{Colours, render, render_with};
pub use source::{Source, Span};

use std::sync::Arc;

/// How bad it is. Errors stop before the first call (exit code 2); warnings are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Error,
    Warning,
}

/// One problem.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Stable, kebab-case, for searching: `unknown-key`, `duplicate-id`, `wrong-type`.
    pub code: &'static str,
    pub level: Level,
    /// What happened, one sentence without a final stop.
    pub message: String,
    /// Where; `None` for problems that have no file (a command line, a missing file).
    pub source: Option<Arc<Source>>,
    pub span: Option<Span>,
    /// Further places: (where, what stands there).
    pub related: Vec<(Span, String)>,
    /// What to do next.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error without a place yet.
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            level: Level::Error,
            message: message.into(),
            source: None,
            span: None,
            related: Vec::new(),
            help: None,
        }
    }

    /// A warning without a place yet.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self { level: Level::Warning, ..Self::error(code, message) }
    }

    #[must_use]
    pub fn at(mut self, source: &Arc<Source>, span: Span) -> Self {
        self.source = Some(Arc::clone(source));
        self.span = Some(span);
        self
    }

    #[must_use]
    pub fn related(mut self, span: Span, what: impl Into<String>) -> Self {
        self.related.push((span, what.into()));
        self
    }

    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
