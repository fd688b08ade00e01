//! What is to be shown, and what became of it.

use std::path::PathBuf;

use crate::domain::{Decision, Redactor, Secret};

use super::Warning;
use super::shown::Shown;

/// Everything a host shows of one run. Texts come from `report`: redacted, escaped and cut for their place.
#[derive(Clone, Debug)]
pub struct Publication {
    /// Tells the comments of several suites in one repository apart; stable from run to run: the suite's name.
    pub key: String,
    /// The comment's text without its marker; `None`: no comment is wanted.
    pub comment_markdown: Option<String>,
    /// What the verdict shown means for the change; read beside a text.
    pub standing: Standing,
    /// There is no verdict: the comment of an earlier run, if there is one, says that it is outdated. Not read where there is a text.
    pub outdated: Option<Outdated>,
    /// The job summary's text.
    pub summary_markdown: String,
    /// Worst first.
    pub annotations: Vec<Annotation>,
    pub outputs: Outputs,
    /// The JUnit report belongs into the host's test view: it is of a whole run.
    pub tests: bool,
    /// The verdict beside the commit, where it is wanted.
    pub check: Option<Check>,
}

/// What a verdict means for the change, for hosts whose discussions can be settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Passed.
    Holds,
    /// No pass, but the policy lets the change go on.
    Allowed,
    /// The change may not merge.
    Open,
}

impl Standing {
    /// By what was decided and the exit code, which never says more than the job's result.
    pub fn of(verdict: Decision, exit_code: u8) -> Self {
        match (verdict, exit_code) {
            (Decision::Passed, 0) => Self::Holds,
            (Decision::Inconclusive, 0) => Self::Allowed,
            (Decision::Passed | Decision::Inconclusive | Decision::Failed | Decision::NotEvaluated, _) => Self::Open,
        }
    }
}

/// The verdict beside the commit, which rules for branches can require.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub form: CheckForm,
    /// One clean line: what was decided and why.
    pub title: String,
}

/// How a verdict stands beside a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckForm {
    /// A check run, with the report on a page of its own.
    Run,
    /// A commit status: one word and one line.
    Status,
}

/// A run that came to no verdict, so that the comment of an earlier one does not say what is.
#[derive(Clone, Debug)]
pub struct Outdated {
    pub why: NoVerdict,
    /// When this run began (RFC 3339, UTC, whole seconds): a comment of a run that came to its verdict since then is not outdated.
    pub since: String,
}

/// What kept a run from its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoVerdict {
    Cancelled,
    Stopped { exit_code: u8 },
}

/// How an annotation is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnnotationLevel {
    Error,
    Warning,
    Notice,
}

/// A remark at a place in the repository.
#[derive(Clone, Debug)]
pub struct Annotation {
    pub level: AnnotationLevel,
    /// Relative to the repository's root, with forward slashes.
    pub file: Option<String>,
    /// Counted from 1.
    pub line: Option<u64>,
    pub title: String,
    /// Clean text (no control characters but line ends); the host's own escaping is done here.
    pub message: String,
}

/// Values for the steps that follow: numbers, fixed words and our own paths, never a text.
#[derive(Clone, Debug)]
pub struct Outputs {
    pub verdict: Decision,
    pub exit_code: u8,
    /// Metrics that got worse than in the baseline, and new errors, that fail the build.
    pub regressions: u64,
    pub junit_path: Option<PathBuf>,
    pub summary_path: Option<PathBuf>,
}

/// How a commit status stands, where a host knows no neutral: its line says that the evidence does not suffice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Succeeded,
    Failed,
    /// There is no verdict.
    Error,
}

impl Outputs {
    /// What the job's exit code says, never more.
    pub(super) fn status(&self) -> Status {
        match (self.verdict, self.exit_code) {
            (Decision::Passed | Decision::Inconclusive, 0) => Status::Succeeded,
            (Decision::Failed, _) | (Decision::Inconclusive, 1..=3) => Status::Failed,
            (Decision::Passed | Decision::Inconclusive | Decision::NotEvaluated, _) => Status::Error,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Published {
    pub comment_url: Option<String>,
    /// For standard output, one line each, already escaped: the annotations, and the warnings among them.
    pub lines: Vec<String>,
    /// Said and done: none of them changes the exit code.
    pub warnings: Vec<Warning>,
    /// "no comment: …" where that is as it should be.
    pub notes: Vec<String>,
}

impl Published {
    /// What became of the comment.
    pub(super) fn take(&mut self, comment: Result<Shown, Warning>) {
        match comment {
            Ok(Shown::At(url)) => self.comment_url = Some(url),
            Ok(Shown::Nowhere(note)) => self.notes.extend(note),
            Err(warning) => self.warnings.push(warning),
        }
    }

    /// Notes and warnings without secrets: a server may repeat what it was sent.
    pub(super) fn mask(&mut self, secrets: &[Secret]) {
        let redactor = Redactor::new(secrets);
        for note in &mut self.notes {
            *note = redactor.redact(note);
        }
        for warning in &mut self.warnings {
            *warning = warning.masked(&redactor);
        }
    }
}
