//! The one face of all formats.

use super::{DataFile, Format, Layout, Row, csv, json, jsonl, yaml};
use crate::diagnostic::{Diagnostic, Span};

/// Walks over the records of one file. `advance`, then look; parsing is separate so that rows which are not wanted cost little.
pub trait RowReader: Send {
    /// Moves to the next record; false at the end.
    ///
    /// # Errors
    /// Reading cannot go on (bytes that are no text, a record beyond the budget, a broken document).
    fn advance(&mut self) -> Result<bool, Diagnostic>;

    /// The record as a row.
    ///
    /// # Errors
    /// The record is broken; the next one can still be read.
    fn row(&self) -> Result<Row, Diagnostic>;

    /// First line of the record, from 1.
    fn line(&self) -> u32;

    /// Checksum of the record's bytes: tells whether a file changed between two passes.
    fn checksum(&self) -> u32;

    /// Where the value of this column of the record stands.
    fn place(&self, column: &str) -> Option<Span>;

    /// The header, in formats that have one.
    fn columns(&self) -> Option<&[String]> {
        None
    }

    /// Where the record begins in the file, where that place can be read again on its own.
    fn offset(&self) -> Option<u64> {
        None
    }
}

/// Opens a file in its format.
///
/// # Errors
/// The file cannot be read, or is broken as a whole.
pub fn open(file: &DataFile, layout: &Layout) -> Result<Box<dyn RowReader>, Diagnostic> {
    let format = match layout.format {
        Some(format) => format,
        None => Format::of(&file.path)
            .map_err(|reason| Diagnostic::error("unknown-format", format!("{}: {reason}", file.shown)))?,
    };
    Ok(match format {
        Format::Jsonl => Box::new(jsonl::Jsonl::open(file, layout)?),
        Format::Json => Box::new(json::Json::open(file, layout)?),
        Format::Yaml => Box::new(yaml::Yaml::open(file, layout)?),
        Format::Csv => Box::new(csv::Csv::open(file, layout, b',')?),
        Format::Tsv => Box::new(csv::Csv::open(file, layout, b'\t')?),
    })
}

/// Checksum of a record.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    let hash = blake3::hash(bytes);
    hash.as_bytes().first_chunk::<4>().map_or(0, |start| u32::from_le_bytes(*start))
}
