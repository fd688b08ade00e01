//! Headers as a suite writes them → those that are part of a request, and those that are credentials.

use std::collections::BTreeMap;

use crate::diagnostic::Diagnostics;
use crate::domain::Secret;
use crate::net::is_credential_header;
use crate::suite::{Block, pointer};

/// Sorted by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Headers {
    /// Part of what is asked, and of the ledger's key.
    pub(crate) plain: Vec<(String, String)>,
    /// Sent to the configured origin only, never stored: whatever came from the environment, and headers such as `Authorization`.
    pub(crate) credentials: Vec<(String, Secret)>,
}

impl Headers {
    /// Checks the mapping at `pointer` of `block`; `None` after pushing diagnostics. A value is never shown.
    pub(crate) fn build(
        block: &Block,
        pointer: &str,
        written: &BTreeMap<String, String>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let mut headers = Self::default();
        let mut sound = true;
        for (name, value) in written {
            let place = format!("{pointer}/{}", pointer::escape(name));
            let mut refuse = |message: String| {
                diagnostics.push(block.problem(&place, "header", message));
                sound = false;
            };
            if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
                refuse(format!("`{name}` is no name of a header"));
            } else if http::HeaderValue::from_bytes(value.as_bytes()).is_err() {
                refuse(format!("the value of `{name}` holds a line end or another control character"));
            } else if block.written.from_environment.contains(&place) || is_credential_header(name) {
                match Secret::new(name.as_str(), value.as_str()) {
                    Ok(secret) => headers.credentials.push((name.clone(), secret)),
                    Err(error) => refuse(error.to_string()),
                }
            } else {
                headers.plain.push((name.clone(), value.clone()));
            }
        }
        sound.then_some(headers)
    }
}
