//! The verdict as a status of the commit, which stands beside the pipeline's jobs. API: docs.gitlab.com, "Commits API", set the status.
//!
//! A status knows one form here, so both of ours are it.

use serde_json::json;

use super::api::{Api, Task, warning};
use super::{Settings, line};
use crate::host::context::HostContext;
use crate::host::publication::Status;
use crate::host::trouble::Trouble;
use crate::host::{FAREWELL, Outputs, Publication, Warning};

/// Characters of a line, and of a name.
const DESCRIPTION: usize = 200;
const NAME: usize = 200;

/// Shows the verdict beside the commit, where that is wanted.
///
/// # Errors
/// A warning where it was wanted and could not be done.
pub(super) async fn show(
    settings: &Settings,
    context: &HostContext,
    publication: &Publication,
    client: Result<reqwest::Client, String>,
) -> Result<(), Warning> {
    let Some(check) = &publication.check else { return Ok(()) };
    let Some(sha) = context.change.head_sha.as_deref() else {
        return Err(Warning::new("no commit status: CI_COMMIT_SHA names no commit")
            .with_help("Leave it as the runner sets it."));
    };
    // The pipeline's own project: a fork's commit is in the fork.
    let mut api =
        Api::new(settings, settings.own_project, client).map_err(|unable| unable.for_what("no commit status"))?;
    let state = state(&publication.outputs);
    let mut body = json!({
        "state": state,
        "name": format!("scoregate / {}", line(&publication.key, NAME)),
        "description": line(&check.title, DESCRIPTION),
    });
    if let Some(url) = &context.run_url {
        body["target_url"] = json!(url);
    }
    let path = api.path(&format!("statuses/{sha}"));
    let sent = api.rest.set(&path, &body);
    let done = if matches!(publication.outputs.exit_code, 130 | 143) {
        let late = || Trouble::Lost { message: format!("none within {} s", FAREWELL.as_secs()) };
        tokio::time::timeout(FAREWELL, sent).await.unwrap_or_else(|_| Err(late()))
    } else {
        sent.await
    };
    match done {
        // It says so already.
        Err(Trouble::Refused { status: 400, message }) if stays(&message, state) => Ok(()),
        done => done.map_err(|trouble| warning(&trouble, Task::Status, context.change.fork)),
    }
}

/// Whether GitLab refuses a change because the status is `state` already: "Cannot transition status via :run from :running (…)".
fn stays(message: &str, state: &str) -> bool {
    message
        .split_once("Cannot transition status")
        .and_then(|(_, rest)| rest.split_once(" from :"))
        .is_some_and(|(_, from)| from.split(|c: char| !(c.is_alphanumeric() || c == '_')).next() == Some(state))
}

/// What the job's exit code says, never more: the line says where the evidence does not suffice.
fn state(outputs: &Outputs) -> &'static str {
    match (outputs.status(), outputs.exit_code) {
        (_, 130 | 143) => "canceled",
        (Status::Succeeded, _) => "success",
        (Status::Failed | Status::Error, _) => "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Decision;

    #[test]
    fn a_refused_change_is_fine_only_where_there_is_nothing_to_change() {
        let words = |from: &str| {
            format!(
                "Cannot transition status via :drop from :{from} (Reason(s): Status cannot transition via \"drop\")"
            )
        };
        assert!(stays(&words("failed"), "failed"));
        for (message, state) in [
            (words("success"), "failed"),
            (words("failed"), "success"),
            (words("failed_x"), "failed"),
            (words(""), "failed"),
            ("Cannot transition status".to_owned(), "failed"),
            ("moved from :failed".to_owned(), "failed"),
        ] {
            assert!(!stays(&message, state), "{message}");
        }
    }

    #[test]
    fn only_code_0_of_a_verdict_is_a_success() {
        for verdict in [Decision::Passed, Decision::Failed, Decision::Inconclusive, Decision::NotEvaluated] {
            for exit_code in 0..=u8::MAX {
                let outputs = Outputs { verdict, exit_code, regressions: 0, junit_path: None, summary_path: None };
                let fine = matches!(verdict, Decision::Passed | Decision::Inconclusive) && exit_code == 0;
                assert_eq!(state(&outputs) == "success", fine, "{verdict:?} {exit_code}");
            }
        }
    }
}
