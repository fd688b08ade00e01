//! Questions about a repository: which commits it has, what a commit holds, what its remote has.

use super::{Git, GitError, REMOTE, is_commit};

/// A remote by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote(pub String);

/// What stands at a path of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    File(Vec<u8>),
    Absent,
    /// A folder, a submodule, a link that leads out: why it cannot be read.
    Unusable(String),
}

impl Git {
    /// The folder of the outermost repository around, links resolved: a submodule is a part of the project.
    ///
    /// # Errors
    /// There is none, or git cannot be run.
    pub fn top(&self) -> Result<String, GitError> {
        let around = self.text(&["rev-parse", "--show-superproject-working-tree"])?;
        if around.is_empty() { self.text(&["rev-parse", "--show-toplevel"]) } else { Ok(around) }
    }

    /// Whether the commit is here.
    pub fn has(&self, commit: &str) -> bool {
        self.holds(&["cat-file", "-e", &format!("{commit}^{{commit}}")])
    }

    /// Whether history was cut.
    pub fn is_shallow(&self) -> bool {
        self.text(&["rev-parse", "--is-shallow-repository"]).is_ok_and(|said| said == "true")
    }

    /// `origin`, or the only one; `None`: there is none, or several.
    pub fn usual_remote(&self) -> Option<Remote> {
        let said = self.text(&["remote"]).ok()?;
        let names: Vec<&str> = said.lines().filter(|name| !name.starts_with('-')).collect();
        match names.as_slice() {
            names if names.contains(&"origin") => Some(Remote("origin".to_owned())),
            [only] => Some(Remote((*only).to_owned())),
            _ => None,
        }
    }

    /// The newest commit of a branch of the remote; `None`: it has no such branch. The name is checked by the caller.
    ///
    /// # Errors
    /// The remote did not answer.
    pub fn branch_of(&self, remote: &Remote, branch: &str) -> Result<Option<String>, GitError> {
        let name = format!("refs/heads/{branch}");
        let arguments = ["ls-remote", "--exit-code", "--", &remote.0, &name];
        let ended = self.run(&arguments, &[], REMOTE)?;
        if ended.code == Some(2) {
            return Ok(None);
        }
        if ended.code != Some(0) {
            return Err(GitError::Failed { what: "ls-remote".to_owned(), said: ended.said });
        }
        let text = String::from_utf8_lossy(&ended.out).into_owned();
        let line = text.lines().find(|line| line.split('\t').nth(1) == Some(&name));
        let commit = line.and_then(|line| line.split('\t').next()).filter(|id| is_commit(id));
        Ok(commit.map(str::to_owned))
    }

    /// Gets one commit with its files, and no history that is not here already. `branch` is tried where the remote does not hand out
    /// single commits.
    ///
    /// # Errors
    /// The remote did not answer, or has not got it.
    pub fn fetch_commit(&self, remote: &Remote, commit: &str, branch: Option<&str>) -> Result<(), GitError> {
        if self.has(commit) {
            return Ok(());
        }
        let by_id = self.fetch(remote, self.depth(), &[commit]);
        let Err(first) = by_id else { return Ok(()) };
        if let Some(branch) = branch {
            let _ = self.fetch(remote, self.depth(), &[&format!("refs/heads/{branch}")]);
            if self.has(commit) {
                return Ok(());
            }
        }
        Err(first)
    }

    /// Only a history that is cut already is cut again.
    fn depth(&self) -> Option<&'static str> {
        self.is_shallow().then_some("--depth=1")
    }

    /// Gets commits or refs from the remote; local branches stay as they are.
    ///
    /// # Errors
    /// The remote did not answer, or has not got them.
    pub fn fetch(&self, remote: &Remote, how: Option<&str>, wanted: &[&str]) -> Result<(), GitError> {
        let mut arguments = vec![
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
        ];
        arguments.extend(how);
        arguments.extend(["--", &remote.0]);
        arguments.extend(wanted);
        self.remote(&arguments).map(drop)
    }

    /// Links inside the commit are followed.
    ///
    /// # Errors
    /// Git cannot be run, or the commit is not here.
    pub fn object(&self, commit: &str, path: &str) -> Result<Object, GitError> {
        if path.contains(['\n', '\r', '\0']) {
            return Ok(Object::Unusable("its path holds a line end".to_owned()));
        }
        let asked = format!("{commit}:{path}\n");
        let out = self.bytes(&["cat-file", "--batch", "--follow-symlinks"], asked.as_bytes())?;
        let end = out.iter().position(|byte| *byte == b'\n').unwrap_or(out.len());
        let (head, rest) = (out.get(..end).unwrap_or_default(), out.get(end.saturating_add(1)..).unwrap_or_default());
        let head = String::from_utf8_lossy(head).into_owned();
        let words: Vec<&str> = head.split(' ').collect();
        Ok(match words.as_slice() {
            [id, "blob", size] if is_commit(id) => {
                let bytes = size.parse().ok().and_then(|size: usize| rest.get(..size));
                bytes.map_or_else(
                    || Object::Unusable("git gave only a part of it".to_owned()),
                    |bytes| Object::File(bytes.to_vec()),
                )
            }
            [id, kind, _] if is_commit(id) => Object::Unusable(format!("it is a {} there", folder_or(kind))),
            ["symlink" | "loop" | "notdir", ..] => {
                Object::Unusable("it is a link that leads to no file of the commit".to_owned())
            }
            ["dangling", ..] => Object::Absent,
            _ => Object::Absent,
        })
    }

    /// The paths of all files in a folder of a commit (`""`: all of it).
    ///
    /// # Errors
    /// Git cannot be run, or the commit is not here.
    pub fn files(&self, commit: &str, folder: &str) -> Result<Vec<String>, GitError> {
        let inside = format!("{}/", folder.trim_end_matches('/'));
        let mut arguments = vec!["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit];
        if !folder.is_empty() {
            arguments.extend(["--", &inside]);
        }
        let out = self.bytes(&arguments, &[])?;
        let names = out.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.filter_map(|name| String::from_utf8(name.to_vec()).ok()).collect())
    }
}

fn folder_or(kind: &str) -> &str {
    match kind {
        "tree" => "folder",
        "commit" => "submodule",
        other => other,
    }
}
