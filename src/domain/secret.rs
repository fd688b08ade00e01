//! Values that must never leave: known by value, masked in every sink.

use std::fmt;
use std::sync::Arc;

/// What replaces a secret, of fixed length so that nothing is told about the secret's.
pub const MASK: &str = "***";
/// Shorter values cannot be masked without masking ordinary text.
pub const SHORTEST_SECRET: usize = 8;

/// Why a value cannot serve as a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    #[error("secret `{name}` is shorter than {SHORTEST_SECRET} characters and could not be masked in logs and reports")]
    TooShort { name: String },
}

/// A value from the environment that was used in the suite. `Debug` and `Display` never show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    name: Arc<str>,
    value: Arc<str>,
}

impl Secret {
    /// # Errors
    /// `TooShort` below [`SHORTEST_SECRET`] characters.
    pub fn new(name: impl Into<Arc<str>>, value: impl Into<Arc<str>>) -> Result<Self, SecretError> {
        let (name, value) = (name.into(), value.into());
        if value.chars().count() < SHORTEST_SECRET {
            return Err(SecretError::TooShort { name: name.to_string() });
        }
        Ok(Self { name, value })
    }

    /// The variable it came from.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value, for the request it belongs to and for the redactor.
    pub fn expose(&self) -> &str {
        &self.value
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Secret({})", self.name)
    }
}
