//! Entries of `cases.yaml` (topics `verdicts` and `baselines`) as far as the gate alone can show them.

use serde_json::json;

use super::*;

#[test]
fn vd_nan() {
    let mut run = recorded("nan.jsonl");
    // A reader cannot make a score of it; should one try, it is none.
    run.cases.push(case("c5", vec![vec![value(f64::NAN)]]));
    run.header.cases = 5;
    let strict = at_least(&run, json!({}));
    assert_eq!(strict.exit_code, 3);
    assert_eq!(rule(&strict, RuleKind::Threshold).current, Some(0.85));
    let coverage = rule(&strict, RuleKind::Coverage);
    assert!(coverage.explanation.contains("4 of 5 measured"), "{}", coverage.explanation);
    assert_eq!((strict.cases.scored, strict.cases.errored), (4, 1));
    // Even where a part may be missing: the missing score could move the mean below 0.8.
    let tolerant = at_least(&run, json!({ "min_measured": 0.8 }));
    assert_eq!((tolerant.exit_code, rule(&tolerant, RuleKind::Threshold).reason), (3, Reason::Missing));
}

#[test]
fn vd_all_errors() {
    let verdict = at_least(&recorded("all-errors.jsonl"), json!({}));
    assert_eq!((verdict.exit_code, verdict.decision), (3, Decision::NotEvaluated));
    assert!(verdict.headline.starts_with("could not evaluate: 4 of 4"), "{}", verdict.headline);
    assert!(verdict.headline.contains("3 timeout, 1 auth"), "{}", verdict.headline);
    assert_eq!((verdict.cases.errored, verdict.cases.cells_errored), (4, 4));
}

#[test]
fn vd_judge_error_not_zero() {
    let gate = || json!({ "min_measured": 0.9 });
    let one = at_least(&recorded("judge-error-1.jsonl"), gate());
    assert_eq!((one.exit_code, one.decision), (0, Decision::Passed));
    assert_eq!(rule(&one, RuleKind::Threshold).current, Some(0.9));
    assert!(rule(&one, RuleKind::Coverage).explanation.contains("1 not measured"));
    assert_eq!(at_least(&recorded("judge-error-2.jsonl"), gate()).exit_code, 3);
}

#[test]
fn vd_exit_codes() {
    assert_eq!(at_least(&recorded("all-good.jsonl"), json!({})).exit_code, 0);
    let bad = at_least(&recorded("one-bad.jsonl"), json!({}));
    assert_eq!((bad.exit_code, bad.decision), (1, Decision::Failed));
    assert_eq!(bad.headline, "failed: quality is at 0.500, below the required 0.8");
    assert_eq!(at_least(&recorded("all-errors.jsonl"), json!({})).exit_code, 3);
}

#[test]
fn vd_zero_cases() {
    // Reading such files is refused before a run starts; a run without cases is not green either.
    for file in ["empty.jsonl", "blank-only.jsonl"] {
        let verdict = at_least(&recorded(file), json!({}));
        assert_eq!((verdict.exit_code, verdict.decision), (3, Decision::NotEvaluated), "{file}");
        assert!(verdict.headline.contains("0 cases"), "{}", verdict.headline);
    }
}

#[test]
fn vd_skipped() {
    let all = at_least(&recorded("all-skipped.jsonl"), json!({}));
    assert_eq!((all.exit_code, all.decision), (3, Decision::NotEvaluated));
    let mostly = at_least(&recorded("mostly-skipped.jsonl"), json!({}));
    assert_eq!(mostly.exit_code, 3);
    assert!(rule(&mostly, RuleKind::Coverage).explanation.contains("1 of 4 measured"));
    let allowed = verdict(&recorded("mostly-skipped.jsonl"), &BaselineState::NotAsked, json!({ "min_measured": 0.2 }));
    assert_eq!(allowed.exit_code, 0);
    assert!(allowed.notes.iter().any(|note| note.contains("min_measured 0.2")));
}

#[test]
fn vd_rounding() {
    let verdict = at_least(&recorded("rounding.jsonl"), json!({}));
    assert_eq!(verdict.exit_code, 1);
    assert!(verdict.headline.contains("0.79996"), "{}", verdict.headline);
    assert_eq!(rule(&verdict, RuleKind::Threshold).current, Some(0.79996));
}

#[test]
fn vd_sticky_error() {
    let mut run = recorded("sticky.jsonl");
    let forwards = at_least(&run, json!({}));
    run.cases.reverse();
    let backwards = at_least(&run, json!({}));
    assert_eq!(forwards, backwards);
    assert_eq!((forwards.cases.scored, forwards.cases.errored), (4, 1));
}

#[test]
fn bl_metric_vanished() {
    let baseline = accept(&[&neutral("metric-vanished.baseline.json")]);
    let verdict = verdict(&neutral("metric-vanished.current.json"), &baseline, json!({}));
    assert_eq!((verdict.exit_code, verdict.decision), (3, Decision::NotEvaluated));
    assert!(verdict.headline.contains("grounding is in the baseline, not in this run"), "{}", verdict.headline);
}

