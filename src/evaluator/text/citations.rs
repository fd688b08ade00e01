//! Does the answer cite its sources, and are they among those it was given?

use std::sync::LazyLock;

use ::regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::{Found, Measure, ready};
use super::super::{BuildContext, Info, Kind, Needs, Ready, Subject, schema};
use super::regex::compile;
use crate::diagnostic::Diagnostics;
use crate::domain::{Context, Direction, Failure, ScoreKind};
use crate::suite::{Block, Draft};
use crate::text::normalize::excerpt;

pub const INFO: Info = Info {
    name: "citations",
    summary: "1 if the answer cites, and every citation is a retrieved context, else 0",
    score: ScoreKind::Binary,
    direction: Direction::Higher,
    pass_mark: Some(1.0),
    needs: &[Needs::Answer, Needs::Contexts],
    version: 1,
    source: "a citation is valid where it is a retrieved context's id, or its rank from 1: `[2]`, `[1, 3]`, `[2-4]`, `[^2]`, `【2】`, `[doc-7]`",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// What stands in brackets: numbers and ranges of them, or one id of a retrieved context.
static BRACKETS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\[\^?([^\[\]\n]{1,200})\]|【([^【】\n]{1,200})】").ok());

/// Most ranks that a range may name, so that `[1-999999999]` stays cheap.
const LONGEST_RANGE: usize = 1_000;

/// Does the answer cite its sources, and are they among those it was given?
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Fewest different sources that must be cited. Default: 1; with 0, an answer without citations passes.
    #[serde(default = "one")]
    min: usize,
    /// Every citation must be a retrieved context, by its id or its rank from 1. Default: true.
    #[serde(default = "yes")]
    valid: bool,
    /// How a citation looks, as a regular expression whose first group is the id or rank. Default: numbers, lists and ranges of them in
    /// brackets, and ids of retrieved contexts in brackets.
    pattern: Option<String>,
}

fn one() -> usize {
    1
}

fn yes() -> bool {
    true
}

struct Citations {
    min: usize,
    valid: bool,
    pattern: Option<Regex>,
}

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let Settings { min, valid, pattern } = settings;
    if min == 0 && !valid {
        let problem = block.problem("/min", "empty-range", "with `min: 0` and `valid: false` every answer passes");
        diagnostics.push(problem.help("set `min: 1` to ask for citations, or leave `valid` out"));
        return None;
    }
    let pattern = match pattern.as_deref().map(|pattern| compile(pattern, false)).transpose() {
        Ok(pattern) => pattern,
        Err(error) => {
            let message = format!("the pattern cannot be used: {}", super::regex::why(&error));
            let problem = block.problem("/pattern", "bad-pattern", message);
            diagnostics.push(problem.help("the syntax is docs.rs/regex; for instance `\\(source (\\w+)\\)`"));
            return None;
        }
    };
    if pattern.as_ref().is_some_and(|pattern| pattern.captures_len() < 2) {
        let problem = block.problem("/pattern", "bad-pattern", "the pattern has no group that holds the id or rank");
        diagnostics.push(problem.help("put brackets around it: `\\(source (\\w+)\\)`"));
        return None;
    }
    sound.then(|| ready(block, &INFO, None, Citations { min, valid, pattern }))
}

/// Where a citation leads to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cited {
    /// Position of a retrieved context.
    Context(usize),
    /// No retrieved context.
    Unknown(String),
}

impl Measure for Citations {
    fn measure(&self, subject: Subject<'_>) -> Result<Found, Failure> {
        let mut cited = self.cited(&subject.answer.text, &subject.answer.contexts);
        cited.sort();
        cited.dedup();
        let unknown = cited.iter().find_map(|one| match one {
            Cited::Unknown(text) => Some(text),
            Cited::Context(_) => None,
        });
        let retrieved = subject.answer.contexts.len();
        Ok(match unknown.filter(|_| self.valid) {
            Some(unknown) => {
                let shown = excerpt(unknown, 40);
                Found::check(
                    false,
                    format!("the answer cites `{shown}`, which is none of {retrieved} retrieved contexts"),
                )
            }
            None => {
                let enough = cited.len() >= self.min;
                Found::check(enough, format!("the answer cites {} of {retrieved} retrieved contexts", cited.len()))
            }
        })
    }
}

