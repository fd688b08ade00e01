//! A trouble of publishing: said once, with what to do, never decisive.

use std::fmt;

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
