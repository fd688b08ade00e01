//! Writes what was asked for. All are attempted; what could not be written is said together.

use std::path::Path;

use super::failure::Failed;
use crate::domain::{Baseline, Redactor, Run, Verdict};
use crate::report::{ReportSettings, TextSource, View, render_all};
use crate::store::{Lock, StoreError, Texts, write_atomic};

/// The texts behind a run, where its file is still there.
pub(super) fn texts(run: &Run) -> Option<Texts> {
    run.file.as_deref().and_then(|file| Texts::open(file).ok())
}

pub(super) fn view<'a>(
    run: &'a Run,
    verdict: &'a Verdict,
    baseline: Option<&Baseline>,
    texts: Option<&'a Texts>,
    redactor: Redactor,
) -> View<'a> {
    View::new(run, verdict, baseline, texts.map(|texts| texts as &dyn TextSource), redactor)
}

/// Holds the folder for one run: the reports in it are of the same run.
///
/// # Errors
/// `Busy` where another run holds it, `Io` where it cannot be written.
pub(super) fn hold(folder: &Path) -> Result<Lock, StoreError> {
    Lock::try_hold(&folder.join(".scoregate.lock"))
}

/// # Errors
/// `CouldNot` naming every report that was not written: a verdict whose report is lost is exit code 3.
pub(super) fn write(view: &View<'_>, settings: &ReportSettings, folder: &Path) -> Result<(), Failed> {
    let mut lost = Vec::new();
    for (file, bytes) in render_all(view, settings) {
        let written = bytes
            .map_err(|error| error.to_string())
            .and_then(|bytes| write_atomic(&folder.join(file), &bytes).map_err(|error| error.to_string()));
        if let Err(error) = written {
            lost.push(error);
        }
    }
    if lost.is_empty() { Ok(()) } else { Err(Failed::CouldNot(format!("reports not written: {}", lost.join("; ")))) }
}
