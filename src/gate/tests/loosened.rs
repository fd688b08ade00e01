//! Every setting of a policy, made easier and made harder.

use serde_json::{Value, json};

use super::{quality, spec};
use crate::diagnostic::Diagnostics;
use crate::domain::*;
use crate::gate::{Policy, changes, metric_changes};
use crate::suite::Block;

fn policy(gate: &Value) -> Policy {
    let mut problems = Diagnostics::default();
    let block = Block::from_value("gate", "gate", gate.clone());
    Policy::build(Some(&block), &[], &mut problems)
        .unwrap_or_else(|| panic!("{:?}", problems.iter().collect::<Vec<_>>()))
}

/// (what, old, new, loosens) of every change.
fn told(old: &Value, new: &Value) -> Vec<(String, String, String, bool)> {
    let found = changes(&policy(old), &policy(new), None);
    found.into_iter().map(|one| (one.what, one.old, one.new, one.loosens)).collect()
}

fn metric(rules: Value) -> Value {
    json!({ "metrics": { "quality": rules } })
}

#[test]
fn what_is_easier_loosens_and_what_is_harder_does_not() {
    let baseline = |settings: Value| json!({ "baseline": settings });
    let rows: Vec<(&str, Value, Value)> = vec![
        ("gate.alpha", json!({ "alpha": 0.05 }), json!({ "alpha": 0.01 })),
        ("gate.severity", json!({ "severity": 0.5 }), json!({ "severity": 0.9 })),
        ("gate.breaks", json!({}), json!({ "breaks": "warn" })),
        ("gate.inconclusive", json!({ "inconclusive": "fail" }), json!({})),
        ("gate.on_coverage", json!({}), json!({ "on_coverage": "warn" })),
        ("gate.min_measured", json!({}), json!({ "min_measured": 0.5 })),
        ("gate.max_missing", json!({}), json!({ "max_missing": 0.5 })),
        ("gate.min_overlap", json!({}), json!({ "min_overlap": 0.5 })),
        ("gate.errors.max_new", json!({}), json!({ "errors": { "max_new": 3 } })),
        ("gate.must_pass.tags", json!({ "must_pass": { "tags": ["critical"] } }), json!({})),
        ("gate.must_pass.ids", json!({ "must_pass": { "ids": ["a", "b"] } }), json!({ "must_pass": { "ids": ["b"] } })),
        ("gate.slices.zh", json!({ "slices": { "zh": { "gate": true } } }), json!({})),
        (
            "gate.quarantine",
            json!({}),
            json!({ "quarantine": { "cases": [
                { "case": "q7", "owner": "ann", "reason": "flaky since May", "until": "2026-12-31" },
            ] } }),
        ),
        ("gate.metrics.quality.min", metric(json!({ "min": 0.9 })), metric(json!({ "min": 0.5 }))),
        ("gate.metrics.quality.min", metric(json!({ "min": 0.9 })), json!({})),
        ("gate.metrics.quality.max", metric(json!({ "max": 0.1 })), metric(json!({ "max": 0.2 }))),
        ("gate.metrics.quality.margin", metric(json!({ "margin": 0.02 })), metric(json!({ "margin": 0.2 }))),
        ("gate.metrics.quality.max_drop", metric(json!({ "max_drop": 0.1 })), metric(json!({}))),
        ("gate.metrics.quality.gate", metric(json!({})), metric(json!({ "gate": false }))),
        ("gate.metrics.quality.on_fail", metric(json!({})), metric(json!({ "on_fail": "warn" }))),
        ("gate.metrics.quality.shadow_until", metric(json!({})), metric(json!({ "shadow_until": "2026-12-31" }))),
        (
            "gate.metrics.quality.shadow_until",
            metric(json!({ "shadow_until": "2026-12-31" })),
            metric(json!({ "shadow_until": "2027-12-31" })),
        ),
        ("gate.metrics.quality.mode", metric(json!({ "mode": "strict", "min": 0.5 })), metric(json!({ "min": 0.5 }))),
        (
            "gate.metrics.quality.trials",
            metric(json!({ "trials": "all", "min": 0.5 })),
            metric(json!({ "trials": "any", "min": 0.5 })),
        ),
        (
            "gate.metrics.quality.pass_rate.min",
            metric(json!({ "pass_rate": { "min": 0.9 }, "pass_mark": 0.5 })),
            metric(json!({ "pass_rate": { "min": 0.8 }, "pass_mark": 0.5 })),
        ),
        ("gate.metrics.quality.case_min", metric(json!({ "case_min": 0.5 })), metric(json!({}))),
        ("gate.metrics.quality.case_max", metric(json!({ "case_max": 0.5 })), metric(json!({ "case_max": 0.6 }))),
        (
            "gate.metrics.quality.percentile",
            metric(json!({ "percentile": { "at": 10, "min": 0.5 } })),
            metric(json!({ "percentile": { "at": 20, "min": 0.5 } })),
        ),
        ("gate.metrics.quality.pass_mark", metric(json!({ "pass_mark": 0.9 })), metric(json!({ "pass_mark": 0.5 }))),
        ("gate.baseline", baseline(json!({})), json!({})),
        ("gate.baseline.missing", baseline(json!({})), baseline(json!({ "missing": "warn" }))),
        ("gate.baseline.missing", baseline(json!({ "missing": "seed" })), baseline(json!({ "missing": "warn" }))),
        ("gate.baseline.runs", baseline(json!({})), baseline(json!({ "runs": 1 }))),
        ("gate.baseline.max_age", baseline(json!({ "max_age": "30d" })), baseline(json!({ "max_age": "60d" }))),
        ("gate.baseline.max_age", baseline(json!({ "max_age": "30d" })), baseline(json!({}))),
    ];
    for (what, strict, loose) in rows {
        let easier = told(&strict, &loose);
        assert!(easier.iter().any(|one| one.0 == what && one.3), "{what}: {easier:?}");
        let harder = told(&loose, &strict);
        assert!(harder.iter().any(|one| one.0 == what) && harder.iter().all(|one| !one.3), "{what}: {harder:?}");
        assert!(told(&strict, &strict).is_empty() && told(&loose, &loose).is_empty(), "{what}");
    }
}

