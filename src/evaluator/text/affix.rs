//! Does the answer begin, or end, with the expected text?

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::{Found, Measure, ready, reference};
use super::super::{BuildContext, Info, Kind, Needs, Ready, Subject, schema};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, Failure, FailureKind, ScoreKind};
use crate::suite::{Block, Draft};
use crate::text::normalize::excerpt;

pub const INFO_STARTS: Info = Info {
    name: "starts_with",
    summary: "1 if the answer begins with the reference (or `value`, or any of `values`), else 0",
    score: ScoreKind::Binary,
    direction: Direction::Higher,
    pass_mark: Some(1.0),
    needs: &[Needs::Answer, Needs::Reference],
    version: 1,
    source: "beginning of Unicode texts; white space at the answer's ends does not count unless `trim: false`; an empty text is refused",
};

pub const INFO_ENDS: Info = Info {
    name: "ends_with",
    summary: "1 if the answer ends with the reference (or `value`, or any of `values`), else 0",
    source: "end of Unicode texts; white space at the answer's ends does not count unless `trim: false`; an empty text is refused",
    ..INFO_STARTS
};

/// With texts of its own, no reference is needed.
const STARTS_OF_VALUES: Info = Info { needs: &[Needs::Answer], ..INFO_STARTS };
const ENDS_OF_VALUES: Info = Info { needs: &[Needs::Answer], ..INFO_ENDS };

pub(super) const STARTS: Kind = Kind { info: &INFO_STARTS, schema: schema::<Settings>, build: build_starts };
pub(super) const ENDS: Kind = Kind { info: &INFO_ENDS, schema: schema::<Settings>, build: build_ends };

/// Does the answer begin, or end, with the expected text?
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The expected text; default: the case's reference.
    value: Option<String>,
    /// Several texts, any of which will do.
    #[schemars(length(min = 1))]
    values: Option<Vec<String>>,
    /// Upper and lower case are the same. Default: false.
    #[serde(default)]
    ignore_case: bool,
    /// White space at both ends of the answer does not count. Default: true.
    #[serde(default = "yes")]
    trim: bool,
}

fn yes() -> bool {
    true
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Start,
    End,
}

struct Affix {
    end: End,
    /// Empty: the reference.
    texts: Vec<String>,
    ignore_case: bool,
    trim: bool,
}

fn build_starts(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    build(block, End::Start, [&INFO_STARTS, &STARTS_OF_VALUES], diagnostics)
}

fn build_ends(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    build(block, End::End, [&INFO_ENDS, &ENDS_OF_VALUES], diagnostics)
}

fn build(
    block: &Block,
    end: End,
    [of_reference, of_values]: [&'static Info; 2],
    diagnostics: &mut Diagnostics,
) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let Settings { value, values, ignore_case, trim } = settings;
    if value.is_some() && values.is_some() {
        let problem = block.problem("/values", "conflicting-keys", "`value` and `values` exclude each other");
        diagnostics.push(problem.help("move the text of `value` into `values`"));
        return None;
    }
    let pointer = if value.is_some() { "/value" } else { "/values" };
    let texts: Vec<String> = value.into_iter().chain(values.into_iter().flatten()).collect();
    if texts.iter().any(String::is_empty) {
        let message = "every answer begins and ends with the empty text: this check says nothing";
        diagnostics.push(block.problem(pointer, "empty-text", message).help("write the text that is expected"));
        return None;
    }
    let info = if texts.is_empty() { of_reference } else { of_values };
    sound.then(|| ready(block, info, None, Affix { end, texts, ignore_case, trim }))
}

impl Measure for Affix {
    fn measure(&self, subject: Subject<'_>) -> Result<Found, Failure> {
        let reference = if self.texts.is_empty() { Some(reference(subject)?.trim()) } else { None };
        if reference.is_some_and(str::is_empty) {
            let message = "the reference is empty, and every answer begins and ends with the empty text: give the case a reference";
            return Err(Failure::infra(FailureKind::Missing, message));
        }
        let answer = &subject.answer.text;
        let answer = if self.trim { answer.trim() } else { answer };
        let mut wanted = reference.into_iter().chain(self.texts.iter().map(String::as_str));
        let found = wanted.find(|text| self.holds(answer, text));
        let word = match self.end {
            End::Start => "begin",
            End::End => "end",
        };
        let reason = match found {
            Some(text) => format!("the answer {word}s with `{}`", excerpt(text, 60)),
            None => format!("the answer does not {word} with the expected text"),
        };
        Ok(Found::check(found.is_some(), reason))
    }
}

impl Affix {
    fn holds(&self, answer: &str, text: &str) -> bool {
        if self.ignore_case {
            return affixed(self.end, &answer.to_lowercase(), &text.to_lowercase());
        }
        affixed(self.end, answer, text)
    }
}

fn affixed(end: End, answer: &str, text: &str) -> bool {
    match end {
        End::Start => answer.starts_with(text),
        End::End => answer.ends_with(text),
    }
}
