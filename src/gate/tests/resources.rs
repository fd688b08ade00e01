//! What the answers take (F26).

use proptest::prelude::*;

use super::*;

/// A right answer a case, with what each took.
fn took(numbers: &[Option<f64>]) -> Run {
    let cases = numbers.iter().enumerate().map(|(at, number)| {
        let mut case = case(&format!("c{at:04}"), vec![vec![value(1.0)]]);
        case.trials[0].latency_ms = *number;
        case.trials[0].tokens = number.map(|number| number as u64);
        case.trials[0].cost = number.map(|number| Usd(number / 1e6));
        case
    });
    run(quality(), cases.collect())
}

fn asked(run: &Run, resources: Value) -> Verdict {
    verdict(run, &BaselineState::NotAsked, json!({ "resources": resources }))
}

fn of(verdict: &Verdict, statistic: Statistic) -> &Comparison {
    verdict.rules.iter().find(|rule| rule.statistic == Some(statistic)).unwrap()
}

/// A pool whose answers took so much.
fn before(runs: &[Run]) -> BaselineState {
    let runs: Vec<&Run> = runs.iter().collect();
    let BaselineState::Found(mut baseline) = accept(&runs) else { unreachable!() };
    for case in &mut baseline.cases {
        let of_run = |run: &&Run| {
            let row = run.cases.iter().find(|row| row.id == case.id).unwrap();
            row.trials.iter().filter_map(|trial| trial.latency_ms).collect::<Vec<f64>>()
        };
        let latency_ms = runs.iter().map(of_run).collect();
        case.taken = Some(Box::new(Taken { latency_ms, ..Taken::default() }));
    }
    BaselineState::Found(baseline)
}

#[test]
fn every_statistic_is_read_exactly_and_equal_to_the_limit_holds() {
    let run = took(&(1..=100).map(|at| Some(f64::from(at))).collect::<Vec<_>>());
    let limits = |by: f64| {
        json!({ "tokens": {
            "mean": 50.5 + by, "p50": 50.0 + by, "p95": 95.0 + by, "case_max": 100.0 + by, "total": 5050.0 + by,
        } })
    };
    let met = asked(&run, limits(0.0));
    assert_eq!((met.exit_code, met.headline.as_str()), (0, "passed: 5 limits hold"));
    for (statistic, value) in Statistic::ALL.into_iter().zip([50.5, 50.0, 95.0, 100.0, 5050.0]) {
        let rule = of(&met, statistic);
        assert_eq!((rule.current, rule.verdict, rule.unit), (Some(value), RuleVerdict::Met, Some(Unit::Tokens)));
    }
    let missed = asked(&run, limits(-0.001));
    assert!(Statistic::ALL.iter().all(|one| of(&missed, *one).verdict == RuleVerdict::Violated), "{:?}", missed.rules);
    assert_eq!(missed.exit_code, 1);
    // Where the statistics have an interval it is shown.
    assert_eq!(of(&met, Statistic::P50).ci, Some([42.0, 59.0]));
    let [low, high] = of(&met, Statistic::Mean).ci.unwrap();
    assert!(low > 45.0 && low < 46.0 && high > 55.0 && high < 56.0, "{low} {high}");
    assert_eq!(of(&met, Statistic::Total).ci, None);
}

#[test]
fn a_tenth_of_a_cent_thrice_is_three_tenths() {
    let run = took(&[Some(100.0), Some(100.0), Some(100.0)]);
    let verdict = asked(&run, json!({ "cost": { "total": 0.0003, "mean": 0.0001 } }));
    assert_eq!(verdict.exit_code, 0, "{}", verdict.headline);
    assert_eq!(of(&verdict, Statistic::Total).current, Some(0.0003));
}

