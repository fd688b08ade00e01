//! The job summary: appended to the file at `GITHUB_STEP_SUMMARY`, never replacing what other commands of the step wrote.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use crate::host::{Warning, markdown};

/// Bytes of a step's summary, with what is already there. The runner refuses the whole upload above 1,048,576 (its
/// `FileCommandManager`), and text that it masks grows (actions/runner#4337), hence the distance.
pub const SUMMARY_LIMIT: usize = 1_000_000;

const MORE: &str = "\n\n_Cut here: a job summary takes 1 MiB. The whole report is in the report files._\n";

/// Bytes that may still be appended.
pub(crate) fn room(file: &Path) -> usize {
    let present = std::fs::metadata(file).map_or(0, |data| data.len());
    SUMMARY_LIMIT.saturating_sub(usize::try_from(present).unwrap_or(usize::MAX))
}

/// # Errors
/// A warning where nothing could be appended.
pub(super) fn append(file: &Path, text: &str) -> Result<(), Warning> {
    let room = room(file).saturating_sub(2);
    let cut = if text.len() <= room { None } else { markdown::cut(text, room.saturating_sub(MORE.len())) };
    let (text, more) = match cut {
        None => (text, ""),
        Some(start) => (start, MORE),
    };
    if text.len().saturating_add(more.len()) > room {
        return Err(Warning::new("the job summary is full: the report was not added to it")
            .with_help("Other commands of this step filled it. Run scoregate in a step of its own."));
    }
    write(file, text, more).map_err(|error| {
        Warning::new(format!("the job summary {} could not be written: {error}", file.display()))
            .with_help("The report files hold the same content.")
    })
}

fn write(file: &Path, text: &str, more: &str) -> std::io::Result<()> {
    let unfinished = std::fs::read(file).is_ok_and(|bytes| bytes.last().is_some_and(|byte| *byte != b'\n'));
    let start = if unfinished { "\n" } else { "" };
    let end = if more.is_empty() && !text.ends_with('\n') { "\n" } else { "" };
    let mut out = OpenOptions::new().create(true).append(true).open(file)?;
    out.write_all(format!("{start}{text}{more}{end}").as_bytes())
}
