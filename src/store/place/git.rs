//! A file on a branch of the repository, usually one of its own that holds nothing else. The branch's history says who accepted what.
//!
//! Neither the working tree nor the index is touched. With a remote its branch counts, and a push that would lose another one's is
//! refused; without a remote the local branch.

use super::{LIMIT, Mark, Place, Stored, Wanted, moved, too_large, unreachable};
use crate::net::{BoxFuture, Git, GitError, Object, Remote, is_ref_name};
use crate::store::StoreError;

/// The branch where the suite names none.
pub const BRANCH: &str = "scoregate-baselines";

struct Branch {
    git: Git,
    branch: String,
    path: String,
}

pub(super) fn open(wanted: &Wanted<'_>) -> Result<Box<dyn Place>, String> {
    let branch = wanted.from.strip_prefix("git:").unwrap_or(BRANCH);
    if !is_ref_name(branch) {
        return Err(format!("`{branch}` is no name of a branch"));
    }
    let steps = wanted.path.split('/');
    let odd = |step: &str| step.is_empty() || step == "." || step == ".." || step.eq_ignore_ascii_case(".git");
    if steps.into_iter().any(odd) || wanted.path.contains(|letter: char| letter.is_control() || letter == '\\') {
        return Err(format!(
            "`{}` is no path in a branch: write it with forward slashes, from the branch's root",
            wanted.path
        ));
    }
    Ok(Box::new(Branch {
        git: Git::new(wanted.folder, wanted.env),
        branch: branch.to_owned(),
        path: wanted.path.to_owned(),
    }))
}

impl Branch {
    fn local(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    fn failed(&self, error: impl ToString) -> StoreError {
        unreachable(&self.name(), error)
    }

    fn absent(&self) -> StoreError {
        StoreError::Absent { path: self.name().into() }
    }

    /// Its newest commit, with its files; `None`: there is no such branch.
    fn tip(&self) -> Result<Option<String>, StoreError> {
        self.git.text(&["rev-parse", "--git-dir"]).map_err(|error| self.failed(error))?;
        let Some(remote) = self.git.usual_remote() else {
            let name = format!("{}^{{commit}}", self.local());
            return Ok(self.git.text(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name]).ok());
        };
        let tip = self.git.branch_of(&remote, &self.branch).map_err(|error| self.failed(error))?;
        if let Some(commit) = &tip {
            let fetched = self.git.fetch_commit(&remote, commit, Some(&self.branch));
            fetched.map_err(|error| self.failed(error))?;
        }
        Ok(tip)
    }

    fn read(&self) -> Result<Stored, StoreError> {
        let commit = self.tip()?.ok_or_else(|| self.absent())?;
        match self.git.object(&commit, &self.path).map_err(|error| self.failed(error))? {
            Object::File(bytes) if bytes.len() as u64 > LIMIT => Err(too_large(&self.name())),
            Object::File(bytes) => Ok(Stored { bytes, mark: Mark::Is(commit) }),
            Object::Absent => Err(self.absent()),
            Object::Unusable(problem) => Err(StoreError::Corrupt { path: self.name().into(), line: 0, problem }),
        }
    }

    fn write(&self, bytes: &[u8], over: &Mark) -> Result<(), StoreError> {
        let tip = self.tip()?;
        // The branch may be there for other suites while this one's file is not.
        let fits = match over {
            Mark::Is(commit) => tip.as_ref() == Some(commit),
            Mark::Nothing => match &tip {
                None => true,
                Some(commit) => {
                    let there = self.git.object(commit, &self.path).map_err(|error| self.failed(error))?;
                    there == Object::Absent
                }
            },
        };
        if !fits {
            return Err(moved(&self.name()));
        }
        let commit = self.commit(bytes, tip.as_deref()).map_err(|error| self.failed(error))?;
        match self.git.usual_remote() {
            Some(remote) => self.push(&remote, &commit, tip.as_deref()),
            None => self.point(&commit, tip.as_deref()),
        }
    }

    /// A commit on top of `parent` in which this file is another.
    fn commit(&self, bytes: &[u8], parent: Option<&str>) -> Result<String, GitError> {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
        let blob = text(self.git.bytes(&["hash-object", "-w", "--stdin"], bytes)?);
        let folder = tempfile::tempdir().map_err(|source| GitError::Io { what: "commit".to_owned(), source })?;
        let index = folder.path().join("index");
        let git = self.git.clone().with("GIT_INDEX_FILE", &index.to_string_lossy());
        match parent {
            Some(parent) => git.text(&["read-tree", parent])?,
            None => git.text(&["read-tree", "--empty"])?,
        };
        git.text(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{}", self.path)])?;
        let tree = git.text(&["write-tree"])?;
        let mut arguments = vec!["commit-tree", &tree, "-m"];
        let message = format!("Accept a baseline: {}", self.path);
        arguments.push(&message);
        if let Some(parent) = parent {
            arguments.extend(["-p", parent]);
        }
        signed(git).text(&arguments)
    }

    fn push(&self, remote: &Remote, commit: &str, over: Option<&str>) -> Result<(), StoreError> {
        let lease = format!("--force-with-lease={}:{}", self.local(), over.unwrap_or_default());
        let refspec = format!("{commit}:{}", self.local());
        let pushed = self.git.remote(&["push", "--quiet", "--no-verify", &lease, "--", &remote.0, &refspec]);
        let Err(error) = pushed else { return Ok(()) };
        // Git says in many ways that somebody was first; the branch itself says it plainly.
        match self.git.branch_of(remote, &self.branch) {
            Ok(now) if now.as_deref() == Some(commit) => Ok(()),
            Ok(now) if now.as_deref() != over => Err(moved(&self.name())),
            Ok(_) | Err(_) => Err(self.failed(error)),
        }
    }

    fn point(&self, commit: &str, over: Option<&str>) -> Result<(), StoreError> {
        let local = self.local();
        if self.git.text(&["symbolic-ref", "--quiet", "HEAD"]).is_ok_and(|head| head == local) {
            return Err(self.failed("the branch is checked out, and would change under the working tree"));
        }
        let update = ["update-ref", "-m", "scoregate baseline update", &local, commit, over.unwrap_or_default()];
        let Err(error) = self.git.text(&update) else { return Ok(()) };
        let now = self.git.text(&["rev-parse", "--verify", "--quiet", "--end-of-options", &local]).ok();
        if now.as_deref() == over { Err(self.failed(error)) } else { Err(moved(&self.name())) }
    }
}

/// Machines of a CI have no name of their own.
fn signed(git: Git) -> Git {
    if git.holds(&["var", "GIT_COMMITTER_IDENT"]) {
        return git;
    }
    let mut git = git;
    for who in ["AUTHOR", "COMMITTER"] {
        git =
            git.with(&format!("GIT_{who}_NAME"), "scoregate").with(&format!("GIT_{who}_EMAIL"), "scoregate@localhost");
    }
    git
}

impl Place for Branch {
    fn name(&self) -> String {
        format!("git:{}:{}", self.branch, self.path)
    }

    fn load(&self) -> BoxFuture<'_, Result<Stored, StoreError>> {
        Box::pin(async { self.read() })
    }

    fn save<'a>(&'a self, bytes: &'a [u8], over: &'a Mark) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { self.write(bytes, over) })
    }
}
