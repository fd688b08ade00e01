//! The retrieval family against the recorded runs, by hand, and at its edges.

use proptest::prelude::*;
use serde_json::Value;

use super::average_precision::{average_precision, average_precision_again, average_precision_cut, context_precision};
use super::hit_rate::hit_rate;
use super::mrr::mrr;
use super::ndcg::{ndcg, ndcg_llamaindex};
use super::precision::{precision, precision_of_distinct};
use super::ranking::Ranking;
use super::recall::recall;
use super::relevance::{Same, by_id, by_similarity};
use crate::domain::{Context, ExpectedContext};
use crate::evaluator::tests::peps::recorded;

type Metric = fn(&Ranking) -> f64;

const METRICS: [(&str, Metric); 8] = [
    ("hit", hit_rate),
    ("mrr", mrr),
    ("precision", precision),
    ("recall", recall),
    ("ap", average_precision),
    ("ap_cut", average_precision_cut),
    ("ndcg", ndcg),
    ("ndcg_llamaindex", ndcg_llamaindex),
];

fn ranking(retrieved: &[&str], expected: &[(&str, f64)], k: Option<usize>) -> Ranking {
    let retrieved: Vec<Context> =
        retrieved.iter().map(|id| Context { id: Some((*id).to_owned()), ..Context::default() }).collect();
    let expected: Vec<ExpectedContext> = expected
        .iter()
        .map(|(id, gain)| ExpectedContext { id: Some((*id).to_owned()), text: None, gain: *gain })
        .collect();
    Ranking { found: by_id(&retrieved, &expected).unwrap(), k }
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() < 1e-12
}

/// The file is rounded to six decimals.
#[test]
fn every_recorded_retrieval_scores_as_the_reference_says() {
    let mut compared = 0;
    for case in recorded() {
        for (name, metric) in METRICS {
            let Some(expected) = case.expected(name) else { continue };
            let retrieved: Vec<&str> = case.retrieved.iter().map(String::as_str).collect();
            let relevant: Vec<(&str, f64)> = case.relevant.iter().map(|id| (id.as_str(), 1.0)).collect();
            let value = metric(&ranking(&retrieved, &relevant, Some(case.top_k)));
            assert!(
                (value - expected).abs() <= 0.5e-6 + 1e-9,
                "{} {} {name}: {value}, not {expected}",
                case.run,
                case.id
            );
            compared += 1;
        }
    }
    assert_eq!(compared, 7 * 134 * 8);
}

fn vectors(name: &str) -> Vec<Value> {
    let path = format!("{}/fixtures/metrics/retrieval.json", env!("CARGO_MANIFEST_DIR"));
    let all: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    all[name].as_array().unwrap().clone()
}

/// scikit-learn ranks every document; those without gain are not among the expected ones.
#[test]
fn graded_relevance_scores_as_scikit_learn_says() {
    for row in vectors("graded") {
        let gains: Vec<f64> = serde_json::from_value(row["gains"].clone()).unwrap();
        let names: Vec<String> = (0..gains.len()).map(|item| item.to_string()).collect();
        let expected: Vec<(&str, f64)> =
            names.iter().map(String::as_str).zip(gains).filter(|(_, gain)| *gain > 0.0).collect();
        let order: Vec<usize> = serde_json::from_value(row["order"].clone()).unwrap();
        let k: Option<usize> = serde_json::from_value(row["k"].clone()).unwrap();
        let retrieved: Vec<&str> =
            order.iter().take(k.unwrap_or(usize::MAX)).map(|item| names[*item].as_str()).collect();
        let value = ndcg(&ranking(&retrieved, &expected, k));
        assert!((value - row["ndcg"].as_f64().unwrap()).abs() < 1e-6, "{row}: {value}");
    }
}

#[test]
fn similar_texts_score_as_ragas_says() {
    for row in vectors("similar") {
        let texts = |key: &str| serde_json::from_value::<Vec<String>>(row[key].clone()).unwrap();
        let retrieved: Vec<Context> =
            texts("retrieved").into_iter().map(|text| Context { text, ..Context::default() }).collect();
        let expected: Vec<ExpectedContext> = texts("expected")
            .into_iter()
            .map(|text| ExpectedContext { id: None, text: Some(text), gain: 1.0 })
            .collect();
        let found = |same| Ranking { found: by_similarity(&retrieved, &expected, same).unwrap(), k: None };
        let close = |value: f64, key: &str| (value - row[key].as_f64().unwrap()).abs() < 1e-6;
        assert!(close(context_precision(&found(Same::AtLeast(0.5))), "context_precision"), "{row}");
        assert!(close(recall(&found(Same::Above(0.5))), "context_recall"), "{row}");
    }
}

