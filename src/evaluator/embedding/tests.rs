//! Similarities by hand, requests that are shared, and what is no score.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::tests::support::{Loopback, answer, block, case, context_of, embedder};
use super::super::*;
use super::space::{Measure, between};
use crate::domain::{Answer, Case, Reading};
use crate::provider::Embedder;

/// A text is its first characters as numbers: `34 texts` is (3, 4).
fn vector(text: &str) -> Vec<f64> {
    let mut digits = text.chars().map(|c| f64::from(c.to_digit(10).unwrap_or(0)));
    vec![digits.next().unwrap_or(0.0), digits.next().unwrap_or(0.0)]
}

fn similarity(name: &str, settings: Value, batch_size: usize) -> Result<Ready, Vec<String>> {
    let models = BTreeMap::new();
    let embedders: BTreeMap<String, Embedder> = [("embed".to_owned(), embedder(batch_size, vector))].into();
    let context = BuildContext { embedders: &embedders, ..context_of(&models) };
    let kind = kinds().find(|kind| kind.info.name == name).unwrap();
    let mut diagnostics = Diagnostics::default();
    (kind.build)(&block(name, settings), &context, &mut diagnostics)
        .ok_or_else(|| diagnostics.iter().map(|found| format!("{}: {}", found.code, found.message)).collect())
}

async fn scored(settings: Value, text: &str, reference: &str) -> Measurement {
    let ready = similarity("semantic_similarity", settings, 1).unwrap();
    let Way::Asking(asking) = &ready.way else { panic!("not asking") };
    let (case, answer) = (case("q", Some(reference)), answer(text, &[]));
    asking.evaluate(Subject { case: &case, answer: &answer, trial: 3 }, &Loopback::default()).await.measurement
}

fn value(measurement: &Measurement) -> &Reading {
    match measurement {
        Measurement::Value(reading) => reading,
        other => panic!("{other:?}"),
    }
}

/// Values of numpy: `dot(a, b) / (norm(a) * norm(b))`, `dot`, `norm(a - b)`.
#[test]
fn similarities_are_those_of_the_textbook() {
    let (a, b) = ([3.0, 4.0], [4.0, 3.0]);
    assert!((between(Measure::Cosine, &a, &b).unwrap() - 0.96).abs() < 1e-12);
    assert_eq!(between(Measure::Cosine, &a, &[-3.0, -4.0]), Ok(-1.0));
    assert!((between(Measure::Euclidean, &a, &b).unwrap() - 1.0 / (1.0 + 2.0_f64.sqrt())).abs() < 1e-12);
    assert_eq!(between(Measure::Dot, &[0.6, 0.8], &[1.0, 0.0]), Ok(0.6));
    assert!(between(Measure::Dot, &a, &b).unwrap_err().message.contains("use `cosine`"));
    assert!(between(Measure::Cosine, &a, &[0.0, 0.0]).is_err());
    assert!(between(Measure::Cosine, &a, &[1.0]).is_err());
    // Rounding alone carries nothing off the scale.
    for number in 1..200_u32 {
        let vector = [f64::from(number).sqrt(), f64::from(number) / 7.0, 1.0 / f64::from(number)];
        assert!(between(Measure::Cosine, &vector, &vector).unwrap() <= 1.0);
    }
}

#[tokio::test]
async fn the_settings_choose_measure_and_mark() {
    let near = scored(json!({"model": "embed"}), "34", "43").await;
    assert_eq!(value(&near).passed, Some(true));
    let far = scored(json!({"model": "embed"}), "30", "43").await;
    assert_eq!(value(&far).passed, Some(true), "{far:?}");
    let apart = scored(json!({"model": "embed"}), "10", "01").await;
    assert_eq!((value(&apart).value(), value(&apart).passed), (0.0, Some(false)));
    let distance = scored(json!({"model": "embed", "similarity": "euclidean"}), "10", "10").await;
    assert_eq!((value(&distance).value(), value(&distance).passed), (1.0, None));
    let theirs = json!({"model": "embed", "similarity": "euclidean", "compat": "llamaindex"});
    let negative = scored(theirs.clone(), "10", "01").await;
    assert!((value(&negative).value() + 2.0_f64.sqrt()).abs() < 1e-12);
    assert!(
        matches!(scored(theirs, "90", "09").await, Measurement::Error(failure) if failure.kind == FailureKind::NotAScore)
    );
    let dot = scored(json!({"model": "embed", "similarity": "dot"}), "34", "43").await;
    assert!(matches!(dot, Measurement::Error(failure) if failure.kind == FailureKind::NotAScore));
    for settings in [json!({"model": "embd"}), json!({"model": "embed", "threshold": 1.5})] {
        assert!(similarity("semantic_similarity", settings, 1).is_err());
    }
}