impl Citations {
    fn cited(&self, answer: &str, contexts: &[Context]) -> Vec<Cited> {
        let mut cited = Vec::new();
        if let Some(pattern) = &self.pattern {
            for found in pattern.captures_iter(answer) {
                cited.extend(found.get(1).map(|text| source(text.as_str(), contexts)));
            }
            return cited;
        }
        let Some(brackets) = &*BRACKETS else { return cited };
        for found in brackets.captures_iter(answer) {
            let Some(inside) = found.get(1).or_else(|| found.get(2)).map(|inside| inside.as_str()) else { continue };
            // What is neither numbers nor an id is a note, a link, or code.
            match (numbers(inside), source(inside, contexts)) {
                (_, known @ Cited::Context(_)) => cited.push(known),
                (Some(numbers), Cited::Unknown(_)) => {
                    cited.extend(numbers.iter().map(|number| source(&number.to_string(), contexts)));
                }
                (None, Cited::Unknown(_)) => {}
            }
        }
        cited
    }
}

/// The context with this id, or else at this rank.
fn source(text: &str, contexts: &[Context]) -> Cited {
    let text = text.trim();
    let by_id = contexts.iter().position(|context| context.id.as_deref() == Some(text));
    let by_rank = || text.parse::<usize>().ok().and_then(|rank| rank.checked_sub(1)).filter(|at| *at < contexts.len());
    by_id.or_else(by_rank).map_or_else(|| Cited::Unknown(text.to_owned()), Cited::Context)
}

/// `1`, `1, 3`, `2-4`, `2–4`; `None` for anything else.
fn numbers(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for part in text.split([',', '，', '、', ';']) {
        let number = |text: &str| text.trim().trim_start_matches('^').parse::<usize>().ok();
        match part.split_once(['-', '–']) {
            None => numbers.push(number(part)?),
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                if last < first || last - first > LONGEST_RANGE {
                    return None;
                }
                numbers.extend(first..=last);
            }
        }
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contexts(ids: &[&str]) -> Vec<Context> {
        ids.iter().map(|id| Context { id: Some((*id).to_owned()), ..Context::default() }).collect()
    }

    fn cited(answer: &str) -> Vec<Cited> {
        let all = Citations { min: 1, valid: true, pattern: None };
        all.cited(answer, &contexts(&["pep-8", "7", "x y"]))
    }

    #[test]
    fn citations_in_every_usual_form() {
        assert_eq!(cited("So it is [1][3]."), [Cited::Context(0), Cited::Context(2)]);
        assert_eq!(
            cited("So it is [1, 3] [^2] 【2】"),
            [Cited::Context(0), Cited::Context(2), Cited::Context(1), Cited::Context(1)]
        );
        assert_eq!(cited("[1-3]"), [Cited::Context(0), Cited::Context(1), Cited::Context(2)]);
        // An id goes before a rank.
        assert_eq!(cited("[pep-8] [7] [x y]"), [Cited::Context(0), Cited::Context(1), Cited::Context(2)]);
        assert_eq!(cited("[4] [0]"), [Cited::Unknown("4".to_owned()), Cited::Unknown("0".to_owned())]);
        assert!(cited("[a note](https://example.org) and list[int] or [x]").is_empty());
        assert!(cited("[1-99999999999]").is_empty());
    }

    #[test]
    fn a_pattern_of_one_s_own() {
        let own = Citations { min: 1, valid: true, pattern: Regex::new(r"\(source (\S+)\)").ok() };
        let cited = own.cited("So (source pep-8) and (source none).", &contexts(&["pep-8"]));
        assert_eq!(cited, [Cited::Context(0), Cited::Unknown("none".to_owned())]);
    }
}
