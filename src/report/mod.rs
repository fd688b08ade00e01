//! A run and its verdict → bytes or a screen. [`View`] is built once (redacted, ordered); renderers only lay it out.
//!
//! Promise: every report of one run says the same numbers, and the same run gives the same bytes; every text from outside passes one
//! escape function, the one of its sink.

mod console;
pub mod escape;
mod json;
mod junit;
mod markdown;
pub mod number;
mod view;

use serde::Deserialize;

pub use view::{Shown, View};

/// `reports:` of the suite.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReportSettings {
    /// Folder for the reports, relative to where scoregate runs; default `scoregate-out`.
    pub dir: Option<String>,
}

/// One report file.
pub struct Kind {
    /// The file's name in the reports' folder.
    pub file: &'static str,
    pub render: fn(&View<'_>) -> Result<String, String>,
}

/// Every report file beside `results.jsonl`, in the order in which they are written.
pub const KINDS: [Kind; 3] = [
    Kind { file: "verdict.json", render: json::render },
    Kind { file: "junit.xml", render: junit::render },
    Kind { file: "comment.md", render: markdown::render },
];

/// The verdict for a terminal.
pub fn screen(view: &View<'_>) -> String {
    console::render(view)
}

/// The verdict as JSON.
///
/// # Errors
/// Where a number cannot be written as JSON, which a checked verdict never holds.
pub fn verdict_json(view: &View<'_>) -> Result<String, String> {
    json::render(view)
}
