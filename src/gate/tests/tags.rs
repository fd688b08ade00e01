//! Limits by tag, and the table of tags (F21).

use super::*;

/// A hundred cases; of those with the tag `zh`, a quarter, some fail.
fn world(failing: usize) -> Run {
    let cases = (0..100).map(|at| {
        let chinese = at % 4 == 0;
        let fails = chinese && at / 4 < failing;
        let mut case = case(&format!("c{at:04}"), vec![vec![value(if fails { 0.0 } else { 1.0 })]]);
        case.tags = vec![if chinese { "zh" } else { "en" }.into()];
        case
    });
    run(vec![spec("quality", ScoreKind::Binary)], cases.collect())
}

fn limited(run: &Run, limits: Value) -> Verdict {
    let gate =
        json!({ "metrics": { "quality": { "min": 0.5 } }, "slices": { "zh": { "limits": { "quality": limits } } } });
    verdict(run, &BaselineState::NotAsked, gate)
}

fn of_tag(verdict: &Verdict) -> &Comparison {
    verdict.rules.iter().find(|rule| rule.slice.as_deref() == Some("zh")).unwrap()
}

#[test]
fn a_level_of_one_tag_is_not_hidden_by_the_others() {
    let run = world(20);
    let failed = limited(&run, json!({ "min": 0.8 }));
    let rule = of_tag(&failed);
    assert_eq!((failed.exit_code, rule.rule, rule.n), (1, RuleKind::Threshold, 25), "{}", failed.headline);
    assert_eq!((rule.current, rule.limit), (Some(0.2), Some(0.8)));
    assert!(failed.headline.contains("quality [zh] is at 0.200, below the required 0.8"), "{}", failed.headline);
    let whole = failed.rules.iter().find(|rule| rule.metric == "quality".into() && rule.slice.is_none()).unwrap();
    assert_eq!((whole.verdict, whole.current), (RuleVerdict::Met, Some(0.8)));
    assert_eq!(limited(&world(0), json!({ "min": 0.8 })).exit_code, 0);
    assert_eq!(limited(&run, json!({ "min": 0.8, "on_fail": "warn" })).exit_code, 0);
    assert_eq!(of_tag(&limited(&run, json!({ "pass_rate": { "min": 0.9 } }))).rule, RuleKind::PassRate);
    let each = limited(&run, json!({ "case_min": 1.0 }));
    assert_eq!((each.exit_code, of_tag(&each).rule), (1, RuleKind::EachCase));
    assert!(each.headline.contains("20 cases below 1 on quality [zh]"), "{}", each.headline);
}

#[test]
fn limits_of_tags_share_alpha_with_the_others() {
    // 25 cases of which 3 fail: the upper bound decides, and it is wider among ten limits.
    let run = world(3);
    let alone = limited(&run, json!({ "min": 0.96 }));
    let mut more = serde_json::Map::new();
    for tag in ["zh", "en"] {
        more.insert(
            tag.into(),
            json!({ "limits": { "quality": { "min": 0.96, "max": 1.0, "pass_rate": { "min": 0.1 } } } }),
        );
    }
    let together = verdict(&run, &BaselineState::NotAsked, json!({ "slices": more }));
    let state = |verdict: &Verdict| {
        let rule = verdict.rules.iter().find(|rule| rule.slice.as_deref() == Some("zh") && rule.limit == Some(0.96));
        rule.unwrap().verdict
    };
    assert_eq!((state(&alone), state(&together)), (RuleVerdict::Violated, RuleVerdict::Inconclusive));
}

