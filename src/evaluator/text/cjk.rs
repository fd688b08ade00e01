//! The setting that says how Chinese, Japanese and Korean are cut.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::text::token;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cjk {
    /// Each character counts as a word.
    #[default]
    Characters,
    /// Words, found with a dictionary.
    Words,
}

impl From<Cjk> for token::Cjk {
    fn from(cjk: Cjk) -> Self {
        match cjk {
            Cjk::Characters => Self::Characters,
            Cjk::Words => Self::Words,
        }
    }
}
