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

/// Whether writing a file whose first line says `kind` at `path` loses nothing of another kind: there is no file of content, or one of
/// that kind. A pipe or a device holds nothing.
pub fn is_free_for(path: &Path, kind: &str) -> bool {
    if !path.metadata().is_ok_and(|data| data.is_file() && data.len() > 0) {
        return true;
    }
    let first = Lines::open(path).and_then(|mut lines| lines.next());
    let line = first.ok().flatten().and_then(|first| serde_json::from_str::<FirstLine>(&first.text).ok());
    line.is_some_and(|line| line.kind.as_deref() == Some(kind))
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
