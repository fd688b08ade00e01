//! What holds for every run: promise R9, and the properties of the house rules.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// A cell as a number, so that cases shrink well.
fn cell(choice: u8) -> Option<Cell> {
    match choice {
        0..=10 => value(f64::from(choice) / 10.0),
        11 => error(),
        12 => Some(Cell::Unusable { kind: FailureKind::Unusable }),
        13 => Some(Cell::Skipped(SkipReason::NotMeasured)),
        14 => Some(Cell::Skipped(SkipReason::NotApplicable)),
        15 => value(f64::NAN),
        16 => value(1.7),
        _ => None,
    }
}

#[derive(Clone, Debug)]
struct Sample {
    /// Case → metric.
    cells: Vec<(u8, u8)>,
    before: Option<Vec<(u8, u8)>>,
    min: Option<u8>,
    case_min: Option<u8>,
    max_drop: Option<u8>,
    min_measured: u8,
    complete: u8,
    state: u8,
    missing_allowed: bool,
    answered: Vec<bool>,
}

/// Mostly good scores, so that green runs are common.
fn good() -> impl Strategy<Value = u8> {
    prop_oneof![12 => 7_u8..=10, 1 => 0_u8..=17]
}

fn sample() -> impl Strategy<Value = Sample> {
    let cells = || prop::collection::vec((good(), good()), 0..7);
    let some = |range: std::ops::RangeInclusive<u8>| prop::option::of(range);
    let rest = (some(0..=10), some(0..=10), some(0..=3), 0_u8..=10, 0_u8..12, 0_u8..12, any::<bool>());
    let answered = prop::collection::vec(prop::bool::weighted(0.97), 7);
    (cells(), prop::option::of(cells()), rest, answered).prop_map(|(cells, before, rest, answered)| {
        let (min, case_min, max_drop, min_measured, complete, state, missing_allowed) = rest;
        Sample { cells, before, min, case_min, max_drop, min_measured, complete, state, missing_allowed, answered }
    })
}

fn specs() -> Vec<MetricSpec> {
    vec![spec("first", ScoreKind::UNIT), spec("second", ScoreKind::UNIT)]
}

fn build(cells: &[(u8, u8)]) -> Run {
    let cases = cells.iter().enumerate().map(|(at, (a, b))| case(&format!("c{at}"), vec![vec![cell(*a), cell(*b)]]));
    run(specs(), cases.collect())
}

/// The sample's numbers in a policy that is read only once: reading one takes far longer than judging by it.
fn gate(sample: &Sample) -> Policy {
    static READ: LazyLock<Policy> = LazyLock::new(|| policy(json!({ "metrics": { "first": {} } })));
    let mut policy = READ.clone();
    let tenth = |value: Option<u8>| value.map(|value| f64::from(value) / 10.0);
    let first = policy.metrics.get_mut("first").unwrap();
    (first.min, first.case_min, first.max_drop) = (tenth(sample.min), tenth(sample.case_min), tenth(sample.max_drop));
    policy.min_measured = f64::from(sample.min_measured) / 10.0;
    policy.baseline.as_mut().unwrap().missing =
        if sample.missing_allowed { crate::gate::Missing::Warn } else { crate::gate::Missing::Fail };
    policy
}

/// Valid score of a cell in tenths, by its own reading of the rules.
fn tenths(choice: u8) -> Option<i64> {
    (choice <= 10).then_some(i64::from(choice))
}

