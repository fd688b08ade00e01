//! Quarantine (F83) and flaky cases (F84).

use serde_json::{Value, json};

use super::*;
use crate::gate::settings::GateSettings;

fn entry(case: &str, until: &str) -> Value {
    json!({ "case": case, "owner": "ada", "reason": "the clock in the answer", "until": until })
}

/// Twenty-five good cases and a bad one, on that day.
fn on(day: &str) -> Run {
    let mut levels = vec![1.0; 25];
    levels.push(0.0);
    let mut run = scores(&levels);
    run.header.started = Some(format!("{day}T10:00:00Z"));
    run
}

fn gate(entries: Vec<Value>) -> Value {
    json!({
        "baseline": { "from": "none" }, "metrics": { "quality": { "case_min": 0.5 } },
        "must_pass": { "ids": ["c0025"] }, "quarantine": { "cases": entries },
    })
}

fn judged(run: &Run, entries: Vec<Value>) -> Verdict {
    judge(run, &BaselineState::NotAsked, &policy(gate(entries)))
}

#[test]
fn a_case_in_quarantine_counts_for_no_limit_until_its_day_is_over() {
    let run = on("2026-11-30");
    assert_eq!(judged(&run, vec![]).exit_code, 1);
    let excused = judged(&run, vec![entry("c0025", "2026-11-30")]);
    assert_eq!(excused.exit_code, 0, "{:#?}", excused.rules);
    assert!(
        excused.notes.iter().any(|note| note.contains("c0025") && note.contains("ada") && note.contains("2026-11-30"))
    );
    let over = judged(&on("2026-12-01"), vec![entry("c0025", "2026-11-30")]);
    assert_eq!(over.exit_code, 1);
    assert!(over.notes.iter().any(|note| note.contains("it counts again")), "{:?}", over.notes);
    let mut undated = run;
    undated.header.started = None;
    assert_eq!(judged(&undated, vec![entry("c0025", "2026-11-30")]).exit_code, 1);
}

#[test]
fn quarantine_takes_nobody_out_of_the_comparison() {
    let before = accept(&[&scores(&[1.0; 40])]);
    let mut levels = vec![1.0; 28];
    levels.extend([0.0; 12]);
    let mut run = scores(&levels);
    run.header.started = Some("2026-11-30T10:00:00Z".into());
    let entries: Vec<Value> = (28..33).map(|at| entry(&format!("c{at:04}"), "2026-12-31")).collect();
    let verdict = verdict(&run, &before, json!({ "quarantine": { "cases": entries } }));
    assert_eq!(verdict.exit_code, 1);
    assert_eq!(rule(&verdict, RuleKind::NotWorse).down, 12);
}

#[test]
fn a_case_may_be_excused_from_one_metric_alone() {
    let metrics = vec![spec("quality", ScoreKind::UNIT), spec("tone", ScoreKind::UNIT)];
    let cases = (0..25).map(|at| case(&format!("c{at:04}"), vec![vec![value(f64::from(u8::from(at > 0))); 2]]));
    let mut run = run(metrics, cases.collect());
    run.header.started = Some("2026-11-30T10:00:00Z".into());
    let gate = |metric: Value| {
        let mut one = entry("c0000", "2026-12-31");
        one["metric"] = metric;
        json!({
            "baseline": { "from": "none" }, "quarantine": { "cases": [one] },
            "metrics": { "quality": { "case_min": 0.5 }, "tone": { "case_min": 0.5 } },
        })
    };
    let verdict = judge(&run, &BaselineState::NotAsked, &policy(gate(json!("quality"))));
    let failed: Vec<&str> =
        verdict.rules.iter().filter(|rule| rule.severity == Severity::Fail).map(|rule| &*rule.metric).collect();
    assert_eq!(failed, ["tone"]);
    assert_eq!(judge(&run, &BaselineState::NotAsked, &policy(gate(Value::Null))).exit_code, 0);
}