#[test]
fn hand_computed_values() {
    let list = ranking(&["x", "a", "b"], &[("a", 1.0), ("b", 1.0), ("c", 1.0)], Some(3));
    assert!(close(mrr(&list), 0.5));
    assert!(close(precision(&list), 2.0 / 3.0));
    assert!(close(recall(&list), 2.0 / 3.0));
    assert!(close(average_precision(&list), (1.0 / 2.0 + 2.0 / 3.0) / 3.0));
    let ideal = 1.0 + 1.0 / libm::log2(3.0) + 0.5;
    assert!(close(ndcg(&list), (1.0 / libm::log2(3.0) + 0.5) / ideal));
}

#[test]
fn a_perfect_k_reaches_one_and_in_llamaindex_it_does_not() {
    let expected = [("a", 1.0), ("b", 1.0), ("c", 1.0), ("d", 1.0), ("e", 1.0)];
    let list = ranking(&["a", "b"], &expected, Some(2));
    assert!(close(ndcg(&list), 1.0));
    assert!(close(average_precision_cut(&list), 1.0));
    assert!(close(average_precision(&list), 0.4));
    assert!(ndcg_llamaindex(&list) < 0.6);
}

#[test]
fn without_k_what_was_not_retrieved_still_counts_against_it() {
    let list = ranking(&["a"], &[("a", 1.0), ("b", 1.0)], None);
    assert!(ndcg(&list) < 0.7);
    assert!(close(precision(&list), 1.0));
}

#[test]
fn fewer_than_k_retrieved_lowers_precision() {
    let list = ranking(&["a"], &[("a", 1.0)], Some(4));
    assert!(close(precision(&list), 0.25));
    assert!(close(precision_of_distinct(&list), 1.0));
}

#[test]
fn better_graded_contexts_must_come_first() {
    let expected = [("a", 3.0), ("b", 1.0)];
    assert!(close(ndcg(&ranking(&["a", "b"], &expected, None)), 1.0));
    let swapped = (1.0 + 3.0 / libm::log2(3.0)) / (3.0 + 1.0 / libm::log2(3.0));
    assert!(close(ndcg(&ranking(&["b", "a"], &expected, None)), swapped));
}

#[test]
fn a_context_retrieved_twice_counts_once() {
    let list = ranking(&["a", "a", "a"], &[("a", 1.0), ("a", 2.0)], None);
    assert!(close(precision(&list), 1.0 / 3.0));
    assert!(close(average_precision(&list), 1.0));
    assert!(close(recall(&list), 1.0));
    assert!(close(ndcg(&list), 1.0));
    // LlamaIndex leaves its own scale here, which becomes an error rather than a score.
    assert!(ndcg_llamaindex(&list) > 1.0);
    assert!(average_precision_again(&list) > 1.0);
}

#[test]
fn nothing_retrieved_scores_zero() {
    for (name, metric) in METRICS {
        assert!(close(metric(&ranking(&[], &[("a", 1.0)], None)), 0.0), "{name}");
        assert!(close(metric(&ranking(&[], &[("a", 1.0)], Some(3))), 0.0), "{name}");
    }
}

proptest! {
    #[test]
    fn every_value_is_from_zero_to_one(
        retrieved in proptest::collection::vec("[a-f]", 0..8),
        expected in proptest::collection::vec(("[a-f]", 0.001f64..1e6), 1..8),
        k in proptest::option::of(1usize..10),
    ) {
        let retrieved: Vec<&str> = retrieved.iter().map(String::as_str).take(k.unwrap_or(usize::MAX)).collect();
        let expected: Vec<(&str, f64)> = expected.iter().map(|(id, gain)| (id.as_str(), *gain)).collect();
        let ranking = ranking(&retrieved, &expected, k);
        for metric in [hit_rate, mrr, precision, precision_of_distinct, recall, average_precision, average_precision_cut, ndcg] {
            let value = metric(&ranking);
            prop_assert!((0.0..=1.0).contains(&value), "{value}");
        }
    }
}
