//! Cases by tag (statistics §14).

use super::*;

/// A hundred cases that passed; those with the tag `zh`, a quarter of them, fail.
fn worse_in_chinese() -> (Run, BaselineState) {
    let world = |fails: bool| {
        let cases = (0..100).map(|at| {
            let chinese = at % 4 == 0;
            let mut case = case(&format!("c{at:04}"), vec![vec![value(if chinese && fails { 0.0 } else { 1.0 })]]);
            case.tags = vec![if chinese { "zh" } else { "en" }.into(), "all".into()];
            case
        });
        run(vec![spec("quality", ScoreKind::Binary)], cases.collect())
    };
    (world(true), accept(&[&world(false)]))
}

fn lenient(slices: Value) -> Value {
    json!({ "metrics": { "quality": { "margin": 0.5 } }, "slices": slices })
}

#[test]
fn a_tag_that_got_worse_is_shown_and_does_not_decide() {
    let (run, baseline) = worse_in_chinese();
    let verdict = verdict(&run, &baseline, lenient(json!({})));
    assert_eq!(verdict.exit_code, 0, "{}", verdict.headline);
    let shown: Vec<(&str, u64, f64)> = verdict.slices.iter().map(|slice| (&*slice.tag, slice.n, slice.delta)).collect();
    assert_eq!(shown, [("zh", 25, -1.0)]);
    assert!(
        verdict.notes.iter().any(|note| note.contains("quality [zh]: -100.0 points over 25 cases")),
        "{:?}",
        verdict.notes
    );
}

#[test]
fn a_tag_that_gates_fails_the_build() {
    let (run, baseline) = worse_in_chinese();
    let verdict = verdict(&run, &baseline, lenient(json!({ "zh": { "gate": true, "margin": 0.05 } })));
    let slice = rule(&verdict, RuleKind::Slice);
    assert_eq!(
        (slice.verdict, slice.reason, slice.slice.as_deref()),
        (RuleVerdict::Violated, Reason::Mean, Some("zh"))
    );
    assert_eq!((verdict.decision, slice.limit, slice.n), (Decision::Failed, Some(0.05), 25));
    assert!(slice.explanation.starts_with("quality [zh] got worse"), "{}", slice.explanation);
    assert!(verdict.headline.contains("quality [zh]"), "{}", verdict.headline);
    assert!(verdict.slices.is_empty(), "what decides is not shown twice");
    // Two hypotheses instead of one.
    let whole = rule(&verdict, RuleKind::NotWorse);
    assert!(whole.p_adjusted.unwrap() >= whole.p.unwrap());
    assert!(verdict.notes.iter().any(|note| note.contains("1 metric and 1 slice share alpha")), "{:?}", verdict.notes);
}

#[test]
fn a_tag_that_nobody_has_is_never_green() {
    let (run, baseline) = worse_in_chinese();
    let absent = verdict(&run, &baseline, lenient(json!({ "zzh": { "gate": true } })));
    assert_eq!((absent.decision, absent.exit_code), (Decision::NotEvaluated, 3), "{}", absent.headline);
    let mut few = run.clone();
    for case in few.cases.iter_mut().skip(10) {
        case.tags.clear();
    }
    let few = verdict(&few, &baseline, lenient(json!({ "zh": { "gate": true } })));
    assert_eq!((few.decision, rule(&few, RuleKind::Slice).reason), (Decision::Inconclusive, Reason::TooFewCases));
}

#[test]
fn a_slice_that_could_never_be_compared_is_said_without_a_baseline_too() {
    let (mut run, _) = worse_in_chinese();
    run.cases[0].tags.push("rare".into());
    let judged = |tag: &str| {
        let mut gate = json!({ "metrics": { "quality": { "min": 0.1 } } });
        gate["slices"][tag] = json!({ "gate": true });
        verdict(&run, &BaselineState::NotAsked, gate)
    };
    for (tag, reason, words) in [
        ("nosuch", Reason::NoCases, "no case has the tag nosuch"),
        ("rare", Reason::TooFewCases, "the tag rare has 1 case, too few for a slice that gates"),
    ] {
        let verdict = judged(tag);
        let found = rule(&verdict, RuleKind::Slice);
        assert_eq!((found.reason, found.severity, found.slice.as_deref()), (reason, Severity::Warn, Some(tag)));
        assert!(verdict.headline.contains(words) && verdict.exit_code == 0, "{}", verdict.headline);
    }
    assert!(judged("zh").rules.iter().all(|rule| rule.rule != RuleKind::Slice));
}
