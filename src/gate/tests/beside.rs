//! What a verdict is drawn from beside the baseline: anchor, trust in judges, a concurrent baseline, the ratchet, suspects asked again.

use super::super::{Beside, Calibration, Calibrations, judge_beside, suspects};
use super::*;

fn passing(right: usize, of: usize) -> Run {
    let cases = (0..of).map(|at| case(&format!("c{at:04}"), vec![vec![value(f64::from(u8::from(at < right)))]]));
    run(vec![spec("quality", ScoreKind::Binary)], cases.collect())
}

#[test]
fn small_drops_add_up_to_a_slide_since_the_anchor() {
    let (anchor, yesterday, now) = (accept(&[&passing(200, 200)]), accept(&[&passing(192, 200)]), passing(190, 200));
    let beside = Beside { anchor: Some(&anchor), ..Beside::default() };
    let policy = policy(json!({}));
    let verdict = judge_beside(&now, &yesterday, &policy, beside);
    let slide = rule(&verdict, RuleKind::Anchor);
    assert_eq!((slide.verdict, slide.severity), (RuleVerdict::Violated, Severity::Warn));
    assert_eq!((slide.baseline, slide.current, slide.delta), (Some(1.0), Some(0.95), Some(-0.05)));
    // p of ten breaks and no fix: half of 2^-10.
    assert!((slide.p.unwrap() - 0.5 / 1024.0).abs() < 1e-12);
    assert!(
        slide.explanation.contains("has slid since the anchor of 2026-01-01, commit 2222222"),
        "{}",
        slide.explanation
    );
    assert_eq!(verdict.exit_code, 0, "it only warns: {}", verdict.headline);
    assert_eq!(verdict.anchor.as_ref().unwrap().place, "baseline.jsonl");
    let level = judge_beside(&passing(198, 200), &yesterday, &policy, beside);
    assert_eq!(rule(&level, RuleKind::Anchor).severity, Severity::Ok);
    let absent = BaselineState::Absent("releases/1.jsonl".into());
    let gone = judge_beside(&now, &yesterday, &policy, Beside { anchor: Some(&absent), ..Beside::default() });
    assert_eq!((rule(&gone, RuleKind::Anchor).verdict, gone.exit_code), (RuleVerdict::NotEvaluated, 0));
    assert!(gone.headline.contains("there is no releases/1.jsonl"), "{}", gone.headline);
    // One that has none of these cases sees no slide either.
    let mut strange = passing(198, 200);
    strange.cases.iter_mut().for_each(|case| case.id = format!("other-{}", case.id).into());
    let strange = accept(&[&strange]);
    let strange = judge_beside(&now, &yesterday, &policy, Beside { anchor: Some(&strange), ..Beside::default() });
    let found = rule(&strange, RuleKind::Anchor);
    assert_eq!((found.verdict, found.severity), (RuleVerdict::NotEvaluated, Severity::Warn));
    assert!(found.explanation.contains("no case of this run is in it unchanged"), "{}", found.explanation);
}

fn tiny() -> Option<Fingerprint> {
    Some(Fingerprint::default().with("model", "tiny"))
}

fn measured(accuracy: f64, kappa: Option<f64>) -> Calibration {
    Calibration { metric: "quality".into(), labelled: 40, accuracy: Some(accuracy), kappa, fingerprint: tiny() }
}

/// Scored by the judge that was measured.
fn by_tiny(mut run: Run) -> Run {
    run.header.metrics[0].fingerprint = tiny();
    run
}

