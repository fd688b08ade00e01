//! A run and its verdict → bytes or a screen.
//!
//! ```text
//! Run + Verdict + Baseline + texts ─► View ─► console · verdict.json · junit.xml · comment.md · summary.md · codequality.json
//! ```
//!
//! [`View`] is built once: texts pass [`clean`] (made visible, masked, cut), numbers [`crate::text::number`] and [`change`], rules
//! and cases are put in order. Renderers only lay it out, and each sink takes only what its own function in [`escape`] made.
//!
//! Promise: every report of one run says the same numbers, and the same run gives the same bytes; no text from outside does
//! anything in any of them. Nothing here opens a file but through [`TextSource`], and only `console` prints, and
//! [`EventStream`] writes while a run goes on.
//!
//! Adding a format: a folder with its renderer, and a line in [`KINDS`].

use std::io::{self, Write};

mod change;
mod clean;
mod codequality;
mod console;
pub mod escape;
mod events;
mod json;
mod junit;
mod links;
mod markdown;
mod remark;
mod settings;
mod source;
mod view;
mod word;

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

pub use clean::{CUT, Clean, Cleaner, cut};
pub use console::{Progress, ProgressStyle, Screen, screen};
pub use events::{EventStream, Outlet};
pub use json::{StoredVerdict, VerdictFileError, read_verdict};
pub use links::{Links, SourceLinks};
pub use markdown::{MARKER_START, marker};
pub use remark::{About, Remark, remarks};
pub use settings::{Format, ReportSettings};
pub use source::TextSource;
pub use view::{Levels, Move, Row, Shown, Totals, Trouble, View};

/// One report file.
pub struct Kind {
    /// The name in `reports.formats`.
    pub format: Format,
    /// The file's name in the reports' folder.
    pub file: &'static str,
    /// Writes it, from the first byte to the last; what was written is worth nothing where that fails.
    pub render: fn(&View<'_>, &ReportSettings, &mut dyn Write) -> io::Result<()>,
}

/// Every report file beside `results.jsonl`, in the order in which they are written.
pub static KINDS: [Kind; 5] = [
    Kind { format: Format::Json, file: "verdict.json", render: json::render },
    Kind { format: Format::Junit, file: "junit.xml", render: junit::render },
    Kind { format: Format::Comment, file: "comment.md", render: markdown::comment },
    Kind { format: Format::Summary, file: "summary.md", render: markdown::summary },
    Kind { format: Format::CodeQuality, file: "codequality.json", render: codequality::render },
];

/// Every report that the settings ask for.
pub fn wanted(settings: &ReportSettings) -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().filter(|kind| settings.wants(kind.format))
}

/// The comment's text, for a host, with links to what it shows.
pub fn comment_markdown(view: &View<'_>, links: &Links) -> String {
    markdown::text(view, markdown::Size::Comment, links)
}

/// The summary's text, for a host, of at most `room` bytes.
pub fn summary_markdown(view: &View<'_>, room: usize, links: &Links) -> String {
    markdown::text(view, markdown::Size::Summary(room), links)
}

/// What a job summary says of a run that came to no verdict; `problems` are masked, the text takes at most `room` bytes.
pub fn stopped_markdown(problems: &[String], room: usize) -> String {
    markdown::stopped(problems, room)
}

/// `verdict.json`, for standard output.
///
/// # Errors
/// Where a number cannot be written as JSON, which a checked verdict never holds.
pub fn verdict_json(view: &View<'_>) -> Result<String, String> {
    json::text(view)
}

/// The comment of a run in whose every place one of these texts stands.
#[cfg(test)]
pub(crate) fn comment_of_texts(texts: &[&str]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    comment_markdown(&samples::hostile_with(&texts).view(), &Links::default())
}
