//! Does the answer contain the expected text or texts?

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::{Found, Measure, ready, reference};
use super::super::{BuildContext, Info, Kind, Needs, Ready, Subject, schema};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, Failure, FailureKind, ScoreKind};
use crate::suite::{Block, Draft};
use crate::text::normalize::excerpt;

pub const INFO: Info = Info {
    name: "contains",
    summary: "1 if the answer contains the reference (or `value`, or all or any of `values`), else 0",
    score: ScoreKind::Binary,
    direction: Direction::Higher,
    pass_mark: Some(1.0),
    needs: &[Needs::Answer, Needs::Reference],
    version: 1,
    source: "substring of Unicode texts; an empty text is refused, because every answer contains it",
};

/// With texts of its own, no reference is needed.
const OF_VALUES: Info = Info { needs: &[Needs::Answer], ..INFO };

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// Does the answer contain the expected text or texts?
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The text to find; default: the case's reference.
    value: Option<String>,
    /// Several texts to find, see `match`.
    values: Option<Vec<String>>,
    /// Whether `all` of `values` must be there or `any` one. Default: all.
    #[serde(default, rename = "match")]
    matching: Matching,
    /// Upper and lower case are the same. Default: false.
    #[serde(default)]
    ignore_case: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Matching {
    #[default]
    All,
    Any,
}

struct Contains {
    /// Empty: the reference.
    texts: Vec<String>,
    matching: Matching,
    ignore_case: bool,
}

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let Settings { value, values, matching, ignore_case } = settings;
    let (texts, pointer) = match (value, values) {
        (Some(_), Some(_)) => {
            let problem = block.problem("/values", "conflicting-keys", "`value` and `values` exclude each other");
            diagnostics.push(problem.help("move the text of `value` into `values`"));
            return None;
        }
        (Some(value), None) => (vec![value], "/value"),
        (None, Some(values)) if values.is_empty() => {
            let problem = block.problem("/values", "empty-list", "`values` is empty, so there is nothing to find");
            diagnostics.push(problem.help("list at least one text, or leave `values` out to look for the reference"));
            return None;
        }
        (None, Some(values)) => (values, "/values"),
        (None, None) => (Vec::new(), ""),
    };
    if texts.iter().any(String::is_empty) {
        let problem =
            block.problem(pointer, "empty-text", "every answer contains the empty text: this check says nothing");
        diagnostics.push(problem.help("write the text that the answer must contain"));
        return None;
    }
    let info = if texts.is_empty() { &INFO } else { &OF_VALUES };
    sound.then(|| ready(block, info, None, Contains { texts, matching, ignore_case }))
}

impl Measure for Contains {
    fn measure(&self, subject: Subject<'_>) -> Result<Found, Failure> {
        let wanted: Vec<&str> = if self.texts.is_empty() {
            let reference = reference(subject)?.trim();
            if reference.is_empty() {
                let message =
                    "the reference is empty, and every answer contains the empty text: give the case a reference";
                return Err(Failure::infra(FailureKind::Missing, message));
            }
            vec![reference]
        } else {
            self.texts.iter().map(String::as_str).collect()
        };
        let absent = absent(&subject.answer.text, &wanted, self.ignore_case);
        let holds = match self.matching {
            Matching::All => absent.is_empty(),
            Matching::Any => absent.len() < wanted.len(),
        };
        Ok(Found::check(holds, explain(&wanted, &absent)))
    }
}

fn explain(wanted: &[&str], absent: &[&str]) -> String {
    let list = |texts: &[&str]| {
        let shown: Vec<String> = texts.iter().take(5).map(|text| format!("`{}`", excerpt(text, 60))).collect();
        let more = texts.len().saturating_sub(shown.len());
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{rest}", shown.join(", "))
    };
    if absent.is_empty() {
        format!("the answer contains {}", list(wanted))
    } else {
        format!("the answer does not contain {}", list(absent))
    }
}

/// Those of `wanted` that `answer` does not contain.
pub fn absent<'a>(answer: &str, wanted: &[&'a str], ignore_case: bool) -> Vec<&'a str> {
    let folded = ignore_case.then(|| answer.to_lowercase());
    let found = |text: &&str| match &folded {
        Some(folded) => folded.contains(&text.to_lowercase()),
        None => answer.contains(*text),
    };
    wanted.iter().filter(|text| !found(text)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_absent_is_named() {
        assert_eq!(absent("Use 4 spaces", &["4", "tabs", "use"], false), ["tabs", "use"]);
        assert_eq!(absent("Use 4 spaces", &["4", "tabs", "use"], true), ["tabs"]);
        assert!(absent("检索测试", &["索测"], false).is_empty());
    }
}
