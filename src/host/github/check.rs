//! The verdict beside the commit: a check run or a commit status, which a rule for the branch can require by its name.
//!
//! It stands at the commit that was proposed (of a pull request the head, of a merge queue the group's), never at the merge commit that the
//! runner checked out. API: docs.github.com, "Create a check run" and "Create a commit status".

use http::Method;
use serde_json::{Value, json};

use super::api::Api;
use super::trouble::Task;
use super::{Settings, api};
use crate::domain::Decision;
use crate::host::body::line;
use crate::host::context::HostContext;
use crate::host::publication::Status;
use crate::host::trouble::Trouble;
use crate::host::{Check, CheckForm, FAREWELL, Outputs, Publication, Warning, markdown};

/// Characters of a status's line: what is longer is refused.
const DESCRIPTION: usize = 140;
/// Characters of a name.
const NAME: usize = 200;
/// Bytes of a check run's summary: the API takes 65,535 characters.
const SUMMARY: usize = 65_000;

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
    let what = match check.form {
        CheckForm::Run => "no check run",
        CheckForm::Status => "no commit status",
    };
    let Some(sha) = context.change.head_sha.as_deref() else {
        let event = &context.change.event;
        return Err(Warning::new(format!("{what}: the event `{event}` names no commit"))
            .with_help("Run on pull_request, merge_group or push."));
    };
    let mut api = api(settings, client).map_err(|warning| {
        let why = warning.message.trim_start_matches("no comment: ").to_owned();
        Warning { message: format!("{what}: {why}"), ..warning }
    })?;
    let (path, body) = match check.form {
        CheckForm::Run => (api.path("check-runs"), run(check, publication, sha, context.run_url.as_deref())),
        CheckForm::Status => {
            (api.path(&format!("statuses/{sha}")), status(check, publication, context.run_url.as_deref()))
        }
    };
    let fork = context.change.fork;
    let sent = send(&mut api, &path, &body);
    let done = if cancelled(&publication.outputs) {
        let late = || Trouble::Lost { message: format!("none within {} s", FAREWELL.as_secs()) };
        tokio::time::timeout(FAREWELL, sent).await.unwrap_or_else(|_| Err(late()))
    } else {
        sent.await
    };
    done.map_err(|trouble| trouble.warning(Task::Check(check.form), fork))
}

/// Of one name the newest counts, so a request whose answer was lost may be sent again.
async fn send(api: &mut Api, path: &str, body: &Value) -> Result<(), Trouble> {
    loop {
        match api.send(Method::POST, path, Some(body)).await {
            Ok(_) => return Ok(()),
            Err(trouble @ Trouble::Lost { .. }) => {
                if !api.pause(&trouble).await {
                    return Err(trouble);
                }
            }
            Err(trouble) => return Err(trouble),
        }
    }
}

fn run(check: &Check, publication: &Publication, sha: &str, url: Option<&str>) -> Value {
    let summary = &publication.summary_markdown;
    let mut body = json!({
        "name": name(&publication.key),
        "head_sha": sha,
        "status": "completed",
        "conclusion": conclusion(&publication.outputs),
        "output": { "title": line(&check.title, NAME), "summary": markdown::cut(summary, SUMMARY).unwrap_or(summary) },
    });
    if let Some(url) = url {
        body["details_url"] = json!(url);
    }
    body
}

fn status(check: &Check, publication: &Publication, url: Option<&str>) -> Value {
    json!({
        "state": state(&publication.outputs),
        "target_url": url,
        "description": line(&check.title, DESCRIPTION),
        "context": name(&publication.key),
    })
}

/// As a rule for the branch names it.
fn name(suite: &str) -> String {
    format!("scoregate / {}", line(suite, NAME))
}

fn cancelled(outputs: &Outputs) -> bool {
    matches!(outputs.exit_code, 130 | 143)
}

/// What the job's exit code says, never more: a required check that is neutral lets the change through, as code 0 does.
fn conclusion(outputs: &Outputs) -> &'static str {
    match (outputs.verdict, outputs.exit_code) {
        (_, 130 | 143) => "cancelled",
        (Decision::Passed, 0) => "success",
        (Decision::Inconclusive, 0) => "neutral",
        (Decision::Passed | Decision::Inconclusive | Decision::Failed | Decision::NotEvaluated, _) => "failure",
    }
}

fn state(outputs: &Outputs) -> &'static str {
    match outputs.status() {
        Status::Succeeded => "success",
        Status::Failed => "failure",
        Status::Error => "error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_0_of_a_verdict_is_green() {
        let decisions = [Decision::Passed, Decision::Failed, Decision::Inconclusive, Decision::NotEvaluated];
        for verdict in decisions {
            for exit_code in 0..=u8::MAX {
                let outputs = Outputs { verdict, exit_code, regressions: 0, junit_path: None, summary_path: None };
                let green = exit_code == 0 && matches!(verdict, Decision::Passed | Decision::Inconclusive);
                assert_eq!(state(&outputs) == "success", green, "{outputs:?}");
                assert_eq!(matches!(conclusion(&outputs), "success" | "neutral"), green, "{outputs:?}");
            }
        }
    }

    #[test]
    fn lines_are_cut_between_characters_and_hold_no_controls() {
        assert_eq!(line("a\nb\u{1b}c", 10), "a b c");
        assert_eq!(line("😀😀😀", 2), "😀…");
        assert_eq!(line("😀😀", 2), "😀😀");
    }
}
