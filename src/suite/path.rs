//! Which files a suite may name: those below the project root, by relative references with forward slashes, on every platform alike.

use std::path::{Component, Path, PathBuf};

use crate::text::suggest;

/// Why a reference to a file is not followed. The text names the reference as it was written, and nothing of what it leads to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("a reference to a file must not be empty")]
    Empty,
    #[error("`{0}` is an absolute path")]
    Absolute(String),
    #[error("`{0}` names a network share")]
    Share(String),
    #[error("`{0}` is an address, not a file of the project")]
    Address(String),
    #[error("`{0}` starts in a home folder")]
    Home(String),
    #[error("`{0}` has a backslash")]
    Backslash(String),
    #[error("`{reference}` names the device `{device}`")]
    Device { reference: String, device: String },
    #[error("`{0}` has a control character")]
    Control(String),
    #[error("`{0}` leads out of the project")]
    Outside(String),
    #[error("`{0}` is a link that leads out of the project, or passes one")]
    Link(String),
    #[error("`{reference}` cannot be looked up: {problem}")]
    Unreadable { reference: String, problem: String },
}

impl PathError {
    /// What to write instead.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Empty => None,
            Self::Backslash(reference) => Some(format!("write it with forward slashes: `{}`", reference.replace('\\', "/"))),
            Self::Absolute(_) | Self::Share(_) | Self::Address(_) | Self::Home(_) | Self::Outside(_) | Self::Link(_) => Some(
                "files are named relative to the suite's folder and stay inside the project (the nearest folder with `.git`)"
                    .to_owned(),
            ),
            Self::Device { .. } => Some(format!(
                "names such as {} are devices on Windows, whatever their extension: rename the file",
                suggest::list(["NUL", "CON", "COM1"], "and")
            )),
            Self::Control(_) => Some("rename the file".to_owned()),
            Self::Unreadable { .. } => None,
        }
    }
}

/// The file that `reference`, written in a suite in `folder`, means.
///
/// **Inputs**: `root` and `folder` (below `root`) must exist. The file itself need not: what exists of its path is checked.
/// **Returns** an absolute path with all links resolved, below `root`; the caller says what is wrong with a missing file.
/// A pattern (`data/*.jsonl`) passes; check what it matches with [`inside`].
///
/// # Errors
/// Everything that is not a relative reference, with forward slashes, to a place below `root` after resolving links.
pub fn resolve(root: &Path, folder: &Path, reference: &str) -> Result<PathBuf, PathError> {
    let steps = steps(reference)?;
    let root = canonical(root, reference)?;
    let mut path = canonical(folder, reference)?;
    if !path.starts_with(&root) {
        return Err(PathError::Outside(reference.to_owned()));
    }
    for step in steps {
        if step == ".." {
            // Word by word, before any link is looked at: `a/../b` is `b` whatever `a` is.
            if path == root || !path.pop() {
                return Err(PathError::Outside(reference.to_owned()));
            }
        } else {
            path.push(step);
        }
    }
    follow(&root, &path, reference)
}

/// Checks a path that was found (by a pattern, for instance): it must stay below `root` after resolving links.
///
/// # Errors
/// A link that leads out, or a path that cannot be looked up.
pub fn inside(root: &Path, path: &Path) -> Result<PathBuf, PathError> {
    let shown = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
    let root = canonical(root, &shown)?;
    follow(&root, path, &shown)
}

/// The steps of a reference, without `.`.
fn steps(reference: &str) -> Result<Vec<&str>, PathError> {
    let owned = || reference.to_owned();
    if reference.trim().is_empty() {
        return Err(PathError::Empty);
    }
    if reference.chars().any(char::is_control) {
        return Err(PathError::Control(reference.escape_debug().to_string()));
    }
    if reference.starts_with("\\\\") || reference.starts_with("//") {
        return Err(PathError::Share(owned()));
    }
    if is_drive(reference) || reference.starts_with(['/', '\\']) {
        return Err(PathError::Absolute(owned()));
    }
    if is_address(reference) {
        return Err(PathError::Address(owned()));
    }
    if reference.starts_with('~') {
        return Err(PathError::Home(owned()));
    }
    if reference.contains('\\') {
        return Err(PathError::Backslash(owned()));
    }
    let steps: Vec<&str> = reference.split('/').filter(|step| !step.is_empty() && *step != ".").collect();
    match steps.iter().copied().find(|step| is_device(step)) {
        Some(device) => Err(PathError::Device { reference: owned(), device: device.to_owned() }),
        None => Ok(steps),
    }
}

