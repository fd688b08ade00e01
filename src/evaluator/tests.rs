//! What holds for every evaluator there is; the recorded data that the families compare themselves with.

mod examples;
pub(super) mod peps;
pub(super) mod support;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::domain::ExpectedContext;
use crate::domain::ScoreKind;
use support::{answer, block, case, context_of, judge_model, models};

/// Settings that build each kind: what its schema requires, and `length`'s bound.
fn smallest(kind: &Kind) -> Value {
    let schema = kind.schema().to_value();
    let mut settings = serde_json::Map::new();
    for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let value = match key {
            "pattern" => json!("a"),
            "model" => json!("judge"),
            "guideline" | "rubric" | "criteria" | "criterion" => json!("Polite."),
            "embedding" => json!("embed"),
            "argv" => json!(["true"]),
            "url" => json!("http://127.0.0.1:9/"),
            "of" if kind.info.name == "weighted_mean" => json!({"other": 1}),
            "of" => json!(["other"]),
            other => panic!("`{}` requires `{other}`: teach this test a value", kind.info.name),
        };
        settings.insert(key.to_owned(), value);
    }
    if kind.info.name == "length" {
        settings.insert("min".to_owned(), json!(1));
    }
    if kind.info.name == "answer_correctness" {
        settings.insert("embedding".to_owned(), json!("embed"));
    }
    Value::Object(settings)
}

fn build(kind: &Kind, settings: Value) -> Result<Ready, Diagnostics> {
    let models = models([("judge", judge_model(support::always("YES")))]);
    let mut diagnostics = Diagnostics::default();
    let ready = kind.build(&block(kind.info.name, settings), &context_of(&models), &mut diagnostics);
    match ready {
        Some(ready) => {
            assert!(!diagnostics.has_errors(), "{} built in spite of errors", kind.info.name);
            Ok(ready)
        }
        None => {
            assert!(diagnostics.has_errors(), "{} did not build and says nothing", kind.info.name);
            Err(diagnostics)
        }
    }
}

