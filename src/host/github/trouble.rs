//! GitHub's words for what went wrong with a request.

use crate::host::trouble::{Trouble, Words};
use crate::host::{CheckForm, Warning};

const WORDS: Words = Words {
    name: "GitHub",
    safe: "The verdict is unchanged; the report is in the job summary.",
    address: "GITHUB_API_URL is the address of a GitHub REST API",
};

/// What the request was part of, for the words of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    LookUp,
    Comment(u64),
    Check(CheckForm),
}

impl Trouble {
    /// The one warning that remains.
    pub(super) fn warning(&self, task: Task, fork: bool) -> Warning {
        let what = match task {
            Task::LookUp => "could not find the pull request of this commit".to_owned(),
            Task::Comment(number) => format!("could not comment on pull request #{number}"),
            Task::Check(CheckForm::Run) => "could not create the check run".to_owned(),
            Task::Check(CheckForm::Status) => "could not set the commit status".to_owned(),
        };
        self.told(&what, &WORDS, |status, message| advice(status, message, task, fork))
    }
}

/// What to do about a refusal.
fn advice(status: u16, message: &str, task: Task, fork: bool) -> String {
    let right = match task {
        Task::LookUp => "pull-requests: read",
        Task::Comment(_) => "pull-requests: write",
        Task::Check(CheckForm::Run) => "checks: write",
        Task::Check(CheckForm::Status) => "statuses: write",
    };
    let permissions = format!("permissions:\n  contents: read\n  {right}");
    match status {
        401 => "The token is not accepted: pass `github-token: ${{ github.token }}` to the action.".to_owned(),
        403 if message.to_ascii_lowercase().contains("locked") => "The conversation is locked.".to_owned(),
        403 | 404 if fork && matches!(task, Task::Check(_)) => format!(
            "The token lacks `{right}`: pull requests from forks get a read-only token. Require the job itself instead."
        ),
        403 | 404 if fork => format!(
            "The token lacks `{right}`: pull requests from forks get a read-only token. To comment there all the same, upload \
             the reports' folder as an artifact and let `scoregate comment` post it from a second workflow on `workflow_run`, \
             in a job without the fork's code and with:\n{permissions}"
        ),
        403 => format!("The token lacks `{right}`. Add to the job:\n{permissions}"),
        404 => format!("Not found, or not visible to the token, which needs `{right}`. Add to the job:\n{permissions}"),
        410 => "Comments are disabled there.".to_owned(),
        422 => "GitHub did not accept the text.".to_owned(),
        _ => "Check GITHUB_API_URL and the token.".to_owned(),
    }
}