#[test]
fn a_quarantine_has_owners_reasons_days_and_an_end() {
    let problems = |quarantine: Value| -> Vec<&'static str> {
        let block = Block::from_value("gate", "gate", json!({ "quarantine": quarantine }));
        let mut diagnostics = Diagnostics::default();
        assert!(Policy::build(Some(&block), &quality(), &mut diagnostics).is_none());
        diagnostics.iter().map(|problem| problem.code).collect()
    };
    let many: Vec<Value> = (0..6).map(|at| entry(&format!("c{at}"), "2026-12-31")).collect();
    assert_eq!(problems(json!({ "cases": many })), ["quarantine-full"]);
    assert_eq!(problems(json!({ "cases": [entry("a", "soon")] })), ["wrong-type"]);
    let mut bare = entry("a", "2026-12-31");
    bare["owner"] = json!(" ");
    assert_eq!(problems(json!({ "cases": [bare] })), ["empty"]);
    assert_eq!(problems(json!({ "cases": [entry("a", "2026-12-31"), entry("a", "2026-12-30")] })), ["duplicate"]);
    let mut odd = entry("a", "2026-12-31");
    odd["metric"] = json!("qualiti");
    assert_eq!(problems(json!({ "cases": [odd] })).len(), 1);
    assert!(serde_json::from_value::<GateSettings>(json!({ "quarantine": { "cases": [{ "case": "a" }] } })).is_err());
}

#[test]
fn cases_that_flip_in_the_baseline_are_named() {
    let level = |run: usize| -> Vec<f64> { (0..30).map(|at| if at == 3 { (run % 2) as f64 } else { 1.0 }).collect() };
    let runs: Vec<Run> = (0..5).map(|run| scores(&level(run))).collect();
    let pool = accept(&runs.iter().collect::<Vec<_>>());
    let verdict = verdict(&scores(&level(1)), &pool, json!({}));
    let [flaky] = verdict.flaky.as_slice() else { panic!("{:?}", verdict.flaky) };
    assert_eq!(
        (&*flaky.case, &*flaky.metric, flaky.passes, flaky.trials, flaky.flip_rate),
        ("c0003", "quality", 2, 5, 0.6)
    );
    assert!(verdict.notes.iter().any(|note| note.contains("c0003 (quality passed 2 of 5)")), "{:?}", verdict.notes);
}

/// The application's cases and as many fixed answers, each with this share of good scores.
fn beside(app: usize, fixed: usize) -> Run {
    let mut run = scores(&(0..60).map(|at| f64::from(u8::from(at < app))).collect::<Vec<f64>>());
    let canaries = scores(&(0..60).map(|at| f64::from(u8::from(at < fixed))).collect::<Vec<f64>>());
    run.cases.extend(canaries.cases.into_iter().map(|case| CaseRecord { target: "fixed".into(), ..case }));
    run.header.targets.push("fixed".into());
    run
}

#[test]
fn what_moves_fixed_answers_is_the_judge() {
    let before = accept(&[&beside(60, 60)]);
    let gate = json!({ "canaries": ["fixed"] });
    let drift = verdict(&beside(60, 30), &before, gate.clone());
    assert_eq!(drift.exit_code, 0, "{:#?}", drift.rules);
    assert!(
        !drift.comparable
            && drift
                .notes
                .iter()
                .any(|note| note.starts_with("judge drift: the fixed answers of fixed moved by -50.0 points")),
        "{:?}",
        drift.notes
    );
    assert!(drift.rules.iter().all(|rule| *rule.target != *"fixed"));
    let regressed = verdict(&beside(30, 60), &before, gate.clone());
    assert_eq!(regressed.exit_code, 1);
    assert!(
        regressed.comparable && regressed.notes.iter().any(|note| note.contains("60 fixed answers as before")),
        "{:?}",
        regressed.notes
    );
    // Without the word a target is a target.
    assert_eq!(verdict(&beside(60, 30), &before, json!({})).exit_code, 1);
    let none = verdict(&scores(&[1.0; 60]), &before, gate);
    assert!(none.notes.iter().any(|note| note.contains("no target fixed")), "{:?}", none.notes);
}
