//! References to data files: inside the project, with forward slashes, as a path or a glob.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::budget;

/// A data file that exists inside the project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DataFile {
    /// Relative to the project root, with forward slashes: what messages and places show.
    pub shown: Arc<str>,
    pub path: PathBuf,
}

/// Names that Windows takes for devices, with any extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// The file behind `reference`, which starts at `folder` and must stay inside `root` after resolving links.
///
/// # Errors
/// Why the reference is refused, as a fragment that names it. Nothing outside `root` is opened.
pub fn resolve(root: &Path, folder: &Path, reference: &str) -> Result<DataFile, String> {
    let shown = inside(root, folder, reference)?;
    let path = root.join(&shown);
    match path.try_exists() {
        Ok(true) => confined(root, path, &shown, reference),
        Ok(false) => Err(format!("`{reference}` does not exist (looked for {shown})")),
        Err(error) => Err(format!("`{reference}` cannot be read: {error}")),
    }
}

/// The files behind `reference`: the file of that very name, or the matches of a glob (`*`, `?`, `[…]`, `**`), sorted by path.
///
/// # Errors
/// As [`resolve`], and where a glob matches no file.
pub fn expand(root: &Path, folder: &Path, reference: &str) -> Result<Vec<DataFile>, String> {
    let shown = inside(root, folder, reference)?;
    if !reference.contains(['*', '?', '[']) || root.join(&shown).is_file() {
        return Ok(vec![resolve(root, folder, reference)?]);
    }
    let pattern = format!("{}/{shown}", glob::Pattern::escape(&root.to_string_lossy()));
    let options =
        glob::MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };
    let matches =
        glob::glob_with(&pattern, options).map_err(|error| format!("`{reference}` is no glob: {}", error.msg))?;
    let mut files = Vec::new();
    for found in matches {
        let path = found.map_err(|error| {
            format!("`{reference}`: cannot look into {}: {}", error.path().display(), error.error())
        })?;
        if path.is_dir() {
            continue;
        }
        if files.len() >= budget::FILES {
            return Err(format!("`{reference}` matches more than {} files", budget::FILES));
        }
        let shown = slashed(path.strip_prefix(root).unwrap_or(&path));
        files.push(confined(root, path, &shown, reference)?);
    }
    files.sort();
    if files.is_empty() { Err(format!("`{reference}` matches no file")) } else { Ok(files) }
}

fn slashed(path: &Path) -> String {
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    parts.join("/")
}

fn confined(root: &Path, path: PathBuf, shown: &str, reference: &str) -> Result<DataFile, String> {
    let real = |path: &Path| path.canonicalize().map_err(|error| format!("`{reference}` cannot be resolved: {error}"));
    if !real(&path)?.starts_with(real(root)?) {
        return Err(format!("`{reference}` leads outside the project through a link ({shown})"));
    }
    if path.is_dir() {
        return Err(format!(
            "`{reference}` is a folder; name its files, for instance `{}/*.jsonl`",
            reference.trim_end_matches('/')
        ));
    }
    Ok(DataFile { shown: Arc::from(shown), path })
}

/// The reference relative to `root`, normalised, without looking at the disk.
fn inside(root: &Path, folder: &Path, reference: &str) -> Result<String, String> {
    check_form(reference)?;
    let start = folder.strip_prefix(root).map_err(|_| "the suite is outside the project root".to_owned())?;
    let mut parts: Vec<String> = Vec::new();
    for component in start.components() {
        if let Component::Normal(part) = component {
            parts.push(part.to_string_lossy().into_owned());
        }
    }
    for part in reference.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return Err(format!("`{reference}` leads outside the project"));
                }
            }
            part => parts.push(part.to_owned()),
        }
    }
    if parts.is_empty() { Err(format!("`{reference}` names no file")) } else { Ok(parts.join("/")) }
}

fn check_form(reference: &str) -> Result<(), String> {
    let drive =
        reference.as_bytes().get(1) == Some(&b':') && reference.starts_with(|first: char| first.is_ascii_alphabetic());
    if reference.trim().is_empty() {
        return Err("the path is empty".to_owned());
    }
    if reference.contains(char::is_control) {
        return Err("the path contains a control character".to_owned());
    }
    if reference.starts_with("\\\\") || reference.starts_with("//") {
        return Err(format!("`{reference}` is a network path; copy the file into the project"));
    }
    if reference.starts_with('/') || drive {
        return Err(format!("`{reference}` is absolute; write it relative to the suite, inside the project"));
    }
    if reference.starts_with('~') {
        return Err(format!(
            "`{reference}` starts at a home folder; write it relative to the suite, inside the project"
        ));
    }
    if let Some((scheme, _)) = reference.split_once(':') {
        return Err(format!("`{reference}` is an address of kind `{scheme}:`; only files inside the project are read"));
    }
    if reference.contains('\\') {
        return Err(format!("`{reference}` uses backslashes; write `{}`", reference.replace('\\', "/")));
    }
    match reference.split('/').find(|part| is_device(part)) {
        Some(part) => Err(format!("`{reference}` names the device `{part}`")),
        None => Ok(()),
    }
}

fn is_device(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or(part).trim_end().to_ascii_lowercase();
    let numbered = |prefix: &str| {
        stem.strip_prefix(prefix)
            .is_some_and(|rest| rest.chars().count() == 1 && rest.chars().all(|digit| digit.is_ascii_digit()))
    };
    DEVICES.contains(&stem.as_str()) || numbered("com") || numbered("lpt")
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let references = include_str!("../../fixtures/cases/datasets/path-references.txt");
        for reference in references.lines() {
            let found = resolve(&root, &root, reference);
            if ["data/cases.csv", "./data/../data/cases.csv"].contains(&reference) {
                assert_eq!(&*found.unwrap().shown, "data/cases.csv");
            } else {
                let reason = found.expect_err(reference);
                assert!(reason.contains(reference), "{reason}");
                assert!(!reason.contains("secret"), "{reason}");
            }
        }
        let hint = resolve(&root, &root, "data\\cases.csv").unwrap_err();
        assert!(hint.contains("`data/cases.csv`"), "{hint}");
        assert!(expand(&root, &root, "data/*.csv").is_err(), "a glob does not follow links out of the project");
    }

    #[test]
    fn a_glob_gives_sorted_files_and_says_when_it_matches_none() {
        let root = tempfile::tempdir().unwrap();
        for name in ["b.jsonl", "a.jsonl", "x[1].jsonl", ".hidden.jsonl"] {
            std::fs::write(root.path().join(name), "").unwrap();
        }
        let names = |reference: &str| -> Vec<String> {
            expand(root.path(), root.path(), reference).unwrap().iter().map(|file| file.shown.to_string()).collect()
        };
        assert_eq!(names("*.jsonl"), ["a.jsonl", "b.jsonl", "x[1].jsonl"]);
        assert_eq!(names("x[1].jsonl"), ["x[1].jsonl"]);
        assert!(expand(root.path(), root.path(), "*.csv").unwrap_err().contains("`*.csv` matches no file"));
    }
}
