//! How much of the reference's wording is in the answer? ROUGE-L, ROUGE-1 and ROUGE-2 as F-measures.

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::{Found, Measure, ready, reference, threshold};
use super::super::{BuildContext, Info, Kind, Needs, Ready, Subject, schema};
use super::f_measure;
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, Failure, ScoreKind};
use crate::suite::{Block, Draft};
use crate::text::distance::{longest_common_subsequence, shared};
use crate::text::token::rouge as tokens;

pub const INFO_L: Info = Info {
    name: "rouge_l",
    summary: "F1 of the longest common subsequence of tokens of answer and reference, from 0 to 1",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Answer, Needs::Reference],
    version: 1,
    source: "Lin, ROUGE, 2004, as the rouge-score package 0.1.2 computes it without stemmer; Chinese, Japanese and Korean by characters",
};

pub const INFO_1: Info =
    Info { name: "rouge_1", summary: "F1 of the tokens that answer and reference share, from 0 to 1", ..INFO_L };

pub const INFO_2: Info = Info {
    name: "rouge_2",
    summary: "F1 of the pairs of tokens that answer and reference share, from 0 to 1",
    ..INFO_L
};

pub(super) const L: Kind = Kind { info: &INFO_L, schema: schema::<Settings>, build: build_l };
pub(super) const ONE: Kind = Kind { info: &INFO_1, schema: schema::<Settings>, build: build_1 };
pub(super) const TWO: Kind = Kind { info: &INFO_2, schema: schema::<Settings>, build: build_2 };

/// How much of the reference's wording is in the answer?
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// A case passes at this score or better, from 0 to 1. Default: none, so that the score has no notion of passing.
    threshold: Option<f64>,
}

struct Rouge(fn(&str, &str) -> f64);

fn build_l(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    build(block, &INFO_L, rouge_l, diagnostics)
}

fn build_1(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    build(block, &INFO_1, |answer, reference| rouge_n(answer, reference, 1), diagnostics)
}

fn build_2(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    build(block, &INFO_2, |answer, reference| rouge_n(answer, reference, 2), diagnostics)
}

fn build(
    block: &Block,
    info: &'static Info,
    rouge: fn(&str, &str) -> f64,
    diagnostics: &mut Diagnostics,
) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let mark = threshold(block, info, settings.threshold, diagnostics).ok()?;
    sound.then(|| ready(block, info, mark, Rouge(rouge)))
}

impl Measure for Rouge {
    fn measure(&self, subject: Subject<'_>) -> Result<Found, Failure> {
        Ok(Found::value(self.0(&subject.answer.text, reference(subject)?)))
    }
}

/// F1 of the longest common subsequence; 0 where either text has no token.
pub fn rouge_l(answer: &str, reference: &str) -> f64 {
    let (answer, reference) = (tokens(answer), tokens(reference));
    f_measure(longest_common_subsequence(&answer, &reference), answer.len(), reference.len())
}

/// F1 of the bags of runs of `n` tokens (n ≥ 1); 0 where either text has none.
pub fn rouge_n(answer: &str, reference: &str, n: usize) -> f64 {
    let (answer, reference) = (tokens(answer), tokens(reference));
    let grams = |tokens: &[String]| tokens.windows(n.max(1)).map(<[String]>::to_vec).collect::<Vec<_>>();
    let (answer, reference) = (grams(&answer), grams(&reference));
    f_measure(shared(&answer, &reference), answer.len(), reference.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-12
    }

    #[test]
    fn hand_computed_values() {
        // The example of Lin 2004, section 3.1: S1 "police killed the gunman", S2 "police kill the gunman".
        assert!(close(rouge_l("police kill the gunman", "police killed the gunman"), 0.75));
        assert!(close(rouge_l("the gunman kill police", "police killed the gunman"), 0.5));
        assert!(close(rouge_n("police kill the gunman", "police killed the gunman", 2), 1.0 / 3.0));
        assert!(close(rouge_l("刘备字玄德", "刘备，字玄德"), 1.0));
        assert!(close(rouge_l("", ""), 0.0));
        assert!(close(rouge_n("one", "one", 2), 0.0));
    }
}