fn subjects(texts: &[(&str, Option<&str>)]) -> Vec<(Case, Answer)> {
    let one = |(at, (text, reference)): (usize, &(&str, Option<&str>))| {
        (Case { id: format!("q{at}").into(), ..case("q", *reference) }, answer(text, &[]))
    };
    texts.iter().enumerate().map(one).collect()
}

#[tokio::test]
async fn cases_share_a_request_and_each_text_is_sent_once() {
    let ready = similarity("answer_similarity", json!({"model": "embed"}), 8).unwrap();
    let Way::Asking(asking) = &ready.way else { panic!("not asking") };
    assert_eq!(asking.packing().map(|packing| packing.size), Some(4));
    let owned = subjects(&[("34", Some("43")), ("10", Some("43")), ("", Some("10")), ("34", None)]);
    let subjects: Vec<Subject<'_>> = owned.iter().map(|(case, answer)| Subject { case, answer, trial: 0 }).collect();
    let transport = Loopback::default();
    let asked = asking.evaluate_together(&subjects, &transport).await;
    let mut alone = Vec::new();
    for subject in &subjects {
        alone.push(asking.evaluate(*subject, &Loopback::default()).await.measurement);
    }
    let together: Vec<Measurement> = asked.iter().map(|one| one.measurement.clone()).collect();
    assert_eq!(together, alone, "neighbours change nothing");
    // A blank text has the vector 0 here, and no direction.
    assert!(matches!(&together[2], Measurement::Error(failure) if failure.kind == FailureKind::NotAScore));
    assert!(matches!(&together[3], Measurement::Error(failure) if failure.kind == FailureKind::Missing));
    assert_eq!(*transport.embedded.lock().unwrap(), [[" ", "10", "34", "43"].map(str::to_owned).to_vec()]);
    let (attempts, tokens) =
        asked.iter().fold((0, 0), |(a, t), one| (a + one.attempts, t + one.spent.usage.prompt_tokens));
    assert_eq!((attempts, tokens), (1, 4), "the request is counted once");
}

#[tokio::test]
async fn a_text_that_is_refused_costs_its_own_score_alone() {
    let ready = similarity("answer_similarity", json!({"model": "embed"}), 8).unwrap();
    let Way::Asking(asking) = &ready.way else { panic!("not asking") };
    let owned = subjects(&[("34", Some("43")), ("too long", Some("43")), ("10", Some("10"))]);
    let subjects: Vec<Subject<'_>> = owned.iter().map(|(case, answer)| Subject { case, answer, trial: 0 }).collect();
    let asked = asking.evaluate_together(&subjects, &Loopback::default()).await;
    let scored: Vec<bool> = asked.iter().map(|one| matches!(one.measurement, Measurement::Value(_))).collect();
    assert_eq!(scored, [true, false, true]);
}

#[tokio::test]
async fn more_texts_than_fit_into_a_request_are_several() {
    let ready = similarity("answer_similarity", json!({"model": "embed"}), 1).unwrap();
    let Way::Asking(asking) = &ready.way else { panic!("not asking") };
    assert_eq!(asking.packing(), None);
    let (case, answer, transport) = (case("q", Some("43")), answer("34", &[]), Loopback::default());
    let asked = asking.evaluate(Subject { case: &case, answer: &answer, trial: 0 }, &transport).await;
    assert_eq!((asked.attempts, transport.embedded.lock().unwrap().len()), (2, 2));
    assert!((value(&asked.measurement).value() - 0.96).abs() < 1e-12);
}

#[test]
fn a_fingerprint_names_the_model() {
    let ready = similarity("semantic_similarity", json!({"model": "embed", "threshold": 0.5}), 1).unwrap();
    let parts = ready.spec.fingerprint.unwrap().0;
    assert_eq!((parts["model"].as_str(), parts["settings"].as_str()), ("vectors", "{}"));
}
