//! The text family against independent Python packages (see `fixtures/peps-rag/README.md`, "Reference scores").
//!
//! That file is rounded to six decimals, so values must be equal at half a unit of the sixth; the unit tests of each
//! evaluator hold exact values to 1e-12.

use super::exact_match::exact_match;
use super::rouge::{rouge_l, rouge_n};
use super::token_f1::{Tokens, token_f1};
use crate::evaluator::tests::peps::{Recorded, recorded};

/// Half of the last decimal, and a little for binary fractions.
const ROUNDED: f64 = 0.5e-6 + 1e-9;

type Score = fn(&Recorded) -> f64;

const SCORES: [(&str, Score); 6] = [
    ("rougeL", |case| rouge_l(&case.answer, &case.reference)),
    ("rouge1", |case| rouge_n(&case.answer, &case.reference, 1)),
    ("rouge2", |case| rouge_n(&case.answer, &case.reference, 2)),
    ("token_f1", |case| token_f1(&case.answer, &case.reference, Tokens::Words)),
    ("token_f1_char", |case| token_f1(&case.answer, &case.reference, Tokens::Auto)),
    ("exact_match", |case| f64::from(u8::from(exact_match(&case.answer, &case.reference)))),
];

#[test]
fn every_recorded_answer_scores_as_the_reference_packages_say() {
    let mut compared = 0;
    for case in recorded() {
        for (name, score) in SCORES {
            let Some(expected) = case.expected(name) else { continue };
            let value = score(&case);
            assert!((value - expected).abs() <= ROUNDED, "{} {} {name}: {value}, not {expected}", case.run, case.id);
            compared += 1;
        }
    }
    // 7 runs of 140 questions; `token_f1_char` of the 20 Chinese ones only.
    assert_eq!(compared, 7 * (140 * 5 + 20));
}