#[test]
fn a_judge_below_its_minimum_decides_nothing() {
    let asked = |more: Value| {
        let mut judge = json!({ "calibration": "judge.json", "min_kappa": 0.6, "min_accuracy": 0.8 });
        judge.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        policy(
            json!({ "metrics": { "quality": { "min": 0.9 } }, "judges": { "quality": judge }, "baseline": { "from": "none" } }),
        )
    };
    let judged = |run: &Run, found: Result<Calibration, String>, more: Value| {
        let all = Calibrations::from([("quality".into(), found)]);
        let beside = Beside { calibrations: Some(&all), ..Beside::default() };
        judge_beside(run, &BaselineState::NotAsked, &asked(more), beside)
    };
    let (good, bad) = (by_tiny(passing(100, 100)), by_tiny(passing(20, 100)));
    let trusted = judged(&good, Ok(measured(0.8, Some(0.6))), json!({}));
    assert_eq!((trusted.exit_code, rule(&trusted, RuleKind::JudgeTrust).reason), (0, Reason::JudgeTrusted));
    // Neither its green nor its red counts.
    for run in [&good, &bad] {
        for found in
            [Ok(measured(0.95, Some(0.59))), Ok(measured(0.79, Some(0.9))), Ok(measured(0.9, None)), Err("gone".into())]
        {
            let verdict = judged(run, found.clone(), json!({}));
            let rule = rule(&verdict, RuleKind::JudgeTrust);
            assert_eq!(
                (verdict.exit_code, rule.reason),
                (3, Reason::JudgeUntrusted),
                "{found:?}: {}",
                verdict.headline
            );
        }
    }
    assert_eq!(judged(&bad, Ok(measured(0.9, Some(0.7))), json!({})).exit_code, 1);
    assert_eq!(judged(&good, Ok(measured(0.9, Some(0.1))), json!({ "on_fail": "warn" })).exit_code, 0);
    let few = judged(&good, Ok(measured(0.9, Some(0.9))), json!({ "min_labels": 41 }));
    assert!(few.headline.contains("only 40 labelled cases, and 41 are asked for"), "{}", few.headline);
    // Nor is a case that must pass failed by it.
    let must = json!({ "calibration": "judge.json", "min_kappa": 0.6 });
    let must = policy(
        json!({ "must_pass": { "ids": ["c0000"] }, "judges": { "quality": must }, "baseline": { "from": "none" } }),
    );
    let all = Calibrations::from([("quality".into(), Ok(measured(0.9, Some(0.5))))]);
    let beside = Beside { calibrations: Some(&all), ..Beside::default() };
    let failed = judge_beside(&by_tiny(passing(0, 3)), &BaselineState::NotAsked, &must, beside);
    assert_eq!((failed.exit_code, rule(&failed, RuleKind::MustPass).severity), (3, Severity::Block));
    // Another judge was measured.
    let mut other = good.clone();
    other.header.metrics[0].fingerprint = Some(Fingerprint::default().with("model", "large"));
    let verdict = judged(&other, Ok(measured(1.0, Some(1.0))), json!({}));
    assert!(verdict.headline.contains("another judge was measured, its model differs"), "{}", verdict.headline);
    assert_eq!(verdict.exit_code, 3);
    // Nobody knows which was measured, or which scored.
    let nobody = judged(&good, Ok(Calibration { fingerprint: None, ..measured(1.0, Some(1.0)) }), json!({}));
    assert!(nobody.headline.contains("judge.json does not say which judge was measured"), "{}", nobody.headline);
    let unsaid = judged(&passing(100, 100), Ok(measured(1.0, Some(1.0))), json!({}));
    assert_eq!((nobody.exit_code, unsaid.exit_code), (3, 3));
}

/// The two systems' answers of one run.
fn two(app: &Run, old: &Run) -> Run {
    let mut both = app.clone();
    both.header.targets.push("old".into());
    both.cases.extend(old.cases.iter().cloned().map(|case| CaseRecord { target: "old".into(), ..case }));
    both
}

#[test]
fn a_concurrent_baseline_moves_with_the_day() {
    let gate = json!({ "baseline": { "mode": "concurrent", "target": "old" } });
    // Both lost a fifth today: no regression, whatever an earlier day was like.
    let day = two(&passing(160, 200), &passing(160, 200));
    let verdict = verdict(&day, &accept(&[&passing(200, 200)]), gate.clone());
    assert_eq!(verdict.exit_code, 0, "{}", verdict.headline);
    assert_eq!(rule(&verdict, RuleKind::NotWorse).baseline, Some(0.8));
    assert_eq!(verdict.baseline.as_ref().unwrap().place, "target old of this run");
    assert!(verdict.rules.iter().all(|rule| *rule.target != *"old"), "the other half is judged by nothing");
    let worse = super::verdict(&two(&passing(160, 200), &passing(200, 200)), &BaselineState::NotAsked, gate.clone());
    assert_eq!((worse.exit_code, rule(&worse, RuleKind::NotWorse).reason), (1, Reason::Mean));
    let alone = super::verdict(&passing(200, 200), &BaselineState::NotAsked, gate);
    assert_eq!(alone.exit_code, 3, "without the other half nothing can vouch: {}", alone.headline);
    assert!(alone.headline.contains("no target old in this run"), "{}", alone.headline);
}

