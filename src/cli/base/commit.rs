//! The commit that decides: where the change left the base branch. A clone without history gets exactly the commits that are missing.

use std::path::Path;

use super::proposal::Proposal;
use super::tree::Tree;
use crate::domain::Env;
use crate::net::{Git, Remote, is_commit, is_ref_name};

/// Commits more at a time, where a merge base has to be looked for in a history that was cut.
const DEEPER: [&str; 3] = ["--deepen=50", "--deepen=500", "--deepen=5000"];

/// The base, ready to be read.
#[derive(Debug)]
pub(super) struct Base {
    pub(super) tree: Tree,
    /// The base branch's newest commit, where it is another.
    pub(super) moved_to: Option<String>,
}

impl Base {
    /// # Errors
    /// Why it cannot be had, and what to do, in a sentence.
    pub(super) fn find(folder: &Path, proposal: &Proposal, env: &Env) -> Result<Self, String> {
        let git = Git::new(folder, env);
        let top = git.top().map_err(|error| error.to_string())?;
        let git = git.at(Path::new(&top));
        let head = git.text(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
        let head = head.map_err(|_| "nothing is committed in this repository".to_owned())?;
        let finder = Finder { git: &git, remote: git.usual_remote(), proposal };
        let (commit, tip) = finder.find(&head)?;
        let moved_to = tip.filter(|tip| *tip != commit);
        Ok(Self { tree: Tree { git, top: top.into(), commit }, moved_to })
    }
}

struct Finder<'f> {
    git: &'f Git,
    remote: Option<Remote>,
    proposal: &'f Proposal,
}

impl Finder<'_> {
    /// (the commit that decides, the base branch's newest that is known)
    fn find(&self, head: &str) -> Result<(String, Option<String>), String> {
        let Proposal { asked, base, exact, .. } = self.proposal;
        if let Some(asked) = asked {
            let tip = self.asked(asked)?;
            return Ok((self.merge_base(head, &tip)?, Some(tip)));
        }
        if let Some(first) = self.merged_onto(head)? {
            self.get(&first)?;
            return Ok((first, None));
        }
        let tip = match base {
            Some(base) => base.clone(),
            None => self.tip_of_branch()?,
        };
        self.get(&tip)?;
        if *exact {
            return Ok((tip, None));
        }
        Ok((self.merge_base(head, &tip)?, Some(tip)))
    }

    /// Where the host's own merge commit is checked out, its first parent is the base branch as it was then. Its id comes from the host,
    /// so nobody else made it.
    fn merged_onto(&self, head: &str) -> Result<Option<String>, String> {
        let object = self.git.text(&["cat-file", "commit", head]).map_err(|error| error.to_string())?;
        let lines = object.lines().take_while(|line| !line.is_empty());
        let parents: Vec<&str> = lines.filter_map(|line| line.strip_prefix("parent ")).collect();
        let [first, second] = parents.as_slice() else { return Ok(None) };
        let by_host = self.proposal.merged.as_deref() == Some(head);
        let of_head = self.proposal.head.as_deref() == Some(*second);
        Ok(((by_host || of_head) && is_commit(first)).then(|| (*first).to_owned()))
    }

    fn asked(&self, asked: &str) -> Result<String, String> {
        let known = |name: &str| {
            let name = format!("{name}^{{commit}}");
            self.git.text(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name]).ok()
        };
        if is_commit(asked) {
            self.get(asked)?;
            return Ok(asked.to_owned());
        }
        let tracked = self.remote.as_ref().and_then(|Remote(name)| known(&format!("refs/remotes/{name}/{asked}")));
        if let Some(commit) = tracked.or_else(|| known(asked)) {
            return Ok(commit);
        }
        let name = asked.strip_prefix("refs/heads/").unwrap_or(asked);
        if !is_ref_name(name) {
            return Err(format!("`--base {asked}` names no commit and no branch"));
        }
        self.tip_of(name)
    }

    fn tip_of_branch(&self) -> Result<String, String> {
        match &self.proposal.base_ref {
            Some(name) => self.tip_of(name),
            None => Err("the job does not say which branch the change is for; name it with `--base BRANCH`".to_owned()),
        }
    }

    fn tip_of(&self, branch: &str) -> Result<String, String> {
        let remote = self.remote.as_ref().ok_or_else(|| self.no_remote())?;
        let tip = self.git.branch_of(remote, branch).map_err(|error| error.to_string())?;
        let tip = tip.ok_or_else(|| format!("the remote `{}` has no branch `{branch}`", remote.0))?;
        self.get(&tip)?;
        Ok(tip)
    }

    fn no_remote(&self) -> String {
        "the base commit is not in this clone, and no remote could be asked for it; check out with `fetch-depth: 0`"
            .to_owned()
    }

    fn get(&self, commit: &str) -> Result<(), String> {
        if self.git.has(commit) {
            return Ok(());
        }
        let remote = self.remote.as_ref().ok_or_else(|| self.no_remote())?;
        let got = self.git.fetch_commit(remote, commit, self.proposal.base_ref.as_deref());
        got.map_err(|error| {
            format!(
                "the base commit {} is not in this clone, and could not be fetched: {error}; check out with `fetch-depth: 0`, or let the \
                 job read the repository",
                commit.get(..10).unwrap_or(commit)
            )
        })
    }

    fn merge_base(&self, head: &str, tip: &str) -> Result<String, String> {
        let look = || self.git.text(&["merge-base", head, tip]).ok().filter(|found| is_commit(found));
        if let Some(found) = look() {
            return Ok(found);
        }
        if self.git.is_shallow()
            && let Some(remote) = &self.remote
        {
            for how in DEEPER.into_iter().chain(["--unshallow"]) {
                let fetched = self.git.fetch(remote, Some(how), &[tip, head]);
                // The head of a fork may not be at the remote: the base's side alone may be enough.
                if fetched.is_err() {
                    self.git.fetch(remote, Some(how), &[tip]).map_err(|error| {
                        format!("history is cut off before the change left the base, and could not be fetched: {error}; check out with `fetch-depth: 0`")
                    })?;
                }
                if let Some(found) = look() {
                    return Ok(found);
                }
                if !self.git.is_shallow() {
                    break;
                }
            }
        }
        Err(format!("the change and its base ({}) have no commit in common", tip.get(..10).unwrap_or(tip)))
    }
}
