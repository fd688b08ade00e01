//! Data files behind a reference of the suite: one file, or the matches of a glob, all of them inside the project.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::budget;
use crate::diagnostic::Diagnostic;
use crate::suite::{Block, PathError, Suite, inside};
use crate::text::suggest;

/// A data file that exists inside the project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DataFile {
    /// Relative to the project root, with forward slashes: what messages and places show.
    pub shown: Arc<str>,
    pub path: PathBuf,
}

/// Why a reference gives no data file. Nothing outside the project is opened or named.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    #[error(transparent)]
    Reference(#[from] PathError),
    #[error("`{reference}` does not exist (looked for {shown})")]
    Missing { reference: String, shown: String, help: Option<String> },
    #[error("`{0}` is a folder")]
    Folder(String),
    #[error("`{0}` is no file")]
    NoFile(String),
    #[error("`{0}` matches no file")]
    NoMatch(String),
    #[error("`{reference}` is no glob: {problem}")]
    Glob { reference: String, problem: String },
    #[error("`{0}` matches more than {limit} files (limit: files)", limit = budget::FILES)]
    TooMany(String),
}

impl FileError {
    /// The problem at the setting that holds the reference.
    pub(crate) fn at(&self, block: &Block, pointer: &str) -> Diagnostic {
        if let Self::Reference(error) = self {
            return block.path_problem(pointer, error);
        }
        let diagnostic = block.problem(pointer, "path", self.to_string());
        match self {
            Self::Missing { help: Some(help), .. } => diagnostic.help(help),
            Self::Folder(reference) => diagnostic
                .help(format!("name the files in it, for instance `{}/*.jsonl`", reference.trim_end_matches('/'))),
            _ => diagnostic,
        }
    }
}

/// The file behind `reference`.
///
/// # Errors
/// References that leave the project, and what is there but is no file.
pub fn resolve(suite: &Suite, reference: &str) -> Result<DataFile, FileError> {
    let path = suite.resolve(reference)?;
    let shown = shown(suite, &path);
    if path.is_dir() {
        return Err(FileError::Folder(reference.to_owned()));
    }
    if !path.exists() {
        let help = neighbour(&path).map(|name| format!("did you mean `{name}` in the same folder?"));
        return Err(FileError::Missing { reference: reference.to_owned(), shown, help });
    }
    if !path.is_file() {
        return Err(FileError::NoFile(reference.to_owned()));
    }
    Ok(DataFile { shown: Arc::from(shown), path })
}

/// The files behind `reference`: the file of that very name, or the matches of a glob (`*`, `?`, `[…]`, `**`), sorted by path.
///
/// # Errors
/// As [`resolve`], and where a glob matches no file or leads out of the project.
pub fn expand(suite: &Suite, reference: &str) -> Result<Vec<DataFile>, FileError> {
    let path = suite.resolve(reference)?;
    if !reference.contains(['*', '?', '[']) || path.is_file() {
        return Ok(vec![resolve(suite, reference)?]);
    }
    let broken = |problem: String| FileError::Glob { reference: reference.to_owned(), problem };
    let root = real_root(suite);
    let pattern = format!("{}/{}", glob::Pattern::escape(&root.to_string_lossy()), shown(suite, &path));
    let options =
        glob::MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };
    let mut files = Vec::new();
    for found in glob::glob_with(&pattern, options).map_err(|error| broken(error.msg.to_owned()))? {
        let found = found.map_err(|error| broken(error.error().to_string()))?;
        if !found.is_file() {
            continue;
        }
        if files.len() >= budget::FILES {
            return Err(FileError::TooMany(reference.to_owned()));
        }
        inside(&root, &found)?;
        files.push(DataFile { shown: Arc::from(shown(suite, &found)), path: found });
    }
    files.sort();
    if files.is_empty() { Err(FileError::NoMatch(reference.to_owned())) } else { Ok(files) }
}

fn real_root(suite: &Suite) -> PathBuf {
    suite.root.canonicalize().unwrap_or_else(|_| suite.root.clone())
}

/// Relative to the project root, with forward slashes.
fn shown(suite: &Suite, path: &Path) -> String {
    let path = path.strip_prefix(real_root(suite)).or_else(|_| path.strip_prefix(&suite.root)).unwrap_or(path);
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    parts.join("/")
}

/// A file of nearly that name in the same folder.
fn neighbour(path: &Path) -> Option<String> {
    let wanted = path.file_name()?.to_string_lossy();
    let names: Vec<String> = std::fs::read_dir(path.parent()?)
        .ok()?
        .take(budget::FILES)
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    suggest::closest(&wanted, names.iter().map(String::as_str)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::support::suite_in;

    #[test]
    fn ds_path_references() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("project");
        std::fs::create_dir_all(root.join("data")).unwrap();
        std::fs::write(root.join("data/cases.csv"), "id\n").unwrap();
        std::fs::write(outer.path().join("outside.csv"), "secret\n").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(outer.path().join("outside.csv"), root.join("data/link-that-points-outside.csv"))
            .unwrap();
        let suite = suite_in(&root);
        for reference in include_str!("../../fixtures/cases/datasets/path-references.txt").lines() {
            let found = expand(&suite, reference);
            if ["data/cases.csv", "./data/../data/cases.csv"].contains(&reference) {
                assert_eq!(&*found.unwrap()[0].shown, "data/cases.csv");
            } else {
                let reason = found.expect_err(reference).to_string();
                assert!(reason.contains(reference) && !reason.contains("secret"), "{reason}");
            }
        }
        #[cfg(unix)]
        assert!(expand(&suite, "data/*.csv").is_err(), "a glob does not follow links out of the project");
    }

    #[test]
    fn a_glob_gives_sorted_files_and_says_when_it_matches_none() {
        let root = tempfile::tempdir().unwrap();
        for name in ["b.jsonl", "a.jsonl", "x[1].jsonl", ".hidden.jsonl"] {
            std::fs::write(root.path().join(name), "").unwrap();
        }
        let suite = suite_in(root.path());
        let names = |reference: &str| -> Vec<String> {
            expand(&suite, reference).unwrap().iter().map(|file| file.shown.to_string()).collect()
        };
        assert_eq!(names("*.jsonl"), ["a.jsonl", "b.jsonl", "x[1].jsonl"]);
        assert_eq!(names("x[1].jsonl"), ["x[1].jsonl"]);
        assert_eq!(expand(&suite, "*.csv").unwrap_err().to_string(), "`*.csv` matches no file");
        let missing = expand(&suite, "aa.jsonl").unwrap_err();
        let block = Block::from_value("0", "dataset", serde_json::Value::Null);
        assert!(missing.at(&block, "/path").help.unwrap().contains("`a.jsonl`"));
        assert!(matches!(expand(&suite, "."), Err(FileError::Folder(_))));
    }
}