#[test]
fn the_share_that_passes_is_corrected_by_the_judges_rates_for_a_tag_as_well() {
    // 20 of 25 pass; of what people pass the judge passes four of five.
    let rates = json!({ "both_pass": 80, "people_only": 20, "judge_only": 0, "both_fail": 100 });
    let own = limited(&world(5), json!({ "pass_rate": { "min": 0.9, "calibration": rates } }));
    assert_eq!((of_tag(&own).current, own.exit_code), (Some(1.0), 0), "{:?}", of_tag(&own));
    // Where it has none of its own, the metric's.
    let whole = json!({ "pass_rate": { "min": 0.1, "calibration": rates } });
    let limits = json!({ "quality": { "pass_rate": { "min": 0.9 } } });
    let gate = json!({ "metrics": { "quality": whole }, "slices": { "zh": { "limits": limits } } });
    assert_eq!(of_tag(&verdict(&world(5), &BaselineState::NotAsked, gate)).current, Some(1.0));
    // Rates that say nothing are refused where they stand.
    let none = json!({ "both_pass": 1, "people_only": 1, "judge_only": 1, "both_fail": 1 });
    let limits = json!({ "quality": { "pass_rate": { "min": 0.9, "calibration": none } } });
    let block = Block::from_value("gate", "gate", json!({ "slices": { "zh": { "limits": limits } } }));
    let mut diagnostics = Diagnostics::default();
    assert!(Policy::build(Some(&block), &[], &mut diagnostics).is_none());
}

#[test]
fn a_metric_in_the_shadow_only_warns_on_the_cases_of_a_tag_too() {
    let judged = |day: &str, limits: Value| {
        let mut run = world(20);
        run.header.started = Some(format!("{day}T12:00:00Z"));
        let metric = json!({ "min": 0.1, "shadow_until": "2026-11-30" });
        let slices = json!({ "zh": { "limits": { "quality": limits } } });
        let gate = json!({ "metrics": { "quality": metric }, "slices": slices });
        verdict(&run, &BaselineState::NotAsked, gate)
    };
    let shadow = judged("2026-11-30", json!({ "min": 0.8 }));
    assert_eq!((shadow.exit_code, of_tag(&shadow).severity), (0, Severity::Warn), "{}", shadow.headline);
    assert_eq!(judged("2026-12-01", json!({ "min": 0.8 })).exit_code, 1);
    // Said for the tag itself, it holds from the first day on.
    assert_eq!(judged("2026-11-30", json!({ "min": 0.8, "on_fail": "fail" })).exit_code, 1);
}

#[test]
fn a_tag_with_limits_that_nobody_has_is_never_green() {
    let verdict = verdict(
        &world(0),
        &BaselineState::NotAsked,
        json!({ "slices": { "zhh": { "limits": { "quality": { "min": 0.1 } } } } }),
    );
    assert_eq!((verdict.decision, verdict.exit_code), (Decision::NotEvaluated, 3));
    assert!(verdict.headline.contains("no case has the tag zhh"), "{}", verdict.headline);
}

#[test]
fn every_tag_that_the_suite_names_is_in_the_table() {
    let baseline = accept(&[&world(0)]);
    let gate = json!({ "metrics": { "quality": { "margin": 0.5 } }, "slices": { "zh": {}, "en": { "gate": true, "margin": 0.5 } } });
    let compared = verdict(&world(10), &baseline, gate.clone());
    let lines: Vec<_> = compared
        .slice_table
        .iter()
        .map(|line| (&*line.tag, line.n, line.baseline, line.current, line.delta, line.p.is_some(), line.decides))
        .collect();
    assert_eq!(
        lines,
        [
            ("en", 75, Some(1.0), Some(1.0), Some(0.0), true, true),
            ("zh", 25, Some(1.0), Some(0.6), Some(-0.4), true, false)
        ]
    );
    let alone = verdict(&world(10), &BaselineState::NotAsked, gate);
    assert_eq!(alone.slice_table[1].current, Some(0.6));
    assert_eq!((alone.slice_table[1].baseline, alone.slice_table[1].n), (None, 25));
    assert!(verdict(&world(10), &baseline, json!({})).slice_table.is_empty(), "nobody asked");
}

#[test]
fn a_limit_that_says_what_a_miss_does_decides_for_a_metric_that_does_not() {
    let judged = |limits: Value| {
        let slices = json!({ "zh": { "limits": { "quality": limits } } });
        let gate = json!({ "metrics": { "quality": { "gate": false } }, "slices": slices });
        let verdict = verdict(&world(20), &BaselineState::NotAsked, gate);
        (verdict.exit_code, of_tag(&verdict).severity)
    };
    assert_eq!(judged(json!({ "min": 0.8 })), (0, Severity::Ok));
    assert_eq!(judged(json!({ "min": 0.8, "on_fail": "warn" })), (0, Severity::Warn));
    assert_eq!(judged(json!({ "min": 0.8, "on_fail": "fail" })), (1, Severity::Fail));
}
