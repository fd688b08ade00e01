//! A part of the cases that was asked for by name.

use serde::{Deserialize, Serialize};

/// Why a run measured only some of its data set's cases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// The flags that asked for it, as they were written.
    pub by: Vec<String>,
    /// Cases of the data set that it was taken from.
    pub of: u64,
}

impl Selection {
    /// `selection: 12 of 200 cases`.
    pub fn words(&self, cases: u64) -> String {
        format!("selection: {cases} of {} cases", self.of)
    }
}