#[test]
fn bl_case_renamed() {
    let mut before = neutral("case-renamed.baseline.json");
    let mut now = neutral("case-renamed.current.json");
    let asked = |run: &mut Run, id: &str| {
        run.cases.iter_mut().find(|case| &*case.id == id).unwrap().content = Some(Digest::of(["the hard question"]));
    };
    asked(&mut before, "hard");
    asked(&mut now, "hard-v2");
    let verdict = verdict(&now, &accept(&[&before]), json!({}));
    assert_eq!(verdict.exit_code, 3);
    assert!(verdict.headline.contains("1 removed, 1 new"), "{}", verdict.headline);
    assert_eq!(verdict.changes.renamed, vec![("hard".into(), "hard-v2".into())]);
    assert!(verdict.notes.iter().any(|note| note == "likely rename: hard → hard-v2 (equal contents)"));
}

#[test]
fn bl_new_case() {
    let baseline = accept(&[&neutral("new-case.baseline.json")]);
    let gate = json!({ "metrics": { "quality": { "case_min": 0.5 } } });
    let verdict = verdict(&neutral("new-case.current.json"), &baseline, gate);
    assert_eq!((verdict.exit_code, verdict.decision), (1, Decision::Failed));
    assert_eq!(verdict.changes.added, vec!["c2".into()]);
    assert!(verdict.notes.iter().any(|note| note == "1 case new, no baseline: c2"), "{:?}", verdict.notes);
    let named: Vec<&BrokenCase> = verdict.broken.iter().filter(|case| &*case.case == "c2").collect();
    assert_eq!((named.len(), named[0].baseline, named[0].delta, named[0].decisive), (1, None, None, true));
}

#[test]
fn bl_asked_for() {
    let baseline = accept(&[&neutral("asked-release.baseline.json")]);
    let verdict = verdict(&neutral("asked.current.json"), &baseline, json!({}));
    assert_eq!(verdict.exit_code, 0);
    let rule = super::rule(&verdict, RuleKind::NotWorse);
    assert!(rule.explanation.contains("0.600 → 0.700, improved"), "{}", rule.explanation);
    let named = &super::rule(&verdict, RuleKind::Baseline).explanation;
    for part in ["baseline.jsonl", "2222222", "2026-01-01", "digest"] {
        assert!(named.contains(part), "{named}");
    }
}

#[test]
fn bl_missing() {
    let run = neutral("missing.current.json");
    let absent = BaselineState::Absent("baseline.jsonl does not exist".into());
    let verdict_of = |gate| verdict(&run, &absent, gate);
    let required = verdict_of(json!({}));
    assert_eq!((required.exit_code, required.decision), (3, Decision::NotEvaluated));
    assert!(required.headline.contains("no baseline"), "{}", required.headline);
    let allowed = verdict_of(json!({ "baseline": { "missing": "warn" } }));
    assert_eq!(allowed.exit_code, 0);
    assert!(allowed.headline.contains("NO BASELINE"), "{}", allowed.headline);
    assert!(allowed.notes[0].starts_with("NO BASELINE"), "{:?}", allowed.notes);
    // Thresholds still decide.
    let min = json!({ "metrics": { "quality": { "min": 0.5 } }, "baseline": { "missing": "warn" } });
    assert_eq!(verdict_of(min).exit_code, 1);
}

#[test]
fn bl_corrupt() {
    // A broken baseline is never allowed to be missing.
    let run = neutral("missing.current.json");
    let gate = || json!({ "baseline": { "missing": "warn" } });
    let broken = BaselineState::Broken("baseline.jsonl: two documents in one file".into());
    let unreadable = verdict(&run, &broken, gate());
    assert_eq!((unreadable.exit_code, rule(&unreadable, RuleKind::Baseline).reason), (3, Reason::BaselineUnusable));
    let mut stored = accept(&[&run]);
    let BaselineState::Found(baseline) = &mut stored else { panic!() };
    baseline.cases[0].scores.insert("quality".into(), vec![vec![1.7]]);
    let out_of_range = verdict(&run, &stored, gate());
    assert_eq!(out_of_range.exit_code, 3);
    assert!(out_of_range.headline.contains("1.7"), "{}", out_of_range.headline);
    let BaselineState::Found(baseline) = &mut stored else { panic!() };
    baseline.cases.clear();
    assert_eq!(verdict(&run, &stored, gate()).exit_code, 3);
}

#[test]
fn bl_pr_edits_own_gate() {
    // Judged by the base revision: its minimum, its baseline, its judge. Telling the two policies apart is the caller's.
    let judged_by = |run: &mut Run, model: &str| {
        run.header.metrics[0].fingerprint = Some(Fingerprint::default().with("model", model));
    };
    let mut before = neutral("own-gate.base.json");
    let mut now = neutral("own-gate.current.json");
    judged_by(&mut before, "judge-large");
    judged_by(&mut now, "judge-tiny");
    let verdict = verdict(&now, &accept(&[&before]), json!({ "metrics": { "quality": { "min": 0.9 } } }));
    assert_eq!(verdict.exit_code, 1);
    assert!(!verdict.comparable);
    assert!(
        verdict.notes.iter().any(|note| note.contains("judge changed") && note.contains("judge-large → judge-tiny"))
    );
    assert!(verdict.notes.iter().any(|note| note.contains("removed") && note.contains("hard")));
}

#[test]
fn bl_own_history() {
    // Compared with the base again and again, the same drop stays red.
    let level = |mean: f64| scores(&(0..20).map(|at| mean + f64::from(at % 5) * 0.01).collect::<Vec<_>>());
    for base in [0.90, 0.93] {
        let verdict = verdict(&level(0.60), &accept(&[&level(base)]), json!({}));
        assert_eq!(verdict.exit_code, 1);
        assert!(super::rule(&verdict, RuleKind::Baseline).explanation.contains("commit 2222222"));
    }
}
