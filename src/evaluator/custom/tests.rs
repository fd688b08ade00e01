//! Programs and services of one's own, without either.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::tests::support::{Loopback, answer, block, case, context_of};
use super::super::*;
use crate::domain::{ExpectedContext, ScoreKind};

fn built(name: &str, settings: Value) -> Result<Ready, Vec<String>> {
    let models = BTreeMap::new();
    let kind = kinds().find(|kind| kind.info.name == name).unwrap();
    let mut diagnostics = Diagnostics::default();
    (kind.build)(&block("mine", with(name, settings)), &context_of(&models), &mut diagnostics)
        .ok_or_else(|| diagnostics.iter().map(|found| format!("{}: {}", found.code, found.message)).collect())
}

/// The settings with how it is reached.
fn with(name: &str, mut settings: Value) -> Value {
    match name {
        "command" => settings["argv"] = json!(["score"]),
        _ => settings["url"] = json!("http://127.0.0.1:9/score"),
    }
    settings
}

async fn asked(ready: &Ready, transport: &Loopback) -> Asked {
    let mut case = case("Capital?", Some("Canberra"));
    case.expected_contexts = vec![ExpectedContext { id: Some("d1".to_owned()), text: None, gain: 2.0 }];
    let Way::Asking(asking) = &ready.way else { panic!("not asking") };
    let answer = answer("Sydney\n\"", &["d2"]);
    asking.evaluate(Subject { case: &case, answer: &answer, trial: 1 }, transport).await
}

#[tokio::test]
async fn both_are_given_case_and_answer_and_their_object_is_the_score() {
    for name in ["command", "http"] {
        let transport = Loopback::answering(&[r#"{"score": 0.5, "reason": "half"}"#]);
        let ready = built(name, json!({"threshold": 0.5, "settings": {"level": [1]}})).unwrap();
        let asked = asked(&ready, &transport).await;
        let Measurement::Value(reading) = &asked.measurement else { panic!("{name}: {asked:?}") };
        assert_eq!((reading.value(), reading.passed, reading.reason.as_deref()), (0.5, Some(true), Some("half")));
        assert_eq!(asked.attempts, 1);
        let given = transport.given.lock().unwrap();
        let expected = json!({
            "form": 1, "metric": "mine",
            "case": {
                "id": "q1", "input": "Capital?", "reference": "Canberra", "contexts": [],
                "expected_contexts": [{"id": "d1", "text": null, "gain": 2.0}], "tags": [], "metadata": {},
            },
            "answer": {"text": "Sydney\n\"", "contexts": [{"id": "d2", "text": "d2", "score": null}]},
            "trial": 1, "settings": {"level": [1]}, "id": given[0]["id"],
        });
        assert_eq!(given[0], expected);
        assert_eq!(given[0]["id"].as_str().map(str::len), Some(32));
    }
}

#[tokio::test]
async fn a_worker_says_the_id_and_replies_that_say_nothing_are_unusable() {
    let ready = built("command", json!({"worker": true})).unwrap();
    for output in [r#"{"score": 1}"#, r#"{"id": "other", "score": 1}"#, "no JSON", "", r#"{"error": "no model"}"#] {
        let asked = asked(&ready, &Loopback::answering(&[output])).await;
        let Measurement::Unusable(failure) = asked.measurement else { panic!("{output}: {asked:?}") };
        assert!(failure.raw.is_some(), "{output}: {failure:?}");
    }
    let failing = asked(&built("http", json!({})).unwrap(), &Loopback::answering(&[r#"{"error": "no model"}"#])).await;
    let Measurement::Error(failure) = &failing.measurement else { panic!("{failing:?}") };
    assert!(failure.kind == FailureKind::Command && failure.message.contains("no model"), "{failure:?}");
    let skipped = asked(&built("http", json!({})).unwrap(), &Loopback::answering(&[r#"{"skip": "no table"}"#])).await;
    assert!(matches!(skipped.measurement, Measurement::Skipped(SkipReason::NotApplicable, _)));
    let transport = Loopback { breaks_after: Some(0), ..Loopback::answering(&["{}"]) };
    let broken = asked(&built("http", json!({})).unwrap(), &transport).await;
    assert!(matches!(&broken.measurement, Measurement::Error(failure) if failure.kind == FailureKind::Timeout));
}

#[test]
fn scales_are_stated_and_checked() {
    let spec = |settings| built("command", settings).unwrap().spec;
    assert_eq!(spec(json!({})).kind, ScoreKind::UNIT);
    let binary = spec(json!({"type": "binary"}));
    assert_eq!((binary.kind, binary.pass_mark), (ScoreKind::Binary, Some(1.0)));
    let grades = spec(json!({"type": "ordinal", "range": [1, 5], "threshold": 4}));
    assert_eq!((grades.kind, grades.pass_mark), (ScoreKind::Ordinal { lo: 1, hi: 5 }, Some(4.0)));
    let lower = spec(json!({"range": [0, 100], "direction": "lower", "threshold": 20}));
    assert_eq!((lower.direction, lower.pass_mark), (crate::domain::Direction::Lower, Some(20.0)));
    for (settings, code) in [
        (json!({"type": "ordinal"}), "empty-range"),
        (json!({"type": "ordinal", "range": [1, 2.5]}), "empty-range"),
        (json!({"type": "binary", "range": [0, 2]}), "empty-range"),
        (json!({"range": [1, 1]}), "empty-range"),
        (json!({"threshold": 0}), "threshold-out-of-range"),
        (json!({"direction": "lower", "threshold": 1}), "threshold-out-of-range"),
    ] {
        let problems = built("command", settings.clone()).err().unwrap_or_else(|| panic!("took {settings}"));
        assert!(problems.iter().any(|problem| problem.starts_with(code)), "{settings}: {problems:?}");
    }
    let kind = kinds().find(|kind| kind.info.name == "http").unwrap();
    let mut diagnostics = Diagnostics::default();
    let models = BTreeMap::new();
    let address = block("mine", json!({"url": "http://169.254.169.254/"}));
    assert!((kind.build)(&address, &context_of(&models), &mut diagnostics).is_none());
}

#[test]
fn how_long_it_may_take_is_no_part_of_what_it_measures() {
    let prints = |settings| built("command", settings).unwrap().spec.fingerprint.unwrap();
    let plain = prints(json!({}));
    assert_eq!(prints(json!({"timeout": "5s", "limits": {"workers": 2}, "version": "7", "threshold": 0.5})), plain);
    assert_ne!(prints(json!({"settings": {"level": 2}})), plain);
}
