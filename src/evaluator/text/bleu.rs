//! How much of the answer's wording is in the reference? BLEU of one sentence.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::{Found, Measure, ready, reference, threshold};
use super::super::{BuildContext, Info, Kind, Needs, Ready, Subject, schema};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, Failure, ScoreKind};
use crate::suite::{Block, Draft};
use crate::text::gram::{Grams, Numbers};
use crate::text::token::bleu::{Cut, each, spaced};
use crate::text::token::{is_cjk, is_kana};

pub const INFO: Info = Info {
    name: "bleu",
    summary: "share of the answer's runs of one to four tokens that the reference has, less for short answers, from 0 to 1",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Answer, Needs::Reference],
    version: 1,
    source: "Papineni and others, BLEU, 2002, as sacrebleu 2.6.0 computes it for a sentence (effective order, exponential smoothing), divided by 100",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// Longest runs that count.
const ORDER: u32 = 4;

/// How much of the answer's wording is in the reference?
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// How texts are cut. `auto`: by the reference's script, `zh` for Chinese, `char` for Japanese, else `13a`. `13a`, `zh`, `char`,
    /// `none`: as sacrebleu's tokenizers. `words`: as `13a`, but Chinese, Japanese and Korean into words with a dictionary.
    /// Default: auto.
    #[serde(default)]
    tokens: Tokens,
    /// Upper and lower case are the same. Default: false.
    #[serde(default)]
    ignore_case: bool,
    /// A case passes at this score or better, from 0 to 1. Default: none, so that the score has no notion of passing.
    threshold: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tokens {
    #[default]
    Auto,
    #[serde(rename = "13a")]
    Mteval13a,
    Zh,
    Char,
    None,
    Words,
}

impl Tokens {
    fn cut(self, reference: &str) -> Cut {
        match self {
            Self::Auto if reference.is_ascii() => Cut::Mteval13a,
            Self::Auto if reference.contains(is_kana) => Cut::Char,
            Self::Auto if reference.contains(|c| is_cjk(c) && !is_hangul(c)) => Cut::Zh,
            Self::Auto | Self::Mteval13a => Cut::Mteval13a,
            Self::Zh => Cut::Zh,
            Self::Char => Cut::Char,
            Self::None => Cut::None,
            Self::Words => Cut::Words,
        }
    }
}

/// Korean is written with spaces.
fn is_hangul(c: char) -> bool {
    matches!(c, '\u{ac00}'..='\u{d7af}')
}

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let mark = threshold(block, &INFO, settings.threshold, diagnostics).ok()?;
    sound.then(|| ready(block, &INFO, mark, settings))
}

impl Measure for Settings {
    fn measure(&self, subject: Subject<'_>) -> Result<Found, Failure> {
        let reference = reference(subject)?;
        let cut = self.tokens.cut(reference);
        let cased = |text| if self.ignore_case { lower(text) } else { Cow::Borrowed(text) };
        Ok(Found::value(bleu(&cased(&subject.answer.text), &cased(reference), cut)))
    }
}

fn lower(text: &str) -> Cow<'_, str> {
    Cow::Owned(text.to_lowercase())
}

/// From 0 to 1; 0 where nothing is common.
pub fn bleu(answer: &str, reference: &str, cut: Cut) -> f64 {
    let (answer, reference) = (spaced(answer, cut), spaced(reference, cut));
    let mut numbers = Numbers::of_bytes(answer.len() + reference.len());
    let mut numbered = |text| {
        let mut tokens = Vec::new();
        each(text, &mut |token| tokens.push(numbers.number(Cow::Borrowed(token))));
        tokens
    };
    let (answer, reference) = (numbered(&answer), numbered(&reference));
    let brevity = if answer.len() < reference.len() && !answer.is_empty() {
        libm::exp(1.0 - reference.len() as f64 / answer.len() as f64)
    } else {
        1.0
    };
    let (answer, reference) = (Grams::of_tokens(&answer, ORDER), Grams::of_tokens(&reference, ORDER));
    brevity * mean_precision(&answer, &reference)
}

/// The geometric mean of the precisions of all lengths that the answer has; a length without any match counts as half a match, the next
/// such one as a quarter, and so on.
fn mean_precision(answer: &Grams, reference: &Grams) -> f64 {
    let (mut logs, mut orders, mut halves, mut any) = (0.0, 0.0, 1.0, false);
    for n in 1..=ORDER {
        let total = answer.count(n);
        if total == 0 {
            break;
        }
        let common = answer.shared(reference, n);
        any |= common > 0;
        let precision = if common == 0 {
            halves *= 2.0;
            1.0 / (halves * total as f64)
        } else {
            common as f64 / total as f64
        };
        logs += libm::log(precision);
        orders += 1.0;
    }
    if any { libm::exp(logs / orders) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_score_one_and_strangers_zero() {
        assert_eq!(bleu("the cat sat", "the cat sat", Cut::Mteval13a), 1.0);
        assert_eq!(bleu("dog", "the cat sat", Cut::Mteval13a), 0.0);
        assert_eq!(bleu("", "", Cut::Mteval13a), 0.0);
    }

    #[test]
    fn a_hand_computed_value() {
        // 1-grams 2/2, 2-grams 1/1, brevity e^(1 − 3/2).
        let value = bleu("the cat", "the cat sat", Cut::Mteval13a);
        assert!((value - libm::exp(-0.5)).abs() < 1e-12, "{value}");
    }

    #[test]
    fn the_reference_s_script_chooses_the_tokens() {
        let cut = |reference| Tokens::Auto.cut(reference);
        assert_eq!(cut("plain, naïve"), Cut::Mteval13a);
        assert_eq!(cut("刘备 and friends"), Cut::Zh);
        assert_eq!(cut("東京へ行く"), Cut::Char);
        assert_eq!(cut("서울에 간다"), Cut::Mteval13a);
    }
}