/// What security §3 asks of a green run, written without the gate's code.
fn evidence(sample: &Sample, state: &BaselineState) -> Result<(), String> {
    let ensure = |holds: bool, what: &str| if holds { Ok(()) } else { Err(what.to_owned()) };
    ensure(!sample.cells.is_empty(), "a case")?;
    ensure(sample.complete > 1, "a complete run")?;
    type Pick = fn(&(u8, u8)) -> u8;
    let picks: [(&str, Pick); 2] = [("first", |cell| cell.0), ("second", |cell| cell.1)];
    for (name, pick) in picks {
        let planned: Vec<u8> = sample.cells.iter().map(pick).filter(|choice| *choice != 14).collect();
        let scored: Vec<i64> = planned.iter().filter_map(|choice| tenths(*choice)).collect();
        ensure(!scored.is_empty(), &format!("a score of {name}"))?;
        let enough = scored.len() * 10 >= usize::from(sample.min_measured) * planned.len();
        ensure(enough, &format!("enough of {name}"))?;
    }
    let first: Vec<Option<i64>> =
        sample.cells.iter().map(|cell| cell.0).filter(|choice| *choice != 14).map(tenths).collect();
    let n = first.len() as i64;
    if let Some(min) = sample.min {
        // Whichever way the missing ones had gone.
        let worst: i64 = first.iter().map(|score| score.unwrap_or(0)).sum();
        ensure(worst >= i64::from(min) * n, "the threshold")?;
    }
    if let Some(limit) = sample.case_min {
        ensure(first.iter().all(|score| score.is_some_and(|score| score >= i64::from(limit))), "every case's limit")?;
    }
    match state {
        BaselineState::NotAsked => Ok(()),
        BaselineState::Absent(_) => ensure(sample.missing_allowed, "a baseline"),
        BaselineState::Broken(_) | BaselineState::Unreachable(_) => Err("a sound baseline".to_owned()),
        BaselineState::Found(baseline) => {
            ensure(!baseline.cases.is_empty(), "a baseline with cases")?;
            let sound = baseline.cases.iter().flat_map(|case| case.scores.values().flatten().flatten());
            ensure(sound.into_iter().all(|score| (0.0..=1.0).contains(score)), "sound baseline scores")?;
            let here = |case: &BaselineCase| sample.cells.len() > case.id[1..].parse::<usize>().unwrap();
            ensure(baseline.cases.iter().all(here), "every baseline case")?;
            let new_errors = baseline.cases.iter().any(|case| {
                let at: usize = case.id[1..].parse().unwrap();
                case.answered && !sample.answered[at]
            });
            ensure(!new_errors, "no new errors")?;
            let before = sample.before.as_ref().unwrap();
            match sample.max_drop {
                Some(allowed) => drop_holds(sample, before, allowed),
                None => Ok(()),
            }
        }
    }
}

fn drop_holds(sample: &Sample, before: &[(u8, u8)], allowed: u8) -> Result<(), String> {
    let (mut drop, mut pairs) = (0, 0);
    for (now, old) in sample.cells.iter().zip(before) {
        if let (Some(now), Some(old)) = (tenths(now.0), tenths(old.0)) {
            drop += old - now;
            pairs += 1;
        }
    }
    if drop <= i64::from(allowed) * pairs { Ok(()) } else { Err("the allowed drop".to_owned()) }
}

fn world(sample: &Sample) -> (Run, BaselineState) {
    let mut now = build(&sample.cells);
    match sample.complete {
        0 => now.completion = None,
        1 => now.completion = Some(Completion { complete: false, ..Completion::default() }),
        _ => {}
    }
    for (record, answered) in now.cases.iter_mut().zip(&sample.answered) {
        if !answered {
            record.trials[0].answered = Err((FailureKind::Server, Side::Target));
        }
    }
    let state = match (&sample.before, sample.state) {
        (_, 0) => BaselineState::Broken("cut in half".into()),
        (Some(before), _) => accept(&[&build(before)]),
        (None, 1..=5) => BaselineState::Absent("nowhere".into()),
        (None, _) => BaselineState::NotAsked,
    };
    (now, state)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: sized(20_000, 1_000_000), failure_persistence: None, ..ProptestConfig::default() })]

    /// Promise R9.
    #[test]
    fn green_implies_evidence(sample in sample()) {
        let (run, state) = world(&sample);
        let verdict = judge(&run, &state, &gate(&sample));
        prop_assert!([0, 1, 3].contains(&verdict.exit_code));
        if verdict.exit_code == 0 {
            let found = evidence(&sample, &state);
            prop_assert!(found.is_ok(), "green without {}: {}", found.unwrap_err(), verdict.headline);
        }
        // Exit code, decision and severities tell one story, and the counts add up.
        let any = |severity| verdict.rules.iter().any(|rule| rule.severity == severity);
        prop_assert_eq!(verdict.exit_code == 1, any(Severity::Fail));
        prop_assert_eq!(verdict.exit_code == 3, any(Severity::Block) && !any(Severity::Fail));
        prop_assert_eq!(verdict.exit_code == 1, verdict.decision == Decision::Failed);
        let cases = verdict.cases;
        prop_assert_eq!(cases.total, cases.scored + cases.errored + cases.skipped);
        prop_assert_eq!(
            cases.cells,
            cases.cells_scored + cases.cells_errored + cases.cells_unusable + cases.cells_skipped
        );
        prop_assert!(verdict.rules.iter().all(|rule| !rule.explanation.is_empty()));
        let finite = |number: Option<f64>| number.is_none_or(f64::is_finite);
        for rule in &verdict.rules {
            let numbers = [rule.baseline, rule.current, rule.delta, rule.p, rule.p_adjusted, rule.detectable];
            prop_assert!(numbers.into_iter().all(finite), "{:?}", rule);
        }
    }
}

