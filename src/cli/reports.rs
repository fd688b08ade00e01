//! The view of a run, and the reports that were asked for: all are attempted; what could not be written is said together.

use std::path::{Path, PathBuf};

use super::failure::Failed;
use crate::domain::{Env, Redactor, Run, Verdict};
use crate::gate::BaselineState;
use crate::report::{self, KINDS, ReportSettings, TextSource, View};
use crate::store::{Lock, StoreError, Texts, put_in_place, stage, tidy};
use crate::suite::{self, Suite};

/// Where the reports go if nobody says otherwise.
pub(super) const FOLDER: &str = "scoregate-out";

/// The folder of the reports: as the command line says, else the suite.
pub(super) fn folder(out: Option<&Path>, settings: &ReportSettings) -> PathBuf {
    let named = settings.dir.as_deref().map(Path::new);
    out.or(named).unwrap_or(Path::new(FOLDER)).to_owned()
}

/// The texts behind a run; `None` for results that hold numbers only.
///
/// # Errors
/// The results file is gone or cannot be read.
pub(super) fn texts(run: &Run) -> Result<Option<Texts>, StoreError> {
    run.file.as_deref().map(Texts::open).transpose()
}

pub(super) fn view<'a>(
    run: &'a Run,
    verdict: &'a Verdict,
    baseline: &BaselineState,
    texts: Option<&'a Texts>,
    redactor: Redactor,
) -> View<'a> {
    let baseline = match baseline {
        BaselineState::Found(baseline) => Some(&**baseline),
        BaselineState::NotAsked
        | BaselineState::Absent(_)
        | BaselineState::Unreachable(_)
        | BaselineState::Broken(_) => None,
    };
    View::new(run, verdict, baseline, texts.map(|texts| texts as &dyn TextSource), redactor)
}

/// Holds the folder for one run: the reports in it are of the same run. What killed runs left there is removed.
///
/// # Errors
/// Where another run holds it, or it cannot be written.
pub(super) fn hold(folder: &Path) -> Result<Lock, Failed> {
    let lock = Lock::try_hold(&folder.join(".scoregate.lock")).map_err(|error| match error {
        StoreError::Io { source, .. } => Failed::CouldNot(format!(
            "the reports' folder `{}` cannot be written: {source}; allow it, or choose another: `--out DIR`",
            folder.display()
        )),
        error => error.into(),
    })?;
    tidy(folder);
    Ok(lock)
}

/// Removes the reports of an earlier run: whatever becomes of this one, nobody takes them for its own. Its results stay, to select by. The
/// caller holds the folder.
pub(super) fn clear(folder: &Path) {
    for kind in &KINDS {
        let _ = std::fs::remove_file(folder.join(kind.file));
    }
    let _ = std::fs::remove_file(folder.join(super::measure::CONFIRMED));
}

/// The same for a run that does not begin: its folder is the one of the command line, else of the suite, if that can be read.
pub(super) fn clear_unbegun(out: Option<&Path>, suite: &Path, env: &Env) {
    let stated = |suite: Suite| {
        let dir = suite.reports.as_ref().and_then(|block| block.value.get("dir")?.as_str().map(PathBuf::from));
        dir.unwrap_or_else(|| PathBuf::from(FOLDER))
    };
    let folder = out.map(Path::to_owned).or_else(|| suite::load_with_problems(suite, env).suite.map(stated));
    let Some(folder) = folder.filter(|folder| folder.is_dir()) else { return };
    if let Ok(_alone) = hold(&folder) {
        clear(&folder);
    }
}

/// Writes every report that the settings ask for.
///
/// # Errors
/// `CouldNot` naming every report that was not written: a verdict whose report is lost is exit code 3.
pub(super) fn write(view: &View<'_>, settings: &ReportSettings, folder: &Path) -> Result<(), Failed> {
    let mut lost = Vec::new();
    let mut staged = Vec::new();
    for kind in report::wanted(settings) {
        match stage(&folder.join(kind.file), |out| (kind.render)(view, settings, out)) {
            Ok(file) => staged.push(file),
            Err(error) => lost.push(error.to_string()),
        }
    }
    lost.extend(put_in_place(staged).iter().map(ToString::to_string));
    if lost.is_empty() { Ok(()) } else { Err(Failed::CouldNot(format!("reports not written: {}", lost.join("; ")))) }
}
