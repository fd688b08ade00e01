//! Which pull request, which commits: from the agent's predefined variables (learn.microsoft.com, "Use predefined variables").
//!
//! What the pull request's author can choose (names of branches, titles) decides nothing.

use std::path::PathBuf;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::domain::{Env, Secret};
use crate::host::context::{Change, HostContext, HostKind, PullRequest, Settings as HostSettings};
use crate::host::patience::Patience;
use crate::net::{is_commit, is_ref_name};

use super::{Credential, Settings};

/// What may stand in a part of a path as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The context of a job of Azure Pipelines; `None` elsewhere.
pub(crate) fn detect(env: &Env) -> Option<HostContext> {
    if !env.get("TF_BUILD").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return None;
    }
    let part = |name: &str| env.get(name).map(|value| utf8_percent_encode(value, PLAIN).to_string());
    let settings = Settings {
        collection: env.get("SYSTEM_COLLECTIONURI").map(|url| url.trim_end_matches('/').to_owned()),
        project: part("SYSTEM_TEAMPROJECTID").or_else(|| part("SYSTEM_TEAMPROJECT")),
        repository: part("BUILD_REPOSITORY_ID"),
        credential: credential(env),
        temp: env.get("AGENT_TEMPDIRECTORY").map(PathBuf::from),
        speaks: true,
        patience: Patience::default(),
    };
    let (change, note) = change(env);
    Some(HostContext {
        kind: HostKind::Azure,
        change,
        run_url: run_url(env, &settings),
        workspace: env.get("BUILD_SOURCESDIRECTORY").map(PathBuf::from),
        notes: note.into_iter().collect(),
        settings: HostSettings::Azure(settings),
    })
}

/// The job's token, which a script only has if the pipeline passes it on, or a person's.
fn credential(env: &Env) -> Option<Credential> {
    let secret = |name: &'static str| {
        // A variable that is not known stays as it is written.
        let value = env.get(name).map(str::trim).filter(|value| !value.starts_with("$("))?;
        Secret::new(name, value).ok()
    };
    let token = secret("SYSTEM_ACCESSTOKEN").map(Credential::Token);
    token.or_else(|| secret("AZURE_DEVOPS_EXT_PAT").map(Credential::Personal))
}

fn run_url(env: &Env, settings: &Settings) -> Option<String> {
    let build: u64 = env.get("BUILD_BUILDID")?.parse().ok()?;
    let (collection, project) = (settings.collection.as_deref()?, settings.project.as_deref()?);
    Some(format!("{collection}/{project}/_build/results?buildId={build}"))
}

/// The change a build is about, and a note where there is no pull request to comment on.
fn change(env: &Env) -> (Change, Option<String>) {
    let commit = |name: &str| env.get(name).filter(|id| is_commit(id)).map(str::to_owned);
    let reason = env.get("BUILD_REASON").unwrap_or("unknown");
    let without = |change: Change, why: String| (change, Some(format!("no comment: {why}")));
    let change = Change { event: reason.to_owned(), head_sha: commit("BUILD_SOURCEVERSION"), ..Change::default() };
    let Some(number) = env.get("SYSTEM_PULLREQUEST_PULLREQUESTID") else {
        return without(change, format!("a build for the reason `{reason}` belongs to no pull request"));
    };
    let base = env.get("SYSTEM_PULLREQUEST_TARGETBRANCH").map(|name| name.strip_prefix("refs/heads/").unwrap_or(name));
    let change = Change {
        head_sha: commit("SYSTEM_PULLREQUEST_SOURCECOMMITID"),
        base_ref: base.filter(|name| is_ref_name(name)).map(str::to_owned),
        fork: env.get("SYSTEM_PULLREQUEST_ISFORK").is_some_and(|fork| fork.eq_ignore_ascii_case("true")),
        ..change
    };
    if let Some(provider) = env.get("BUILD_REPOSITORY_PROVIDER").filter(|name| !name.eq_ignore_ascii_case("TfsGit")) {
        let provider: String = provider.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
        return without(
            change,
            format!("the repository is not in Azure Repos (`{provider}`); the summary has the report"),
        );
    }
    match number.parse().ok().filter(|number| *number > 0) {
        Some(number) => (Change { pull_request: PullRequest::Number(number), ..change }, None),
        None => without(change, "SYSTEM_PULLREQUEST_PULLREQUESTID is no number".to_owned()),
    }
}
