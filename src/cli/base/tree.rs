//! The files of the base commit.

use std::path::{Component, Path, PathBuf};

use crate::net::{Git, Object};

/// What a file in Git LFS is in a commit. **Source**: git-lfs, docs/spec.md.
const LFS: &[u8] = b"version https://git-lfs.github.com/spec/";

/// A commit of a repository.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Tree {
    pub(super) git: Git,
    /// The folder of the repository.
    pub(super) top: PathBuf,
    pub(super) commit: String,
}

impl Tree {
    /// Enough of the commit's id to find it.
    pub(in crate::cli) fn short(&self) -> &str {
        self.commit.get(..10).unwrap_or(&self.commit)
    }

    /// The path that `file` has in the repository, word by word: a link that the change made in the checkout leads nowhere else.
    ///
    /// `None`: it is outside of the repository.
    pub(in crate::cli) fn path_of(&self, file: &Path) -> Option<String> {
        let file = plain(&std::path::absolute(file).ok()?);
        // The outermost, so that a link back to the root is a step like any other.
        let root = file.ancestors().filter(|above| above.canonicalize().is_ok_and(|above| above == self.top)).last()?;
        let steps: Option<Vec<&str>> = file.strip_prefix(root).ok()?.iter().map(|step| step.to_str()).collect();
        Some(steps?.join("/"))
    }

    /// `None`: there is no such file.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(in crate::cli) fn file(&self, path: &str) -> Result<Option<Vec<u8>>, String> {
        match self.git.object(&self.commit, path).map_err(|error| error.to_string())? {
            Object::File(bytes) if bytes.starts_with(LFS) => {
                Err(format!("{path} is kept with Git LFS, which only a checkout resolves"))
            }
            Object::File(bytes) => Ok(Some(bytes)),
            Object::Absent => Ok(None),
            Object::Unusable(why) => Err(format!("{path}: {why}")),
        }
    }

    /// The same of the commit that is checked out.
    pub(super) fn of_head(&self, path: &str) -> Result<Option<Vec<u8>>, String> {
        match self.git.object("HEAD", path).map_err(|error| error.to_string())? {
            Object::File(bytes) => Ok(Some(bytes)),
            Object::Absent => Ok(None),
            Object::Unusable(why) => Err(format!("{path}: {why}")),
        }
    }

    /// Whether the base has the same in `old` as the commit that is checked out has in `new`: a file, a folder with all in it, or nothing. Links are
    /// followed as far as they stay inside.
    ///
    /// # Errors
    /// Git could not say.
    pub(super) fn same(&self, old: &str, new: &str) -> Result<bool, String> {
        Ok(self.named(&self.commit, old)? == self.named("HEAD", new)?)
    }

    /// What git calls it; `None`: there is nothing.
    fn named(&self, commit: &str, path: &str) -> Result<Option<String>, String> {
        if path.contains(['\n', '\r', '\0']) {
            return Err(format!("{}: its path holds a line end", path.escape_debug()));
        }
        let asked = format!("{commit}:{path}\n");
        let arguments = ["cat-file", "--batch-check", "--follow-symlinks"];
        let out = self.git.bytes(&arguments, asked.as_bytes()).map_err(|error| error.to_string())?;
        let out = String::from_utf8_lossy(&out).into_owned();
        // It says `COMMIT:PATH missing`.
        Ok((!out.starts_with(asked.trim_end_matches('\n'))).then_some(out))
    }

    /// The paths of all files in a folder; what cannot be listed is empty.
    pub(super) fn files(&self, folder: &str) -> Result<Vec<String>, String> {
        self.git.files(&self.commit, folder).map_err(|error| error.to_string())
    }

    /// (old path, new path or `None` where it is gone) of the files that the change moved or removed.
    pub(super) fn moved(&self) -> Vec<(String, Option<String>)> {
        let arguments = [
            "diff-tree",
            "-r",
            "-z",
            "--no-ext-diff",
            "--no-textconv",
            "-M40%",
            "--name-status",
            "--diff-filter=DR",
            &self.commit,
            "HEAD",
        ];
        let Ok(out) = self.git.bytes(&arguments, &[]) else { return Vec::new() };
        let text = String::from_utf8_lossy(&out).into_owned();
        let mut words = text.split('\0').filter(|word| !word.is_empty());
        let mut moved = Vec::new();
        while let (Some(status), Some(old)) = (words.next(), words.next()) {
            let new = if status.starts_with('R') { words.next().map(str::to_owned) } else { None };
            moved.push((old.to_owned(), new));
        }
        moved
    }
}

/// Without `.` and `..`, word by word.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for step in path.components() {
        match step {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(step),
        }
    }
    plain
}

/// `reference`, written in a file of `folder`, as a path of the repository; `None`: it leads out.
pub(in crate::cli) fn beside(folder: &str, reference: &str) -> Option<String> {
    let mut steps: Vec<&str> = folder.split('/').filter(|step| !step.is_empty()).collect();
    for step in reference.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop()?;
            }
            step => steps.push(step),
        }
    }
    Some(steps.join("/"))
}
