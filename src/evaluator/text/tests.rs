//! The text family against independent Python packages (see `fixtures/peps-rag/README.md`, "Reference scores").
//!
//! That file is rounded to six decimals, so values must be equal at half a unit of the sixth; the unit tests of each
//! evaluator hold exact values to 1e-12.

use super::bleu::bleu;
use super::chrf::chrf;
use super::cjk::Cjk;
use super::exact_match::exact_match;
use super::rouge::{Variant, rouge};
use super::token_f1::{Tokens, token_f1};
use crate::evaluator::tests::peps::{Recorded, recorded};
use crate::text::distance::Characters;
use crate::text::edit::levenshtein_similarity;
use crate::text::token::{bleu as bleu_token, rouge as rouge_token};

/// Half of the last decimal, and a little for binary fractions.
const ROUNDED: f64 = 0.5e-6 + 1e-9;

type Score = fn(&Recorded) -> f64;

const SCORES: [(&str, Score); 9] = [
    ("rougeL", |case| plain_rouge(case, Variant::L)),
    ("rouge1", |case| plain_rouge(case, Variant::N(1))),
    ("rouge2", |case| plain_rouge(case, Variant::N(2))),
    ("bleu", |case| 100.0 * bleu(&case.answer, &case.reference, bleu_cut(case))),
    ("chrf", |case| 100.0 * chrf(&case.answer, &case.reference, 0)),
    ("levenshtein", |case| levenshtein_similarity(&Characters::of(&case.answer, &case.reference))),
    ("token_f1", |case| token_f1(&case.answer, &case.reference, Tokens::Words, Cjk::Characters)),
    ("token_f1_char", |case| token_f1(&case.answer, &case.reference, Tokens::Auto, Cjk::Characters)),
    ("exact_match", |case| f64::from(u8::from(exact_match(&case.answer, &case.reference)))),
];

fn plain_rouge(case: &Recorded, variant: Variant) -> f64 {
    rouge(&case.answer, &case.reference, variant, rouge_token::Cut::default()).unwrap()
}

/// `zh` for the Chinese questions, as the file has it.
fn bleu_cut(case: &Recorded) -> bleu_token::Cut {
    if case.expected("token_f1_char").is_some() { bleu_token::Cut::Zh } else { bleu_token::Cut::Mteval13a }
}

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
    assert_eq!(compared, 7 * (140 * 8 + 20));
}
