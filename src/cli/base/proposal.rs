//! Which change is proposed to which branch, as the environment of the CI says it. What the change's author can choose is never used
//! to find the base: commits come from the host, and the name of the base branch.

use crate::domain::Env;
use crate::host::{self, Change, HostKind};
use crate::net::{is_commit, is_ref_name};

/// A change that asks to be merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cli) struct Proposal {
    /// `--base`: a commit or a branch.
    pub(super) asked: Option<String>,
    /// The newest commit of the base branch that the host knew.
    pub(super) base: Option<String>,
    /// `base` is the merge base already.
    pub(super) exact: bool,
    /// The base branch, without `refs/heads/`.
    pub(super) base_ref: Option<String>,
    /// The newest commit of the change.
    pub(super) head: Option<String>,
    /// The commit that the host made of both, and which is usually checked out.
    pub(super) merged: Option<String>,
}

impl Proposal {
    /// `None`: this job is no pull request's and no merge queue's.
    pub(in crate::cli) fn of(env: &Env) -> Option<Self> {
        github(env).or_else(|| azure(env)).or_else(|| gitlab(env))
    }
}

fn commit(env: &Env, name: &str) -> Option<String> {
    env.get(name).filter(|id| is_commit(id)).map(str::to_owned)
}

fn branch(env: &Env, name: &str) -> Option<String> {
    let name = env.get(name)?;
    let name = name.strip_prefix("refs/heads/").unwrap_or(name);
    is_ref_name(name).then(|| name.to_owned())
}

/// Docs: docs.github.com, "Events that trigger workflows", `pull_request` (the merge commit is checked out) and `merge_group`.
fn github(env: &Env) -> Option<Proposal> {
    let context = host::detect(env).filter(|context| context.kind == HostKind::GitHub)?;
    let Change { event, base_sha, base_ref, head_sha, .. } = context.change;
    let queue = event == "merge_group";
    if !queue && !event.starts_with("pull_request") {
        return None;
    }
    let of_merge = env.get("GITHUB_REF").is_some_and(|name| name.starts_with("refs/pull/") && name.ends_with("/merge"));
    Some(Proposal {
        asked: None,
        base: base_sha,
        // The queue builds its commit on this one, and it is an ancestor of what is tested.
        exact: queue,
        base_ref: base_ref.filter(|name| is_ref_name(name)).or_else(|| branch(env, "GITHUB_BASE_REF")),
        head: head_sha,
        merged: commit(env, "GITHUB_SHA").filter(|_| of_merge),
    })
}

/// Docs: learn.microsoft.com, "Use predefined variables", `System.PullRequest.*`; a merge commit is checked out.
fn azure(env: &Env) -> Option<Proposal> {
    env.get("SYSTEM_PULLREQUEST_PULLREQUESTID")?;
    Some(Proposal {
        base_ref: branch(env, "SYSTEM_PULLREQUEST_TARGETBRANCH"),
        head: commit(env, "SYSTEM_PULLREQUEST_SOURCECOMMITID"),
        merged: commit(env, "BUILD_SOURCEVERSION"),
        ..Proposal::default()
    })
}

/// Docs: docs.gitlab.com, "Predefined CI/CD variables", merge request pipelines.
fn gitlab(env: &Env) -> Option<Proposal> {
    env.get("CI_MERGE_REQUEST_IID")?;
    let base = commit(env, "CI_MERGE_REQUEST_DIFF_BASE_SHA");
    // Only pipelines of merged results have this one, and what is checked out then is a merge commit.
    let merged = commit(env, "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA").is_some();
    Some(Proposal {
        exact: base.is_some(),
        base,
        base_ref: branch(env, "CI_MERGE_REQUEST_TARGET_BRANCH_NAME"),
        head: commit(env, "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA"),
        merged: commit(env, "CI_COMMIT_SHA").filter(|_| merged),
        asked: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "1111111111111111111111111111111111111111";
    const HEAD: &str = "2222222222222222222222222222222222222222";
    const MERGED: &str = "3333333333333333333333333333333333333333";

    #[test]
    fn azure_and_gitlab_say_what_is_proposed() {
        let azure = Env::from_pairs([
            ("SYSTEM_PULLREQUEST_PULLREQUESTID", "7"),
            ("SYSTEM_PULLREQUEST_TARGETBRANCH", "refs/heads/main"),
            ("SYSTEM_PULLREQUEST_SOURCECOMMITID", HEAD),
            ("BUILD_SOURCEVERSION", MERGED),
        ]);
        let expected = Proposal {
            base_ref: Some("main".to_owned()),
            head: Some(HEAD.to_owned()),
            merged: Some(MERGED.to_owned()),
            ..Proposal::default()
        };
        assert_eq!(Proposal::of(&azure), Some(expected));
        let gitlab = Env::from_pairs([
            ("CI_MERGE_REQUEST_IID", "7"),
            ("CI_MERGE_REQUEST_DIFF_BASE_SHA", BASE),
            ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
            ("CI_COMMIT_SHA", HEAD),
        ]);
        let found = Proposal::of(&gitlab).unwrap();
        assert_eq!((found.base.as_deref(), found.exact, found.merged), (Some(BASE), true, None));
        assert_eq!(Proposal::of(&Env::from_pairs([("CI_COMMIT_SHA", HEAD)])), None);
    }

    #[test]
    fn what_is_no_commit_and_no_branch_is_not_used() {
        let env = Env::from_pairs([
            ("CI_MERGE_REQUEST_IID", "7"),
            ("CI_MERGE_REQUEST_DIFF_BASE_SHA", "--upload-pack=x"),
            ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "-x:y"),
        ]);
        assert_eq!(Proposal::of(&env), Some(Proposal::default()));
    }
}
