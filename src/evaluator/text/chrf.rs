//! How many runs of characters do answer and reference share? chrF, and chrF++ with words.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::{Found, Measure, ready, reference, threshold};
use super::super::{BuildContext, Info, Kind, Needs, Ready, Subject, schema};
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, Failure, ScoreKind};
use crate::suite::{Block, Draft};
use crate::text::gram::{Grams, Numbers};
use crate::text::normalize::is_space;

pub const INFO: Info = Info {
    name: "chrf",
    summary: "F-score of the runs of one to six characters that answer and reference share, recall counting twice, from 0 to 1",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Answer, Needs::Reference],
    version: 1,
    source: "Popović, chrF, 2015 (word_order 2: chrF++, 2017), as sacrebleu 2.6.0 computes it for a sentence, divided by 100",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// Longest runs of characters.
const CHARACTERS: u32 = 6;
/// Longest runs of words that can be asked for.
const WORDS: u32 = 2;
/// Recall counts this many times as much as precision.
const BETA: f64 = 2.0;

/// How many runs of characters do answer and reference share?
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Also count runs of so many words, 0 to 2; 2 is chrF++. Default: 0.
    #[serde(default)]
    #[schemars(range(max = 2))]
    word_order: u32,
    /// Upper and lower case are the same. Default: false.
    #[serde(default)]
    ignore_case: bool,
    /// A case passes at this score or better, from 0 to 1. Default: none, so that the score has no notion of passing.
    threshold: Option<f64>,
}

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let mark = threshold(block, &INFO, settings.threshold, diagnostics).ok()?;
    sound.then(|| ready(block, &INFO, mark, settings))
}

impl Measure for Settings {
    fn measure(&self, subject: Subject<'_>) -> Result<Found, Failure> {
        let (answer, reference) = (subject.answer.text.as_str(), reference(subject)?);
        Ok(Found::value(if self.ignore_case {
            chrf(&answer.to_lowercase(), &reference.to_lowercase(), self.word_order)
        } else {
            chrf(answer, reference, self.word_order)
        }))
    }
}

/// From 0 to 1; white space does not count. 0 where either text has no character.
pub fn chrf(answer: &str, reference: &str, word_order: u32) -> f64 {
    let mut sums = Sums::default();
    let characters = |text: &str| {
        let characters: Vec<char> = text.chars().filter(|c| !is_space(*c)).collect();
        Grams::of_characters(&characters, CHARACTERS)
    };
    sums.add(&characters(answer), &characters(reference), CHARACTERS);
    let word_order = word_order.min(WORDS);
    if word_order > 0 {
        let mut numbers = Numbers::default();
        let mut words = |text| {
            let mut words = Vec::new();
            each_word(text, &mut |word| words.push(numbers.number(Cow::Borrowed(word))));
            Grams::of_tokens(&words, word_order)
        };
        let (answer, reference) = (words(answer), words(reference));
        sums.add(&answer, &reference, word_order);
    }
    sums.score()
}

/// Precision and recall, summed over the lengths that both texts have.
#[derive(Default)]
struct Sums {
    precision: f64,
    recall: f64,
    lengths: f64,
}

impl Sums {
    fn add(&mut self, answer: &Grams, reference: &Grams, order: u32) {
        for n in 1..=order {
            let (mine, theirs) = (answer.count(n), reference.count(n));
            if mine == 0 || theirs == 0 {
                break;
            }
            let shared = answer.shared(reference, n) as f64;
            self.precision += shared / mine as f64;
            self.recall += shared / theirs as f64;
            self.lengths += 1.0;
        }
    }

    fn score(&self) -> f64 {
        if self.precision + self.recall == 0.0 {
            return 0.0;
        }
        let (precision, recall) = (self.precision / self.lengths, self.recall / self.lengths);
        let factor = BETA * BETA;
        let score = (1.0 + factor) * precision * recall / (factor * precision + recall);
        // Rounding may leave the scale by a hair; no `min`: it would turn NaN into a perfect score.
        if score > 1.0 { 1.0 } else { score }
    }
}

/// Hands on the words; a mark at the end of one (or else at its beginning) is a word of its own.
fn each_word<'t>(text: &'t str, word: &mut dyn FnMut(&'t str)) {
    let mark = |c: char| c.is_ascii_punctuation();
    for one in text.split(is_space).filter(|one| !one.is_empty()) {
        let mut characters = one.char_indices();
        let (first, last) = (characters.next(), characters.next_back());
        match (first, last) {
            (Some(_), Some((at, c))) if mark(c) => {
                let (before, end) = one.split_at(at);
                word(before);
                word(end);
            }
            (Some((_, c)), Some(_)) if mark(c) => {
                let (begin, after) = one.split_at(c.len_utf8());
                word(begin);
                word(after);
            }
            _ => word(one),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_score_one_and_strangers_zero() {
        assert_eq!(chrf("a b c", "abc", 0), 1.0);
        assert_eq!(chrf("xyz", "abc", 2), 0.0);
        assert_eq!(chrf("", "", 0), 0.0);
    }

    #[test]
    fn marks_are_words_of_their_own() {
        let mut words = Vec::new();
        each_word("(hi) . x, \"y", &mut |word| words.push(word));
        assert_eq!(words, ["(hi", ")", ".", "x", ",", "\"", "y"]);
    }
}
