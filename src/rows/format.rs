//! Which format a file has, and how it is laid out.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use super::encoding::declared;
use super::list::ListsSettings;

/// The formats, by their names in a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// One JSON object a line.
    Jsonl,
    /// A list of JSON objects, or an object that holds one.
    Json,
    /// A list of YAML mappings, or a mapping that holds one.
    Yaml,
    /// Comma-separated values with a header.
    Csv,
    /// Tab-separated values with a header.
    Tsv,
}

impl Format {
    /// By the file's extension.
    ///
    /// # Errors
    /// Extensions that name no format.
    pub fn of(path: &Path) -> Result<Self, String> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "jsonl" | "ndjson" => Ok(Self::Jsonl),
            "json" => Ok(Self::Json),
            "yaml" | "yml" => Ok(Self::Yaml),
            "csv" => Ok(Self::Csv),
            "tsv" | "tab" => Ok(Self::Tsv),
            _ => Err("the file's extension names no format; set `format` to jsonl, json, yaml, csv or tsv".to_owned()),
        }
    }
}

/// One text or a list of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    pub fn as_slice(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

/// How files are laid out, as written in the suite: part of the settings of whoever names a file.
///
/// It is flattened into them, which serde cannot do beside `deny_unknown_fields`; their JSON Schema refuses unknown keys.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LayoutSettings {
    /// The files' format, where their extension does not say it.
    pub format: Option<Format>,
    /// A label of the WHATWG Encoding Standard (`gbk`, `windows-1252`); default: UTF-8, or UTF-16 with its byte order mark.
    pub encoding: Option<String>,
    /// Between the cells of a CSV file: one character; default `,`.
    pub delimiter: Option<String>,
    /// The key of the list, in a JSON or YAML file that is an object.
    pub rows: Option<String>,
    /// How texts in list fields become lists: `json`, `text`, or a delimiter such as `";"`; for all list fields, or by field.
    pub lists: Option<ListsSettings>,
}

/// How a file is laid out, checked.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// `None`: by extension.
    pub format: Option<Format>,
    /// `None`: UTF-8, or UTF-16 with its byte order mark.
    pub(crate) encoding: Option<&'static encoding_rs::Encoding>,
    /// Between the cells of a CSV file.
    pub(crate) delimiter: Option<u8>,
    /// The key of the list in a JSON or YAML file that is an object.
    pub(crate) rows: Option<String>,
}

impl Layout {
    /// # Errors
    /// All that is wrong: (JSON pointer below the settings, what is wrong there).
    pub fn build(settings: &LayoutSettings) -> Result<Self, Vec<(&'static str, String)>> {
        let encoding = settings.encoding.as_deref().map(declared).transpose().map_err(|reason| ("/encoding", reason));
        let delimiter = settings.delimiter.as_deref().map(separator).transpose();
        let delimiter = delimiter.map_err(|reason| ("/delimiter", reason));
        match (encoding, delimiter) {
            (Ok(encoding), Ok(delimiter)) => {
                Ok(Self { format: settings.format, encoding, delimiter, rows: settings.rows.clone() })
            }
            (encoding, delimiter) => Err(encoding.err().into_iter().chain(delimiter.err()).collect()),
        }
    }
}

fn separator(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" | b"tab" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n' | 0) && !byte.is_ascii_alphanumeric() => {
            Ok(*byte)
        }
        _ => Err("a delimiter is one ASCII character that is no letter, digit or quote, for instance `;`".to_owned()),
    }
}
