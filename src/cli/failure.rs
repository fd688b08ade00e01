//! What stopped a command, and the exit code it means.

use std::fmt;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

use super::ending::Ending;
use super::exit_code::ExitCode;
use super::screen;
use crate::diagnostic::{Diagnostic, Diagnostics, Level, Source, Span};
use crate::domain::Redactor;
use crate::engine::EngineError;
use crate::store::{BadLine, StoreError};
use crate::text::number;

/// Bytes of a line that is shown: longer ones are not read again.
const LONGEST_LINE: u64 = 64 << 20;

#[derive(Debug)]
pub(super) enum Failed {
    /// Suite, data or command line: exit code 2.
    Wrong(Diagnostics),
    /// What was right before the first call changed under way: exit code 3.
    Changed(Diagnostics),
    /// Anything that kept the evidence from being gathered or kept: exit code 3.
    CouldNot(String),
}

impl Failed {
    pub(super) fn usage(code: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Wrong(Diagnostic::error(code, message).help(help).into())
    }

    /// The same with secrets masked.
    pub(super) fn masked(self, redactor: &Redactor) -> Self {
        let masked = |mut problems: Diagnostics| {
            problems.map_texts(|text| redactor.redact(text));
            problems
        };
        match self {
            Self::Wrong(problems) => Self::Wrong(masked(problems)),
            Self::Changed(problems) => Self::Changed(masked(problems)),
            Self::CouldNot(why) => Self::CouldNot(redactor.redact(&why)),
        }
    }

    pub(super) fn code(&self) -> ExitCode {
        match self {
            Self::Wrong(_) => ExitCode::Usage,
            Self::Changed(_) | Self::CouldNot(_) => ExitCode::NotEvaluated,
        }
    }

    /// Each problem with its place, for who shows it elsewhere.
    pub(super) fn problems(&self) -> Vec<Problem> {
        match self {
            Self::Wrong(problems) | Self::Changed(problems) => {
                let errors = problems.iter().filter(|problem| problem.level == Level::Error);
                errors.map(Problem::of).collect()
            }
            Self::CouldNot(why) => vec![Problem { file: None, line: None, message: why.clone() }],
        }
    }

    /// Shows it.
    pub(super) fn report(self) -> Ending {
        let code = self.code();
        match self {
            Self::Wrong(problems) => {
                screen::diagnostics(&problems);
                let problems = number::counted(problems.iter().count() as u64, "problem", "problems");
                let reason = format!("{problems} in the suite, its data or the command line; nothing was called");
                Ending::because(code, reason)
            }
            Self::Changed(problems) => {
                screen::diagnostics(&problems);
                Ending::because(code, "the data changed while the run was under way; run it again")
            }
            Self::CouldNot(why) => Ending::because(code, why),
        }
    }
}

/// A problem in words.
pub(super) struct Problem {
    /// As the user wrote it.
    pub(super) file: Option<String>,
    pub(super) line: Option<u32>,
    pub(super) message: String,
}

impl Problem {
    fn of(diagnostic: &Diagnostic) -> Self {
        let Diagnostic { message, help, source, span, .. } = diagnostic;
        Self {
            file: source.as_ref().map(|source| source.path.clone()),
            line: span.map(|span| span.line),
            message: help.as_ref().map_or_else(|| message.clone(), |help| format!("{message}\n{help}")),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(out, "{file}:{line}: {}", self.message),
            (Some(file), None) => write!(out, "{file}: {}", self.message),
            (None, _) => out.write_str(&self.message),
        }
    }
}

impl From<Diagnostics> for Failed {
    fn from(problems: Diagnostics) -> Self {
        Self::Wrong(problems)
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Absent { .. } => Self::usage(
                "unreadable-file",
                error.to_string(),
                "check the path, which counts from the current folder",
            ),
            StoreError::Newer { .. } => {
                Self::usage("unreadable-file", error.to_string(), "see `scoregate --version` for this one's")
            }
            StoreError::Lines { path, problems, more } => {
                let mut all = Diagnostics::default();
                for BadLine { line, column, problem } in problems {
                    all.push(in_line(path, *line, *column, Diagnostic::error("bad-score", problem.clone())));
                }
                if *more > 0 {
                    all.push(Diagnostic::error("bad-score", format!("{more} more bad lines in {}", path.display())));
                }
                Self::Wrong(all)
            }
            StoreError::Busy { path, holder } => {
                let folder = path.parent().unwrap_or(path).display();
                let holder = if holder.is_empty() { "another process" } else { holder };
                let message = format!("another run is writing into `{folder}`: {holder}");
                Self::usage(
                    "folder-in-use",
                    message,
                    "wait for it to end, or give this run a folder of its own: `--out DIR`",
                )
            }
            StoreError::Io { .. }
            | StoreError::Corrupt { .. }
            | StoreError::Unreachable { .. }
            | StoreError::Moved { .. }
            | StoreError::Ledger { .. } => Self::CouldNot(error.to_string()),
        }
    }
}

/// The problem at its line, which is read again so that it can be shown. Line 0: none.
pub(super) fn in_line(path: &Path, line: u64, column: Option<u32>, problem: Diagnostic) -> Diagnostic {
    let Some(number) = u32::try_from(line).ok().filter(|number| *number > 0) else { return problem };
    let text = line_of(path, line).unwrap_or_default();
    let source = Source { first_line: number, ..Source::new(path.display().to_string(), text) };
    problem.at(&Arc::new(source), Span::new(number, column.unwrap_or(1), 1))
}

/// What cannot be read again is not shown.
fn line_of(path: &Path, line: u64) -> Option<String> {
    let mut reader = BufReader::new(File::open(path).ok()?);
    let mut bytes = Vec::new();
    for _ in 0..line {
        bytes.clear();
        (&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut bytes).ok()?;
    }
    let text = String::from_utf8(bytes).ok()?;
    let text = if line == 1 { text.trim_start_matches('\u{FEFF}') } else { &text };
    Some(text.trim_end_matches(['\n', '\r']).to_owned())
}

impl From<EngineError> for Failed {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Dataset(problems) => Self::Changed(problems),
            EngineError::Store(error) => Self::CouldNot(error.to_string()),
        }
    }
}
