//! The rules one by one.

use serde_json::{Value, json};

use super::*;

fn metric(rules: Value) -> Value {
    json!({ "metrics": { "quality": rules } })
}

fn steady(n: usize) -> Vec<f64> {
    (0..n).map(|at| 0.6 + (at % 7) as f64 * 0.05).collect()
}

fn found(state: &mut BaselineState) -> &mut Baseline {
    match state {
        BaselineState::Found(baseline) => baseline,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_clear_drop_fails_and_says_by_how_much() {
    let before = scores(&steady(100));
    let now = scores(&steady(100).iter().map(|score| score - 0.25).collect::<Vec<_>>());
    let verdict = verdict(&now, &accept(&[&before]), json!({}));
    assert_eq!((verdict.exit_code, verdict.decision), (1, Decision::Failed));
    assert!(
        verdict.headline.starts_with("failed: quality dropped by 25.0 points (0.748 → 0.497)"),
        "{}",
        verdict.headline
    );
    let rule = rule(&verdict, RuleKind::NotWorse);
    assert_eq!((rule.reason, rule.down, rule.n), (Reason::Mean, 100, 100));
    assert!(rule.explanation.contains("Of 100 cases, 100 scored lower"), "{}", rule.explanation);
    assert_eq!(verdict.broken.len(), 10);
    assert!(verdict.broken.iter().all(|case| case.decisive && case.delta.unwrap() < -0.2));
    assert!(verdict.notes.iter().any(|note| note.starts_with("baseline of one run")));
}

#[test]
fn a_rule_for_a_metric_that_is_not_in_the_results_is_not_green() {
    let gate = |rules: Value| json!({ "metrics": { "qualitty": rules } });
    let now = scores(&steady(40));
    let missing = verdict(&now, &BaselineState::NotAsked, gate(json!({ "min": 0.9 })));
    assert_eq!((missing.exit_code, missing.decision), (3, Decision::NotEvaluated));
    assert!(missing.headline.contains("no score of qualitty is in the results"), "{}", missing.headline);
    assert!(rule(&missing, RuleKind::Complete).severity == Severity::Ok);
    assert_eq!(verdict(&now, &BaselineState::NotAsked, gate(json!({ "min": 0.9, "on_fail": "warn" }))).exit_code, 0);
    assert_eq!(verdict(&now, &BaselineState::NotAsked, gate(json!({ "min": 0.9, "gate": false }))).exit_code, 0);
}

#[test]
fn where_lower_is_better_a_rise_is_worse() {
    let lower = |mut run: Run| {
        run.header.metrics[0].direction = Direction::Lower;
        run
    };
    let before = lower(scores(&steady(80)));
    let now = lower(scores(&steady(80).iter().map(|score| score + 0.1).collect::<Vec<_>>()));
    let worse = verdict(&now, &accept(&[&before]), json!({}));
    let rule = super::rule(&worse, RuleKind::NotWorse);
    assert_eq!((worse.exit_code, rule.verdict), (1, RuleVerdict::Violated));
    let [low, high] = rule.ci.unwrap();
    assert!(rule.delta.unwrap() > 0.09 && low <= 0.1 && 0.1 <= high, "{low} {high}");
    let better = verdict(&before, &accept(&[&now]), json!({}));
    assert_eq!((better.exit_code, super::rule(&better, RuleKind::NotWorse).improved), (0, true));
}

#[test]
fn a_changed_judge_is_named_and_not_compared() {
    let with = |model: &str| {
        let mut run = scores(&steady(30));
        run.header.metrics[0].fingerprint = Some(Fingerprint::default().with("model", model));
        run
    };
    let verdict = verdict(&with("tiny"), &accept(&[&with("large")]), json!({}));
    assert_eq!((verdict.exit_code, verdict.comparable), (3, false));
    assert_eq!(rule(&verdict, RuleKind::NotWorse).reason, Reason::JudgeMismatch);
    assert!(verdict.headline.contains("judge changed for quality: model: large → tiny"), "{}", verdict.headline);
    assert!(verdict.broken.is_empty() && verdict.fixed.is_empty());
}

#[test]
fn a_cut_off_or_stopped_run_is_not_evaluated() {
    let whole = scores(&steady(30));
    let baseline = accept(&[&whole]);
    let mut cut = whole.clone();
    cut.completion = None;
    let mut stopped = whole.clone();
    stopped.completion =
        Some(Completion { complete: false, reason: Some("budget spent".into()), ..Completion::default() });
    let mut fewer = whole.clone();
    fewer.header.cases = 31;
    let mut twice = whole.clone();
    twice.cases.push(whole.cases[3].clone());
    for (run, part) in [(cut, "end in the middle"), (stopped, "budget spent"), (fewer, "30 of 31"), (twice, "twice")] {
        let verdict = verdict(&run, &baseline, json!({}));
        assert_eq!((verdict.exit_code, verdict.decision), (3, Decision::NotEvaluated), "{part}");
        assert!(verdict.headline.contains(part), "{}", verdict.headline);
    }
}

#[test]
fn a_violated_threshold_outranks_an_incomplete_run() {
    let mut run = scores(&steady(30));
    run.completion = None;
    let gate = metric(json!({ "min": 0.95 }));
    let verdict = verdict(&run, &BaselineState::NotAsked, gate);
    assert_eq!((verdict.exit_code, verdict.partial), (1, true));
}

#[test]
fn new_errors_of_the_target_fail_with_the_cases_named() {
    let before = scores(&steady(100));
    let mut now = before.clone();
    now.cases[7].trials[0].answered = Err((FailureKind::Server, Side::Target));
    now.cases[7].trials[0].cells = vec![Some(Cell::Error { kind: FailureKind::NoAnswer, side: Side::Target })];
    let strict = verdict(&now, &accept(&[&before]), json!({}));
    assert_eq!(strict.exit_code, 1);
    assert!(rule(&strict, RuleKind::NewErrors).explanation.contains("c0007"));
    assert!(strict.broken.iter().any(|case| &*case.case == "c0007" && case.current.is_none() && case.decisive));
    let allowed = verdict(&now, &accept(&[&before]), json!({ "errors": { "max_new": 1 } }));
    assert_eq!(allowed.exit_code, 0, "{}", allowed.headline);
    // The same failure of our own machine is missing, and no regression.
    now.cases[7].trials[0].answered = Err((FailureKind::Connection, Side::Infra));
    assert_eq!(rule(&verdict(&now, &accept(&[&before]), json!({})), RuleKind::NewErrors).verdict, RuleVerdict::Met);
}

#[test]
fn too_many_missing_scores_refuse_the_comparison() {
    let before = scores(&steady(100));
    let mut now = before.clone();
    for at in 0..3 {
        now.cases[at].trials[0].cells = vec![error()];
    }
    let verdict = verdict(&now, &accept(&[&before]), json!({ "min_measured": 0.9 }));
    assert_eq!((verdict.exit_code, rule(&verdict, RuleKind::NotWorse).reason), (3, Reason::Missing));
}

#[test]
fn a_missing_score_that_could_turn_the_verdict_keeps_it_open() {
    // 59 units are just enough for a five-point margin; a lost one at its worst takes the certificate away.
    let before = scores(&vec![0.9; 60]);
    let mut now = before.clone();
    now.cases[0].trials[0].cells = vec![error()];
    let verdict = verdict(&now, &accept(&[&before]), json!({ "min_measured": 0.9 }));
    let rule = rule(&verdict, RuleKind::NotWorse);
    assert_eq!((verdict.exit_code, rule.reason), (3, Reason::Missing), "{}", rule.explanation);
}

#[test]
fn removed_cases_block_unless_the_policy_only_warns() {
    let before = scores(&steady(100));
    let mut now = before.clone();
    now.cases.remove(50);
    now.header.cases = 99;
    let strict = verdict(&now, &accept(&[&before]), json!({}));
    assert_eq!((strict.exit_code, rule(&strict, RuleKind::Coverage).reason), (3, Reason::Coverage));
    assert_eq!(strict.changes.removed, vec!["c0050".into()]);
    let warned = verdict(&now, &accept(&[&before]), json!({ "on_coverage": "warn" }));
    assert_eq!((warned.exit_code, warned.decision), (0, Decision::Passed));
    assert!(warned.notes.iter().any(|note| note.contains("on_coverage warn")));
}

#[test]
fn a_changed_case_is_called_out_and_not_paired() {
    let before = scores(&steady(100));
    let mut now = before.clone();
    now.cases[4].content = Some(Digest::of(["another reference"]));
    let verdict = verdict(&now, &accept(&[&before]), json!({}));
    assert_eq!((verdict.exit_code, verdict.changes.changed.clone()), (0, vec!["c0004".into()]));
    assert_eq!(rule(&verdict, RuleKind::NotWorse).n, 99);
    assert!(verdict.notes.iter().any(|note| note.contains("1 case changed, not compared: c0004")));
}

#[test]
fn an_allowed_drop_is_compared_exactly() {
    let before = scores(&[0.85, 0.85]);
    for (now, allowed, code) in [(0.84, 0.01, 0), (0.839, 0.01, 1), (0.55, 0.3, 0)] {
        let verdict =
            verdict(&scores(&[now, now]), &accept(&[&before]), metric(json!({ "max_drop": allowed, "gate": true })));
        let rule = rule(&verdict, RuleKind::MaxDrop);
        assert_eq!(rule.verdict == RuleVerdict::Violated, code == 1, "{now} {}", rule.explanation);
    }
}

#[test]
fn a_threshold_is_read_with_confidence_from_twenty_cases_on() {
    let cases = |n: usize| scores(&(0..n).map(|at| if at % 4 == 0 { 0.5 } else { 0.88 }).collect::<Vec<_>>());
    let gate = || metric(json!({ "min": 0.8 }));
    // The mean is 0.785 in all of them.
    let few = verdict(&cases(16), &BaselineState::NotAsked, gate());
    assert_eq!((few.exit_code, rule(&few, RuleKind::Threshold).method.as_str()), (1, "point"));
    let more = verdict(&cases(40), &BaselineState::NotAsked, gate());
    assert_eq!((more.exit_code, rule(&more, RuleKind::Threshold).reason), (0, Reason::ThresholdUncertain));
    assert_eq!((more.decision, rule(&more, RuleKind::Threshold).severity), (Decision::Inconclusive, Severity::Warn));
    let point = verdict(&cases(40), &BaselineState::NotAsked, metric(json!({ "min": 0.8, "mode": "point" })));
    assert_eq!(point.exit_code, 1);
    let strict = verdict(&cases(40), &BaselineState::NotAsked, metric(json!({ "min": 0.75, "mode": "strict" })));
    assert_eq!(strict.exit_code, 1);
    let many = verdict(&cases(4000), &BaselineState::NotAsked, gate());
    assert_eq!((many.exit_code, rule(&many, RuleKind::Threshold).method.as_str()), (1, "hall_t"));
    let fails = verdict(&cases(40), &BaselineState::NotAsked, {
        let mut gate = gate();
        gate["inconclusive"] = json!("fail");
        gate
    });
    assert_eq!((fails.exit_code, fails.decision), (3, Decision::Inconclusive));
}

#[test]
fn every_pair_of_two_decimal_scores_and_limits_is_judged_as_decimals_are() {
    // Promise R10 for thresholds: two cases, a limit with three decimals.
    let policy_of = |limit: f64| policy(metric(json!({ "min": limit })));
    for limit in (0..=1000).step_by(37) {
        let policy = policy_of(f64::from(limit) / 1000.0);
        for left in (0..=100).step_by(3) {
            for right in (0..=100).step_by(7) {
                let run = scores(&[f64::from(left) / 100.0, f64::from(right) / 100.0]);
                let violated = judge(&run, &BaselineState::NotAsked, &policy).exit_code == 1;
                assert_eq!(violated, (left + right) * 5 < limit, "{left} {right} {limit}");
            }
        }
    }
}

#[test]
fn a_binary_threshold_uses_wilson_or_the_exact_bounds() {
    let mut run = scores(&(0..50).map(|at| f64::from(u8::from(at % 10 != 0))).collect::<Vec<_>>());
    run.header.metrics[0].kind = ScoreKind::Binary;
    for (mode, method) in [("confident", "wilson"), ("exact", "clopper_pearson")] {
        let gate = json!({ "metrics": { "quality": { "min": 0.7, "mode": mode } } });
        let verdict = verdict(&run, &BaselineState::NotAsked, gate);
        assert_eq!(rule(&verdict, RuleKind::Threshold).method, method);
        assert_eq!(verdict.exit_code, 0);
    }
}

#[test]
fn pass_rates_percentiles_and_upper_limits_decide() {
    let run = scores(&[0.2, 0.4, 0.6, 0.8, 1.0]);
    let code = |rules: Value| verdict(&run, &BaselineState::NotAsked, metric(rules)).exit_code;
    assert_eq!(code(json!({ "pass_mark": 0.6, "pass_rate": { "min": 0.6 } })), 0);
    assert_eq!(code(json!({ "pass_mark": 0.6, "pass_rate": { "min": 0.61 } })), 1);
    assert_eq!(code(json!({ "percentile": { "at": 20, "min": 0.2 } })), 0);
    assert_eq!(code(json!({ "percentile": { "at": 20, "min": 0.21 } })), 1);
    assert_eq!(code(json!({ "percentile": { "at": 90, "max": 0.9 } })), 1);
    assert_eq!(code(json!({ "max": 0.6 })), 0);
    assert_eq!(code(json!({ "max": 0.59 })), 1);
    assert_eq!(code(json!({ "case_max": 0.9 })), 1);
    assert_eq!(code(json!({ "case_min": 0.2 })), 0);
}

/// The numbers are those of the reference vector: 0.8 of 200 pass as judged, 0.844 corrected, likely between 0.75 and 0.94.
#[test]
fn a_pass_rate_may_be_asked_without_the_judge_s_errors() {
    let mut run = scores(&(0..200).map(|at| f64::from(u8::from(at % 5 != 0))).collect::<Vec<_>>());
    run.header.metrics[0].kind = ScoreKind::Binary;
    let counts = json!({ "both_pass": 46, "judge_only": 6, "people_only": 4, "both_fail": 34 });
    let asked = |min: f64| {
        let rules = metric(json!({ "pass_rate": { "min": min, "calibration": counts } }));
        verdict(&run, &BaselineState::NotAsked, rules)
    };
    for (min, found, code) in [
        (0.74, RuleVerdict::Met, 0),
        (0.8, RuleVerdict::Inconclusive, 0),
        (0.9, RuleVerdict::Inconclusive, 0),
        (0.95, RuleVerdict::Violated, 1),
    ] {
        let verdict = asked(min);
        let rule = rule(&verdict, RuleKind::PassRate);
        assert_eq!(
            (rule.verdict, verdict.exit_code, rule.method.as_str()),
            (found, code, "rogan_gladen"),
            "{min}: {rule:?}"
        );
        assert!((rule.current.unwrap() - 0.844_156).abs() < 1e-6, "{rule:?}");
    }
    let said = asked(0.95).headline;
    assert!(said.contains("the pass rate of quality, corrected for the judge's errors, is at 0.844"), "{said}");
    // A judge that says nothing corrects nothing.
    let gate = metric(json!({ "pass_rate": { "min": 0.5, "calibration": {
        "both_pass": 5, "judge_only": 5, "people_only": 5, "both_fail": 5 } } }));
    let mut problems = crate::diagnostic::Diagnostics::default();
    assert!(Policy::build(Some(&crate::suite::Block::from_value("gate", "gate", gate)), &[], &mut problems).is_none());
    assert!(problems.iter().any(|problem| problem.code == "useless-calibration"));
}

#[test]
fn a_metric_that_only_warns_or_is_only_reported_never_decides() {
    let run = scores(&[0.1, 0.1]);
    let warned = verdict(&run, &BaselineState::NotAsked, metric(json!({ "min": 0.8, "on_fail": "warn" })));
    assert_eq!((warned.exit_code, rule(&warned, RuleKind::Threshold).severity), (0, Severity::Warn));
    assert!(warned.headline.starts_with("passed with a warning: quality is at 0.100"), "{}", warned.headline);
    let reported = verdict(&run, &BaselineState::NotAsked, metric(json!({ "min": 0.8, "gate": false })));
    assert_eq!((reported.exit_code, rule(&reported, RuleKind::Threshold).severity), (0, Severity::Ok));
    // And still nothing measured is not green.
    let nothing = verdict(&recorded("all-errors.jsonl"), &BaselineState::NotAsked, metric(json!({ "gate": false })));
    assert_eq!(nothing.exit_code, 3);
}

#[test]
fn a_metric_that_applies_to_no_case_is_not_evaluated() {
    let none = Some(Cell::Skipped(SkipReason::NotApplicable));
    let specs = vec![spec("quality", ScoreKind::UNIT), spec("recall", ScoreKind::UNIT)];
    let some = |applies: bool| {
        let cases = (0..4).map(|at| {
            let recall = if applies && at == 0 { value(1.0) } else { none };
            case(&format!("c{at}"), vec![vec![value(0.9), recall]])
        });
        run(specs.clone(), cases.collect())
    };
    assert_eq!(verdict(&some(false), &BaselineState::NotAsked, json!({})).exit_code, 3);
    let one = verdict(&some(true), &BaselineState::NotAsked, json!({}));
    assert_eq!((one.exit_code, one.cases.cells, one.cases.scored), (0, 5, 4));
}

#[test]
fn must_pass_cases_follow_their_trials() {
    let outcome = |trials: &[f64]| {
        let mut critical = case("critical", trials.iter().map(|score| vec![value(*score)]).collect());
        critical.tags = vec!["critical".into()];
        let others = (0..4).map(|at| case(&format!("c{at}"), vec![vec![value(1.0)]]));
        run(quality(), others.chain([critical]).collect())
    };
    let judged = |trials: &[f64]| {
        verdict(&outcome(trials), &BaselineState::NotAsked, json!({ "must_pass": { "tags": ["critical"] } }))
    };
    for (trials, code) in
        [(&[0.5][..], 0), (&[0.49], 1), (&[0.0, 1.0, 1.0], 0), (&[0.0, 1.0, 0.0], 1), (&[1.0, 0.0, 0.0], 0)]
    {
        assert_eq!(judged(trials).exit_code, code, "{trials:?}");
    }
    let failed = judged(&[0.0]);
    assert!(failed.headline.contains("1 must-pass case failed: critical"), "{}", failed.headline);
    assert!(failed.broken.iter().any(|case| &*case.case == "critical" && case.decisive));
    let unmatched = verdict(&outcome(&[1.0]), &BaselineState::NotAsked, json!({ "must_pass": { "ids": ["gone"] } }));
    assert_eq!(unmatched.exit_code, 3);
    assert!(unmatched.headline.contains("id gone"), "{}", unmatched.headline);
}

#[test]
fn an_unmeasured_must_pass_case_is_not_green() {
    let mut run = scores(&[1.0; 60]);
    run.cases[0].trials[0].cells = vec![error()];
    let gate = json!({ "must_pass": { "ids": ["c0000"] }, "min_measured": 0.5 });
    assert_eq!(verdict(&run, &BaselineState::NotAsked, gate).exit_code, 3);
}

#[test]
fn a_new_metric_is_said_and_does_not_block() {
    let before = scores(&steady(60));
    let both = vec![spec("quality", ScoreKind::UNIT), spec("tone", ScoreKind::UNIT)];
    let cases = before.cases.iter().map(|record| {
        let mut record = record.clone();
        record.trials[0].cells.push(value(0.7));
        record
    });
    let now = run(both, cases.collect());
    let verdict = verdict(&now, &accept(&[&before]), json!({}));
    assert_eq!((verdict.exit_code, verdict.decision), (0, Decision::Passed));
    assert!(verdict.rules.iter().any(|rule| &*rule.metric == "tone" && rule.reason == Reason::NoBaseline));
}

#[test]
fn an_old_baseline_counts_as_missing_where_an_age_is_set() {
    let mut run = scores(&steady(60));
    run.header.started = Some("2026-03-01T00:00:00Z".into());
    let baseline = accept(&[&run]);
    let judged = |age: &str| verdict(&run, &baseline, json!({ "baseline": { "max_age": age } }));
    assert_eq!(judged("90d").exit_code, 0);
    let old = judged("30d");
    assert_eq!((old.exit_code, rule(&old, RuleKind::Baseline).reason), (3, Reason::NoBaseline));
    assert!(old.rules.iter().all(|rule| rule.rule != RuleKind::NotWorse));
}

#[test]
fn two_targets_are_judged_in_one_family() {
    let shifted = |by: f64| {
        let mut run = scores(&steady(60));
        let second: Vec<CaseRecord> = run
            .cases
            .iter()
            .map(|record| {
                let mut record = record.clone();
                record.target = "next".into();
                if let Some(Cell::Value { value, .. }) = &mut record.trials[0].cells[0] {
                    *value -= by;
                }
                record
            })
            .collect();
        run.cases.extend(second);
        run.header.targets.push("next".into());
        run
    };
    let verdict = verdict(&shifted(0.2), &accept(&[&shifted(0.0)]), json!({}));
    assert_eq!(verdict.exit_code, 1);
    assert!(verdict.headline.contains("quality of next dropped by 20.0 points"), "{}", verdict.headline);
    let rules: Vec<&Comparison> = verdict.rules.iter().filter(|rule| rule.rule == RuleKind::NotWorse).collect();
    assert_eq!((rules.len(), &*rules[0].target, rules[0].reason), (2, "app", Reason::WithinMargin));
}

#[test]
fn a_target_that_the_baseline_has_and_the_run_lacks_is_lost_coverage() {
    let now = scores(&steady(60));
    let mut baseline = accept(&[&now]);
    let mut gone = found(&mut baseline).cases[0].clone();
    gone.target = "old".into();
    found(&mut baseline).cases.push(gone);
    assert_eq!(verdict(&now, &baseline, json!({})).exit_code, 3);
}

#[test]
fn only_the_newest_runs_of_a_pool_are_compared() {
    let old = scores(&vec![0.9; 80]);
    let new = scores(&vec![0.7; 80]);
    let pool = accept(&[&old, &old, &new, &new]);
    let with = |runs: u32| verdict(&new, &pool, json!({ "baseline": { "runs": runs } }));
    let two = with(2);
    assert_eq!((two.exit_code, two.baseline_runs.len()), (0, 2));
    assert_eq!(rule(&two, RuleKind::NotWorse).baseline, Some(0.7));
    assert_eq!(rule(&with(10), RuleKind::NotWorse).baseline, Some(0.8));
}

#[test]
fn stable_cases_that_break_fail_although_the_mean_holds() {
    let before = scores(&vec![0.5; 80]);
    let mut now = scores(&vec![0.55; 80]);
    for at in 0..8 {
        now.cases[at].trials[0].cells = vec![value(0.0)];
    }
    let pool = accept(&[&before, &before, &before]);
    let strict = verdict(&now, &pool, json!({}));
    let rule = super::rule(&strict, RuleKind::NotWorse);
    assert_eq!((strict.exit_code, rule.reason, rule.breaks), (1, Reason::Breaks, Some(8)));
    assert!(strict.headline.contains("8 stable cases broke on quality (2.0 expected by luck)"), "{}", strict.headline);
    assert_eq!(strict.broken.iter().filter(|case| case.decisive).count(), 8);
    let warned = verdict(&now, &pool, json!({ "breaks": "warn" }));
    assert_eq!((warned.exit_code, super::rule(&warned, RuleKind::NotWorse).severity), (0, Severity::Warn));
    assert_eq!(verdict(&now, &pool, json!({ "breaks": "off" })).exit_code, 0);
}

#[test]
fn a_metric_without_a_rule_is_reported_and_decides_nothing() {
    let now = scores(&[0.2, 0.4, 0.9]);
    let verdict = verdict(&now, &BaselineState::NotAsked, json!({ "baseline": { "from": "none" } }));
    let rule = rule(&verdict, RuleKind::Reported);
    assert_eq!((rule.n, rule.planned, rule.severity), (3, 3, Severity::Ok));
    assert!((rule.current.unwrap() - 0.5).abs() < 1e-12 && rule.ci.is_none(), "three cases have no interval");
    let many = super::verdict(&scores(&steady(40)), &BaselineState::NotAsked, json!({}));
    assert!(super::rule(&many, RuleKind::Reported).ci.is_some());
    assert_eq!(verdict.exit_code, 0);
    assert!(verdict.headline.contains("nothing is required of them"), "{}", verdict.headline);
    let warned = super::verdict(&now, &BaselineState::NotAsked, metric(json!({ "min": 0.9, "on_fail": "warn" })));
    assert!(warned.headline.starts_with("passed with a warning: quality is at 0.500"), "{}", warned.headline);
    assert!(!warned.headline.contains("nothing is required"), "{}", warned.headline);
    let limited = super::verdict(&now, &BaselineState::NotAsked, metric(json!({ "min": 0.1 })));
    assert!(limited.rules.iter().all(|rule| rule.rule != RuleKind::Reported));
}

/// F28: a metric that is tried out warns up to its day, fails from the next on, and fails where the day is not known.
#[test]
fn a_metric_in_the_shadow_warns_until_its_day_is_over() {
    let gate = json!({ "metrics": { "quality": { "min": 0.8, "shadow_until": "2026-11-30" } } });
    for (started, code, words) in [
        (Some("2026-11-30T23:59:59Z"), 0, "quality only warns until 2026-11-30"),
        (Some("2026-12-01T00:00:00Z"), 1, "quality decides: its shadow ended on 2026-11-30"),
        (None, 1, "quality decides: its shadow ended on 2026-11-30"),
    ] {
        let mut run = scores(&[0.1; 30]);
        run.header.started = started.map(str::to_owned);
        let verdict = verdict(&run, &BaselineState::NotAsked, gate.clone());
        assert_eq!(verdict.exit_code, code, "{started:?}: {}", verdict.headline);
        assert!(verdict.notes.iter().any(|note| note.contains(words)), "{:?}", verdict.notes);
    }
}
