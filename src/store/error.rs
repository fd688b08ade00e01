//! What can go wrong with a file of ours.

use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    /// The file is there and cannot be right. Never treated as missing. Line 0: the file as a whole.
    #[error("{}: {problem}", place(path, *line))]
    Corrupt { path: PathBuf, line: u64, problem: String },
    /// Every bad line of a file of scores, and how many more there are.
    #[error("{}", lines(path, problems, *more))]
    Lines { path: PathBuf, problems: Vec<BadLine>, more: usize },
    /// Written by a later version of scoregate.
    #[error("{}: written in format version {found}, this scoregate reads up to {known}; use a newer scoregate", path.display())]
    Newer { path: PathBuf, found: u64, known: u64 },
    #[error("{}: does not exist", path.display())]
    Absent { path: PathBuf },
    /// It may be there, and cannot be had: never taken for missing.
    #[error("{place}: {problem}")]
    Unreachable { place: String, problem: String },
    /// Somebody else wrote there since it was read; nothing was overwritten.
    #[error("{place}: was changed by somebody else meanwhile, and was left as they wrote it; run again")]
    Moved { place: String },
    /// Somebody else is writing where this wants to write; `holder` is what they wrote about themselves.
    #[error("{} is held by {}", path.display(), if holder.is_empty() { "another process" } else { holder })]
    Busy { path: PathBuf, holder: String },
    #[error("ledger {}: {problem}", path.display())]
    Ledger { path: PathBuf, problem: String },
}

/// A line that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// From 1.
    pub line: u64,
    /// From 1, in characters, where it is known.
    pub column: Option<u32>,
    pub problem: String,
}

fn place(path: &Path, line: u64) -> String {
    if line == 0 { path.display().to_string() } else { format!("{}:{line}", path.display()) }
}

fn lines(path: &Path, problems: &[BadLine], more: usize) -> String {
    let one = |bad: &BadLine| match bad.column {
        Some(column) => format!("{}:{column}: {}", place(path, bad.line), bad.problem),
        None => format!("{}: {}", place(path, bad.line), bad.problem),
    };
    let mut all: Vec<String> = problems.iter().map(one).collect();
    if more > 0 {
        all.push(format!("and {more} more bad lines"));
    }
    all.join("; ")
}
