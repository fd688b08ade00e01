//! Statements of fact in a text, and whether other texts support them: what the formulas of claims share.

use super::prompt::fill;
use super::reading::JudgeReading;
use super::sheet::Sheet;
use super::steps::{Conversation, Stop, borrowed};
use crate::domain::Context;

const CLAIMS: &str = include_str!("prompts/claims.txt");
const SUPPORTED: &str = include_str!("prompts/supported.txt");

/// The prompts, for fingerprints.
pub(super) fn prompts() -> Vec<String> {
    vec![CLAIMS.to_owned(), SUPPORTED.to_owned()]
}

/// The claims of the answer; an empty answer has none, and nobody is asked.
pub(super) async fn of_answer(talk: &Conversation<'_>) -> Result<Vec<String>, Stop> {
    of(talk, "answer", "the answer", &talk.subject.answer.text).await
}

/// The claims of the reference.
pub(super) async fn of_reference(talk: &Conversation<'_>) -> Result<Vec<String>, Stop> {
    let reference = talk.subject.case.reference.as_deref().unwrap_or_default();
    of(talk, "reference answer", "the reference answer", reference).await
}

async fn of(talk: &Conversation<'_>, what: &str, name: &str, text: &str) -> Result<Vec<String>, Stop> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let rubric = fill(CLAIMS, &[("what", what)]);
    talk.list(Sheet::new(&rubric).text("the question", &talk.subject.case.input).text(name, text)).await
}

/// Whether the contexts support each of `claims`.
pub(super) async fn by_contexts(
    talk: &Conversation<'_>,
    contexts: &[Context],
    claims: &[String],
) -> Result<Vec<JudgeReading>, Stop> {
    let rubric = fill(SUPPORTED, &[("source", "contexts")]);
    talk.verdicts(Sheet::new(&rubric).contexts(contexts), "the statement", &borrowed(claims)).await
}

/// Whether the given statements support each of `claims`. By none of them none is, and nobody is asked.
pub(super) async fn by_statements(
    talk: &Conversation<'_>,
    statements: &[String],
    claims: &[String],
) -> Result<Vec<bool>, Stop> {
    if statements.is_empty() {
        return Ok(vec![false; claims.len()]);
    }
    let rubric = fill(SUPPORTED, &[("source", "given statements")]);
    let sheet = Sheet::new(&rubric).texts("given statement", borrowed(statements));
    let verdicts = talk.verdicts(sheet, "the statement", &borrowed(claims)).await?;
    Ok(verdicts.iter().map(|said| said.value == 1.0).collect())
}

/// Claims of the answer that the reference supports (true positives) or not (false positives), and claims of the reference that the
/// answer does not support (false negatives).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub right: usize,
    pub wrong: usize,
    pub missing: usize,
}

impl Tally {
    /// (1 + β²) right / ((1 + β²) right + β² missing + wrong): F1 with β 1; 0 where nothing is right.
    ///
    /// Source: ragas 0.4, `metrics/utils.py` `fbeta_score`.
    pub(super) fn f(self, beta: f64) -> f64 {
        let (right, square) = (self.right as f64, beta * beta);
        let whole = (1.0 + square) * right + square * self.missing as f64 + self.wrong as f64;
        if self.right == 0 { 0.0 } else { (1.0 + square) * right / whole }
    }

    /// Share of the answer's claims that are right; 0 without any.
    pub(super) fn precision(self) -> f64 {
        part(self.right, self.right.saturating_add(self.wrong))
    }

    /// Right claims among these and the missing ones; 0 without any.
    pub(super) fn recall(self) -> f64 {
        part(self.right, self.right.saturating_add(self.missing))
    }
}

fn part(of: usize, all: usize) -> f64 {
    if all == 0 { 0.0 } else { of as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f_is_ragas_own() {
        let tally = Tally { right: 2, wrong: 1, missing: 3 };
        assert_eq!(tally.f(1.0), 2.0 / (2.0 + 0.5 * 4.0));
        let (precision, recall) = (2.0 / 3.0, 2.0 / 5.0);
        let beta = 0.5_f64;
        let expected = (1.0 + beta * beta) * precision * recall / (beta * beta * precision + recall);
        assert!((tally.f(beta) - expected).abs() < 1e-12);
        assert_eq!((tally.precision(), tally.recall()), (precision, recall));
        let none = Tally { right: 0, wrong: 0, missing: 2 };
        assert_eq!((none.f(1.0), none.precision(), none.recall()), (0.0, 0.0, 0.0));
    }
}
