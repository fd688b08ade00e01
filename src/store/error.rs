//! What can go wrong with a file of ours.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    /// The file is there and cannot be right. Never treated as missing. Line 0 is the whole file.
    #[error("{}{}: {problem}", path.display(), at(*line))]
    Corrupt { path: PathBuf, line: u64, problem: String },
    /// Every bad line of a file of scores: (line, problem), and how many more there are.
    #[error("{}", lines(path, problems, *more))]
    Lines { path: PathBuf, problems: Vec<(u64, String)>, more: usize },
    /// Written by a later version of scoregate.
    #[error("{}: written in format version {found}, this scoregate reads up to {known}; use a newer scoregate", path.display())]
    Newer { path: PathBuf, found: u64, known: u64 },
    #[error("{}: does not exist", path.display())]
    Absent { path: PathBuf },
    /// Somebody else is writing where this wants to write; `holder` is what they wrote about themselves.
    #[error("{} is held by {}", path.display(), if holder.is_empty() { "another process" } else { holder })]
    Busy { path: PathBuf, holder: String },
    #[error("ledger {}: {problem}", path.display())]
    Ledger { path: PathBuf, problem: String },
}

fn at(line: u64) -> String {
    if line == 0 { String::new() } else { format!(":{line}") }
}

fn lines(path: &std::path::Path, problems: &[(u64, String)], more: usize) -> String {
    let mut all: Vec<String> =
        problems.iter().map(|(line, problem)| format!("{}:{line}: {problem}", path.display())).collect();
    if more > 0 {
        all.push(format!("and {more} more bad lines"));
    }
    all.join("; ")
}