type Built = Vec<(&'static Kind, Box<dyn Scorer>)>;

/// Every evaluator that computes, built once: checking settings takes longer than scoring.
static PURE: std::sync::LazyLock<Built> = std::sync::LazyLock::new(|| {
    kinds()
        .filter_map(|kind| match build(kind, smallest(kind)).unwrap().way {
            Way::Pure(scorer) => Some((kind, scorer)),
            Way::Asking(_) | Way::Composite(_) => None,
        })
        .collect()
});

fn pure() -> impl Iterator<Item = (&'static Kind, &'static dyn Scorer)> {
    PURE.iter().map(|(kind, scorer)| (*kind, scorer.as_ref()))
}

#[test]
fn every_kind_says_what_it_is() {
    let mut names: Vec<&str> = kinds().map(|kind| kind.info.name).collect();
    for kind in kinds() {
        let info = kind.info;
        assert!(!info.summary.is_empty() && !info.summary.contains('\n'), "{}", info.name);
        assert!(!info.source.is_empty(), "{}", info.name);
        assert!(info.version >= 1, "{}", info.name);
        assert!(info.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'), "{}", info.name);
        assert!(info.pass_mark.is_none_or(|mark| info.score.admits(mark)), "{}", info.name);
        let schema = kind.schema().to_value();
        assert_eq!(schema["additionalProperties"], json!(false), "{} takes unknown keys", info.name);
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            assert!(property["description"].is_string(), "`{key}` of {} has no description", info.name);
        }
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "two kinds of one name");
}

#[test]
fn every_kind_builds_from_its_smallest_settings_and_refuses_unknown_keys() {
    for kind in kinds() {
        let ready = build(kind, smallest(kind)).unwrap();
        assert_eq!(ready.spec.kind, kind.info.score);
        assert_eq!(&*ready.spec.name, kind.info.name);
        let mut settings = smallest(kind);
        settings["threshhold"] = json!(0.5);
        assert!(build(kind, settings).is_err(), "{}", kind.info.name);
    }
}

#[test]
fn every_pass_fail_text_check_can_be_negated() {
    let case = case("q", Some("7"));
    for kind in text::KINDS.iter().filter(|kind| kind.info.score == ScoreKind::Binary) {
        let value = |negate: bool| {
            let mut settings = smallest(kind);
            settings["negate"] = json!(negate);
            let Way::Pure(scorer) = build(kind, settings).unwrap().way else { panic!("not pure") };
            let answer = answer("7", &[]);
            match scorer.score(Subject { case: &case, answer: &answer, trial: 0 }) {
                Measurement::Value(reading) => (reading.value(), reading.passed),
                other => panic!("{}: {other:?}", kind.info.name),
            }
        };
        assert_eq!(value(true), (1.0 - value(false).0, Some(!value(false).1.unwrap())), "{}", kind.info.name);
    }
}

#[test]
fn a_missing_reference_is_an_error_and_known_before_the_first_call() {
    let case = case("q", None);
    let answer = answer("x", &[]);
    let mut with_reference = 0;
    for (kind, scorer) in pure() {
        if unmet(kind.info, &case).is_none() {
            continue;
        }
        with_reference += 1;
        let Measurement::Error(failure) = scorer.score(Subject { case: &case, answer: &answer, trial: 0 }) else {
            panic!("{} scored without a reference", kind.info.name);
        };
        assert_eq!(failure.kind, FailureKind::Missing);
    }
    assert_eq!(with_reference, 17);
    // A value of its own takes the need away.
    let kind = kinds().find(|kind| kind.info.name == "contains").unwrap();
    assert_eq!(unmet(build(kind, json!({"value": "x"})).unwrap().info, &case), None);
}

#[test]
fn retrieval_does_not_apply_to_a_case_that_expects_nothing() {
    let case = case("q", Some("r"));
    let answer = answer("x", &["c1"]);
    for (kind, scorer) in pure().filter(|(kind, _)| kind.info.needs.contains(&Needs::ExpectedContexts)) {
        let measurement = scorer.score(Subject { case: &case, answer: &answer, trial: 0 });
        assert!(matches!(measurement, Measurement::Skipped(SkipReason::NotApplicable, _)), "{}", kind.info.name);
    }
}

#[test]
fn a_threshold_decides_what_passes_and_must_be_on_the_scale() {
    let kind = kinds().find(|kind| kind.info.name == "rouge_l").unwrap();
    let ready = build(kind, json!({"threshold": 0.5})).unwrap();
    assert_eq!(ready.spec.pass_mark, Some(0.5));
    assert_eq!(
        ready.spec.fingerprint,
        build(kind, json!({})).unwrap().spec.fingerprint,
        "a threshold changes no score"
    );
    let case = case("q", Some("a b"));
    let Way::Pure(scorer) = ready.way else { panic!("not pure") };
    let passed = |text: &str| match scorer.score(Subject { case: &case, answer: &answer(text, &[]), trial: 0 }) {
        Measurement::Value(reading) => reading.passed,
        other => panic!("{other:?}"),
    };
    // Equal to the mark passes.
    assert_eq!((passed("a c"), passed("c d")), (Some(true), Some(false)));
    for bad in [json!(0.0), json!(1.5), json!(-1)] {
        let error = build(kind, json!({"threshold": bad})).err().unwrap();
        assert_eq!(error.iter().next().unwrap().code, "threshold-out-of-range");
    }
}

#[test]
fn settings_that_could_never_fail_are_refused() {
    let refused = [
        ("contains", json!({"value": ""}), "empty-text"),
        ("contains", json!({"values": []}), "empty-list"),
        ("contains", json!({"value": "a", "values": ["b"]}), "conflicting-keys"),
        ("regex", json!({"pattern": "a*"}), "matches-everything"),
        ("regex", json!({"pattern": "(a"}), "bad-pattern"),
        ("length", json!({}), "missing-key"),
        ("length", json!({"min": 3, "max": 2}), "empty-range"),
        ("length", json!({"min": 0}), "empty-range"),
        ("length", json!({"min": 3, "negate": "yes"}), "wrong-type"),
        ("correctness", json!({"model": "judge", "negate": true}), "missing-key"),
        ("starts_with", json!({"value": ""}), "empty-text"),
        ("ends_with", json!({"value": "a", "values": ["b"]}), "conflicting-keys"),
        ("numeric", json!({"absolute": -1}), "tolerance-out-of-range"),
        ("is_json", json!({"schema": {"type": "strnig"}}), "bad-schema"),
        ("is_json", json!({"schema": {"$ref": "https://example.org/x.json"}}), "bad-schema"),
        ("is_xml", json!({"elements": ["a..b"]}), "empty-text"),
        ("citations", json!({"min": 0, "valid": false}), "empty-range"),
        ("citations", json!({"pattern": "[0-9]+"}), "bad-pattern"),
        ("set_f1", json!({"separators": [""]}), "empty-text"),
        ("recall", json!({"overlap": 0.5}), "conflicting-keys"),
        ("recall", json!({"by": "similarity", "overlap": 0}), "overlap-out-of-range"),
        ("mrr", json!({"compat": "ragas"}), "conflicting-keys"),
        ("average_precision", json!({"cut_at_k": true, "compat": "llamaindex"}), "conflicting-keys"),
        ("faithfulness", json!({"model": "jduge"}), "unknown-model"),
        ("faithfulness", json!({"model": "judge", "prompt": "no answer"}), "missing-placeholder"),
        ("faithfulness", json!({"model": "judge", "prompt": "{{ answer }} {{ anser }}"}), "unknown-placeholder"),
    ];
    for (name, settings, code) in refused {
        let kind = kinds().find(|kind| kind.info.name == name).unwrap();
        let diagnostics = build(kind, settings.clone()).err().unwrap_or_else(|| panic!("{name} took {settings}"));
        let first = diagnostics.iter().next().unwrap();
        assert_eq!(first.code, code, "{name} {settings}");
        assert!(first.help.is_some(), "{name} {code} has no help");
    }
}

#[test]
fn every_kind_can_be_negated_and_says_so_in_its_fingerprint() {
    for kind in kinds() {
        let negated = |negate: bool| {
            let mut settings = smallest(kind);
            settings["negate"] = json!(negate);
            // Turned round, a usual pass mark means nothing.
            let scale = kind.info.score != ScoreKind::Binary;
            if let Some(mark) = kind.info.pass_mark.filter(|_| scale) {
                settings["threshold"] = json!(mark);
            }
            build(kind, settings).unwrap().spec
        };
        let (plain, turned) = (negated(false), negated(true));
        let settings = &turned.fingerprint.unwrap().0["settings"];
        assert!(settings.contains("\"negate\":true"), "{}: {settings}", kind.info.name);
        assert!(plain.fingerprint.unwrap().0["settings"].contains("\"negate\":false"));
        let mut misspelt = smallest(kind);
        misspelt["negte"] = json!(true);
        let problems = build(kind, misspelt).err().unwrap();
        let slip = problems.iter().find(|problem| problem.code == "unknown-key").unwrap();
        assert_eq!(slip.help.as_deref(), Some("did you mean `negate`?"), "{}", kind.info.name);
    }
}

#[test]
fn a_graded_score_is_turned_on_its_scale_and_its_threshold_with_it() {
    let kind = kinds().find(|kind| kind.info.name == "rouge_l").unwrap();
    let ready = build(kind, json!({"negate": true, "threshold": 0.75})).unwrap();
    let Way::Pure(scorer) = ready.way else { panic!("not pure") };
    let case = case("q", Some("a b c d"));
    let value = |text: &str| match scorer.score(Subject { case: &case, answer: &answer(text, &[]), trial: 0 }) {
        Measurement::Value(reading) => (reading.value(), reading.passed),
        other => panic!("{other:?}"),
    };
    assert_eq!(value("a x y z"), (0.75, Some(true)));
    assert_eq!(value("a b c d"), (0.0, Some(false)));
}

#[test]
fn k_is_at_least_one() {
    let kind = kinds().find(|kind| kind.info.name == "recall").unwrap();
    assert!(build(kind, json!({"k": 0})).is_err());
    assert!(build(kind, json!({"k": 1})).is_ok());
}

#[test]
fn a_misspelt_model_is_suggested() {
    let kind = kinds().find(|kind| kind.info.name == "faithfulness").unwrap();
    let diagnostics = build(kind, json!({"model": "jduge"})).err().unwrap();
    assert_eq!(diagnostics.iter().next().unwrap().help.as_deref(), Some("did you mean `judge`?"));
}

#[test]
fn vd_odd_outputs() {
    let path = format!("{}/fixtures/cases/verdicts/odd-outputs.jsonl", env!("CARGO_MANIFEST_DIR"));
    let rows: Vec<Value> =
        std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 7);
    // `numeric` needs a number in the reference, and says so.
    for (kind, scorer) in pure().filter(|(kind, _)| kind.info.name != "numeric") {
        for row in &rows {
            let mut case = case("q", row["expected"].as_str());
            case.expected_contexts = vec![ExpectedContext { id: Some("c1".to_owned()), text: None, gain: 1.0 }];
            // A null output is a failure of the target before it is an answer; here the nearest to it.
            let answer = answer(row["output"].as_str().unwrap_or_default(), &["c1"]);
            let score = || scorer.score(Subject { case: &case, answer: &answer, trial: 0 });
            let Measurement::Value(reading) = score() else { panic!("{} {row}: {:?}", kind.info.name, score()) };
            assert!(kind.info.score.admits(reading.value()));
            for _ in 0..20 {
                assert_eq!(score(), Measurement::Value(reading.clone()), "{} {row}", kind.info.name);
            }
        }
    }
}