#[test]
fn a_concurrent_baseline_has_no_times_that_cannot_be() {
    let timed = |first: f64| {
        let mut run = passing(30, 30);
        run.cases.iter_mut().for_each(|case| case.trials[0].latency_ms = Some(10.0));
        run.cases[0].trials[0].latency_ms = Some(first);
        run
    };
    let gate = json!({
        "baseline": { "mode": "concurrent", "target": "old" },
        "resources": { "latency": { "increase": { "mean": 0.01 } } },
    });
    let verdict = verdict(&two(&timed(10.0), &timed(-90.0)), &BaselineState::NotAsked, gate);
    let rise = rule(&verdict, RuleKind::ResourceRise);
    assert_eq!((rise.baseline, rise.n, rise.verdict), (Some(10.0), 29, RuleVerdict::Met));
}

#[test]
fn a_plan_of_trials_reads_as_many_of_the_other_half() {
    // First trials alike; of three trials the base's others are better.
    let half = |later: f64| {
        let cases = (0..100).map(|at| {
            let first = f64::from(u8::from(at % 2 == 0));
            case(&format!("c{at:04}"), vec![vec![value(first)], vec![value(later)], vec![value(later)]])
        });
        run(vec![spec("quality", ScoreKind::Binary)], cases.collect())
    };
    let policy = policy(json!({ "baseline": { "mode": "concurrent", "target": "old" } })).with_plan(&[1, 3]);
    let verdict = judge(&two(&half(0.0), &half(1.0)), &BaselineState::NotAsked, &policy);
    assert_eq!((verdict.looks.as_ref().unwrap().taken, verdict.exit_code), (1, 0), "{}", verdict.headline);
}

#[test]
fn the_ratchet_names_what_would_fall_and_allows_its_tolerance() {
    let policy = policy(json!({}));
    let found = |state: BaselineState| match state {
        BaselineState::Found(baseline) => *baseline,
        _ => unreachable!(),
    };
    let (earlier, newest) = (found(accept(&[&passing(20, 20)])), found(accept(&[&passing(18, 20)])));
    let fallen = policy.fallen(&earlier, &newest, 0.09);
    assert_eq!(fallen.len(), 1);
    assert_eq!((&*fallen[0].metric, fallen[0].baseline, fallen[0].current, fallen[0].cases), ("quality", 1.0, 0.9, 20));
    assert!(policy.fallen(&earlier, &newest, 0.1).is_empty(), "equal to the tolerance is allowed");
    assert!(policy.fallen(&newest, &earlier, 0.0).is_empty());
}

#[test]
fn a_level_that_cannot_be_compared_is_named_beside_the_ratchet() {
    let policy = policy(json!({}));
    let found = |state: BaselineState| match state {
        BaselineState::Found(baseline) => *baseline,
        _ => unreachable!(),
    };
    let (earlier, same) = (found(accept(&[&passing(20, 20)])), found(accept(&[&passing(2, 20)])));
    assert!(policy.incomparable(&earlier, &same).is_empty());
    let mut others = same.clone();
    others.cases.iter_mut().for_each(|case| case.id = format!("x{}", case.id).as_str().into());
    let named = policy.incomparable(&earlier, &others);
    assert_eq!(
        named.iter().map(|one| (&*one.metric, &*one.target, one.gone)).collect::<Vec<_>>(),
        [("quality", "app", false)]
    );
    let mut renamed = same;
    renamed.metrics[0].name = "quality2".into();
    renamed.cases.iter_mut().for_each(|case| case.scores = [("quality2".into(), vec![vec![0.0]])].into());
    assert!(policy.incomparable(&earlier, &renamed)[0].gone);
}