/// `C:\x`, `c:x`.
fn is_drive(reference: &str) -> bool {
    let mut letters = reference.chars();
    letters.next().is_some_and(|letter| letter.is_ascii_alphabetic()) && letters.next() == Some(':')
}

/// `file:…`, `https://…`.
fn is_address(reference: &str) -> bool {
    let Some((scheme, rest)) = reference.split_once(':') else { return false };
    let named =
        scheme.len() > 1 && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter));
    named && (rest.starts_with("//") || scheme.eq_ignore_ascii_case("file") || cfg!(windows))
}

/// Windows' device names, which stand for a device in every folder and with every extension.
///
/// **Source**: "Naming Files, Paths, and Namespaces", learn.microsoft.com/windows/win32/fileio/naming-a-file.
fn is_device(step: &str) -> bool {
    let stem = step.split(['.', ':']).next().unwrap_or_default().trim_end().to_ascii_uppercase();
    let numbered = |name: &str| {
        stem.strip_prefix(name).is_some_and(|number| {
            let mut letters = number.chars();
            matches!((letters.next(), letters.next()), (Some('0'..='9' | '¹' | '²' | '³'), None))
        })
    };
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$") || numbered("COM") || numbered("LPT")
}

/// `path` with the links of everything that exists resolved; the rest must be plain steps.
fn follow(root: &Path, path: &Path, reference: &str) -> Result<PathBuf, PathError> {
    let mut existing = path;
    let mut missing = Vec::new();
    loop {
        match existing.symlink_metadata() {
            Ok(_) => break,
            Err(error)
                if error.kind() == std::io::ErrorKind::NotFound
                    || error.kind() == std::io::ErrorKind::NotADirectory => {}
            Err(error) => {
                return Err(PathError::Unreadable {
                    reference: reference.to_owned(),
                    problem: error.kind().to_string(),
                });
            }
        }
        match (existing.parent(), existing.components().next_back()) {
            (Some(parent), Some(Component::Normal(step))) => {
                missing.push(step.to_owned());
                existing = parent;
            }
            (_, Some(_) | None) => return Err(PathError::Outside(reference.to_owned())),
        }
    }
    // A link without a target cannot be followed, and writing to it would make a file elsewhere.
    let mut resolved = existing.canonicalize().map_err(|_| PathError::Link(reference.to_owned()))?;
    if !resolved.starts_with(root) {
        return Err(PathError::Link(reference.to_owned()));
    }
    resolved.extend(missing.iter().rev());
    Ok(resolved)
}

fn canonical(folder: &Path, reference: &str) -> Result<PathBuf, PathError> {
    folder.canonicalize().map_err(|error| PathError::Unreadable {
        reference: reference.to_owned(),
        problem: format!("the project folder: {}", error.kind()),
    })
}

