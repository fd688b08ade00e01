//! A trouble of publishing: said once, with what to do, never decisive.

use std::fmt;

use super::{Annotation, AnnotationLevel};
use crate::domain::Redactor;

/// What could not be shown, and how to change that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// One sentence without a final stop.
    pub message: String,
    /// What to do; may have several lines (YAML to add).
    pub help: Option<String>,
}

impl Warning {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None }
    }

    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same with secrets masked.
    pub(crate) fn masked(&self, redactor: &Redactor) -> Self {
        Self { message: redactor.redact(&self.message), help: self.help.as_deref().map(|help| redactor.redact(help)) }
    }

    /// The same as an annotation without a place, for `annotations`.
    pub fn as_annotation(&self) -> Annotation {
        Annotation {
            level: AnnotationLevel::Warning,
            file: None,
            line: None,
            title: "scoregate".to_owned(),
            message: self.to_string(),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)?;
        if let Some(help) = &self.help {
            write!(out, "\n{help}")?;
        }
        Ok(())
    }
}