#[test]
fn what_no_answer_says_is_never_green() {
    let run = took(&[None, None]);
    let blocked = asked(&run, json!({ "latency": { "p95": "2s" } }));
    assert_eq!((blocked.decision, blocked.exit_code), (Decision::NotEvaluated, 3));
    assert!(of(&blocked, Statistic::P95).explanation.contains("--ledger refresh"), "{:?}", blocked.rules);
    let warned = asked(&run, json!({ "latency": { "p95": "2s", "on_missing": "warn" } }));
    assert_eq!((warned.exit_code, of(&warned, Statistic::P95).severity), (0, Severity::Warn));
}

#[test]
fn answers_of_the_ledger_are_left_out_of_latencies_and_said() {
    let mut numbers: Vec<Option<f64>> = vec![Some(100.0); 30];
    numbers.extend([None; 10]);
    let verdict = asked(&took(&numbers), json!({ "latency": { "p95": "100ms", "total": "10s" } }));
    let rule = of(&verdict, Statistic::P95);
    assert_eq!((rule.verdict, rule.n, rule.planned), (RuleVerdict::Met, 30, 40));
    assert!(rule.explanation.contains("30 of 40 answered cases"), "{}", rule.explanation);
    // Of a sum nothing may be missing, unless it is too large already.
    let total = of(&verdict, Statistic::Total);
    assert_eq!((total.verdict, total.reason, verdict.exit_code), (RuleVerdict::Inconclusive, Reason::Missing, 3));
    let over = asked(&took(&numbers), json!({ "latency": { "total": "2s" } }));
    assert_eq!((over.exit_code, of(&over, Statistic::Total).verdict), (1, RuleVerdict::Violated));
    // Tokens have no such excuse.
    let tokens = asked(&took(&numbers), json!({ "tokens": { "mean": 1000 } }));
    assert_eq!((tokens.exit_code, of(&tokens, Statistic::Mean).reason), (3, Reason::Missing));
}

#[test]
fn a_latency_that_no_answer_exceeds_needs_every_answer_to_be_timed() {
    let mut numbers: Vec<Option<f64>> = vec![Some(100.0); 30];
    numbers.extend([None; 10]);
    let partly = asked(&took(&numbers), json!({ "latency": { "case_max": "1s" } }));
    let rule = of(&partly, Statistic::CaseMax);
    assert_eq!((rule.verdict, rule.reason, partly.exit_code), (RuleVerdict::Inconclusive, Reason::Missing, 3));
    assert!(rule.explanation.contains("30 of 40 answered cases"), "{}", rule.explanation);
    assert!(rule.explanation.contains("those from the ledger"), "{}", rule.explanation);
    assert!(rule.explanation.contains("Ask anew with --ledger refresh"), "{}", rule.explanation);
    // One that is over is over, whatever the others took.
    assert_eq!(asked(&took(&numbers), json!({ "latency": { "case_max": "99ms" } })).exit_code, 1);
    let warned = asked(&took(&numbers), json!({ "latency": { "case_max": "1s", "on_missing": "warn" } }));
    assert_eq!(warned.exit_code, 0);
}

/// Thirty cases of three answers of ten tokens; so many answers, each of another case, do not say it.
fn thrice(silent: usize) -> Run {
    let cases = (0..30).map(|at| {
        let mut case = case(&format!("c{at:04}"), vec![vec![value(1.0)]; 3]);
        case.trials.iter_mut().for_each(|trial| trial.tokens = Some(10));
        if at < silent {
            case.trials[1].tokens = None;
        }
        case
    });
    run(quality(), cases.collect())
}

#[test]
fn one_silent_answer_among_the_trials_of_a_case_is_missing() {
    let read = |silent: usize, statistic: Statistic| {
        let verdict = asked(&thrice(silent), json!({ "tokens": { statistic.key(): 300 } }));
        (of(&verdict, statistic).reason, verdict.exit_code)
    };
    let (met, missing) = ((Reason::ThresholdMet, 0), (Reason::Missing, 3));
    for statistic in Statistic::ALL {
        assert_eq!(read(0, statistic), met, "{statistic:?}");
    }
    // Of 90 answers one may be silent for a percentile, three may not.
    for statistic in [Statistic::P50, Statistic::P95] {
        assert_eq!((read(1, statistic), read(3, statistic)), (met, missing), "{statistic:?}");
    }
    for statistic in [Statistic::CaseMax, Statistic::Total] {
        assert_eq!(read(1, statistic), missing, "{statistic:?}");
    }
    // A mean counts a case with those of its answers that say it.
    assert_eq!(read(3, Statistic::Mean), met);
    let told = asked(&thrice(3), json!({ "tokens": { "case_max": 10 } }));
    let why = &of(&told, Statistic::CaseMax).explanation;
    assert!(
        why.contains("(30 answered cases, 87 of 90 answers)") && why.contains("Give the target its `usage`"),
        "{why}"
    );
}