/// Other counts may make any rate of it.
#[test]
fn another_calibration_is_always_a_loosening() {
    let counted = |judge_only: u64| {
        metric(json!({ "pass_rate": { "min": 0.5, "calibration": {
            "both_pass": 9, "judge_only": judge_only, "people_only": 5, "both_fail": 9 } } }))
    };
    let without = metric(json!({ "pass_rate": { "min": 0.5 } }));
    for (old, new) in [(&without, &counted(1)), (&counted(1), &without), (&counted(1), &counted(2))] {
        let found = told(old, new);
        assert!(
            found.len() == 1 && found[0].0 == "gate.metrics.quality.pass_rate.calibration" && found[0].3,
            "{found:?}"
        );
    }
}

#[test]
fn what_a_tag_says_otherwise_than_its_metric_is_told_too() {
    let gate = |limits: Value| {
        let metric = json!({ "pass_mark": 0.5, "shadow_until": "2026-12-31" });
        json!({ "metrics": { "quality": metric }, "slices": { "zh": { "limits": { "quality": limits } } } })
    };
    let rates = json!({ "both_pass": 9, "judge_only": 1, "people_only": 5, "both_fail": 9 });
    let plain = gate(json!({ "pass_rate": { "min": 0.5 } }));
    let corrected = gate(json!({ "pass_rate": { "min": 0.5, "calibration": rates } }));
    let found = told(&plain, &corrected);
    let what = "gate.slices.zh.limits.quality.pass_rate.calibration";
    assert!(found.len() == 1 && found[0].0 == what && found[0].3, "{found:?}");
    // Without its own word it only warns up to the metric's day.
    let decides = gate(json!({ "pass_rate": { "min": 0.5 }, "on_fail": "fail" }));
    let found = told(&decides, &plain);
    assert!(found.len() == 1 && found[0].0 == "gate.slices.zh.limits.quality.shadow_until" && found[0].3, "{found:?}");
    assert!(told(&plain, &decides).iter().all(|one| !one.3));
}

#[test]
fn another_place_of_the_baseline_is_always_a_loosening() {
    let of = |settings: Value| json!({ "baseline": settings });
    let pairs = [
        (json!({ "path": "a.jsonl" }), json!({ "path": "b.jsonl" }), "gate.baseline.path"),
        (json!({ "from": "git" }), json!({ "from": "file" }), "gate.baseline.from"),
        (
            json!({ "from": "https://a.example/x?sig=secret" }),
            json!({ "from": "https://b.example/x" }),
            "gate.baseline.from",
        ),
    ];
    for (old, new, what) in pairs {
        for (from, to) in [(&old, &new), (&new, &old)] {
            let found = told(&of(from.clone()), &of(to.clone()));
            assert!(found.len() == 1 && found[0].0 == what && found[0].3, "{found:?}");
            assert!(!found[0].1.contains("secret") && !found[0].2.contains("secret"), "{found:?}");
        }
    }
    let digest = "0123456789abcdef0123456789abcdef";
    let pinned = of(json!({ "digest": digest }));
    assert!(told(&pinned, &of(json!({})))[0].3 && !told(&of(json!({})), &pinned)[0].3);
}

#[test]
fn defaults_written_out_change_nothing() {
    let written = json!({
        "alpha": 0.05, "alpha_breaks": 0.01, "breaks": "fail", "inconclusive": "warn", "min_measured": 0.98,
        "metrics": { "quality": { "margin": 0.05, "gate": true, "on_fail": "fail" } },
    });
    assert_eq!(told(&json!({}), &written), []);
}

#[test]
fn what_is_measured_otherwise_is_named_part_by_part() {
    let print = |model: &str| Some(Fingerprint::default().with("evaluator", "faithfulness").with("model", model));
    let old = vec![MetricSpec {
        fingerprint: print("judge-large"),
        pass_mark: Some(0.5),
        ..spec("quality", ScoreKind::UNIT)
    }];
    let new = vec![
        MetricSpec { fingerprint: print("judge-tiny"), pass_mark: Some(0.4), ..spec("quality", ScoreKind::UNIT) },
        spec("more", ScoreKind::Binary),
    ];
    let place = |name: &str| Some(format!("scoregate.yaml:{}", name.len()));
    let words: Vec<(String, bool)> =
        metric_changes(&old, &new, place).iter().map(|one| (one.words(), one.loosens)).collect();
    let expected = [
        ("evaluators.quality.threshold: 0.5 → 0.4 (scoregate.yaml:7)", true),
        ("evaluators.quality.model: judge-large → judge-tiny (scoregate.yaml:7)", true),
        ("evaluators.more: none → measured (scoregate.yaml:4)", false),
    ];
    assert_eq!(words, expected.map(|(words, loosens)| (words.to_owned(), loosens)));
    let gone = metric_changes(&old, &[], |_| None);
    assert_eq!((gone[0].words().as_str(), gone[0].loosens), ("evaluators.quality: measured → removed", true));
    assert!(metric_changes(&quality(), &quality(), |_| None).is_empty());
}
