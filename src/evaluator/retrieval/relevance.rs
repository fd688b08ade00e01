//! Which retrieved context is which expected one.

use std::collections::{HashMap, HashSet};

use super::super::pure::too_long;
use crate::domain::{Context, ExpectedContext, Failure, FailureKind};
use crate::text::distance::Characters;
use crate::text::edit::levenshtein_similarity;
use crate::text::normalize::fold;

/// Where the expected contexts were found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Relevance {
    /// Rank by rank: the expected contexts (positions in `gains`) that this passage is or holds, found again or not.
    pub ranks: Vec<Vec<usize>>,
    /// Gain of each distinct expected context.
    pub gains: Vec<f64>,
    /// Distinct retrieved passages.
    pub distinct: usize,
}

impl Relevance {
    /// Rank by rank: the expected contexts found there for the first time.
    pub fn first_found(&self) -> Vec<Vec<usize>> {
        let mut seen = HashSet::new();
        self.ranks.iter().map(|rank| rank.iter().copied().filter(|expected| seen.insert(*expected)).collect()).collect()
    }

    /// How many expected contexts were found.
    pub fn hits(&self) -> usize {
        self.ranks.iter().flatten().collect::<HashSet<_>>().len()
    }
}

/// Equal ids are the same context. Expected contexts with one id are one, with the larger gain.
///
/// # Errors
/// `Missing` where a context has no id: it could be any.
pub fn by_id(retrieved: &[Context], expected: &[ExpectedContext]) -> Result<Relevance, Failure> {
    let mut relevance = Relevance::default();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for context in expected {
        let id = context.id.as_deref().ok_or_else(|| without("an expected context", "id", "text"))?;
        add(&mut relevance.gains, &mut known, id, context.gain);
    }
    let mut distinct = HashSet::new();
    for (position, context) in retrieved.iter().enumerate() {
        let id = context.id.as_deref();
        let id = id.ok_or_else(|| without(&format!("retrieved context {}", position + 1), "id", "text"))?;
        distinct.insert(id);
        relevance.ranks.push(known.get(id).copied().into_iter().collect());
    }
    relevance.distinct = distinct.len();
    Ok(relevance)
}

/// A passage is an expected context where it holds its text, or where it lies within it and is at least half as long; case and
/// white space do not count.
///
/// # Errors
/// `Missing` where an expected context has no text.
pub fn by_text(retrieved: &[Context], expected: &[ExpectedContext]) -> Result<Relevance, Failure> {
    let mut relevance = Relevance::default();
    let mut texts: Vec<String> = Vec::new();
    for context in expected {
        let text = context.text.as_deref().map(fold).filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| without("an expected context", "text", "id"))?;
        match texts.iter().position(|known| *known == text) {
            Some(known) => raise(&mut relevance.gains, known, context.gain),
            None => {
                texts.push(text);
                relevance.gains.push(context.gain);
            }
        }
    }
    let mut distinct = HashSet::new();
    for context in retrieved {
        let passage = fold(&context.text);
        let held = |text: &String| passage.contains(text.as_str()) || within(&passage, text);
        relevance.ranks.push(texts.iter().enumerate().filter(|(_, text)| held(text)).map(|(index, _)| index).collect());
        distinct.insert(passage);
    }
    relevance.distinct = distinct.len();
    Ok(relevance)
}

/// The least similarity of two texts that are taken for the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Same {
    AtLeast(f64),
    Above(f64),
}

impl Same {
    fn holds(self, similarity: f64) -> bool {
        match self {
            Self::AtLeast(least) => similarity >= least,
            Self::Above(bound) => similarity > bound,
        }
    }
}

/// A passage is every expected context whose text is similar enough: 1 − edits / length of the longer text, of the texts as they are.
///
/// **Source**: ragas 0.4.3, `NonLLMContextRecall`, `NonLLMContextPrecisionWithReference`.
///
/// # Errors
/// `Missing` where an expected context has no text, or texts are too long to compare.
pub fn by_similarity(retrieved: &[Context], expected: &[ExpectedContext], same: Same) -> Result<Relevance, Failure> {
    let mut relevance = Relevance::default();
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut texts: Vec<&str> = Vec::new();
    for context in expected {
        let text = context.text.as_deref().filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| without("an expected context", "text", "id"))?;
        if !known.contains_key(text) {
            texts.push(text);
        }
        add(&mut relevance.gains, &mut known, text, context.gain);
    }
    let mut distinct = HashSet::new();
    for context in retrieved {
        let mut rank = Vec::new();
        for (index, text) in texts.iter().enumerate() {
            let both = Characters::of(&context.text, text);
            if !both.affordable() {
                return Err(too_long("characters", both.left.len(), both.right.len()));
            }
            if same.holds(levenshtein_similarity(&both)) {
                rank.push(index);
            }
        }
        relevance.ranks.push(rank);
        distinct.insert(context.text.as_str());
    }
    relevance.distinct = distinct.len();
    Ok(relevance)
}

/// A passage that is at least half of `text`: a shorter one ("the") could lie in any text.
fn within(passage: &str, text: &str) -> bool {
    passage.chars().count().saturating_mul(2) >= text.chars().count() && text.contains(passage)
}

fn add<'a>(gains: &mut Vec<f64>, known: &mut HashMap<&'a str, usize>, id: &'a str, gain: f64) {
    match known.get(id) {
        Some(index) => raise(gains, *index, gain),
        None => {
            known.insert(id, gains.len());
            gains.push(gain);
        }
    }
}

fn raise(gains: &mut [f64], index: usize, gain: f64) {
    if let Some(old) = gains.get_mut(index) {
        *old = old.max(gain);
    }
}

fn without(what: &str, field: &str, other: &str) -> Failure {
    let message = format!("{what} has no {field}: give every context one, or compare with `by: {other}`");
    Failure::infra(FailureKind::Missing, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(text: &str) -> Context {
        Context { text: text.to_owned(), ..Context::default() }
    }

    fn quote(text: &str) -> ExpectedContext {
        ExpectedContext { id: None, text: Some(text.to_owned()), gain: 1.0 }
    }

    #[test]
    fn a_passage_holds_a_quote_or_is_most_of_it() {
        let expected = [quote("Use 4 spaces\nper level."), quote("a much longer passage, of many words, in full")];
        let retrieved = [
            passage("Indentation: use 4  spaces per level. And more."),
            passage("passage"),
            passage("longer passage, of many words"),
        ];
        let found = by_text(&retrieved, &expected).unwrap();
        assert_eq!(found.ranks, vec![vec![0], vec![], vec![1]]);
    }

    #[test]
    fn similar_texts_are_the_same_from_a_bound_on() {
        let expected = [quote("abcd"), quote("wxyz")];
        let retrieved = [passage("abXY"), passage("abcz")];
        let ranks = |same| by_similarity(&retrieved, &expected, same).unwrap().ranks;
        assert_eq!(ranks(Same::AtLeast(0.5)), vec![vec![0], vec![0]]);
        assert_eq!(ranks(Same::Above(0.5)), vec![vec![], vec![0]]);
    }

    #[test]
    fn a_context_without_an_id_is_no_miss_but_a_mistake() {
        let expected = [ExpectedContext { id: Some("a".to_owned()), text: None, gain: 1.0 }];
        let failure = by_id(&[passage("x")], &expected).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Missing);
        assert!(failure.message.contains("retrieved context 1 has no id"), "{}", failure.message);
    }
}
