//! `reports:` of the suite.

use serde::Deserialize;

/// A report file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// `verdict.json`, for machines.
    Json,
    /// `junit.xml`, for test views.
    Junit,
    /// `comment.md`, for a pull request.
    Comment,
    /// `summary.md`, the same with more cases.
    Summary,
    /// `codequality.json`, for GitLab's code-quality widget.
    CodeQuality,
}

/// `reports:` of the suite.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReportSettings {
    /// Folder for the reports, relative to where scoregate runs; default `scoregate-out`.
    pub dir: Option<String>,
    /// Which reports to write; default all.
    pub formats: Option<Vec<Format>>,
    /// Write `junit.xml` in the form that the Jenkins xUnit plugin validates: without properties, file and line of test cases.
    pub junit_strict: bool,
}

impl ReportSettings {
    /// Whether this report is to be written.
    pub fn wants(&self, format: Format) -> bool {
        self.formats.as_ref().is_none_or(|formats| formats.contains(&format))
    }
}
