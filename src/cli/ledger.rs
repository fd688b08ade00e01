//! The ledger of a run: which file, which answers may be used, and where a stopped run goes on.

use std::path::{Path, PathBuf};

use super::anew::Shape;
use super::args::LedgerChoice;
use super::failure::Failed;
use crate::store::{Ledger, LedgerMode, LedgerUse, Resumed, StoreError};
use crate::suite::{Reuse, Suite};
use crate::text::number;

/// In the folder of the results: what a run with `--ledger off` goes on with after a kill. It goes when the run ends.
const JOURNAL: &str = ".scoregate-journal.sqlite";

/// Opens it for a run whose results go to `folder`, which this process holds. The command line goes before the suite.
pub(super) fn open(
    suite: &Suite,
    choice: Option<LedgerChoice>,
    folder: &Path,
    shape: &Shape,
) -> Result<Ledger, Failed> {
    let mode = mode(suite, choice);
    let path = match mode {
        LedgerMode::On | LedgerMode::Refresh => suite.run.ledger.clone(),
        LedgerMode::Off => journal(folder)?,
    };
    let usage = LedgerUse {
        mode,
        ttl: suite.run.ledger_ttl,
        place: place(suite, folder),
        suite: suite.name.clone(),
        shape: shape.text(),
    };
    Ok(Ledger::open_for(&path, &usage)?)
}

/// Which answers of earlier runs may be used.
pub(super) fn mode(suite: &Suite, choice: Option<LedgerChoice>) -> LedgerMode {
    match (choice, suite.run.ledger_reuse) {
        (Some(LedgerChoice::On), _) | (None, Reuse::On) => LedgerMode::On,
        (Some(LedgerChoice::Refresh), _) | (None, Reuse::Refresh) => LedgerMode::Refresh,
        (Some(LedgerChoice::Off), _) | (None, Reuse::Off) => LedgerMode::Off,
    }
}

/// Nothing is written through a link that somebody put there.
fn journal(folder: &Path) -> Result<PathBuf, Failed> {
    let path = folder.join(JOURNAL);
    if path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
        let problem = "this is a link; remove it".to_owned();
        return Err(StoreError::Ledger { path, problem }.into());
    }
    Ok(path)
}

/// The suite's file and the results' folder, as seen from the project: the same in another checkout of it.
fn place(suite: &Suite, folder: &Path) -> String {
    let within = |path: PathBuf| path.strip_prefix(&suite.root).map(Path::to_path_buf).unwrap_or(path);
    let file = suite.path.file_name().map_or_else(|| suite.folder.clone(), |name| suite.folder.join(name));
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    format!("{}\n{}", within(file).display(), within(folder).display())
}

/// What a person is told about a stopped run.
pub(super) fn going_on(resumed: Resumed) -> String {
    let Resumed { begun_us, answers } = resumed;
    let answers = number::counted(answers, "answer", "answers");
    format!(
        "goes on with the run of {} that was stopped: {answers} kept since then may be used",
        moment(Some(begun_us))
    )
}

/// `2026-11-30 09:35 UTC`, `–` for an unknown one.
pub(super) fn moment(micros: Option<i64>) -> String {
    let stamp = micros.and_then(|micros| jiff::Timestamp::from_microsecond(micros).ok());
    stamp.map_or_else(|| number::NONE.to_owned(), |stamp| stamp.strftime("%Y-%m-%d %H:%M UTC").to_string())
}