/// A run of 30 to 90 cases in hundredths, and one like it.
fn runs() -> impl Strategy<Value = (Vec<i32>, Vec<i32>)> {
    prop::collection::vec((0..=80_i32, -8..=8_i32), 30..90).prop_map(|pairs| {
        let before: Vec<i32> = pairs.iter().map(|(score, _)| *score).collect();
        let now = pairs.iter().map(|(score, by)| (score + by).clamp(0, 90)).collect();
        (before, now)
    })
}

fn hundredths(values: &[i32]) -> Run {
    scores(&values.iter().map(|value| f64::from(*value) / 100.0).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_run_against_itself_shows_no_drop((before, _) in runs()) {
        let run = hundredths(&before);
        let verdict = verdict(&run, &accept(&[&run]), json!({ "metrics": { "quality": { "max_drop": 0 } } }));
        prop_assert_eq!(verdict.exit_code, 0);
        prop_assert_eq!(rule(&verdict, RuleKind::NotWorse).delta, Some(0.0));
        prop_assert!(verdict.broken.is_empty() && verdict.fixed.is_empty());
    }

    #[test]
    fn shuffling_the_cases_changes_nothing((before, now) in runs(), seed in any::<u64>()) {
        let (before, mut now) = (hundredths(&before), hundredths(&now));
        let gate = || json!({ "metrics": { "quality": { "min": 0.4, "percentile": { "at": 10, "min": 0.1 } } } });
        let sorted = verdict(&now, &accept(&[&before]), gate());
        let mut generator = fastrand::Rng::with_seed(seed);
        generator.shuffle(&mut now.cases);
        let shuffled = verdict(&now, &accept(&[&before]), gate());
        prop_assert_eq!(serde_json::to_string(&sorted).unwrap(), serde_json::to_string(&shuffled).unwrap());
    }

    #[test]
    fn raising_every_score_never_turns_pass_into_fail((before, now) in runs(), by in 1..=10_i32) {
        let before = accept(&[&hundredths(&before)]);
        let gate = || json!({ "metrics": { "quality": { "min": 0.4, "max_drop": 0.02, "case_min": 0.0 } } });
        let code = |values: &[i32]| verdict(&hundredths(values), &before, gate()).exit_code;
        let raised: Vec<i32> = now.iter().map(|value| value + by).collect();
        if code(&now) == 0 {
            prop_assert_eq!(code(&raised), 0);
        }
    }
}

#[test]
fn ten_thousand_cases_and_five_metrics_are_judged_quickly() {
    let names = ["a", "b", "c", "d", "e"];
    let specs: Vec<MetricSpec> = names.iter().map(|name| spec(name, ScoreKind::UNIT)).collect();
    let mut generator = fastrand::Rng::with_seed(1);
    let mut sample = || {
        let cases = (0..10_000).map(|at| {
            let cells = names.iter().map(|_| value((generator.f64() * 1e6).round() / 1e6)).collect();
            case(&format!("c{at:05}"), vec![cells])
        });
        run(specs.clone(), cases.collect())
    };
    let (now, before) = (sample(), accept(&[&sample(), &sample(), &sample()]));
    let policy = policy(json!({}));
    let verdict = judge(&now, &before, &policy);
    assert_eq!(verdict.cases.cells_scored, 50_000);
}