#[test]
fn vd_nan() {
    struct Nan;
    impl pure::Measure for Nan {
        fn measure(&self, _: Subject<'_>) -> Result<pure::Found, Failure> {
            Ok(pure::Found::value(f64::NAN))
        }
    }
    let kind = kinds().find(|kind| kind.info.name == "rouge_l").unwrap();
    let ready = pure::ready(&block("quality", json!({})), kind.info, Some(0.8), Nan);
    let Way::Pure(scorer) = ready.way else { panic!("not pure") };
    let case = case("c5", Some("r"));
    let measurement = scorer.score(Subject { case: &case, answer: &answer("x", &[]), trial: 0 });
    assert!(matches!(measurement, Measurement::Error(Failure { kind: FailureKind::NotAScore, .. })), "{measurement:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_pure_score_is_in_range_and_repeatable(
        text in any::<String>(),
        reference in any::<String>(),
        ids in proptest::collection::vec(any::<String>(), 0..4),
        expected in proptest::collection::vec(any::<String>(), 1..4),
    ) {
        let mut case = case("q", Some(&reference));
        case.expected_contexts =
            expected.into_iter().map(|id| ExpectedContext { id: Some(id), text: None, gain: 1.0 }).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let answer = answer(&text, &ids);
        for (kind, scorer) in pure() {
            let subject = Subject { case: &case, answer: &answer, trial: 0 };
            let measurement = scorer.score(subject);
            prop_assert_eq!(&measurement, &scorer.score(subject));
            match measurement {
                Measurement::Value(reading) => prop_assert!(kind.info.score.admits(reading.value())),
                // A blank reference, or one without a number.
                Measurement::Error(failure) => prop_assert_eq!(failure.kind, FailureKind::Missing),
                other => prop_assert!(false, "{}: {:?}", kind.info.name, other),
            }
        }
    }
}
