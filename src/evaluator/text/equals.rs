//! Is the answer the expected text?

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::{Found, Measure, ready, reference};
use super::super::{BuildContext, Info, Kind, Needs, Ready, Subject, schema};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, Failure, ScoreKind};
use crate::suite::Block;
use crate::text::normalize::excerpt;

pub const INFO: Info = Info {
    name: "equals",
    summary: "1 if the answer is the reference (or `value`), character for character, else 0",
    score: ScoreKind::Binary,
    direction: Direction::Higher,
    pass_mark: Some(1.0),
    needs: &[Needs::Answer, Needs::Reference],
    version: 1,
    source: "equality of Unicode texts; white space at both ends does not count unless `trim: false`",
};

/// With `value`, no reference is needed.
const OF_VALUE: Info = Info { needs: &[Needs::Answer], ..INFO };

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// Is the answer the expected text?
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The expected text; default: the case's reference.
    value: Option<String>,
    /// Upper and lower case are the same. Default: false.
    #[serde(default)]
    ignore_case: bool,
    /// White space at both ends does not count. Default: true.
    #[serde(default = "yes")]
    trim: bool,
}

fn yes() -> bool {
    true
}

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let settings: Settings = block.settings(diagnostics)?;
    let info = if settings.value.is_some() { &OF_VALUE } else { &INFO };
    Some(ready(block, info, None, settings))
}

impl Measure for Settings {
    fn measure(&self, subject: Subject<'_>) -> Result<Found, Failure> {
        let expected = match &self.value {
            Some(value) => value,
            None => reference(subject)?,
        };
        let same = equals(&subject.answer.text, expected, self.ignore_case, self.trim);
        let reason = if same {
            "the answer is the expected text".to_owned()
        } else {
            format!("the answer is not the expected text `{}`", excerpt(expected, 80))
        };
        Ok(Found::check(same, reason))
    }
}

/// Whether two texts are equal.
pub fn equals(answer: &str, expected: &str, ignore_case: bool, trim: bool) -> bool {
    let (answer, expected) = if trim { (answer.trim(), expected.trim()) } else { (answer, expected) };
    if ignore_case { answer.to_lowercase() == expected.to_lowercase() } else { answer == expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equality_is_of_characters_with_two_exceptions_that_can_be_chosen() {
        assert!(equals("Paris\n", "Paris", false, true));
        assert!(!equals("Paris\n", "Paris", false, false));
        assert!(!equals("paris", "Paris", false, true));
        assert!(equals("ÉCOLE", "école", true, true));
        assert!(!equals("Par is", "Paris", true, true));
    }
}
