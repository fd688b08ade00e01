//! What a file is, told by its first line.

use std::path::Path;

use serde::Deserialize;

use super::lines::Lines;
use super::{StoreError, baseline, results};

/// The kinds of files that a run can be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A baseline file.
    Baseline,
    /// A results file of ours.
    Results,
    /// Lines of `{"case","metric","value"}`, and whatever else has no first line of ours.
    Scores,
}

/// The part of a line that says what it is.
#[derive(Default, Deserialize)]
pub(super) struct FirstLine {
    #[serde(rename = "type", default)]
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) schema: Option<u64>,
}

impl FileKind {
    /// Looks at the first line only; whether the rest is right is for the reader of that kind.
    ///
    /// # Errors
    /// `Absent`, `Io`, or `Corrupt` where there is no line.
    pub fn of(path: &Path) -> Result<Self, StoreError> {
        let mut lines = Lines::open(path)?;
        let first = lines.next()?.ok_or_else(|| lines.corrupt("the file is empty"))?;
        // A line that is no JSON object is one of the smallest form with a mistake in it, which its reader names.
        let first: FirstLine = serde_json::from_str(&first.text).unwrap_or_default();
        Ok(match first.kind.as_deref() {
            Some(baseline::KIND) => Self::Baseline,
            Some(results::KIND) => Self::Results,
            Some(_) | None => Self::Scores,
        })
    }
}
