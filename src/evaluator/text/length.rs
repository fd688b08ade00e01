//! Is the answer neither too short nor too long?

use schemars::JsonSchema;
use serde::Deserialize;
use unicode_segmentation::UnicodeSegmentation as _;

use super::super::pure::{Found, Measure, ready};
use super::super::{BuildContext, Info, Kind, Needs, Ready, Subject, schema};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, Failure, ScoreKind};
use crate::suite::{Block, Draft};

pub const INFO: Info = Info {
    name: "length",
    summary: "1 if the answer has from `min` to `max` characters (or words, or tokens), else 0",
    score: ScoreKind::Binary,
    direction: Direction::Higher,
    pass_mark: Some(1.0),
    needs: &[Needs::Answer],
    version: 1,
    source: "Unicode Standard Annex 29: characters as readers see them (grapheme clusters), words; white space at both ends does not count",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// Bytes of UTF-8 that are taken for one token, as for budgets. Models differ: for most languages this is a little more than they count.
const BYTES_A_TOKEN: usize = 4;

/// Is the answer neither too short nor too long? At least one of `min` and `max` is needed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Fewest that pass.
    min: Option<usize>,
    /// Most that pass.
    max: Option<usize>,
    /// What is counted. Default: characters, as readers see them. In Chinese each character is a word. Tokens are estimated: four bytes each.
    #[serde(default)]
    unit: Unit,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    #[default]
    Characters,
    Words,
    /// About as many as models count: four bytes each.
    Tokens,
}

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let problem = match (settings.min, settings.max) {
        // What is absent may be what is wrong.
        (None, None) if !sound => return None,
        (None, None) => block
            .problem("", "missing-key", format!("`{}` needs `min`, `max` or both", block.name))
            .help("for instance `length: { min: 1, max: 800 }`"),
        (Some(min), Some(max)) if min > max => block
            .problem("/min", "empty-range", format!("`min` {min} is above `max` {max}: no answer could pass"))
            .help("exchange the two"),
        (Some(0), None) => block
            .problem("/min", "empty-range", "every answer has at least 0 characters: this check says nothing")
            .help("set `min: 1` to refuse empty answers, or give a `max`"),
        _ => return sound.then(|| ready(block, &INFO, None, settings)),
    };
    diagnostics.push(problem);
    None
}

impl Measure for Settings {
    fn measure(&self, subject: Subject<'_>) -> Result<Found, Failure> {
        let length = length(&subject.answer.text, self.unit);
        let inside = self.min.is_none_or(|min| length >= min) && self.max.is_none_or(|max| length <= max);
        let unit = match (self.unit, length) {
            (Unit::Characters, 1) => "character",
            (Unit::Characters, _) => "characters",
            (Unit::Words, 1) => "word",
            (Unit::Words, _) => "words",
            (Unit::Tokens, 1) => "token, estimated",
            (Unit::Tokens, _) => "tokens, estimated",
        };
        Ok(Found::check(inside, format!("the answer has {length} {unit}")))
    }
}

/// Number of characters or words, or about that of tokens.
pub fn length(text: &str, unit: Unit) -> usize {
    match unit {
        Unit::Characters => text.trim().graphemes(true).count(),
        Unit::Words => text.unicode_words().count(),
        Unit::Tokens => text.trim().len().div_ceil(BYTES_A_TOKEN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_what_readers_see() {
        assert_eq!(length(" née 👩‍👩‍👧\n", Unit::Characters), 5);
        assert_eq!(length("ne\u{301}e", Unit::Characters), 3);
        assert_eq!(length("Don't panic, friend!", Unit::Words), 3);
        assert_eq!(length(" \n", Unit::Characters), 0);
        assert_eq!((length("four", Unit::Tokens), length(" 中文 ", Unit::Tokens)), (1, 2));
    }
}
