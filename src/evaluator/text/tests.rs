//! The text family against independent packages: the recorded answers of `fixtures/peps-rag` and the vectors of `fixtures/metrics`, whose
//! READMEs say how they were made. Every deliberate difference is listed in `docs/metrics.md`.

use std::fs;

use serde_json::Value;

use super::bleu::bleu;
use super::chrf::chrf;
use super::cjk::Cjk;
use super::exact_match::exact_match;
use super::rouge::{Variant, rouge};
use super::token_f1::{Tokens, token_f1};
use crate::evaluator::tests::peps::{Recorded, recorded};
use crate::text::distance::Characters;
use crate::text::edit::{levenshtein, levenshtein_similarity, ratio};
use crate::text::jaro::jaro_winkler;
use crate::text::token::{bleu as bleu_token, porter, rouge as rouge_token};
use crate::text::xml::lacks;

/// Half of the last decimal of the recorded scores, which are rounded to six, and a little for binary fractions.
const ROUNDED: f64 = 0.5e-6 + 1e-9;
/// The vectors have nine decimals.
const CLOSE: f64 = 1e-6;

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
            // BLEU and chrF are recorded from 0 to 100.
            let rounded = if matches!(name, "bleu" | "chrf") { ROUNDED + 1e-8 } else { ROUNDED };
            assert!((value - expected).abs() <= rounded, "{} {} {name}: {value}, not {expected}", case.run, case.id);
            compared += 1;
        }
    }
    // 7 runs of 140 questions; `token_f1_char` of the 20 Chinese ones only.
    assert_eq!(compared, 7 * (140 * 8 + 20));
}

fn read(name: &str) -> String {
    fs::read_to_string(format!("{}/fixtures/metrics/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn rows(name: &str) -> Vec<Value> {
    serde_json::from_str(&read(name)).unwrap()
}

fn vector(name: &str, answer: &str, reference: &str) -> f64 {
    let rouge = |variant, stem| {
        rouge(answer, reference, variant, rouge_token::Cut { stem, ..rouge_token::Cut::default() }).unwrap()
    };
    let characters = || Characters::of(answer, reference);
    match name {
        "rouge_1" => rouge(Variant::N(1), false),
        "rouge_2" => rouge(Variant::N(2), false),
        "rouge_l" => rouge(Variant::L, false),
        "rouge_1_stem" => rouge(Variant::N(1), true),
        "rouge_2_stem" => rouge(Variant::N(2), true),
        "rouge_l_stem" => rouge(Variant::L, true),
        "bleu_13a" => bleu(answer, reference, bleu_token::Cut::Mteval13a),
        "bleu_13a_lower" => bleu(&answer.to_lowercase(), &reference.to_lowercase(), bleu_token::Cut::Mteval13a),
        "bleu_zh" => bleu(answer, reference, bleu_token::Cut::Zh),
        "bleu_char" => bleu(answer, reference, bleu_token::Cut::Char),
        "bleu_none" => bleu(answer, reference, bleu_token::Cut::None),
        "chrf" => chrf(answer, reference, 0),
        "chrf_2" => chrf(answer, reference, 2),
        "levenshtein" => levenshtein_similarity(&characters()),
        "edits" => levenshtein(&characters()) as f64,
        "ratio" => ratio(&characters()),
        "jaro_winkler" => jaro_winkler(&characters()),
        "exact_match" => f64::from(u8::from(exact_match(answer, reference))),
        "token_f1" => token_f1(answer, reference, Tokens::Words, Cjk::Characters),
        other => panic!("nothing computes `{other}`"),
    }
}

#[test]
fn every_vector_scores_as_the_reference_packages_say() {
    let text = read("texts.jsonl");
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let names: Vec<String> = serde_json::from_value(lines.next().unwrap()["scores"].clone()).unwrap();
    let (mut pairs, mut other_scripts, mut wrong) = (0, 0, Vec::new());
    for row in lines {
        let (answer, reference) = (row["answer"].as_str().unwrap(), row["reference"].as_str().unwrap());
        pairs += 1;
        other_scripts += usize::from(reference.chars().any(|c| c >= '\u{370}'));
        for (name, expected) in names.iter().zip(row["scores"].as_array().unwrap()) {
            let (value, expected) = (vector(name, answer, reference), expected.as_f64().unwrap());
            if (value - expected).abs() > CLOSE {
                wrong.push(format!("{} {name}: {value}, not {expected}\n  {answer:?}\n  {reference:?}", row["id"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} values differ:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    assert!(pairs >= 500 && other_scripts >= 100 && names.len() == 19, "{pairs} {other_scripts} {}", names.len());
}

#[test]
fn every_word_has_the_stem_that_nltk_gives_it() {
    let words: Vec<(String, String)> = serde_json::from_str(&read("stems.json")).unwrap();
    assert!(words.len() > 2_000);
    let wrong: Vec<_> = words.iter().filter(|(word, stem)| porter::stem(word) != stem.as_str()).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn what_expat_takes_for_well_formed_is_and_nothing_else() {
    let documents = rows("documents.json");
    assert!(documents.len() > 200);
    let differs = |row: &&Value| lacks(row[0].as_str().unwrap(), &[]).is_ok() != row[1].as_bool().unwrap();
    let wrong: Vec<String> = documents
        .iter()
        .filter(differs)
        .map(|row| format!("{row}: {:?}", lacks(row[0].as_str().unwrap(), &[])))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
