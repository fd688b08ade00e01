//! What a data file may cost before it is refused. Messages name the limit.

/// A file that has to be held in memory (`json`, `yaml`, `csv`, `tsv`, and any file that is not UTF-8).
pub const FILE_BYTES: u64 = 256 << 20;
/// One line of a `jsonl` file, or one record of a `csv` file.
pub const RECORD_BYTES: usize = 16 << 20;
/// One text: a cell, an input, an answer, a passage.
pub const CELL_BYTES: usize = 8 << 20;
/// Lists and objects within each other (the limit of `serde_json`).
pub const DEPTH: usize = 128;
/// Values that YAML aliases (`*name`) may add to a file.
pub const ALIAS_VALUES: usize = 100_000;
/// A case's id.
pub const ID_BYTES: usize = 1_024;
/// Files behind one `path`.
pub const FILES: usize = 10_000;

/// A size as people write it.
pub(crate) fn shown(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}
