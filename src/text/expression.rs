//! A small language for choosing rows: `lang == 'zh' and not (tags contains 'slow' or year < 2020)`.
//!
//! ```text
//! or      = and { "or" and }
//! and     = not { "and" not }
//! not     = "not" not | "(" or ")" | operand [ operator operand ]
//! operator= "==" "!=" "<" "<=" ">" ">=" "in" "not in" "contains"
//! operand = name | `name` | 'text' | "text" | number | true | false | null | "[" operand { "," operand } "]"
//! ```
//!
//! Comparing never guesses: text and number compare as numbers where the text is one (cells of a CSV file are text); ordering text that
//! is no number against a number is an error; `null` equals only `null`, and is neither smaller nor larger than anything.

mod evaluate;
mod parse;
mod token;

use std::borrow::Cow;

use serde_json::Value;

/// Gives names their values for one row.
pub trait Names {
    /// The value behind `name`; `None` where the row has no such name (it then counts as `null`).
    fn value(&self, name: &str) -> Option<Cow<'_, Value>>;
}

impl Names for serde_json::Map<String, Value> {
    fn value(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.get(name).map(Cow::Borrowed)
    }
}

/// Why a text is no expression, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}, at character {column}")]
pub struct ExpressionError {
    /// In characters, from 1.
    pub column: usize,
    pub reason: String,
}

/// A condition that was parsed once and is asked for every row.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    text: String,
    root: Node,
    names: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Or(Box<Node>, Box<Node>),
    And(Box<Node>, Box<Node>),
    Not(Box<Node>),
    Compare(Operator, Operand, Operand),
    /// An operand on its own: it must be true or false.
    Truth(Operand),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
    Contains,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Name(String),
    Literal(Value),
    List(Vec<Operand>),
}

impl Expression {
    /// # Errors
    /// The first place where `text` leaves the grammar, with what was expected there.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let (root, names) = parse::parse(text)?;
        Ok(Self { text: text.to_owned(), root, names })
    }

    /// Whether the row is meant.
    ///
    /// # Errors
    /// Values that cannot be compared, named by their types and never by their content.
    pub fn holds(&self, names: &dyn Names) -> Result<bool, String> {
        evaluate::holds(&self.root, names)
    }

    /// Every name the expression asks for, once, in order of appearance.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The expression as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn holds(text: &str, row: Value) -> Result<bool, String> {
        let Value::Object(map) = row else { panic!("a row is an object") };
        Expression::parse(text).unwrap().holds(&map)
    }

    #[test]
    fn comparing_follows_the_table() {
        let row =
            json!({"lang": "zh", "year": "2021", "n": 3, "tags": ["a", "b"], "ok": true, "none": null, "my col": 1});
        for (text, expected) in [
            ("lang == 'zh'", true),
            ("lang != \"zh\"", false),
            ("year >= 2020", true),
            ("year == 2021.0", true),
            ("n < 3", false),
            ("n <= 3 and n > -1", true),
            ("'a' in tags", true),
            ("'c' not in tags", true),
            ("tags contains 'b'", true),
            ("lang contains 'z'", true),
            ("lang in ['en', 'zh']", true),
            ("not lang == 'zh'", false),
            ("not (lang == 'en' or n == 4)", true),
            ("ok", true),
            ("ok == true and not (ok == false)", true),
            ("none == null", true),
            ("absent == null", true),
            ("absent == ''", false),
            ("absent < 3", false),
            ("lang == 'en' or lang == 'zh' and n == 3", true),
            ("`my col` == 1", true),
            ("lang == 'it\\'s'", false),
        ] {
            assert_eq!(holds(text, row.clone()), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_compared_is_an_error_without_the_value() {
        let row = json!({"lang": "secret", "tags": ["a"]});
        for text in ["lang > 3", "tags == 'a'", "lang", "'a' in lang", "tags < 1"] {
            let error = holds(text, row.clone()).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_broken_expression_says_where_and_what() {
        for (text, column, hint) in [
            ("lang = 'zh'", 6, "=="),
            ("lang == 'zh", 9, "quote"),
            ("lang == 'zh' && n", 14, "and"),
            ("(lang == 'zh'", 14, ")"),
            ("lang == ", 8, "expected"),
            ("", 1, "expected"),
            ("a == 1 b", 8, "and"),
            ("n == 1.2.3", 6, "number"),
            ("lang == zh'", 11, "quote"),
            ("a == 1e999", 6, "number"),
        ] {
            let error = Expression::parse(text).unwrap_err();
            assert_eq!(error.column, column, "{text}: {error}");
            assert!(error.reason.contains(hint), "{text}: {error}");
        }
    }

    #[test]
    fn deep_nesting_is_refused_and_not_a_crash() {
        for text in [format!("{}a{}", "(".repeat(200), ")".repeat(200)), format!("{}a", "not ".repeat(200))] {
            assert!(Expression::parse(&text).unwrap_err().reason.contains("deep"));
        }
        let text = format!("a{}", " and a".repeat(100_000));
        assert!(Expression::parse(&text).unwrap_err().reason.contains("long"));
    }

    proptest::proptest! {
        #[test]
        fn any_text_parses_or_is_refused(text in "\\PC{0,40}") {
            let _ = Expression::parse(&text);
        }
    }
}
