//! Does the answer match a regular expression?

use ::regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::{Found, Measure, ready};
use super::super::{BuildContext, Info, Kind, Needs, Ready, Subject, schema};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, Failure, ScoreKind};
use crate::suite::{Block, Draft};
use crate::text::normalize::excerpt;

/// Most bytes of a compiled pattern, so that a pattern of a few characters cannot take the machine's memory.
const PATTERN_BYTES: usize = 4 << 20;

pub const INFO: Info = Info {
    name: "regex",
    summary: "1 if `pattern` matches somewhere in the answer, else 0; takes linear time whatever the pattern",
    score: ScoreKind::Binary,
    direction: Direction::Higher,
    pass_mark: Some(1.0),
    needs: &[Needs::Answer],
    version: 1,
    source: "syntax of Rust's `regex` (docs.rs/regex): no look-around, no back-references; `^…$` for the whole answer, `(?m)` for lines",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// Does the answer match a regular expression?
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The regular expression, in the syntax of docs.rs/regex.
    pattern: String,
    /// Upper and lower case are the same. Default: false.
    #[serde(default)]
    ignore_case: bool,
}

struct Matches {
    regex: Regex,
}

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    match compile(&settings.pattern, settings.ignore_case) {
        Ok(regex) if regex.is_match("") && !settings.pattern.contains(['^', '$', '\\']) => {
            let message = format!(
                "the pattern `{}` matches every answer: this check says nothing",
                excerpt(&settings.pattern, 60)
            );
            let problem = block.problem("/pattern", "matches-everything", message);
            diagnostics
                .push(problem.help("write a pattern that needs at least one character, or anchor it with ^ and $"));
            None
        }
        Ok(regex) => sound.then(|| ready(block, &INFO, None, Matches { regex })),
        Err(error) => {
            let problem =
                block.problem("/pattern", "bad-pattern", format!("the pattern cannot be used: {}", why(&error)));
            diagnostics.push(problem.help(
                "the syntax is docs.rs/regex: it always takes linear time and so has no look-around and no back-references",
            ));
            None
        }
    }
}

/// The pattern ready to use, within its limit of memory.
pub(super) fn compile(pattern: &str, ignore_case: bool) -> Result<Regex, ::regex::Error> {
    RegexBuilder::new(pattern)
        .case_insensitive(ignore_case)
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES)
        .build()
}

/// The last line of the crate's drawing holds the cause.
pub(super) fn why(error: &::regex::Error) -> String {
    match error {
        ::regex::Error::CompiledTooBig(limit) => {
            format!("it would take more than {limit} bytes (limit of compiled patterns)")
        }
        other => {
            let text = other.to_string();
            let line = text.lines().last().unwrap_or_default();
            line.trim_start_matches("error: ").to_owned()
        }
    }
}

impl Measure for Matches {
    fn measure(&self, subject: Subject<'_>) -> Result<Found, Failure> {
        let found = self.regex.find(&subject.answer.text);
        let reason = match &found {
            Some(found) => format!("the pattern matches `{}`", excerpt(found.as_str(), 80)),
            None => format!("the pattern `{}` does not match", excerpt(self.regex.as_str(), 80)),
        };
        Ok(Found::check(found.is_some(), reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_pattern_says_why() {
        let cause = |pattern: &str| compile(pattern, false).map_err(|error| why(&error)).unwrap_err();
        assert_eq!(cause("(a"), "unclosed group");
        assert!(cause(r"(?=x)").contains("look-around"));
        assert!(cause(r"(\pL{1000}){1000}").contains("limit of compiled patterns"));
    }

    #[test]
    fn a_nested_repetition_stays_fast_on_a_long_text() {
        let regex = compile("(a+)+$", false).unwrap();
        assert!(!regex.is_match(&format!("{}b", "a".repeat(100_000))));
    }
}
