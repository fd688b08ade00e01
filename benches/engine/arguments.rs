//! What to measure, and how often.

use std::path::PathBuf;

use crate::Error;
use crate::rows::GROUPS;

const HELP: &str = "\
cargo bench --bench engine -- [ROW]… [--repeat N] [--binary PATH]

  ROW            P1 to P14: only these rows; all without one
  --repeat N     repetitions, of which the median counts (default 5)
  --binary PATH  the scoregate to measure (default: the one that cargo built with this benchmark)
";

/// The command line.
pub struct Arguments {
    /// Empty: all.
    pub rows: Vec<String>,
    pub repeat: usize,
    pub binary: PathBuf,
}

impl Arguments {
    /// `None` where only help was wanted.
    ///
    /// # Errors
    /// Whatever is not understood.
    pub fn read(words: &[String]) -> Result<Option<Self>, Error> {
        let mut read = Self { rows: Vec::new(), repeat: 5, binary: PathBuf::from(env!("CARGO_BIN_EXE_scoregate")) };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                // Cargo's own.
                "--bench" => {}
                "--help" | "-h" => {
                    println!("{HELP}");
                    return Ok(None);
                }
                "--repeat" => read.repeat = value()?.parse::<usize>()?.max(1),
                "--binary" => read.binary = std::path::absolute(value()?)?,
                row if known(row) => read.rows.push(row.to_uppercase()),
                other => return Err(format!("`{other}` is neither a row nor an option\n\n{HELP}").into()),
            }
        }
        Ok(Some(read))
    }

    /// Whether one of `names` is wanted.
    pub fn want(&self, names: &[&str]) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|row| names.contains(&row.as_str()))
    }
}

fn known(word: &str) -> bool {
    GROUPS.iter().any(|group| group.names.iter().any(|name| name.eq_ignore_ascii_case(word)))
}