#[test]
fn strict_reads_what_never_has_an_interval_by_its_value() {
    let judged = |run: &Run, statistic: Statistic, limit: u32| {
        let verdict = asked(run, json!({ "tokens": { statistic.key(): limit, "mode": "strict" } }));
        let rule = of(&verdict, statistic);
        (rule.verdict, rule.explanation.clone())
    };
    let run = thrice(0);
    for (statistic, limit) in
        [(Statistic::CaseMax, 10), (Statistic::Total, 300), (Statistic::P50, 10), (Statistic::P95, 10)]
    {
        let (found, why) = judged(&run, statistic, limit);
        assert_eq!(found, RuleVerdict::Met, "{statistic:?}: {why}");
        assert!(why.contains("It has no interval, so the value decides."), "{why}");
        assert_eq!(judged(&run, statistic, limit - 1).0, RuleVerdict::Violated, "{statistic:?}");
    }
    // A mean of a few cases would have one, with more of them: nothing is shown yet.
    let (found, why) = judged(&took(&[Some(10.0); 5]), Statistic::Mean, 20);
    assert_eq!(found, RuleVerdict::Violated);
    assert!(why.contains("it is not shown to be at most 20 tokens, as mode strict asks"), "{why}");
}

#[test]
fn strict_reads_the_rise_of_a_percentile_by_its_value() {
    let world = |by: f64| took(&(1..=100).map(|at| Some(f64::from(at) * by)).collect::<Vec<_>>());
    let judged = |by: f64| {
        let latency = json!({ "increase": { "p95": 0.2 }, "mode": "strict" });
        let verdict = verdict(&world(by), &before(&[world(1.0)]), json!({ "resources": { "latency": latency } }));
        (verdict.exit_code, of(&verdict, Statistic::P95).explanation.clone())
    };
    let (code, why) = judged(1.1);
    assert!(code == 0 && why.contains("It has no interval, so the value decides."), "{why}");
    assert_eq!(judged(1.3).0, 1);
}

#[test]
fn a_handful_of_timed_answers_vouches_for_nothing() {
    let mut numbers: Vec<Option<f64>> = vec![Some(100.0); 19];
    numbers.push(None);
    let verdict = asked(&took(&numbers), json!({ "latency": { "p95": "1s" } }));
    let rule = of(&verdict, Statistic::P95);
    assert_eq!(
        (rule.reason, rule.current, verdict.exit_code),
        (Reason::Missing, Some(100.0), 3),
        "{}",
        verdict.headline
    );
    // All of a small suite are all that there is.
    assert_eq!(asked(&took(&[Some(1.0); 3]), json!({ "latency": { "p95": "1s" } })).exit_code, 0);
}

#[test]
fn confident_needs_the_whole_interval_beyond_the_limit() {
    let run = took(&(1..=100).map(|at| Some(f64::from(at))).collect::<Vec<_>>());
    let read = |p50: &str, mode: &str| {
        let verdict = asked(&run, json!({ "latency": { "p50": p50, "mode": mode } }));
        of(&verdict, Statistic::P50).verdict
    };
    use RuleVerdict::{Inconclusive, Met, Violated};
    for (p50, point, confident, strict) in [
        ("41ms", Violated, Violated, Violated),
        ("48ms", Violated, Inconclusive, Violated),
        ("55ms", Met, Inconclusive, Violated),
        ("59ms", Met, Met, Met),
    ] {
        assert_eq!(
            (read(p50, "point"), read(p50, "confident"), read(p50, "strict")),
            (point, confident, strict),
            "{p50}"
        );
    }
}

