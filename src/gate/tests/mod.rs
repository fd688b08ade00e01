//! The room's tests: the reference vectors through `judge` itself, the cases of `fixtures/cases`, the rules one by one, and
//! properties that hold for every run.

mod beside;
mod cases;
mod looks;
mod loosened;
mod policy;
mod properties;
mod quarantine;
mod real;
mod resources;
mod rules;
mod slices;
mod tags;
mod vectors;
mod words;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{BaselineState, Policy, judge};

use crate::diagnostic::Diagnostics;
use crate::domain::*;
use crate::suite::Block;

/// As much as is promised with `SCOREGATE_TEST_SIZE=full`, a part of it otherwise.
pub(super) fn sized<T>(small: T, full: T) -> T {
    // When it is compiled: nothing of this crate reads the environment.
    if option_env!("SCOREGATE_TEST_SIZE") == Some("full") { full } else { small }
}

pub(super) fn spec(name: &str, kind: ScoreKind) -> MetricSpec {
    MetricSpec { name: name.into(), kind, direction: Direction::Higher, pass_mark: None, fingerprint: None }
}

pub(super) fn quality() -> Vec<MetricSpec> {
    vec![spec("quality", ScoreKind::UNIT)]
}

pub(super) fn value(value: f64) -> Option<Cell> {
    Some(Cell::Value { value, passed: None })
}

pub(super) fn error() -> Option<Cell> {
    Some(Cell::Error { kind: FailureKind::Timeout, side: Side::Infra })
}

pub(super) fn trial(at: usize, cells: Vec<Option<Cell>>) -> TrialRecord {
    TrialRecord {
        trial: at as u32,
        answered: Ok(()),
        cells,
        latency_ms: None,
        tokens: None,
        cost: None,
        attempts: 0,
        offset: 0,
    }
}

/// A case with one entry a trial, each with one cell a metric.
pub(super) fn case(id: &str, trials: Vec<Vec<Option<Cell>>>) -> CaseRecord {
    CaseRecord {
        id: id.into(),
        target: "app".into(),
        content: Some(Digest::of([id])),
        tags: Vec::new(),
        cluster: None,
        place: None,
        trials: trials.into_iter().enumerate().map(|(at, cells)| trial(at, cells)).collect(),
    }
}

pub(super) fn run(metrics: Vec<MetricSpec>, cases: Vec<CaseRecord>) -> Run {
    Run {
        header: RunHeader {
            suite: "sample".into(),
            targets: vec!["app".into()],
            metrics,
            cases: cases.iter().map(|case| &case.id).collect::<std::collections::BTreeSet<_>>().len() as u64,
            trials: cases.iter().map(|case| case.trials.len()).max().unwrap_or(1) as u32,
            ..RunHeader::default()
        },
        completion: Some(Completion { complete: true, outcomes: cases.len() as u64, ..Completion::default() }),
        cases,
        ..Run::default()
    }
}

/// One trial of one metric a case.
pub(super) fn scores(scores: &[f64]) -> Run {
    let cases = scores.iter().enumerate().map(|(at, score)| case(&format!("c{at:04}"), vec![vec![value(*score)]]));
    run(quality(), cases.collect())
}

