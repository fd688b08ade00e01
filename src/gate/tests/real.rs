//! Recorded answers of a real RAG application (`fixtures/peps-rag`), scored by reference implementations: what the gate says of
//! runs whose truth is known.

use serde_json::{Value, json};

use super::*;

const METRICS: [(&str, bool); 7] = [
    ("hit", true),
    ("mrr", false),
    ("recall", false),
    ("ndcg", false),
    ("rougeL", false),
    ("token_f1", false),
    ("exact_match", true),
];

fn reference() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/peps-rag/reference-scores.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn recorded_run(file: &Value, name: &str) -> Run {
    let kind = |binary| if binary { ScoreKind::Binary } else { ScoreKind::UNIT };
    let specs = METRICS.iter().map(|(name, binary)| spec(name, kind(*binary))).collect();
    let cases = file["per_question"][name].as_object().unwrap().iter().map(|(id, scores)| {
        let cell = |metric: &str| match scores[metric].as_f64() {
            Some(score) => value(score),
            None => Some(Cell::Skipped(SkipReason::NotApplicable)),
        };
        case(id, vec![METRICS.iter().map(|(name, _)| cell(name)).collect()])
    });
    run(specs, cases.collect())
}

/// Metrics that got worse, by name.
fn regressed(verdict: &Verdict) -> Vec<&str> {
    let worse = verdict.rules.iter().filter(|rule| rule.verdict == RuleVerdict::Violated);
    worse.map(|rule| &*rule.metric).collect()
}

fn judged(file: &Value, now: &str, before: &str) -> Verdict {
    verdict(&recorded_run(file, now), &accept(&[&recorded_run(file, before)]), json!({}))
}

#[test]
fn luck_alone_passes_lost_documents_fail() {
    let file = reference();
    let luck = judged(&file, "base-again-2", "base-again");
    assert_eq!(luck.exit_code, 0, "{}", luck.headline);
    let lost = judged(&file, "lost-documents", "base");
    assert_eq!(lost.exit_code, 1);
    assert!(regressed(&lost).contains(&"hit"), "{:?}", regressed(&lost));
    let weaker = judged(&file, "regressed", "base");
    assert_eq!(weaker.exit_code, 1);
    for name in regressed(&weaker) {
        assert!(["hit", "mrr", "recall", "ndcg"].contains(&name), "{name}");
    }
}

#[test]
fn p_values_agree_with_permutation_tests_of_scipy() {
    // 9,999 random signs: two standard errors are at most 0.01; the mid-p adds half of what equals the observed sum.
    let file = reference();
    for (pair, before, now) in
        [("base vs lost-documents", "base", "lost-documents"), ("base vs base-again", "base", "base-again")]
    {
        let verdict = judged(&file, now, before);
        // Binary metrics have few possible sums, where the mid-p is far from "at most the observed sum".
        for (name, _) in METRICS.into_iter().filter(|(_, binary)| !binary) {
            let want = &file["comparisons"][pair][name];
            let Some(p) = want["permutation_p_less"].as_f64() else { continue };
            let rule =
                verdict.rules.iter().find(|rule| rule.rule == RuleKind::NotWorse && &*rule.metric == name).unwrap();
            assert!((rule.delta.unwrap() - want["difference"].as_f64().unwrap()).abs() < 2e-6, "{pair} {name}");
            assert!((rule.p.unwrap() - p).abs() < 0.012, "{pair} {name}: {} and {p}", rule.p.unwrap());
        }
    }
}
