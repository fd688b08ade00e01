//! The suite as the base has it, with its data: laid out in a folder of its own and read like any suite.

use std::path::{Path, PathBuf};

use super::commit::Base;
use super::tree::{Tree, beside};
use crate::cli::prepare;
use crate::dataset::Dataset;
use crate::diagnostic::Diagnostics;
use crate::domain::{Env, MetricSpec};
use crate::gate::Policy;
use crate::provider;
use crate::suite::{self, Suite};

/// Removed suites that are looked at.
const LOOKED_AT: usize = 30;
/// Bytes of a suite that is looked at, and of all data.
const SUITE: usize = 1024 * 1024;
const DATA: usize = 256 * 1024 * 1024;

/// The base's suite.
pub(super) struct Earlier {
    pub(super) suite: Suite,
    pub(super) policy: Policy,
    pub(super) metrics: Vec<MetricSpec>,
    /// Folder of the suite in the repository.
    pub(super) folder: String,
    /// Said where it had another name.
    pub(super) renamed: Option<String>,
    /// Holds the laid-out files.
    place: tempfile::TempDir,
}

impl Earlier {
    /// `None`: the base has no such suite.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(super) fn read(base: &Base, current: &Suite, env: &Env) -> Result<Option<Self>, String> {
        let tree = &base.tree;
        let path = tree.path_of(&current.path).ok_or_else(|| {
            format!("the suite {} is not in the repository whose change is judged", current.path.display())
        })?;
        let (old, bytes) = match tree.file(&path)? {
            Some(bytes) => (path.clone(), bytes),
            None => match renamed(tree, &path, current, env) {
                Some(found) => found,
                None => return Ok(None),
            },
        };
        let place = tempfile::tempdir().map_err(|error| error.to_string())?;
        let file = lay_out(place.path(), &old, &bytes)?;
        std::fs::create_dir_all(place.path().join(".git")).map_err(|error| error.to_string())?;
        let mut problems = Diagnostics::default();
        let said = |problems: &Diagnostics| {
            let first = problems.iter().next();
            let words = first.map_or_else(String::new, |problem| {
                let line = problem.span.map_or_else(String::new, |span| format!(":{}", span.line));
                format!("{old}{line} of commit {}: {}", tree.short(), problem.message)
            });
            format!("the base's suite is not right: {words}")
        };
        let suite = suite::load(&file, env).map_err(|problems| said(&problems))?;
        let models = provider::build(&suite.models, env, &mut problems);
        let evaluators = prepare::evaluators(&suite, &models, (env, None), &mut problems);
        let metrics: Vec<MetricSpec> = evaluators.into_iter().map(|ready| ready.spec).collect();
        let policy = Policy::build(suite.gate.as_ref(), &metrics, &mut problems);
        let policy = policy.filter(|_| !problems.has_errors()).ok_or_else(|| said(&problems))?;
        let folder = old.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
        let renamed = (old != path)
            .then(|| format!("the suite was {old} on the base, and is {path} now: judged by the old one's policy"));
        Ok(Some(Self { suite, policy, metrics, folder, renamed, place }))
    }

    /// The base's cases.
    ///
    /// # Errors
    /// Why they cannot be read.
    pub(super) fn dataset(&self, tree: &Tree) -> Result<Dataset, String> {
        let mut left = DATA;
        for block in &self.suite.dataset {
            for reference in references(block.value.get("path")) {
                let path = beside(&self.folder, &reference)
                    .ok_or_else(|| format!("`{reference}` leads out of the project"))?;
                for path in matching(tree, &path)? {
                    let Some(bytes) = tree.file(&path)? else { continue };
                    left = left
                        .checked_sub(bytes.len())
                        .ok_or("the data is larger than 256 MiB, the limit of this comparison")?;
                    lay_out(self.place.path(), &path, &bytes)?;
                }
            }
        }
        Dataset::open(&self.suite)
            .map_err(|problems| problems.iter().next().map_or_else(String::new, |problem| problem.message.clone()))
    }
}

/// The paths of a data set, as written.
pub(super) fn references(path: Option<&serde_json::Value>) -> Vec<String> {
    match path {
        Some(serde_json::Value::String(path)) => vec![path.clone()],
        Some(serde_json::Value::Array(paths)) => {
            paths.iter().filter_map(|path| path.as_str().map(str::to_owned)).collect()
        }
        Some(_) | None => Vec::new(),
    }
}

/// The file of that very name, or what the pattern matches.
fn matching(tree: &Tree, path: &str) -> Result<Vec<String>, String> {
    let Some(first) = path.find(['*', '?', '[']) else { return Ok(vec![path.to_owned()]) };
    if tree.file(path).is_ok_and(|file| file.is_some()) {
        return Ok(vec![path.to_owned()]);
    }
    let folder = path.get(..first).and_then(|start| start.rsplit_once('/')).map_or("", |(folder, _)| folder);
    let pattern = glob::Pattern::new(path).map_err(|error| error.to_string())?;
    let options =
        glob::MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };
    Ok(tree.files(folder)?.into_iter().filter(|path| pattern.matches_with(path, options)).collect())
}

/// Paths of a commit have no `..`, but what git lets in is checked all the same.
fn lay_out(place: &Path, path: &str, bytes: &[u8]) -> Result<PathBuf, String> {
    let plain = !path.is_empty() && path.split('/').all(|step| !matches!(step, "" | "." | ".."));
    if !plain || path.contains(['\\', '\0']) {
        return Err(format!("`{path}` is no path of a file"));
    }
    let file = place.join(path);
    let folder = file.parent().unwrap_or(place);
    std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&file, bytes)).map_err(|error| error.to_string())?;
    Ok(file)
}

/// The suite that the change moved here: the file that git takes for it, else a removed suite of the same name, else the only one that
/// was removed. A suite must not get rid of its policy by another name.
fn renamed(tree: &Tree, path: &str, current: &Suite, env: &Env) -> Option<(String, Vec<u8>)> {
    let moved = tree.moved();
    let read = |old: &str| tree.file(old).ok().flatten().filter(|bytes| bytes.len() <= SUITE);
    if let Some((old, _)) = moved.iter().find(|(_, new)| new.as_deref() == Some(path)) {
        return Some((old.clone(), read(old)?));
    }
    let yaml = |old: &str| old.ends_with(".yaml") || old.ends_with(".yml");
    let mut suites: Vec<(String, Vec<u8>)> = Vec::new();
    for (old, _) in moved.iter().filter(|(old, _)| yaml(old)).take(LOOKED_AT) {
        let Some(bytes) = read(old) else { continue };
        match name_of(&bytes, env) {
            Some(name) if name == current.name => return Some((old.clone(), bytes)),
            Some(_) => suites.push((old.clone(), bytes)),
            None => {}
        }
    }
    if suites.len() == 1 { suites.pop() } else { None }
}

/// The name of a suite; `None`: the file is none.
fn name_of(bytes: &[u8], env: &Env) -> Option<String> {
    let place = tempfile::tempdir().ok()?;
    let file = lay_out(place.path(), "suite.yaml", bytes).ok()?;
    let suite = suite::load_with_problems(&file, env).suite?;
    (!suite.name.is_empty() && !suite.evaluators.is_empty()).then_some(suite.name)
}
