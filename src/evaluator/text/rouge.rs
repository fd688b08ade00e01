//! How much of the reference's wording is in the answer? ROUGE-L, ROUGE-1 and ROUGE-2 as F-measures.

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::{Found, Measure, ready, reference, threshold, too_long};
use super::super::{BuildContext, Info, Kind, Needs, Ready, Subject, schema};
use super::cjk::Cjk;
use super::f_measure;
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, Failure, ScoreKind};
use crate::suite::{Block, Draft};
use crate::text::distance::{affordable, longest_common_subsequence};
use crate::text::gram::{Grams, Numbers, shared};
use crate::text::token::rouge::{Cut, each, prepared};

pub const INFO_L: Info = Info {
    name: "rouge_l",
    summary: "F1 of the longest common subsequence of tokens of answer and reference, from 0 to 1",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Answer, Needs::Reference],
    version: 1,
    source: "Lin, ROUGE, 2004, as the rouge-score package 0.1.2 computes it, without stemmer unless `stem`; Chinese, Japanese and Korean by characters unless `cjk: words`",
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
    /// English words lose their endings before they are compared (Porter's stemmer): `tested` is `tests`. Default: false.
    #[serde(default)]
    stem: bool,
    /// How Chinese, Japanese and Korean are cut: into `characters`, or into `words` with a dictionary. Default: characters.
    #[serde(default)]
    cjk: Cjk,
    /// A case passes at this score or better, from 0 to 1. Default: none, so that the score has no notion of passing.
    threshold: Option<f64>,
}

/// Which ROUGE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Longest common subsequence.
    L,
    /// Runs of so many tokens, at most four.
    N(u32),
}

struct Rouge {
    variant: Variant,
    cut: Cut,
}

fn build_l(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    build(block, &INFO_L, Variant::L, diagnostics)
}

fn build_1(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    build(block, &INFO_1, Variant::N(1), diagnostics)
}

fn build_2(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    build(block, &INFO_2, Variant::N(2), diagnostics)
}

fn build(block: &Block, info: &'static Info, variant: Variant, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let mark = threshold(block, info, settings.threshold, diagnostics).ok()?;
    let cut = Cut { cjk: settings.cjk.into(), stem: settings.stem };
    sound.then(|| ready(block, info, mark, Rouge { variant, cut }))
}

impl Measure for Rouge {
    fn measure(&self, subject: Subject<'_>) -> Result<Found, Failure> {
        rouge(&subject.answer.text, reference(subject)?, self.variant, self.cut).map(Found::value)
    }
}

/// F1 of what answer and reference share; 0 where either has no token (or no run of so many).
///
/// # Errors
/// Texts that would take too long to compare.
pub fn rouge(answer: &str, reference: &str, variant: Variant, cut: Cut) -> Result<f64, Failure> {
    let (answer, reference) = (prepared(answer), prepared(reference));
    let mut numbers = Numbers::of_bytes(answer.len() + reference.len());
    let mut numbered = |text| {
        let mut tokens = Vec::new();
        each(text, cut, &mut |token| tokens.push(numbers.number(token)));
        tokens
    };
    let (answer, reference) = (numbered(&answer), numbered(&reference));
    match variant {
        Variant::L if !affordable(answer.len(), reference.len()) => {
            Err(too_long("tokens", answer.len(), reference.len()))
        }
        Variant::L => {
            let common = longest_common_subsequence(&answer, &reference, numbers.distinct() + 1);
            Ok(f_measure(common, answer.len(), reference.len()))
        }
        Variant::N(1) => {
            let common = shared(&answer, &reference, numbers.distinct());
            Ok(f_measure(common, answer.len(), reference.len()))
        }
        Variant::N(n) => {
            let (answer, reference) = (Grams::of_tokens(&answer, n), Grams::of_tokens(&reference, n));
            Ok(f_measure(answer.shared(&reference, n), answer.count(n), reference.count(n)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::token;

    fn close(answer: &str, reference: &str, variant: Variant, expected: f64) -> bool {
        (rouge(answer, reference, variant, Cut::default()).unwrap() - expected).abs() < 1e-12
    }

    #[test]
    fn hand_computed_values() {
        // The example of Lin 2004, section 3.1: S1 "police killed the gunman", S2 "police kill the gunman".
        assert!(close("police kill the gunman", "police killed the gunman", Variant::L, 0.75));
        assert!(close("the gunman kill police", "police killed the gunman", Variant::L, 0.5));
        assert!(close("police kill the gunman", "police killed the gunman", Variant::N(2), 1.0 / 3.0));
        assert!(close("刘备字玄德", "刘备，字玄德", Variant::L, 1.0));
        assert!(close("", "", Variant::L, 0.0));
        assert!(close("one", "one", Variant::N(2), 0.0));
    }

    #[test]
    fn stems_and_dictionary_words_are_a_choice() {
        let cut = Cut { stem: true, ..Cut::default() };
        assert_eq!(rouge("police kill the gunman", "police killed the gunman", Variant::L, cut), Ok(1.0));
        let cut = Cut { cjk: token::Cjk::Words, stem: false };
        // Different words, of which one character is the same.
        assert_eq!(rouge("学生", "学习", Variant::N(1), cut), Ok(0.0));
        assert_eq!(rouge("学生", "学习", Variant::N(1), Cut::default()), Ok(0.5));
    }
}
