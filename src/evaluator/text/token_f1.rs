//! How many words do answer and reference share?

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::pure::{Found, Measure, ready, reference, threshold};
use super::super::{BuildContext, Info, Kind, Needs, Ready, Subject, schema};
use super::cjk::Cjk;
use super::f_measure;
use crate::diagnostic::Diagnostics;
use crate::domain::{Direction, Failure, ScoreKind};
use crate::suite::{Block, Draft};
use crate::text::gram::{Numbers, shared};
use crate::text::token::rouge::{Cut, tokens as cut_tokens};
use crate::text::token::{is_cjk, squad_words};

pub const INFO: Info = Info {
    name: "token_f1",
    summary: "F1 of the words that answer and reference share, from 0 to 1",
    score: ScoreKind::UNIT,
    direction: Direction::Higher,
    pass_mark: None,
    needs: &[Needs::Answer, Needs::Reference],
    version: 2,
    source: "evaluate-v1.1.py of SQuAD (Rajpurkar and others, 2016), f1_score; with an empty side 1 only if both are empty; Chinese, Japanese and Korean by characters unless `cjk: words` or `tokens: words`",
};

pub(super) const KIND: Kind = Kind { info: &INFO, schema: schema::<Settings>, build };

/// How many words do answer and reference share?
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// What is counted. `words`: what white space separates, as SQuAD does. `auto`: the same, but for a reference in Chinese, Japanese
    /// or Korean each character, and each run of a–z and 0–9. Default: auto.
    #[serde(default)]
    tokens: Tokens,
    /// How `auto` cuts Chinese, Japanese and Korean: into `characters`, or into `words` with a dictionary. Default: characters.
    #[serde(default)]
    cjk: Cjk,
    /// A case passes at this score or better, from 0 to 1. Default: none, so that the score has no notion of passing.
    threshold: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tokens {
    #[default]
    Auto,
    Words,
}

fn build(block: &Block, _context: &BuildContext<'_>, diagnostics: &mut Diagnostics) -> Option<Ready> {
    let Draft { settings, sound } = block.draft::<Settings>(diagnostics)?;
    let mark = threshold(block, &INFO, settings.threshold, diagnostics).ok()?;
    sound.then(|| ready(block, &INFO, mark, settings))
}

impl Measure for Settings {
    fn measure(&self, subject: Subject<'_>) -> Result<Found, Failure> {
        Ok(Found::value(token_f1(&subject.answer.text, reference(subject)?, self.tokens, self.cjk)))
    }
}

/// F1 of the bags of tokens: 2 · shared / (sum of lengths), from 0 to 1; with an empty side 1 only if both are empty.
pub fn token_f1(answer: &str, reference: &str, tokens: Tokens, cjk: Cjk) -> f64 {
    let by_script = tokens == Tokens::Auto && reference.contains(is_cjk);
    let mut numbers = Numbers::of_bytes(answer.len() + reference.len());
    let mut cut = |text| {
        let tokens = if by_script { cut_tokens(text, Cut { cjk: cjk.into(), stem: false }) } else { squad_words(text) };
        tokens.into_iter().map(|token| numbers.number(token.into())).collect::<Vec<u32>>()
    };
    let (answer, reference) = (cut(answer), cut(reference));
    if answer.is_empty() && reference.is_empty() {
        return 1.0;
    }
    f_measure(shared(&answer, &reference, numbers.distinct()), answer.len(), reference.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-12
    }

    #[test]
    fn hand_computed_values() {
        // 3 shared of 4 and 5 words.
        assert!(close(
            token_f1("the cat sat on mat", "A cat sat on red mats", Tokens::Words, Cjk::Characters),
            2.0 * 3.0 / 9.0
        ));
        assert!(close(token_f1("刘备和关羽", "刘备关羽", Tokens::Auto, Cjk::Characters), 8.0 / 9.0));
        assert!(close(token_f1("刘备和关羽", "刘备关羽", Tokens::Words, Cjk::Characters), 0.0));
        assert!(close(token_f1("PEP8 刘备", "刘备，PEP8。", Tokens::Auto, Cjk::Characters), 1.0));
        assert!(close(token_f1("the end", "end", Tokens::Auto, Cjk::Characters), 1.0));
    }

    #[test]
    fn an_empty_side_scores_one_only_if_both_are_empty() {
        assert!(close(token_f1("", "the", Tokens::Words, Cjk::Characters), 1.0));
        assert!(close(token_f1("", "x", Tokens::Words, Cjk::Characters), 0.0));
        assert!(close(token_f1("x", "!", Tokens::Words, Cjk::Characters), 0.0));
    }
}
