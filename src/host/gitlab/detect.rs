//! Which merge request, which commits: from the runner's predefined variables (docs.gitlab.com, "Predefined CI/CD variables").
//!
//! Numbers come from variables that GitLab sets for the pipeline; names of branches decide nothing.

use std::path::PathBuf;

use crate::domain::{Env, Secret};
use crate::host::context::{Change, HostContext, HostKind, PullRequest, Settings as HostSettings};
use crate::host::patience::Patience;
use crate::net::{is_commit, is_ref_name};

use super::Settings;

/// Where the token is looked for.
const TOKENS: [&str; 2] = ["SCOREGATE_GITLAB_TOKEN", "GITLAB_TOKEN"];

/// The context of a GitLab job; `None` elsewhere.
pub(crate) fn detect(env: &Env) -> Option<HostContext> {
    if env.get("GITLAB_CI") != Some("true") {
        return None;
    }
    let id = |name: &str| env.get(name).and_then(|value| value.parse::<u64>().ok()).filter(|id| *id > 0);
    let commit = |name: &str| env.get(name).filter(|id| is_commit(id)).map(str::to_owned);
    let own_project = id("CI_PROJECT_ID");
    let project = id("CI_MERGE_REQUEST_PROJECT_ID").or(own_project);
    let number = id("CI_MERGE_REQUEST_IID");
    let address = |name: &str| env.get(name).filter(|url| url.starts_with("https://") || url.starts_with("http://"));
    let page = address("CI_MERGE_REQUEST_PROJECT_URL").or_else(|| address("CI_PROJECT_URL"));
    // A variable that is not known stays as it is written.
    let token = TOKENS.iter().find_map(|name| {
        let value = env.get(name).map(str::trim).filter(|value| !value.starts_with('$'))?;
        Secret::new(*name, value).ok()
    });
    let event = env.get("CI_PIPELINE_SOURCE").unwrap_or("unknown").to_owned();
    let notes = match number {
        Some(_) => Vec::new(),
        None => vec![format!("no comment: a pipeline of the source `{event}` belongs to no merge request")],
    };
    let source = id("CI_MERGE_REQUEST_SOURCE_PROJECT_ID");
    let base_ref = env.get("CI_MERGE_REQUEST_TARGET_BRANCH_NAME").filter(|name| is_ref_name(name));
    Some(HostContext {
        kind: HostKind::GitLab,
        change: Change {
            event,
            pull_request: number.map_or(PullRequest::None, PullRequest::Number),
            // Of a pipeline of merged results `CI_COMMIT_SHA` is the merge.
            head_sha: commit("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA").or_else(|| commit("CI_COMMIT_SHA")),
            base_sha: commit("CI_MERGE_REQUEST_DIFF_BASE_SHA"),
            base_ref: base_ref.map(str::to_owned),
            fork: source.is_some() && source != project,
        },
        run_url: address("CI_JOB_URL").map(str::to_owned),
        workspace: env.get("CI_PROJECT_DIR").map(PathBuf::from),
        notes,
        settings: HostSettings::GitLab(Settings {
            api_url: address("CI_API_V4_URL").map(|url| url.trim_end_matches('/').to_owned()),
            project,
            own_project,
            own_page: address("CI_PROJECT_URL").map(str::to_owned),
            page: page.zip(number).map(|(page, number)| format!("{page}/-/merge_requests/{number}")),
            token,
            patience: Patience::default(),
        }),
    })
}
