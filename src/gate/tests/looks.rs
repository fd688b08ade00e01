//! A plan of trials, followed on the trials at hand (statistics §10).

use super::*;
use crate::gate::{more_attempts, next_look};

/// Binary scores: per case its trials.
fn asked(trials: impl Iterator<Item = Vec<f64>>) -> Run {
    let cases = trials
        .enumerate()
        .map(|(at, trials)| case(&format!("c{at:04}"), trials.into_iter().map(|score| vec![value(score)]).collect()));
    run(vec![spec("quality", ScoreKind::Binary)], cases.collect())
}

/// Sixty cases that all passed; `down` of them fail the first trial and `later` of them the others.
fn candidate(down: usize, later: usize) -> Run {
    asked((0..60).map(|at| {
        let score = |fails: usize| if at < fails { 0.0 } else { 1.0 };
        vec![score(down), score(later), score(later)]
    }))
}

fn all_passed() -> BaselineState {
    accept(&[&asked((0..60).map(|_| vec![1.0]))])
}

fn planned(run: &Run, gate: Value) -> Verdict {
    judge(run, &all_passed(), &policy(gate).with_plan(&[1, 3]))
}

fn narrow() -> Value {
    json!({ "metrics": { "quality": { "margin": 0.01 } } })
}

#[test]
fn without_a_sign_of_a_drop_the_first_trials_decide() {
    let verdict = planned(&candidate(0, 30), narrow());
    let looks = verdict.looks.unwrap();
    assert_eq!((looks.taken, looks.ended, looks.trials), (1, LookEnd::NoSign, vec![1, 3]));
    assert_eq!((verdict.trials, verdict.exit_code), (1.0, 0));
    assert!(verdict.notes.iter().any(|note| note.contains("trials [1, 3]: decided on 1 trial a case")));
}

#[test]
fn a_suspicion_reads_all_trials() {
    let verdict = planned(&candidate(3, 30), narrow());
    let looks = verdict.looks.unwrap();
    assert_eq!((looks.taken, looks.ended), (2, LookEnd::Last));
    assert_eq!((verdict.decision, verdict.trials), (Decision::Failed, 3.0));
    let cleared = planned(&candidate(3, 0), narrow());
    assert_eq!((cleared.looks.unwrap().taken, cleared.exit_code), (2, 0));
}

#[test]
fn a_drop_beyond_doubt_needs_no_second_look() {
    let verdict = planned(&candidate(12, 0), narrow());
    assert_eq!(verdict.looks.unwrap().ended, LookEnd::Mean);
    assert_eq!((verdict.decision, verdict.trials), (Decision::Failed, 1.0));
}

#[test]
fn the_looks_share_the_level_of_one() {
    // Four of sixty: p = 1/32, above what the first look may spend and below what is left.
    let once = asked((0..60).map(|at| vec![if at < 4 { 0.0 } else { 1.0 }]));
    let verdict = planned(&once, narrow());
    assert_eq!((verdict.looks, verdict.decision), (None, Decision::Failed), "one trial is one look with all of alpha");
    let thrice = asked((0..60).map(|at| vec![if at < 4 { 0.0 } else { 1.0 }; 3]));
    let verdict = planned(&thrice, narrow());
    assert_eq!((verdict.looks.unwrap().taken, verdict.decision), (2, Decision::Failed));
    let strict = json!({ "metrics": { "quality": { "margin": 0.01 } }, "sequential": { "alpha1": 0.03 } });
    assert_eq!(planned(&thrice, strict).decision, Decision::Inconclusive, "1/32 is above the 0.02 that are left");
}

#[test]
fn what_is_inconclusive_may_ask_for_more() {
    let policy = |on: &str| {
        let gate = json!({ "metrics": { "quality": { "margin": 0.06 } }, "sequential": { "extend_on": on } });
        policy(gate).with_plan(&[1, 3])
    };
    // Seven up and five down: no sign of a drop, and too noisy for the margin.
    let baseline = accept(&[&asked((0..60).map(|at| vec![if at < 7 { 0.0 } else { 1.0 }]))]);
    let mixed = asked((0..60).map(|at| {
        let first = if (7..12).contains(&at) { 0.0 } else { 1.0 };
        vec![first, 1.0, 1.0]
    }));
    assert_eq!(judge(&mixed, &baseline, &policy("suspicion")).looks.unwrap().taken, 1);
    assert_eq!(judge(&mixed, &baseline, &policy("inconclusive")).looks.unwrap().taken, 2);
}

