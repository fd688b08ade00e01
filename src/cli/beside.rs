//! What a verdict is drawn from beside run and baseline: the anchor, and how far judges agree with people. In a pull request these files are
//! those of the base commit, like the baseline.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::Path;

use super::base::{Yardstick, beside};
use super::failure::Failed;
use super::reference;
use crate::domain::{BaseRecord, MetricSpec, Run};
use crate::gate::{BaselineState, Beside, Calibration, Calibrations};
use crate::suite::Suite;

/// A calibration is a page of numbers.
const LARGEST: usize = 1024 * 1024;

/// The files that the policy names, read.
pub(super) struct Gathered {
    anchor: BaselineState,
    calibrations: Calibrations,
}

impl Gathered {
    /// Of a run without any suite.
    pub(super) fn nothing() -> Self {
        Self { anchor: BaselineState::NotAsked, calibrations: Calibrations::new() }
    }

    /// `declared`: what the metrics are, for results that say only their names.
    ///
    /// # Errors
    /// The anchor was written by a later version.
    pub(super) fn of(suite: &Suite, yardstick: &Yardstick, declared: &[MetricSpec]) -> Result<Self, Failed> {
        let policy = &yardstick.policy;
        let anchor = match &policy.anchor {
            None => BaselineState::NotAsked,
            Some(path) => anchor(suite, yardstick, path, declared)?,
        };
        let read = |path: &str| -> Result<Calibration, String> {
            let bytes = bytes(suite, yardstick, path)?.ok_or_else(|| format!("there is no {path}"))?;
            if bytes.len() > LARGEST {
                return Err(format!("{path} is larger than {LARGEST} bytes"));
            }
            serde_json::from_slice(&bytes).map_err(|error| format!("{path}: {error}"))
        };
        let calibrations = policy.calibrations().map(|(metric, path)| (metric.clone(), read(path))).collect();
        Ok(Self { anchor, calibrations })
    }

    pub(super) fn beside<'a>(&'a self, base: Option<&'a BaseRecord>, again: Option<&'a Run>) -> Beside<'a> {
        Beside { base, anchor: Some(&self.anchor), calibrations: Some(&self.calibrations), again }
    }
}

/// The file of the base commit, or of the checkout where nothing else decides; `None`: there is none.
fn bytes(suite: &Suite, yardstick: &Yardstick, path: &str) -> Result<Option<Vec<u8>>, String> {
    if let Some(kept) = &yardstick.kept {
        let path = beside(&kept.folder, path).ok_or_else(|| format!("`{path}` leads out of the project"))?;
        return kept.tree.file(&path);
    }
    let file = suite.resolve(path).map_err(|error| format!("{path}: {error}"))?;
    let read = || -> std::io::Result<Option<Vec<u8>>> {
        let Some(file) = plain_file(&file)? else { return Ok(None) };
        let mut bytes = Vec::new();
        // One byte more, so that what is too large is seen to be.
        file.take(LARGEST as u64 + 1).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    };
    read().map_err(|error| format!("{path}: {error}"))
}

/// A file to read; `None`: there is none. Nothing else is opened: a pipe would wait for a writer, and a device never ends.
///
/// # Errors
/// It is no plain file, or cannot be opened.
pub(super) fn plain_file(path: &Path) -> std::io::Result<Option<File>> {
    let opened = std::fs::metadata(path).and_then(|data| match data.is_file() {
        true => File::open(path),
        false => Err(std::io::Error::new(ErrorKind::InvalidInput, "it is no plain file")),
    });
    match opened {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn anchor(suite: &Suite, yardstick: &Yardstick, path: &str, declared: &[MetricSpec]) -> Result<BaselineState, Failed> {
    let found = match &yardstick.kept {
        None => match suite.resolve(path) {
            Ok(file) => match plain_file(&file) {
                Ok(Some(_)) => reference::of_file(&file, declared)?,
                Ok(None) => BaselineState::Absent(path.to_owned()),
                Err(error) => BaselineState::Broken(format!("{path}: {error}")),
            },
            Err(error) => BaselineState::Broken(format!("{path}: {error}")),
        },
        Some(_) => match bytes(suite, yardstick, path) {
            Ok(None) => BaselineState::Absent(path.to_owned()),
            Err(why) => BaselineState::Broken(why),
            Ok(Some(bytes)) => laid_out(&bytes, declared)?,
        },
    };
    // Named as the suite does, wherever it was read.
    Ok(match found {
        BaselineState::Found(mut anchor) => {
            path.clone_into(&mut anchor.source.place);
            BaselineState::Found(anchor)
        }
        other => other,
    })
}

/// What is read as a file, from the bytes of a commit.
fn laid_out(bytes: &[u8], declared: &[MetricSpec]) -> Result<BaselineState, Failed> {
    let write = || -> std::io::Result<tempfile::NamedTempFile> {
        let mut file = tempfile::Builder::new().suffix(".jsonl").tempfile()?;
        file.write_all(bytes)?;
        file.flush()?;
        Ok(file)
    };
    match write() {
        Ok(file) => reference::of_file(Path::new(file.path()), declared),
        Err(error) => Ok(BaselineState::Broken(format!("the anchor could not be read: {error}"))),
    }
}
