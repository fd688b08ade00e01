//! One record of a data file, whatever its format.

use serde_json::{Map, Value};

/// A record: names and values in the file's order, and where it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// First line of the record, from 1.
    pub line: u32,
    /// Always an object.
    pub(crate) value: Value,
    /// Numbers whose text would change by reading them (`1.10`, twenty digits): name → as written.
    pub(crate) written: Vec<(String, String)>,
    /// The format keeps every number as it was written (YAML), so `1.0` and `1` stay different ids.
    pub(crate) exact: bool,
}

impl Row {
    pub(crate) fn new(line: u32, map: Map<String, Value>) -> Self {
        Self { line, value: Value::Object(map), written: Vec::new(), exact: false }
    }

    /// The value of a column; `None` where the row does not have it.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.value.as_object().and_then(|map| map.get(name))
    }

    /// The number of that column as it stands in the file, where that differs from how it would be printed.
    pub(crate) fn written(&self, name: &str) -> Option<&str> {
        self.written.iter().find(|(column, _)| column == name).map(|(_, text)| text.as_str())
    }

    /// Names in the file's order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.value.as_object().into_iter().flat_map(|map| map.keys().map(String::as_str))
    }

    pub(crate) fn into_map(self) -> Map<String, Value> {
        match self.value {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }
}
