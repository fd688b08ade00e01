//! Reads, interpolates and checks a suite file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::Block;
use crate::diagnostic::{Diagnostic, Diagnostics, Source};
use crate::domain::{Digest, Env, Secret};

/// `run:` of the suite, checked, with defaults.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// Calls in flight at most, for targets and for judges each; `None`: `auto`.
    pub workers: Option<usize>,
    pub trials: u32,
    /// One attempt, from connect to the last byte.
    pub timeout: Duration,
    pub connect_timeout: Duration,
    pub retry_attempts: u32,
    pub retry_max_elapsed: Duration,
    /// Experiment parameters, kept with the run.
    pub record: serde_json::Map<String, serde_json::Value>,
    /// Share of planned cells that must be measured lives in `gate`; this room only knows how to run.
    pub ledger: PathBuf,
}

/// A suite whose skeleton is sound; the blocks' settings are still their owners' to check.
#[derive(Clone, Debug)]
pub struct Suite {
    pub name: String,
    /// The file, as given.
    pub path: PathBuf,
    /// Folder of the suite file: relative paths start here and must stay inside the project root.
    pub folder: PathBuf,
    /// The nearest folder upwards with `.git`, else `folder`.
    pub root: PathBuf,
    pub source: Arc<Source>,
    /// Digest of the bytes as written.
    pub digest: Digest,
    pub dataset: Vec<Block>,
    pub targets: Vec<Block>,
    pub models: Vec<Block>,
    pub evaluators: Vec<Block>,
    /// `None`: no gate section, the defaults apply.
    pub gate: Option<Block>,
    pub reports: Option<Block>,
    pub run: RunSettings,
    /// Every value that came from the environment.
    pub secrets: Vec<Secret>,
}

/// # Errors
/// Every problem of the file.
pub fn load(path: &Path, _env: &Env) -> Result<Suite, Diagnostics> {
    Err(Diagnostic::error("not-built", format!("cannot read {}", path.display())).into())
}