#[test]
fn a_baseline_without_the_scores_of_its_own_metric_is_not_taken_for_a_new_metric() {
    let (before, now) = (passing(30, 30), passing(2, 30));
    let BaselineState::Found(mut baseline) = accept(&[&before]) else { unreachable!() };
    baseline.cases.iter_mut().flat_map(|case| case.scores.values_mut()).for_each(|runs| runs[0].clear());
    let lost = BaselineState::Found(baseline);
    let verdict = judge(&now, &lost, &policy(json!({})));
    assert_eq!((verdict.exit_code, verdict.decision), (3, Decision::NotEvaluated), "{}", verdict.headline);
    assert!(verdict.headline.contains("quality: its scores are missing in the baseline"), "{}", verdict.headline);
    assert_eq!(rule(&verdict, RuleKind::NotWorse).reason, Reason::Missing);
    // What the metric did not apply to, it has no scores for, and is new.
    let BaselineState::Found(mut baseline) = lost else { unreachable!() };
    for case in &mut baseline.cases {
        (case.scores, case.not_applicable) = (BTreeMap::new(), vec!["quality".into()]);
    }
    let verdict = judge(&now, &BaselineState::Found(baseline), &policy(json!({})));
    assert_eq!(rule(&verdict, RuleKind::NotWorse).reason, Reason::NoBaseline);
}

#[test]
fn suspects_on_which_the_base_does_no_better_blame_nobody() {
    let (before, now) = (accept(&[&passing(30, 30)]), passing(20, 30));
    let policy = policy(json!({ "metrics": { "quality": { "case_min": 1 } } }));
    let red = judge(&now, &before, &policy);
    assert_eq!(red.exit_code, 1);
    let asked = suspects(&red);
    assert_eq!(asked.len(), 10, "{asked:?}");
    let base_today = |right: bool| {
        let mut run = passing(if right { 30 } else { 0 }, 30);
        run.cases.retain(|case| asked.contains(&case.id));
        run.cases.iter_mut().for_each(|case| case.target = "old".into());
        run.header.targets = vec!["old".into()];
        run
    };
    let again = |run: &Run| judge_beside(&now, &before, &policy, Beside { again: Some(run), ..Beside::default() });
    let environment = again(&base_today(false));
    assert_eq!((environment.decision, environment.exit_code), (Decision::NotEvaluated, 3), "{}", environment.headline);
    for kind in [RuleKind::NotWorse, RuleKind::EachCase] {
        assert_eq!(rule(&environment, kind).reason, Reason::Environment);
    }
    assert!(
        environment.notes.iter().any(|note| note.contains("10 suspects asked of old too, which does no better on 10"))
    );
    let blamed = again(&base_today(true));
    assert_eq!((blamed.exit_code, rule(&blamed, RuleKind::NotWorse).reason), (1, Reason::Mean));
    // One that the base gets right is enough for a rule about single cases; of a mean, half of the drop counts.
    let mut most = base_today(false);
    most.cases[0].trials[0].cells = vec![value(1.0)];
    let most = again(&most);
    assert_eq!((rule(&most, RuleKind::EachCase).reason, most.exit_code), (Reason::ThresholdMissed, 1));
    assert_eq!(rule(&most, RuleKind::NotWorse).reason, Reason::Environment);
    // A few that could be scored there speak for nobody else.
    for (scored, reason) in [(0, Reason::Mean), (1, Reason::Mean), (5, Reason::Mean), (6, Reason::Environment)] {
        let mut few = base_today(false);
        few.cases.iter_mut().skip(scored).for_each(|case| case.trials[0].cells = vec![error()]);
        let few = again(&few);
        assert_eq!((rule(&few, RuleKind::NotWorse).reason, few.exit_code), (reason, 1), "{scored} of 10");
    }
}

#[test]
fn the_history_of_a_case_outlives_the_pool() {
    let BaselineState::Found(mut pool) = accept(&[&passing(2, 3), &passing(3, 3)]) else { unreachable!() };
    let policy = policy(json!({}));
    assert_eq!(super::super::flaky::flaky(&pool, &policy)[0].trials, 2);
    for case in &mut pool.cases {
        let flips = if *case.id == *"c0002" { vec![0.0, 1.0, 0.0, 1.0, 0.0, 1.0] } else { vec![1.0; 6] };
        case.older.insert("quality".into(), flips);
    }
    let flaky = super::super::flaky::flaky(&pool, &policy);
    assert_eq!(flaky.iter().map(|case| (&*case.case, case.passes, case.trials)).collect::<Vec<_>>(), [("c0002", 4, 8)]);
}
