//! Data files → rows: what `dataset` makes cases of and the `recorded` target makes answers of.
//!
//! ```text
//! path or glob ─► DataFile ─► bytes ─► text (encoding) ─► RowReader (jsonl, json, yaml, csv, tsv) ─► Row ─► Selector ─► values
//! ```
//!
//! One file a format; [`Format`] lists them. [`Recorded`] is a file of answers with access by id.
//!
//! Promise: a value is used exactly as written or refused with file and line; no row is lost silently; a message never echoes a row,
//! which is shown as a source line by itself where it is wrong (shortened, escaped, masked);
//! every limit has a name ([`budget`]). Line-based UTF-8 files stream; other formats are held in memory up to a stated size.

mod answer;
pub mod budget;
mod csv;
mod encoding;
mod excerpt;
mod file;
mod format;
mod json;
mod json_text;
mod jsonl;
mod list;
mod problem;
mod reader;
mod recorded;
mod row;
mod selector;
#[cfg(test)]
pub(crate) mod support;
mod value;
mod yaml;

pub(crate) use answer::{AnswerParts, answer_from};
pub(crate) use encoding::{decode, read_whole};
pub(crate) use excerpt::show;
pub use file::{DataFile, FileError, expand, resolve};
pub use format::{Format, Layout, LayoutSettings, OneOrMany};
pub use list::{ListRule, Lists, ListsSettings};
pub(crate) use problem::{Fault, Problems, at_line, missing_column, shown_name};
pub use reader::{RowReader, open};
pub(crate) use recorded::hash;
pub use recorded::{Recorded, RecordedFields, RecordedSettings};
pub use row::Row;
pub(crate) use selector::{Bound, FieldSpec, Mapping};
pub use selector::{Found, Selector};
pub(crate) use value::{contexts_of, first, id_of, items_of, kind_of, number_of, text_of, texts_of};
