//! A run and its verdict → bytes or a screen.
//!
//! ```text
//! Run + Verdict + Baseline + texts ─► View ─► console · verdict.json · junit.xml · comment.md · summary.md
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
mod console;
pub mod escape;
mod events;
mod json;
mod junit;
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
pub use markdown::{MARKER_START, marker};
pub use remark::{Remark, remarks};
pub use settings::{Format, ReportSettings};
pub use source::TextSource;
pub use view::{Move, Row, Shown, Totals, Trouble, View};

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
pub static KINDS: [Kind; 4] = [
    Kind { format: Format::Json, file: "verdict.json", render: json::render },
    Kind { format: Format::Junit, file: "junit.xml", render: junit::render },
    Kind { format: Format::Comment, file: "comment.md", render: markdown::comment },
    Kind { format: Format::Summary, file: "summary.md", render: markdown::summary },
];

/// Every report that the settings ask for.
pub fn wanted(settings: &ReportSettings) -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().filter(|kind| settings.wants(kind.format))
}

/// The comment's text, for a host.
pub fn comment_markdown(view: &View<'_>) -> String {
    markdown::text(view, markdown::Size::Comment)
}

/// The summary's text, for a host, of at most `room` bytes.
pub fn summary_markdown(view: &View<'_>, room: usize) -> String {
    markdown::text(view, markdown::Size::Summary(room))
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
