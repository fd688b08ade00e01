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
mod pieces;
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
pub use pieces::Pieces;
pub use remark::{About, Remark, remarks};
pub use settings::{Format, ReportSettings};
pub use source::TextSource;
pub use view::{Move, Row, Shown, Totals, Trouble, View};

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("{file}: {problem}")]
    Render { file: &'static str, problem: String },
}

/// One report file.
pub struct Kind {
    /// The name in `reports.formats`.
    pub format: Format,
    /// The file's name in the reports' folder.
    pub file: &'static str,
    pub render: fn(&View<'_>, &ReportSettings) -> Result<Pieces, String>,
}

impl Kind {
    /// # Errors
    /// With the file's name.
    pub fn pieces(&self, view: &View<'_>, settings: &ReportSettings) -> Result<Pieces, ReportError> {
        (self.render)(view, settings).map_err(|problem| ReportError::Render { file: self.file, problem })
    }
}

/// Every report file beside `results.jsonl`, in the order in which they are written.
pub const KINDS: [Kind; 5] = [
    Kind { format: Format::Json, file: "verdict.json", render: json::render },
    Kind { format: Format::Junit, file: "junit.xml", render: junit::render },
    Kind { format: Format::Comment, file: "comment.md", render: markdown::comment },
    Kind { format: Format::Summary, file: "summary.md", render: markdown::summary },
    Kind { format: Format::CodeQuality, file: "codequality.json", render: codequality::render },
];

/// Every report that the settings ask for, one after the other: file name and contents, or why there are none. All are attempted.
pub fn render_all<'a>(
    view: &'a View<'_>,
    settings: &'a ReportSettings,
) -> impl Iterator<Item = (&'static str, Result<Pieces, ReportError>)> + 'a {
    let wanted = KINDS.iter().filter(|kind| settings.wants(kind.format));
    wanted.map(|kind| (kind.file, kind.pieces(view, settings)))
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
