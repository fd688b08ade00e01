//! Compares the answer's text with the reference or with what the suite says. No model, no network.
//!
//! Pass/fail evaluators score 1 or 0 and take `negate`; the others score from 0 to 1 and take `threshold`, the score at which a
//! case passes.

mod contains;
mod equals;
mod exact_match;
mod length;
mod regex;
mod rouge;
mod token_f1;

use super::Kind;

pub(super) const KINDS: &[Kind] = &[
    equals::KIND,
    contains::KIND,
    regex::KIND,
    exact_match::KIND,
    token_f1::KIND,
    rouge::L,
    rouge::ONE,
    rouge::TWO,
    length::KIND,
];

/// The F-measure of precision `common / answer` and recall `common / reference`; 0 where nothing is common.
fn f_measure(common: usize, answer: usize, reference: usize) -> f64 {
    if common == 0 {
        return 0.0;
    }
    2.0 * common as f64 / (answer as f64 + reference as f64)
}

#[cfg(test)]
mod tests;
