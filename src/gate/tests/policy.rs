//! The gate section: defaults, checks, suggestions.

use serde_json::{Value, json};

use super::*;

fn problems(gate: Value, known: &[MetricSpec]) -> Vec<String> {
    let block = Block::from_value("gate", "gate", gate);
    let mut diagnostics = Diagnostics::default();
    let policy = Policy::build(Some(&block), known, &mut diagnostics);
    let texts: Vec<String> = diagnostics
        .iter()
        .map(|problem| format!("{} ({})", problem.message, problem.help.clone().unwrap_or_default()))
        .collect();
    assert_eq!(policy.is_none(), !texts.is_empty(), "{texts:?}");
    texts
}

fn one_problem(gate: Value, part: &str) {
    let found = problems(gate.clone(), &quality());
    assert!(found.len() == 1 && found[0].contains(part), "{gate}: {found:?}");
}

#[test]
fn without_a_gate_section_the_defaults_hold() {
    let policy = Policy::build(None, &quality(), &mut Diagnostics::default()).unwrap();
    assert_eq!((policy.alpha, policy.baseline), (0.05, None));
    assert!(problems(json!({}), &quality()).is_empty());
}

#[test]
fn a_misspelt_metric_is_an_error_with_a_suggestion() {
    one_problem(json!({ "metrics": { "qualty": { "min": 0.8 } } }), "did you mean `quality`?");
    one_problem(json!({ "metrics": { "speed": { "min": 0.8 } } }), "the evaluators measure `quality`");
    // The metrics of another tool's results are only known by the policy.
    assert!(problems(json!({ "metrics": { "speed": { "min": 0.8 } } }), &[]).is_empty());
}

#[test]
fn every_number_is_checked() {
    let metric = |rules: Value| json!({ "metrics": { "quality": rules } });
    one_problem(json!({ "alpha": 0.5 }), "alpha is 0.5");
    one_problem(json!({ "alpha_breaks": 0.05 }), "alpha_breaks is 0.05");
    one_problem(json!({ "severity": 0 }), "severity is 0");
    one_problem(json!({ "min_measured": 98 }), "min_measured is 98");
    one_problem(json!({ "max_missing": -0.1 }), "max_missing");
    one_problem(metric(json!({ "margin": 3 })), "margin is 3");
    one_problem(metric(json!({ "min": 85 })), "min is 85");
    one_problem(metric(json!({ "min": 0.9, "max": 0.8 })), "at least 0.9 and at most 0.8");
    one_problem(metric(json!({ "max_drop": -0.1 })), "max_drop");
    one_problem(metric(json!({ "percentile": { "at": 100, "min": 0.1 } })), "at is 100");
    one_problem(metric(json!({ "percentile": { "min": 0.1 } })), "no `at`");
    one_problem(metric(json!({ "pass_rate": { "min": 0.9 } })), "when a case passes");
    one_problem(metric(json!({ "mode": "exact", "min": 0.5 })), "binary");
    one_problem(metric(json!({ "type": "ordinal", "range": [1, 5] })), "continuous 0 to 1");
    one_problem(json!({ "must_pass": {} }), "selects nothing");
    one_problem(json!({ "baseline": { "runs": 0 } }), "runs is 0");
    one_problem(json!({ "baseline": { "max_age": "soon" } }), "no length of time");
    one_problem(json!({ "baseline": { "from": "the cloud" } }), "is no place of a baseline");
    one_problem(json!({ "baseline": { "from": "https://example.org/x", "path": "y" } }), "`path` has no meaning");
    one_problem(json!({ "baseline": { "digest": "abc" } }), "is no digest");
    one_problem(metric(json!({ "shadow_until": "next week" })), "is no day");
    one_problem(metric(json!({ "shadow_until": "2026-13-01" })), "write it as");
    one_problem(json!({ "tolerance": 1 }), "tolerance");
}

#[test]
fn a_lower_alpha_takes_the_break_guards_share_along() {
    let policy = policy(json!({ "alpha": 0.01 }));
    assert_eq!((policy.alpha, policy.alpha_breaks), (0.01, 0.002));
}

#[test]
fn all_problems_come_at_once() {
    let gate = json!({ "alpha": 2, "metrics": { "qualty": {}, "quality": { "margin": 0 } } });
    assert_eq!(problems(gate, &quality()).len(), 3);
}

#[test]
fn foreign_metrics_are_declared_by_the_policy() {
    let gate = json!({ "metrics": {
        "helpful": { "type": "ordinal", "range": [1, 5], "pass_mark": 4 },
        "latency": { "range": [0, 60], "direction": "lower" },
        "plain": {},
    } });
    let declared = policy(gate).declared();
    assert_eq!(declared.len(), 2);
    assert_eq!((declared[0].kind, declared[0].pass_mark), (ScoreKind::Ordinal { lo: 1, hi: 5 }, Some(4.0)));
    assert_eq!(declared[1].direction, Direction::Lower);
}

#[test]
fn the_schema_knows_every_key() {
    let schema = serde_json::to_string(&Policy::schema()).unwrap();
    for key in ["margin", "max_drop", "on_coverage", "must_pass", "percentile", "max_age", "min_overlap"] {
        assert!(schema.contains(&format!("\"{key}\"")), "{key}");
    }
    assert!(schema.contains("\"additionalProperties\":false"));
}
