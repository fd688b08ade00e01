use serde_json::json;

use super::super::tests::support::{answer, block, case, context_of, models};
use super::super::{Kind, Ready, Subject, Way, kinds};
use super::{compose, connect};
use crate::diagnostic::Diagnostics;
use crate::domain::{Failure, FailureKind, Measurement, Score};
use crate::suite::Block;

fn kind(name: &str) -> &'static Kind {
    kinds().find(|kind| kind.info.name == name).unwrap()
}

fn suite(blocks: &[(&str, &str, serde_json::Value)]) -> (Vec<Ready>, Diagnostics) {
    let models = models([]);
    let mut problems = Diagnostics::default();
    let blocks: Vec<Block> = blocks
        .iter()
        .map(|(name, kind, settings)| Block { kind: (*kind).into(), ..block(name, settings.clone()) })
        .collect();
    let ready =
        blocks.iter().filter_map(|one| kind(&one.kind).build(one, &context_of(&models), &mut problems)).collect();
    let ready = connect(ready, &blocks, &mut problems);
    (ready, problems)
}

fn scored(ready: &[Ready], text: &str) -> Vec<Score> {
    let (case, answer) = (case("q", Some("a b")), answer(text, &[]));
    let mut scores: Vec<Score> = ready
        .iter()
        .map(|one| {
            let measurement = match &one.way {
                Way::Pure(scorer) => scorer.score(Subject { case: &case, answer: &answer, trial: 0 }),
                _ => Measurement::Error(Failure::infra(FailureKind::Timeout, "no answer in time")),
            };
            Score { metric: one.spec.name.clone(), measurement }
        })
        .collect();
    compose(ready, &mut scores);
    scores
}

fn value(scores: &[Score], name: &str) -> (f64, Option<bool>) {
    match &scores.iter().find(|score| &*score.metric == name).unwrap().measurement {
        Measurement::Value(reading) => (reading.value(), reading.passed),
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn scores_are_made_of_other_scores_wherever_these_stand() {
    let (ready, problems) = suite(&[
        ("overall", "weighted_mean", json!({"of": {"rouge_l": 3, "short": 1, "long": 0}, "threshold": 0.8})),
        ("rouge_l", "rouge_l", json!({"threshold": 0.6})),
        ("short", "length", json!({"max": 3})),
        ("long", "length", json!({"min": 9})),
        ("both", "all_of", json!({"of": ["rouge_l", "short"]})),
        ("either", "any_of", json!({"of": ["rouge_l", "short"]})),
        ("neither", "any_of", json!({"of": ["rouge_l", "short"], "negate": true})),
    ]);
    assert!(!problems.has_errors());
    let scores = scored(&ready, "a b");
    assert_eq!(value(&scores, "overall"), (1.0, Some(true)));
    assert_eq!(value(&scores, "both"), (1.0, Some(true)));
    let scores = scored(&ready, "a c");
    assert_eq!(value(&scores, "overall"), (0.625, Some(false)));
    assert_eq!(value(&scores, "both"), (0.0, Some(false)));
    assert_eq!(value(&scores, "either"), (1.0, Some(true)));
    assert_eq!(value(&scores, "neither"), (0.0, Some(false)));
}

#[test]
fn a_part_without_a_score_is_neither_good_nor_bad() {
    let numeric = json!({"value": 7});
    let (ready, problems) = suite(&[
        ("numeric", "numeric", json!({})),
        ("short", "length", json!({"max": 3})),
        ("all", "all_of", json!({"of": ["numeric", "short"]})),
        ("any", "any_of", json!({"of": ["numeric", "short"]})),
        ("mean", "weighted_mean", json!({"of": {"numeric": 1, "short": 1}})),
        ("shown", "weighted_mean", json!({"of": {"numeric": 0, "short": 1}})),
        ("other", "numeric", numeric),
    ]);
    assert!(!problems.has_errors());
    // The reference has no number.
    let open = |scores: &[Score], name: &str| {
        let score = scores.iter().find(|score| &*score.metric == name).unwrap();
        matches!(&score.measurement, Measurement::Error(failure) if failure.message.contains("`numeric` has no score"))
    };
    let scores = scored(&ready, "7");
    assert!(open(&scores, "all") && open(&scores, "mean"));
    assert_eq!(value(&scores, "any"), (1.0, Some(true)));
    assert_eq!(value(&scores, "shown").0, 1.0);
    let scores = scored(&ready, "7 is long");
    assert!(open(&scores, "any"));
    assert_eq!(value(&scores, "all"), (0.0, Some(false)));
}

#[test]
fn parts_must_be_metrics_that_can_serve() {
    let code = |settings: &[(&str, &str, serde_json::Value)]| {
        let (_, problems) = suite(settings);
        problems.iter().map(|problem| problem.code).collect::<Vec<_>>()
    };
    let rouge = ("rouge_l", "rouge_l", json!({}));
    assert_eq!(code(&[rouge.clone(), ("c", "weighted_mean", json!({"of": {"rouge_1": 1}}))]), ["unknown-metric"]);
    assert_eq!(code(&[rouge.clone(), ("c", "all_of", json!({"of": ["rouge_l"]}))]), ["no-pass-mark"]);
    assert_eq!(code(&[rouge.clone(), ("c", "weighted_mean", json!({"of": {"rouge_l": 0}}))]), ["weight-out-of-range"]);
    assert_eq!(code(&[rouge.clone(), ("c", "weighted_mean", json!({"of": {"rouge_l": -1}}))]), ["weight-out-of-range"]);
    let nested =
        [rouge, ("c", "weighted_mean", json!({"of": {"rouge_l": 1}})), ("d", "weighted_mean", json!({"of": {"c": 1}}))];
    assert_eq!(code(&nested), ["composite-of-composite"]);
    // The part has a problem of its own: one is enough.
    assert_eq!(
        code(&[("r", "regex", json!({"pattern": "(a"})), ("c", "all_of", json!({"of": ["r"]}))]),
        ["bad-pattern"]
    );
}

#[test]
fn the_fingerprint_knows_what_the_parts_are_measured_with() {
    let fingerprint = |settings: serde_json::Value, rule: &str, of: serde_json::Value| {
        let (ready, _) = suite(&[("part", "rouge_l", settings), ("c", rule, json!({"of": of}))]);
        ready.into_iter().find(|one| &*one.spec.name == "c").unwrap().spec.fingerprint
    };
    let mean = |settings| fingerprint(settings, "weighted_mean", json!({"part": 1}));
    assert_ne!(mean(json!({})), mean(json!({"stem": true})));
    assert_eq!(mean(json!({})), mean(json!({"threshold": 0.5})));
    let all = |settings| fingerprint(settings, "all_of", json!(["part"]));
    // Here the threshold decides the score.
    assert_ne!(all(json!({"threshold": 0.4})), all(json!({"threshold": 0.5})));
}