#[test]
fn a_rise_is_read_over_the_cases_of_both_sides_and_more_runs_do_not_move_it() {
    let world = |by: f64| took(&(1..=100).map(|at| Some(f64::from(at) * by)).collect::<Vec<_>>());
    for runs in [vec![world(1.0)], vec![world(1.0), world(1.0), world(1.0)]] {
        let baseline = before(&runs);
        let judged = |by: f64, most: f64| {
            let rise = json!({ "mean": most, "p50": most, "p95": most, "total": most });
            verdict(&world(by), &baseline, json!({ "resources": { "latency": { "increase": rise } } }))
        };
        let held = judged(1.25, 0.25);
        assert_eq!(held.exit_code, 0, "{}", held.headline);
        let rule = of(&held, Statistic::P95);
        assert_eq!((rule.rule, rule.baseline, rule.current), (RuleKind::ResourceRise, Some(95.0), Some(118.75)));
        let mean = of(&held, Statistic::Mean);
        assert!(mean.p.unwrap() < 1e-6 && mean.delta == Some(12.625) && mean.ci.is_some(), "{mean:?}");
        let missed = judged(1.25, 0.2499);
        assert_eq!(missed.exit_code, 1);
        let why = &of(&missed, Statistic::P95).explanation;
        assert!(why.contains("rose by +25.00%") || why.contains("rose by +25.0%"), "{why}");
        assert!(why.contains("95 ms → 119 ms"), "{why}");
    }
}

#[test]
fn a_baseline_that_does_not_say_it_is_no_failure_and_is_said() {
    let run = took(&[Some(1.0); 30]);
    let verdict =
        verdict(&run, &accept(&[&run]), json!({ "resources": { "latency": { "increase": { "p95": 0.2 } } } }));
    let rule = of(&verdict, Statistic::P95);
    assert_eq!(
        (rule.verdict, rule.reason, rule.severity),
        (RuleVerdict::NotEvaluated, Reason::NoBaseline, Severity::Warn)
    );
    assert_eq!(verdict.exit_code, 0, "{}", verdict.headline);
}

#[test]
fn wrong_limits_are_told_at_their_places() {
    let gate = json!({ "resources": {
        "latency": { "p95": "2", "mode": "exact" }, "tokens": {}, "cost": { "mean": -1, "increase": { "p95": 500 } },
    } });
    let block = Block::from_value("gate", "gate", gate);
    let mut diagnostics = Diagnostics::default();
    assert!(Policy::build(Some(&block), &[], &mut diagnostics).is_none());
    let said: Vec<String> = diagnostics.iter().map(|problem| problem.message.clone()).collect();
    for words in ["needs a unit", "nothing is asked of tokens", "mean is -1", "increase.p95 is 500", "mode `exact`"] {
        assert!(said.iter().any(|one| one.contains(words)), "{words}: {said:?}");
    }
}

/// So many answers of ten milliseconds, and some that timed out.
fn with_lost(told: usize, lost: usize) -> Run {
    let mut run = took(&vec![Some(10.0); told + lost]);
    for case in run.cases.iter_mut().skip(told) {
        let id = case.id.to_string();
        *case = super::case(&id, vec![vec![error()]]);
        case.trials[0].answered = Err((FailureKind::Timeout, Side::Target));
    }
    run
}

