//! Writes what was asked for. All are attempted; what could not be written is said together.

use std::path::Path;

use super::failure::Failed;
use crate::domain::{Baseline, Redactor, Run, Verdict};
use crate::report::{KINDS, View};
use crate::store::{Texts, write_atomic};

/// The texts behind a run, where its file is still there.
pub(super) fn texts(run: &Run) -> Option<Texts> {
    run.file.as_deref().and_then(|file| Texts::open(file).ok())
}

pub(super) fn view<'a>(
    run: &'a Run,
    verdict: &'a Verdict,
    baseline: Option<&Baseline>,
    texts: Option<&Texts>,
    redactor: Redactor,
) -> View<'a> {
    View::new(run, verdict, baseline, texts, redactor)
}

/// # Errors
/// `CouldNot` naming every report that was not written: a verdict whose report is lost is exit code 3.
pub(super) fn write(view: &View<'_>, folder: &Path) -> Result<(), Failed> {
    let mut lost = Vec::new();
    for kind in &KINDS {
        let path = folder.join(kind.file);
        let written = (kind.render)(view)
            .and_then(|text| write_atomic(&path, text.as_bytes()).map_err(|error| error.to_string()));
        if let Err(error) = written {
            lost.push(error);
        }
    }
    if lost.is_empty() { Ok(()) } else { Err(Failed::CouldNot(format!("reports not written: {}", lost.join("; ")))) }
}