/// What accepting `runs` would store.
pub(super) fn accept(runs: &[&Run]) -> BaselineState {
    let newest = runs.last().unwrap();
    let mut cases: BTreeMap<(CaseId, TargetName), BaselineCase> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        for record in &run.cases {
            let entry = cases.entry((record.id.clone(), record.target.clone())).or_insert_with(|| BaselineCase {
                id: record.id.clone(),
                target: record.target.clone(),
                content: record.content,
                cluster: record.cluster.clone(),
                tags: record.tags.clone(),
                scores: BTreeMap::new(),
                not_applicable: Vec::new(),
                answered: false,
                answer: None,
                taken: None,
                older: BTreeMap::new(),
            });
            entry.answered |= record.trials.iter().any(|trial| trial.answered.is_ok());
            for (metric, spec) in run.header.metrics.iter().enumerate() {
                let of_run = record.trials.iter().filter_map(|trial| match trial.cells[metric] {
                    Some(Cell::Value { value, .. }) => Some(value),
                    _ => None,
                });
                let pool = entry.scores.entry(spec.name.clone()).or_insert_with(|| vec![Vec::new(); runs.len()]);
                pool[at] = of_run.collect();
            }
        }
    }
    let stored = (0..runs.len()).map(|at| BaselineRun {
        id: format!("run-{at}"),
        commit: Some("2222222".into()),
        date: Some("2026-01-01T00:00:00Z".into()),
        by: None,
        trials: 1,
        judges: runs[at].judges.clone(),
    });
    BaselineState::Found(Box::new(Baseline {
        source: BaselineSource { place: "baseline.jsonl".into(), digest: Some(Digest::of(["baseline"])) },
        suite: "sample".into(),
        runs: stored.collect(),
        metrics: newest.header.metrics.clone(),
        cases: cases.into_values().collect(),
    }))
}

/// A policy as the suite would write it; a baseline is asked for.
pub(super) fn policy(mut gate: Value) -> Policy {
    gate.as_object_mut().unwrap().entry("baseline").or_insert(json!({ "path": "baseline.jsonl" }));
    let block = Block::from_value("gate", "gate", gate);
    let mut diagnostics = Diagnostics::default();
    let policy = Policy::build(Some(&block), &[], &mut diagnostics);
    policy.unwrap_or_else(|| panic!("{:?}", diagnostics.iter().collect::<Vec<_>>()))
}

pub(super) fn verdict(run: &Run, baseline: &BaselineState, gate: Value) -> Verdict {
    judge(run, baseline, &policy(gate))
}

/// A mean of at least 0.8, without a baseline.
pub(super) fn at_least(run: &Run, gate: Value) -> Verdict {
    let mut gate = gate;
    gate["metrics"] = json!({ "quality": { "min": 0.8 } });
    verdict(run, &BaselineState::NotAsked, gate)
}

pub(super) fn rule(verdict: &Verdict, kind: RuleKind) -> &Comparison {
    let found = verdict.rules.iter().find(|rule| rule.rule == kind);
    found.unwrap_or_else(|| panic!("no {kind:?} in {:#?}", verdict.rules))
}

/// A neutral results file of `fixtures/cases/verdicts`.
pub(super) fn recorded(file: &str) -> Run {
    let path = format!("{}/fixtures/cases/verdicts/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let cases = text.lines().filter(|line| !line.trim().is_empty()).map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        let cell = match line["outcome"].as_str().unwrap() {
            "score" => value(line["score"].as_f64().unwrap()),
            "skipped" => Some(Cell::Skipped(SkipReason::NotMeasured)),
            _ => {
                let kind = match line["reason"].as_str().unwrap() {
                    "time-out" => FailureKind::Timeout,
                    "401 from judge" => FailureKind::Auth,
                    _ => FailureKind::Unusable,
                };
                Some(Cell::Error { kind, side: Side::Infra })
            }
        };
        case(line["case"].as_str().unwrap(), vec![vec![cell]])
    });
    run(quality(), cases.collect())
}

/// A neutral file of `fixtures/cases/baselines` as a run; metrics by name, "grounding" first.
pub(super) fn neutral(file: &str) -> Run {
    let path = format!("{}/fixtures/cases/baselines/{file}", env!("CARGO_MANIFEST_DIR"));
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let cases = file["cases"].as_object().unwrap();
    let mut names: Vec<&String> = cases.values().flat_map(|scores| scores.as_object().unwrap().keys()).collect();
    names.sort();
    names.dedup();
    let metrics = names.iter().map(|name| spec(name, ScoreKind::UNIT)).collect();
    let records = cases.iter().map(|(id, scores)| {
        let cells = names.iter().map(|name| scores[*name].as_f64().and_then(value)).collect();
        case(id, vec![cells])
    });
    run(metrics, records.collect())
}
