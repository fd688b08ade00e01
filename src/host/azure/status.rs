//! The verdict as a status of the pull request, which a branch policy can require, and outside of pull requests as one of the commit.
//!
//! API: learn.microsoft.com, "Pull Request Statuses - Create" and "Statuses - Create"; policy: "Configure a branch policy for an
//! external service". A status knows one form here, so both of ours are it.

use http::Method;
use serde_json::{Value, json};

use super::api::{Api, Task, warning};
use super::{Settings, line};
use crate::host::context::{HostContext, PullRequest};
use crate::host::publication::Status;
use crate::host::trouble::Trouble;
use crate::host::{FAREWELL, Outputs, Publication, Warning};

/// Characters of a line, and of a name.
const DESCRIPTION: usize = 400;
const NAME: usize = 200;
const GENRE: &str = "scoregate";

/// Shows the verdict beside the change, where that is wanted.
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
    let path = match (&context.change.pull_request, context.change.head_sha.as_deref()) {
        (PullRequest::Number(number), _) => format!("pullRequests/{number}/statuses"),
        (PullRequest::LookUp { .. } | PullRequest::None, Some(sha)) => format!("commits/{sha}/statuses"),
        (PullRequest::LookUp { .. } | PullRequest::None, None) => {
            return Err(
                Warning::new("no status: the build names no commit").with_help("Build a branch or a pull request.")
            );
        }
    };
    let mut api = Api::new(settings, client).map_err(|unable| unable.for_what("no status"))?;
    let mut body = json!({
        "state": state(&publication.outputs),
        "description": line(&check.title, DESCRIPTION),
        "context": { "genre": GENRE, "name": line(&publication.key, NAME) },
    });
    if let Some(url) = &context.run_url {
        body["targetUrl"] = json!(url);
    }
    let sent = send(&mut api, &path, &body);
    let done = if matches!(publication.outputs.exit_code, 130 | 143) {
        let late = || Trouble::Lost { message: format!("none within {} s", FAREWELL.as_secs()) };
        tokio::time::timeout(FAREWELL, sent).await.unwrap_or_else(|_| Err(late()))
    } else {
        sent.await
    };
    done.map_err(|trouble| warning(&trouble, Task::Status))
}

/// Of one name the newest counts, so a request whose answer was lost may be sent again.
async fn send(api: &mut Api, path: &str, body: &Value) -> Result<(), Trouble> {
    loop {
        match api.send(Method::POST, path, Some(body)).await {
            Ok(_) => return Ok(()),
            Err(trouble @ Trouble::Lost { .. }) if api.pause(&trouble).await => {}
            Err(trouble) => return Err(trouble),
        }
    }
}

fn state(outputs: &Outputs) -> &'static str {
    match outputs.status() {
        Status::Succeeded => "succeeded",
        Status::Failed => "failed",
        Status::Error => "error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Decision;

    #[test]
    fn only_code_0_of_a_verdict_succeeds() {
        for verdict in [Decision::Passed, Decision::Failed, Decision::Inconclusive, Decision::NotEvaluated] {
            for exit_code in 0..=u8::MAX {
                let outputs = Outputs { verdict, exit_code, regressions: 0, junit_path: None, summary_path: None };
                let fine = matches!(verdict, Decision::Passed | Decision::Inconclusive) && exit_code == 0;
                assert_eq!(state(&outputs) == "succeeded", fine, "{verdict:?} {exit_code}");
            }
        }
    }
}
