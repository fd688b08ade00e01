//! What the agent reads in the log: `##vso[task.logissue type=error;sourcepath=…]message`, on lines of their own.
//!
//! Form and escapes: microsoft/azure-pipelines-agent, `Command.TryParse` (`%` CR LF `;` `]`; a text cannot end its property or
//! begin a command); docs: learn.microsoft.com, "Logging commands". At most ten errors and ten warnings of a step are shown.

use std::path::Path;

use crate::domain::Decision;
use crate::host::body::line;
use crate::host::{Annotation, AnnotationLevel, Outputs};
use crate::report::escape::break_azure_commands;

/// Of each level.
const LIMIT: usize = 10;
const TITLE: usize = 255;
const MESSAGE: usize = 4_000;

/// The names of the step's output variables, as `task.json` declares them.
pub const VARIABLES: [&str; 7] =
    ["verdict", "passed", "exitCode", "regressions", "junitPath", "summaryPath", "commentUrl"];

/// The errors and warnings of a step: at most ten of a level in the order given (worst first), then how many more there are.
pub(super) fn issues(all: &[Annotation]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for level in [AnnotationLevel::Error, AnnotationLevel::Warning] {
        lines.extend(all.iter().filter(|issue| issue.level == level).take(LIMIT).map(issue));
    }
    let more = all.len().saturating_sub(lines.len());
    if more > 0 {
        lines.push(format!("{more} more in the report"));
    }
    lines
}

fn issue(issue: &Annotation) -> String {
    let kind = if issue.level == AnnotationLevel::Error { "error" } else { "warning" };
    let mut properties = vec![("type", kind.to_owned())];
    if let Some(file) = &issue.file {
        properties.push(("sourcepath", file.clone()));
        properties.extend(issue.line.map(|line| ("linenumber", line.to_string())));
    }
    let message: String = match issue.message.chars().nth(MESSAGE) {
        Some(_) => issue.message.chars().take(MESSAGE.saturating_sub(1)).chain(['…']).collect(),
        None => issue.message.clone(),
    };
    command("task.logissue", &properties, &format!("{}: {message}", line(&issue.title, TITLE)))
}

/// The step's outputs: numbers, fixed words, our own paths and the comment's address.
pub(super) fn variables(outputs: &Outputs, comment_url: Option<&str>) -> Vec<String> {
    let passed = outputs.verdict == Decision::Passed && outputs.exit_code == 0;
    let path = |path: &Option<std::path::PathBuf>| path.as_deref().map(whole).unwrap_or_default();
    let values = [
        outputs.verdict.word().to_owned(),
        passed.to_string(),
        outputs.exit_code.to_string(),
        outputs.regressions.to_string(),
        path(&outputs.junit_path),
        path(&outputs.summary_path),
        comment_url.unwrap_or_default().to_owned(),
    ];
    let set = |(name, value): (&&str, String)| {
        command("task.setvariable", &[("variable", (*name).to_owned()), ("isoutput", "true".to_owned())], &value)
    };
    VARIABLES.iter().zip(values).map(set).collect()
}

/// A page of the build's summary.
pub(super) fn summary(file: &Path) -> String {
    command("task.uploadsummary", &[], &whole(file))
}

/// The test results; `None` for a path that the agent would take for two.
pub(super) fn results(junit: &Path, title: &str) -> Option<String> {
    let file = whole(junit);
    let properties = [
        ("type", "JUnit".to_owned()),
        ("runTitle", format!("scoregate {}", line(title, TITLE))),
        ("resultFiles", file.clone()),
        ("publishRunAttachments", "true".to_owned()),
        // The step fails by its exit code.
        ("failTaskOnFailedTests", "false".to_owned()),
        ("testRunSystem", "scoregate".to_owned()),
    ];
    (!file.contains(',')).then(|| command("results.publish", &properties, ""))
}

/// The agent's own folder may be another than ours.
fn whole(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).to_string_lossy().into_owned()
}

fn command(name: &str, properties: &[(&str, String)], data: &str) -> String {
    let properties: Vec<String> = properties.iter().map(|(key, value)| format!("{key}={};", escape(value))).collect();
    let gap = if properties.is_empty() { "" } else { " " };
    format!("##vso[{name}{gap}{}]{}", properties.concat(), escape(data))
}

/// Of properties and of data alike; what other readers take for a line end becomes a blank.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in break_azure_commands(text).chars() {
        match character {
            '%' => escaped.push_str("%AZP25"),
            '\r' => escaped.push_str("%0D"),
            '\n' => escaped.push_str("%0A"),
            ';' => escaped.push_str("%3B"),
            ']' => escaped.push_str("%5D"),
            '\u{85}' | '\u{2028}' | '\u{2029}' => escaped.push(' '),
            // The agent's search for its mark passes over what is not seen.
            '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => escaped.push('\u{fffd}'),
            other if other.is_control() && other != '\t' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
