//! What a reader is told, where it was once said twice, too narrowly or not at all.

use serde_json::json;

use super::*;

/// Two metrics a case.
fn two(cells: impl Fn(usize) -> [Option<Cell>; 2], cases: usize) -> Run {
    let specs = vec![spec("quality", ScoreKind::UNIT), spec("style", ScoreKind::UNIT)];
    run(specs, (0..cases).map(|at| case(&format!("c{at}"), vec![cells(at).to_vec()])).collect())
}

#[test]
fn a_few_equal_scores_have_no_interval() {
    let limited = at_least(&scores(&[1.0, 1.0]), json!({}));
    let limit = rule(&limited, RuleKind::Threshold);
    assert_eq!((limit.ci, limit.verdict), (None, RuleVerdict::Met));
    assert!(!limit.explanation.contains("likely"), "{}", limit.explanation);
    let (before, now) = (scores(&[0.75, 0.75]), scores(&[0.5, 0.5]));
    let compared = verdict(&now, &accept(&[&before]), json!({}));
    let moved = rule(&compared, RuleKind::NotWorse);
    assert_eq!((moved.ci, moved.verdict), (None, RuleVerdict::Inconclusive));
    assert!(moved.explanation.contains("2 cases are too few to say"), "{}", moved.explanation);
    // What is spread, what is a proportion, and what is many keeps its own.
    let spread = verdict(&scores(&[0.5, 0.6]), &accept(&[&before]), json!({}));
    assert!(rule(&spread, RuleKind::NotWorse).ci.is_some());
    assert!(rule(&at_least(&scores(&[1.0; 40]), json!({})), RuleKind::Threshold).ci.is_some());
    let binary = run(vec![spec("quality", ScoreKind::Binary)], vec![case("a", vec![vec![value(1.0)]])]);
    assert!(rule(&at_least(&binary, json!({})), RuleKind::Threshold).ci.is_some());
}

#[test]
fn what_is_missing_of_several_metrics_is_said_once() {
    let nothing = two(|_| [error(), error()], 4);
    let gate = json!({ "metrics": { "quality": { "min": 0.5 }, "style": { "min": 0.5 } } });
    let told = verdict(&nothing, &BaselineState::NotAsked, gate.clone());
    let expected = "could not evaluate: 4 of 4 cases have no score for quality, style (4 timeout)";
    assert_eq!((told.exit_code, &*told.headline), (3, expected));
    let compared = verdict(&nothing, &accept(&[&two(|_| [value(1.0), value(1.0)], 4)]), gate.clone());
    assert_eq!(compared.headline.matches("quality").count(), 1, "{}", compared.headline);
    // Different gaps are told apart, each metric once.
    let half = two(|at| [error(), if at == 0 { error() } else { value(1.0) }], 4);
    let told = verdict(&half, &BaselineState::NotAsked, gate);
    assert_eq!(told.headline.matches("style").count(), 1, "{}", told.headline);
    assert_eq!(told.headline.matches("quality").count(), 1, "{}", told.headline);
}

#[test]
fn a_required_baseline_is_not_nothing() {
    let says = |state: &BaselineState, gate| {
        verdict(&scores(&[1.0; 3]), state, gate).notes.iter().any(|note| note.contains("nothing is required"))
    };
    let absent = BaselineState::Absent("b.jsonl".into());
    assert!(!says(&absent, json!({})));
    assert!(!says(&BaselineState::Broken("half".into()), json!({})));
    let allowed = json!({ "baseline": { "path": "b.jsonl", "missing": "warn" } });
    assert!(says(&absent, allowed.clone()));
    assert!(!says(&BaselineState::Broken("half".into()), allowed));
}

#[test]
fn must_pass_cases_are_named_with_what_they_failed() {
    let failing = two(|at| if at == 1 { [value(0.0), value(0.0)] } else { [value(1.0), value(0.0)] }, 2);
    let told = verdict(&failing, &BaselineState::NotAsked, json!({ "must_pass": { "ids": ["c0", "c1"] } }));
    let expected = "failed: 2 must-pass cases failed: c0 (style), c1 (quality, style)";
    assert_eq!(told.headline, expected);
}

#[test]
fn a_missed_threshold_names_its_cases_where_nothing_is_compared() {
    let now = scores(&[0.9, 0.1, 0.3]);
    let alone = at_least(&now, json!({}));
    let named: Vec<&str> = alone.broken.iter().filter(|case| case.decisive).map(|case| &*case.case).collect();
    assert_eq!((alone.exit_code, named), (1, vec!["c0001", "c0002"]));
    // Beside a baseline the cases that moved are told: these did not get worse.
    let gate = json!({ "metrics": { "quality": { "min": 0.8 } } });
    let compared = verdict(&now, &accept(&[&now]), gate);
    assert_eq!((compared.exit_code, compared.broken.len()), (1, 0));
}
