//! `codequality.json`: what GitLab's code-quality widget shows beside a merge request, worst first.
//!
//! Form: docs.gitlab.com, "Code Quality", custom tool: an array of findings with `description`, `check_name`, `fingerprint`, `severity` and
//! `location`. A fingerprint is of what is judged (rule, case), never of numbers that move, so that the widget tells new from old.

use std::io::{self, Write};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::remark::{About, Remark, remarks};
use super::settings::ReportSettings;
use super::view::View;
use crate::domain::Severity;

/// Findings at most: the widget is for reading.
const MOST: usize = 200;
/// Characters of a description.
const LINE: usize = 500;
/// Where a rule stands if nothing is known of the suite's file.
const SUITE: &str = "scoregate.yaml";

#[derive(Serialize)]
struct Finding {
    description: String,
    check_name: String,
    fingerprint: String,
    severity: &'static str,
    location: Location,
}

#[derive(Serialize)]
struct Location {
    path: String,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u32,
}

/// # Errors
/// Of the writer.
pub(super) fn render(view: &View<'_>, _settings: &ReportSettings, out: &mut dyn Write) -> io::Result<()> {
    let mut seen = std::collections::BTreeSet::new();
    let all = remarks(view);
    // The widget takes each fingerprint once.
    let findings = all.iter().map(|remark| finding(view, remark)).filter(|one| seen.insert(one.fingerprint.clone()));
    let findings: Vec<Finding> = findings.take(MOST).collect();
    serde_json::to_writer_pretty(&mut *out, &findings)?;
    out.write_all(b"\n")
}

fn finding(view: &View<'_>, remark: &Remark) -> Finding {
    let suite = view.suite.as_str();
    let check = match remark.about {
        About::Case => "case",
        About::Rule => "rule",
    };
    let of = remark.subject.as_str();
    let digest = Sha256::digest(format!("{check}\0{suite}\0{of}"));
    let location = match &remark.place {
        Some(place) => (place.file.to_string(), place.line),
        None => (view.suite_file.clone().unwrap_or_else(|| SUITE.to_owned()), 1),
    };
    Finding {
        description: view.cleaner.line(&format!("{}: {}", remark.title, remark.message), LINE).to_string(),
        check_name: format!("scoregate/{check}"),
        fingerprint: digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect(),
        severity: match (remark.severity, remark.about) {
            (Severity::Fail | Severity::Block, About::Rule) => "critical",
            (Severity::Fail | Severity::Block, About::Case) => "major",
            (Severity::Warn | Severity::Ok, _) => "minor",
        },
        // The file's own name, but for secrets: GitLab looks it up.
        location: Location { path: view.redactor().redact(&location.0), lines: Lines { begin: location.1 } },
    }
}