#[test]
fn more_looks_than_two_divide_alpha_after_obrien_and_fleming() {
    let policy = policy(narrow()).with_plan(&[1, 2, 3]);
    let verdict = judge(&candidate(3, 30), &all_passed(), &policy);
    let looks = verdict.looks.unwrap();
    assert_eq!((looks.trials, looks.taken), (vec![1, 2, 3], 2));
    assert_eq!((verdict.decision, verdict.trials), (Decision::Failed, 2.0));
}

#[test]
fn a_run_is_asked_for_more_trials_of_every_paired_case() {
    let first = |down: usize| asked((0..60).map(|at| vec![if at < down { 0.0 } else { 1.0 }]));
    let policy = policy(narrow()).with_plan(&[1, 3]);
    assert_eq!(next_look(&first(0), &all_passed(), &policy), None);
    assert_eq!(next_look(&first(12), &all_passed(), &policy), None);
    let more = next_look(&first(3), &all_passed(), &policy).unwrap();
    assert_eq!((more.trials, more.cases.len()), (3, 60), "whatever they scored");
    assert_eq!(next_look(&candidate(3, 0), &all_passed(), &policy), None, "the plan is at its end");
    assert_eq!(next_look(&first(3), &BaselineState::NotAsked, &policy), None);
}

#[test]
fn scores_that_are_missing_at_the_first_look_are_looked_for_at_the_next() {
    let mut run = candidate(0, 0);
    for case in run.cases.iter_mut().take(5) {
        case.trials[0].cells = vec![error()];
    }
    let verdict = planned(&run, narrow());
    assert_eq!((verdict.looks.unwrap().taken, verdict.exit_code), (2, 0));
}

#[test]
fn attempts_of_must_pass_cases_feed_nothing_else() {
    let mut run = asked((0..60).map(|_| vec![1.0]));
    run.header.trials = 1;
    run.header.attempts = 3;
    run.cases[0].trials = vec![trial(0, vec![value(0.0)])];
    let gate = json!({ "must_pass": { "ids": ["c0000"] }, "metrics": { "quality": { "margin": 0.5 } } });
    let failing = policy(gate.clone());
    let more = more_attempts(&run, &failing).unwrap();
    assert_eq!((more.trials, more.cases.len()), (3, 1));
    run.cases[0].trials.extend([trial(1, vec![value(1.0)]), trial(2, vec![value(1.0)])]);
    assert_eq!(more_attempts(&run, &failing), None);
    let verdict = verdict(&run, &all_passed(), gate);
    assert_eq!(rule(&verdict, RuleKind::MustPass).verdict, RuleVerdict::Met);
    let compared = rule(&verdict, RuleKind::NotWorse);
    assert_eq!((compared.down, compared.delta), (1, Some(-1.0 / 60.0)), "its first trial is what is compared");
}

#[test]
fn trials_that_were_lost_are_not_counted_and_are_said() {
    let judged = |lost: usize| {
        let cases = (0..60).map(|at| {
            let mut case = case(&format!("c{at:04}"), vec![vec![value(1.0)]; 2]);
            if at < lost {
                case.trials[1] =
                    TrialRecord { answered: Err((FailureKind::Connection, Side::Target)), ..trial(1, vec![error()]) };
            }
            case
        });
        let run = run(quality(), cases.collect());
        let verdict = at_least(&run, json!({ "baseline": { "from": "none" } }));
        let severity = rule(&verdict, RuleKind::Coverage).severity;
        (verdict.trials, severity, verdict.exit_code, verdict.headline)
    };
    let (trials, severity, code, headline) = judged(60);
    assert_eq!((trials, severity, code), (1.0, Severity::Warn, 0));
    assert!(headline.starts_with("passed with a warning: 60 of 120 trials were lost"), "{headline}");
    // As few as scores may be missing.
    assert_eq!(judged(2).1, Severity::Ok);
    assert_eq!(judged(3).1, Severity::Warn);
    assert_eq!((judged(0).0, judged(0).1), (2.0, Severity::Ok));
}