/// The nearest folder upwards from `folder` that holds `.git`, else `folder`.
pub(super) fn project_root(folder: &Path) -> PathBuf {
    folder.ancestors().find(|above| above.join(".git").exists()).unwrap_or(folder).to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> (tempfile::TempDir, PathBuf) {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().join("project");
        std::fs::create_dir_all(root.join("data")).unwrap();
        std::fs::create_dir_all(root.join("evals")).unwrap();
        std::fs::write(root.join("data/cases.csv"), "id\n").unwrap();
        std::fs::write(outside.path().join("outside.csv"), "id\nsecret\n").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(outside.path().join("outside.csv"), root.join("data/link-that-points-outside.csv"))
            .unwrap();
        (outside, root)
    }

    /// cases.yaml `ds-path-references`.
    #[test]
    #[cfg(unix)]
    fn ds_path_references() {
        let (_outside, root) = project();
        let references = include_str!("../../fixtures/cases/datasets/path-references.txt");
        let found: Vec<String> = references
            .lines()
            .map(|reference| match resolve(&root, &root, reference) {
                Ok(path) => format!("ok {}", path.strip_prefix(root.canonicalize().unwrap()).unwrap().display()),
                Err(error) => {
                    assert!(!error.to_string().contains("secret"));
                    error.to_string()
                }
            })
            .collect();
        assert_eq!(
            found,
            [
                "ok data/cases.csv",
                "ok data/cases.csv",
                "`../outside.csv` leads out of the project",
                "`data/../../outside.csv` leads out of the project",
                "`/etc/hostname` is an absolute path",
                "`/proc/self/environ` is an absolute path",
                "`~/.netrc` starts in a home folder",
                "`C:\\data\\cases.csv` is an absolute path",
                "`data\\cases.csv` has a backslash",
                "`\\\\server\\share\\cases.csv` names a network share",
                "`NUL` names the device `NUL`",
                "`file:///etc/hostname` is an address, not a file of the project",
                "`data/link-that-points-outside.csv` is a link that leads out of the project, or passes one",
            ]
        );
        let hint = resolve(&root, &root, "data\\cases.csv").unwrap_err().help().unwrap();
        assert_eq!(hint, "write it with forward slashes: `data/cases.csv`");
    }

    #[test]
    fn a_suite_in_a_folder_may_go_up_to_the_project_root_and_no_further() {
        let (_outside, root) = project();
        let evals = root.join("evals");
        assert!(resolve(&root, &evals, "../data/cases.csv").is_ok());
        assert!(matches!(resolve(&root, &evals, "../../outside.csv"), Err(PathError::Outside(_))));
    }

    #[test]
    fn devices_addresses_and_odd_names_are_refused_everywhere() {
        let (_outside, root) = project();
        for reference in ["con.csv", "data/Aux", "lpt9.txt", "COM¹", "nul .x"] {
            assert!(matches!(resolve(&root, &root, reference), Err(PathError::Device { .. })), "{reference}");
        }
        assert!(matches!(resolve(&root, &root, "https://x/y"), Err(PathError::Address(_))));
        assert!(matches!(resolve(&root, &root, "FILE:/etc/x"), Err(PathError::Address(_))));
        assert!(matches!(resolve(&root, &root, "a\0b"), Err(PathError::Control(_))));
        assert!(matches!(resolve(&root, &root, " "), Err(PathError::Empty)));
        assert!(resolve(&root, &root, "console.csv").is_ok());
    }

    #[test]
    fn a_missing_file_and_a_pattern_are_the_callers_business() {
        let (_outside, root) = project();
        let root = root.canonicalize().unwrap();
        assert_eq!(resolve(&root, &root, "new/folder/x.csv").unwrap(), root.join("new/folder/x.csv"));
        assert_eq!(resolve(&root, &root, "data/*.csv").unwrap(), root.join("data/*.csv"));
    }

    #[test]
    #[cfg(unix)]
    fn links_inside_the_project_are_followed_and_dangling_ones_are_not() {
        let (_outside, root) = project();
        std::os::unix::fs::symlink("cases.csv", root.join("data/inner.csv")).unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", root.join("data/dangling")).unwrap();
        let root = root.canonicalize().unwrap();
        assert_eq!(resolve(&root, &root, "data/inner.csv").unwrap(), root.join("data/cases.csv"));
        assert!(matches!(resolve(&root, &root, "data/dangling"), Err(PathError::Link(_))));
        assert!(matches!(inside(&root, &root.join("data/link-that-points-outside.csv")), Err(PathError::Link(_))));
    }

    proptest::proptest! {
        /// Whatever is written, what is followed lies below the root.
        #[test]
        fn nothing_leads_out(reference in "(\\.\\.|\\.|/|data|evals|a|~|C:|\\\\|file:|link-that-points-outside\\.csv| |NUL){0,8}") {
            let (_outside, root) = project();
            let root = root.canonicalize().unwrap();
            for folder in [root.clone(), root.join("evals")] {
                if let Ok(path) = resolve(&root, &folder, &reference) {
                    proptest::prop_assert!(path.starts_with(&root), "{} {}", reference, path.display());
                    proptest::prop_assert!(!path.components().any(|step| step == Component::ParentDir));
                }
            }
        }
    }
}
