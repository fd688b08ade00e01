//! JSONPath (RFC 9535): which parts of a JSON value are meant.

use serde_json::Value;

/// A path that was parsed once and is asked many times.
#[derive(Clone, Debug)]
pub struct JsonPath {
    text: String,
    path: serde_json_path::JsonPath,
}

/// Why a text is no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no JSONPath (RFC 9535): {reason}, at character {column}")]
pub struct JsonPathError {
    pub text: String,
    /// From 1.
    pub column: usize,
    pub reason: String,
}

impl JsonPath {
    /// # Errors
    /// The place and reason where `text` leaves the grammar of RFC 9535.
    pub fn parse(text: &str) -> Result<Self, JsonPathError> {
        match serde_json_path::JsonPath::parse(text) {
            Ok(path) => Ok(Self { text: text.to_owned(), path }),
            Err(error) => Err(JsonPathError {
                text: text.to_owned(),
                column: error.position().max(1),
                reason: error.message().to_owned(),
            }),
        }
    }

    /// The nodes the path selects, in the order of RFC 9535; empty where nothing matches.
    pub fn query<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        self.path.query(value).all()
    }

    /// The path as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_wildcard_selects_every_item_in_order() {
        let value = json!({"nodes": [{"text": "a"}, {"text": "b"}]});
        let path = JsonPath::parse("$.nodes[*].text").unwrap();
        assert_eq!(path.query(&value), [&json!("a"), &json!("b")]);
        assert_eq!(path.as_str(), "$.nodes[*].text");
    }

    #[test]
    fn a_broken_path_says_where() {
        let error = JsonPath::parse("$.nodes[").unwrap_err();
        assert!(error.column >= 1, "{error}");
        assert!(error.to_string().contains("`$.nodes[`"), "{error}");
    }
}