#[test]
fn what_a_lost_answer_took_is_not_known() {
    let gate = |statistic: Statistic, limit: u32| json!({ "latency": { statistic.key(): format!("{limit}ms") } });
    let read = |lost: usize, statistic: Statistic, limit: u32| {
        let verdict = asked(&with_lost(60 - lost, lost), gate(statistic, limit));
        let rule = of(&verdict, statistic);
        (rule.verdict, rule.explanation.clone())
    };
    for statistic in [Statistic::CaseMax, Statistic::Total] {
        let (found, why) = read(1, statistic, 1_000);
        assert_eq!(found, RuleVerdict::Inconclusive, "{why}");
        assert!(why.contains("59 of 60 answers") && why.contains("took at least its timeout"), "{why}");
        assert_eq!(read(0, statistic, 1_000).0, RuleVerdict::Met);
        assert_eq!(read(1, statistic, 9).0, RuleVerdict::Violated, "more answers only add");
    }
    // Of 60 answers the 57th is the 95th percentile, whatever the last three took; not where four are lost.
    for (lost, expected) in [(1, RuleVerdict::Met), (3, RuleVerdict::Met), (4, RuleVerdict::Inconclusive)] {
        let (found, why) = read(lost, Statistic::P95, 1_000);
        assert_eq!(found, expected, "{lost}: {why}");
    }
    assert_eq!(read(3, Statistic::P95, 9).0, RuleVerdict::Violated);
    assert_eq!(read(59, Statistic::P50, 9).0, RuleVerdict::Inconclusive, "the lost ones may have taken nothing");
    let tokens = asked(&with_lost(59, 1), json!({ "tokens": { "total": 10_000 } }));
    assert_eq!((of(&tokens, Statistic::Total).reason, tokens.exit_code), (Reason::Missing, 3));
}

#[test]
fn a_rise_from_nothing_is_said_in_words() {
    let gate = json!({ "resources": { "latency": { "increase": { "p95": 0.1 } } } });
    let verdict = verdict(&took(&[Some(5.0); 30]), &before(&[took(&[Some(0.0); 30])]), gate);
    let why = &of(&verdict, Statistic::P95).explanation;
    assert!(why.contains("rose from nothing (0 ms → 5 ms)"), "{why}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: sized(2_000, 200_000), failure_persistence: None, ..ProptestConfig::default() })]

    /// Promise R9 for limits on resources: green means that the number is known and holds, red that it does not.
    #[test]
    fn green_means_that_the_limit_holds(
        numbers in prop::collection::vec(prop::option::weighted(0.9, 0_u32..200), 1..40),
        limit in 0_u32..200,
        which in 0_usize..5,
        latency in any::<bool>(),
    ) {
        let statistic = Statistic::ALL[which];
        let run = took(&numbers.iter().map(|number| number.map(f64::from)).collect::<Vec<_>>());
        let resources = match latency {
            true => json!({ "latency": { statistic.key(): format!("{limit}ms") } }),
            false => json!({ "tokens": { statistic.key(): limit } }),
        };
        let code = asked(&run, resources).exit_code;
        let mut known: Vec<u32> = numbers.iter().flatten().copied().collect();
        known.sort_unstable();
        let missing = numbers.len() - known.len();
        let sum: u32 = known.iter().sum();
        let rank = |percent: usize| known[(known.len() * percent).div_ceil(100) - 1];
        if known.is_empty() {
            prop_assert_eq!(code, 3);
            return Ok(());
        }
        let holds = match statistic {
            Statistic::Mean => sum <= limit * known.len() as u32,
            Statistic::P50 => rank(50) <= limit,
            Statistic::P95 => rank(95) <= limit,
            Statistic::CaseMax => known[known.len() - 1] <= limit,
            Statistic::Total => sum <= limit,
        };
        // At most 2 of 100 may be missing, none of a sum or of the largest; the ledger's answers have no latency.
        let short = match statistic {
            Statistic::CaseMax | Statistic::Total => missing > 0,
            Statistic::Mean | Statistic::P50 | Statistic::P95 if latency => missing > 0 && known.len() < 20,
            Statistic::Mean | Statistic::P50 | Statistic::P95 => missing * 100 > numbers.len() * 2,
        };
        let only_grows = matches!(statistic, Statistic::Total | Statistic::CaseMax);
        let expected = match (holds, short) {
            (true, false) => 0,
            (false, false) => 1,
            (false, true) if only_grows => 1,
            (_, true) => 3,
        };
        prop_assert_eq!(code, expected);
    }
}
