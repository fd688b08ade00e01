//! When a text is a list: only where the suite says so. Passages hold pipes, semicolons and line breaks.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::json_text;

/// How texts in list fields become lists: `json` (a JSON list), `text` (one item, as it stands), or a delimiter such as `";"`; for all
/// list fields, or a field at a time.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ListsSettings {
    All(String),
    ByField(BTreeMap<String, String>),
}

/// The rule of one field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListRule {
    /// One item; a text that looks like a JSON list is an error until somebody says what it is.
    #[default]
    Undeclared,
    /// One item, whatever it looks like.
    Text,
    /// A JSON list.
    Json,
    /// Cut at this text; blanks around items and empty items are dropped.
    Delimiter(String),
}

/// The rules of all fields.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    all: ListRule,
    by_field: BTreeMap<String, ListRule>,
}

impl Lists {
    /// # Errors
    /// All that is wrong: (JSON pointer below `lists`, what is wrong there).
    pub fn build(settings: Option<&ListsSettings>, fields: &[&str]) -> Result<Self, Vec<(String, String)>> {
        match settings {
            None => Ok(Self::default()),
            Some(ListsSettings::All(rule)) => {
                let all = parse(rule).map_err(|reason| vec![(String::new(), reason)])?;
                Ok(Self { all, by_field: BTreeMap::new() })
            }
            Some(ListsSettings::ByField(rules)) => {
                let (mut by_field, mut wrong) = (BTreeMap::new(), Vec::new());
                for (field, rule) in rules {
                    let pointer = format!("/{field}");
                    if !fields.contains(&field.as_str()) {
                        wrong.push((pointer, format!("`{field}` is no list field; these are {}", fields.join(", "))));
                        continue;
                    }
                    match parse(rule) {
                        Ok(rule) => drop(by_field.insert(field.clone(), rule)),
                        Err(reason) => wrong.push((pointer, reason)),
                    }
                }
                if wrong.is_empty() { Ok(Self { all: ListRule::Undeclared, by_field }) } else { Err(wrong) }
            }
        }
    }

    pub fn rule(&self, field: &str) -> &ListRule {
        self.by_field.get(field).unwrap_or(&self.all)
    }
}

fn parse(rule: &str) -> Result<ListRule, String> {
    match rule {
        "" => Err("a delimiter is needed, or `json`, or `text`".to_owned()),
        "json" => Ok(ListRule::Json),
        "text" => Ok(ListRule::Text),
        "\\n" => Ok(ListRule::Delimiter("\n".to_owned())),
        "\\t" => Ok(ListRule::Delimiter("\t".to_owned())),
        delimiter => Ok(ListRule::Delimiter(delimiter.to_owned())),
    }
}

impl ListRule {
    /// The items of a text.
    ///
    /// # Errors
    /// What does not follow the rule, without the text.
    pub(crate) fn items(&self, field: &str, text: &str) -> Result<Vec<Value>, String> {
        let one = |text: &str| vec![Value::String(text.to_owned())];
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        match self {
            Self::Text => Ok(one(text)),
            Self::Json => {
                json_text::list(text).map_err(|reason| format!("`{field}` is declared a JSON list, but {reason}"))
            }
            Self::Delimiter(delimiter) => Ok(text
                .split(delimiter.as_str())
                .map(str::trim)
                .filter(|item| !item.is_empty())
                .map(|item| Value::String(item.to_owned()))
                .collect()),
            Self::Undeclared if looks_like_a_list(text) => Err(format!(
                "the text of `{field}` looks like a list in square brackets; declare `lists: {{ {field}: json }}` to take it as a list, or `lists: {{ {field}: text }}` to take it as it stands"
            )),
            Self::Undeclared => Ok(one(text)),
        }
    }
}

fn looks_like_a_list(text: &str) -> bool {
    let Some(inner) = text.trim().strip_prefix('[') else { return false };
    let inner = inner.trim_start();
    inner == "]" || inner.starts_with(['"', '\'', '{'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_only_where_that_was_declared() {
        let passage = "| a | b |\n; c";
        assert_eq!(ListRule::Undeclared.items("contexts", passage).unwrap(), [Value::from(passage)]);
        assert_eq!(ListRule::Delimiter(";".into()).items("tags", " a; b ;;").unwrap(), ["a", "b"].map(Value::from));
        assert_eq!(ListRule::Json.items("tags", "[\"a;b\", 2]").unwrap(), [Value::from("a;b"), Value::from(2)]);
        assert!(ListRule::Undeclared.items("tags", "").unwrap().is_empty());
    }

    #[test]
    fn a_list_that_nobody_declared_is_an_error() {
        for text in ["[\"a\"]", "['a']", "[]", "[{\"id\":1}]", " [ \"a"] {
            assert!(ListRule::Undeclared.items("tags", text).unwrap_err().contains("lists: { tags: json }"), "{text}");
            assert_eq!(ListRule::Text.items("tags", text).unwrap().len(), 1);
        }
        for text in ["[1] as cited", "[^]]"] {
            assert_eq!(ListRule::Undeclared.items("contexts", text).unwrap().len(), 1, "{text}");
        }
        assert!(ListRule::Json.items("tags", "[\"a\", ").is_err());
        assert!(ListRule::Json.items("tags", "a").is_err());
    }
}
