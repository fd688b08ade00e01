//! Compares the answer's text with the reference or with what the suite says. No model, no network.
//!
//! Pass/fail evaluators score 1 or 0; the others score from 0 to 1 and take `threshold`, the score at which a case passes.

mod affix;
mod bleu;
mod chrf;
mod citations;
mod cjk;
mod contains;
mod equals;
mod exact_match;
mod is_json;
mod is_xml;
mod jaro_winkler;
mod length;
mod levenshtein;
mod numeric;
mod regex;
mod rouge;
mod set_f1;
mod token_f1;

use super::Kind;

pub(super) const KINDS: &[Kind] = &[
    equals::KIND,
    contains::KIND,
    affix::STARTS,
    affix::ENDS,
    regex::KIND,
    exact_match::KIND,
    numeric::KIND,
    length::KIND,
    is_json::KIND,
    is_xml::KIND,
    citations::KIND,
    token_f1::KIND,
    set_f1::KIND,
    rouge::L,
    rouge::ONE,
    rouge::TWO,
    bleu::KIND,
    chrf::KIND,
    levenshtein::KIND,
    levenshtein::DISTANCE,
    levenshtein::RATIO,
    jaro_winkler::KIND,
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
