//! Places of baselines, as suites and command lines name them.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};

use crate::domain::Env;
use crate::gate::{BaselineFrom, BaselinePolicy};
use crate::store::{Place, Wanted, open_place};
use crate::suite::Suite;

/// The place that the suite names. `place` is its file.
///
/// # Errors
/// There is no such place, in a sentence.
pub(super) fn of_suite(
    suite: &Suite,
    asked: &BaselinePolicy,
    place: &str,
    env: &Env,
) -> Result<Box<dyn Place>, String> {
    let (from, file) = match &asked.from {
        BaselineFrom::File => ("file".to_owned(), suite.resolve(place).map_err(|error| error.to_string())?),
        BaselineFrom::Git(None) => ("git".to_owned(), PathBuf::new()),
        BaselineFrom::Git(Some(branch)) => (format!("git:{branch}"), PathBuf::new()),
        BaselineFrom::Address(address) => (address.clone(), PathBuf::new()),
    };
    open_place(&Wanted {
        from: &from,
        file,
        path: place,
        put: asked.put.as_deref(),
        headers: &asked.headers,
        folder: &suite.folder,
        env,
    })
}

/// A file, an address, `git`, `git:BRANCH` or `git:BRANCH:PATH`. `usual` is the path where none is named.
///
/// # Errors
/// There is no such place, in a sentence.
pub(super) fn named(text: &str, usual: &str, env: &Env) -> Result<Box<dyn Place>, String> {
    let git = text.strip_prefix("git").filter(|rest| rest.is_empty() || rest.starts_with(':'));
    let (from, path) = match git {
        Some(rest) => {
            let (branch, path) =
                rest.trim_start_matches(':').split_once(':').unwrap_or((rest.trim_start_matches(':'), usual));
            (if branch.is_empty() { "git".to_owned() } else { format!("git:{branch}") }, path)
        }
        None if text.contains("://") => (text.to_owned(), usual),
        None => ("file".to_owned(), text),
    };
    let headers = BTreeMap::new();
    let folder = Path::new(".");
    open_place(&Wanted { from: &from, file: PathBuf::from(text), path, put: None, headers: &headers, folder, env })
}

/// Waits for a place's answer.
///
/// # Errors
/// There is nothing to wait with.
pub(super) fn wait<T>(answer: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map(|runtime| runtime.block_on(answer)).map_err(|error| format!("could not start: {error}"))
}
