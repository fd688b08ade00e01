//! What there is to tell; its texts are masked and cut by who makes it.

use std::borrow::Cow;

use serde_json::{Value, json};

/// One message's content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    pub suite: String,
    /// `passed`, `failed`, `inconclusive`, `not_evaluated`, or `drift`.
    pub verdict: String,
    pub exit_code: u8,
    /// One line: what was decided and why.
    pub headline: String,
    /// Further lines, the worst first.
    pub details: Vec<String>,
    /// The page of the job.
    pub url: Option<String>,
    pub commit: Option<String>,
    pub branch: Option<String>,
    /// A level of the judge or of the application moved.
    pub drifted: bool,
}

/// The names that exist in a webhook's body.
pub const NAMES: [&str; 8] = ["suite", "verdict", "exit_code", "headline", "details", "url", "commit", "branch"];

impl News {
    /// The value behind a name; what is not known is an empty text.
    pub(super) fn lookup(&self, name: &str) -> Option<Cow<'_, Value>> {
        let text = |text: &Option<String>| json!(text.as_deref().unwrap_or_default());
        Some(Cow::Owned(match name {
            "suite" => json!(self.suite),
            "verdict" => json!(self.verdict),
            "exit_code" => json!(self.exit_code),
            "headline" => json!(self.headline),
            "details" => json!(self.details.join("\n")),
            "url" => text(&self.url),
            "commit" => text(&self.commit),
            "branch" => text(&self.branch),
            _ => return None,
        }))
    }

    /// Its mark and the suite: `❌ scoregate: support-rag`. Robots of some services ask for a word in every message: it is `scoregate`.
    pub(super) fn title(&self) -> String {
        // What the job's exit code says, never more: with a report lost, a verdict of `passed` is no pass.
        let mark = match (self.verdict.as_str(), self.exit_code) {
            ("passed", 0) => "✅",
            ("failed", _) => "❌",
            _ => "⚠️",
        };
        format!("{mark} scoregate: {}", self.suite)
    }

    /// Where it was measured: `main @ 0123456789`.
    pub(super) fn place(&self) -> Option<String> {
        let commit = self.commit.as_deref().and_then(|commit| commit.get(..10));
        match (self.branch.as_deref(), commit) {
            (None, None) => None,
            (Some(branch), None) => Some(branch.to_owned()),
            (None, Some(commit)) => Some(commit.to_owned()),
            (Some(branch), Some(commit)) => Some(format!("{branch} @ {commit}")),
        }
    }

    /// Headline and details, one a line, at most `limit` characters.
    pub(super) fn text(&self, limit: usize) -> String {
        let lines: Vec<&str> = std::iter::once(&self.headline).chain(&self.details).map(String::as_str).collect();
        cut(&lines.join("\n"), limit)
    }
}

/// At most `limit` characters, marked where cut.
pub(super) fn cut(text: &str, limit: usize) -> String {
    match text.chars().nth(limit) {
        None => text.to_owned(),
        Some(_) => text.chars().take(limit.saturating_sub(1)).chain(['…']).collect(),
    }
}
