use std::collections::BTreeMap;

use super::*;
use crate::domain::{
    CaseRecord, Cell, Digest, FailureKind, MetricSpec, RunHeader, ScoreKind, Side, SkipReason, TrialRecord,
};

fn metrics() -> Vec<MetricSpec> {
    let spec = |name: &str| MetricSpec {
        name: name.into(),
        kind: ScoreKind::UNIT,
        direction: crate::domain::Direction::Higher,
        pass_mark: None,
        fingerprint: None,
    };
    vec![spec("m"), spec("n")]
}

fn trial(trial: u32, cells: Vec<Option<Cell>>) -> TrialRecord {
    TrialRecord { trial, answered: Ok(()), cells, latency_ms: None, tokens: None, cost: None, attempts: 0, offset: 0 }
}

fn record(id: &str, trials: Vec<TrialRecord>) -> CaseRecord {
    CaseRecord {
        id: id.into(),
        target: "app".into(),
        content: Some(Digest::of([id])),
        tags: Vec::new(),
        cluster: None,
        place: None,
        trials,
    }
}

fn value(value: f64) -> Option<Cell> {
    Some(Cell::Value { value, passed: None })
}

fn run(cases: Vec<CaseRecord>) -> Run {
    Run {
        header: RunHeader { suite: "rag".to_owned(), metrics: metrics(), ..RunHeader::default() },
        cases,
        ..Run::default()
    }
}

fn accepted(id: &str) -> BaselineRun {
    BaselineRun { id: id.to_owned(), trials: 1, ..BaselineRun::default() }
}

/// A baseline of one run with one score for two cases.
fn one(id: &str, score: f64) -> Baseline {
    let cases = ["a", "b"].map(|case| record(case, vec![trial(0, vec![value(score), value(score)])]));
    accept(&run(cases.into()), accepted(id), None).unwrap()
}

#[test]
fn the_planned_trials_are_the_first_by_number_and_no_further_attempt_counts() {
    let mut failed = trial(0, vec![None, None]);
    failed.answered = Err((FailureKind::Timeout, Side::Target));
    failed.latency_ms = Some(-1.0);
    let attempt = trial(1, vec![value(1.0), value(1.0)]);
    let mut measured = run(vec![
        record("a", vec![trial(1, vec![value(1.0), value(1.0)]), trial(0, vec![value(0.0), value(0.5)])]),
        record("b", vec![failed, attempt]),
    ]);
    measured.header.trials = 1;
    let baseline = accept(&measured, accepted("r"), None).unwrap();
    let seen: Vec<_> = baseline.cases.iter().map(|case| (case.answered, case.scores["m"].clone())).collect();
    assert_eq!(seen, [(true, vec![vec![0.0]]), (false, vec![vec![]])]);
    assert_eq!(baseline.cases[1].taken, None, "no time is negative");
}

#[test]
fn only_values_are_accepted_and_cases_are_sorted() {
    let error = Some(Cell::Error { kind: FailureKind::Timeout, side: Side::Target });
    let unusable = Some(Cell::Unusable { kind: FailureKind::Unusable });
    let left = Some(Cell::Skipped(SkipReason::NotMeasured));
    let not_applicable = Some(Cell::Skipped(SkipReason::NotApplicable));
    let mut failed = trial(0, vec![error, None]);
    failed.answered = Err((FailureKind::Timeout, Side::Target));
    let run = run(vec![
        record("z", vec![trial(0, vec![value(0.5), unusable]), trial(1, vec![error, value(0.25)])]),
        record("b", vec![trial(0, vec![not_applicable, left])]),
        record("a", vec![failed]),
    ]);
    let baseline = accept(&run, accepted("r"), None).unwrap();
    let seen: Vec<_> = baseline.cases.iter().map(|case| (&*case.id, case.answered, case.scores.clone())).collect();
    let scores = |pairs: &[(&str, &[f64])]| -> BTreeMap<_, _> {
        pairs.iter().map(|(name, values)| ((*name).into(), vec![values.to_vec()])).collect()
    };
    assert_eq!(
        seen,
        [
            ("a", false, scores(&[("m", &[]), ("n", &[])])),
            ("b", true, scores(&[("n", &[])])),
            ("z", true, scores(&[("m", &[0.5]), ("n", &[0.25])])),
        ]
    );
    assert_eq!(baseline.cases.get(1).unwrap().not_applicable, ["m".into()]);
}

#[test]
fn a_pool_keeps_the_newest_ten_runs_in_step_with_their_scores() {
    let mut pooled = one("r0", 0.0);
    for at in 1..=12_u32 {
        pooled = pool(pooled, one(&format!("r{at}"), f64::from(at) / 100.0)).unwrap();
    }
    let ids: Vec<&str> = pooled.runs.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(ids, ["r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12"]);
    for case in &pooled.cases {
        let expected: Vec<Vec<f64>> = (3..=12).map(|at| vec![f64::from(at) / 100.0]).collect();
        assert!(case.scores.values().all(|runs| *runs == expected), "{:?}", case.scores);
    }
    // What was pooled can be written and read.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("base.jsonl");
    std::fs::write(&path, crate::store::render_baseline(&pooled).unwrap()).unwrap();
    assert_eq!(crate::store::read_baseline(&path, "").unwrap().cases, pooled.cases);
}

#[test]
fn only_the_same_thing_measured_again_joins_a_pool() {
    type Change = fn(&mut Baseline);
    let changed = |change: Change| {
        let mut newest = one("r2", 0.5);
        change(&mut newest);
        pool(one("r1", 0.5), newest)
    };
    assert!(changed(|_| {}).is_ok());
    let refused: [(Change, &str); 7] = [
        (|newest| newest.runs = vec![accepted("r1")], "in the baseline already"),
        (|newest| newest.metrics.truncate(1), "other metrics"),
        (
            |newest| newest.metrics[0].fingerprint = Some(crate::domain::Fingerprint::default().with("model", "tiny")),
            "measured them otherwise",
        ),
        (|newest| newest.cases.truncate(1), "holds 2 cases, the run 1"),
        (|newest| newest.cases[1].id = "c".into(), "`c` is not the same"),
        (|newest| newest.cases[1].content = None, "`b` is not the same"),
        (
            |newest| {
                newest.cases[0].scores.remove("m");
                newest.cases[0].not_applicable.push("m".into());
            },
            "other metrics apply to case `a`",
        ),
    ];
    for (change, words) in refused {
        let problem = changed(change).unwrap_err();
        assert!(problem.contains(words), "{problem}");
    }
}

#[test]
fn the_newest_answer_is_shown_and_once_answered_is_answered() {
    let mut old = one("r1", 0.5);
    let mut new = one("r2", 0.5);
    old.cases[0].answer = Some("old".to_owned());
    new.cases[0].answer = Some("new".to_owned());
    new.cases[0].answered = false;
    let pooled = pool(old, new).unwrap();
    assert_eq!((pooled.cases[0].answer.as_deref(), pooled.cases[0].answered), (Some("new"), true));
}
