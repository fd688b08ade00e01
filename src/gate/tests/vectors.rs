//! `fixtures/stats/gate.json` (statistics §5 to §9) through `judge`.

use serde_json::{Value, json};

use super::*;

/// Unit scores as the metric's own: ordinals run from 1 to 5.
fn own(spec: &MetricSpec, unit: &Value) -> f64 {
    let (lo, hi) = spec.kind.range();
    lo + unit.as_f64().unwrap() * (hi - lo)
}

struct World {
    candidate: Run,
    baseline: BaselineState,
    gate: Value,
}

fn world(input: &Value) -> World {
    let metrics: Vec<(&String, &Value)> = input["metrics"].as_object().unwrap().iter().collect();
    let specs: Vec<MetricSpec> = metrics
        .iter()
        .map(|(name, metric)| match metric["steps"].as_u64() {
            Some(1) => spec(name, ScoreKind::Binary),
            Some(4) => spec(name, ScoreKind::Ordinal { lo: 1, hi: 5 }),
            None => spec(name, ScoreKind::UNIT),
            Some(steps) => panic!("{steps} steps"),
        })
        .collect();
    let size = metrics[0].1["cand"].as_array().unwrap().len();
    let clusters = input["clusters"].as_array();
    let record = |at: usize, trials: usize, scores: &dyn Fn(usize, usize) -> f64| {
        let cells = (0..trials).map(|trial| (0..specs.len()).map(|metric| value(scores(metric, trial))).collect());
        let mut record = case(&format!("c{at:04}"), cells.collect());
        record.cluster = clusters.map(|clusters| format!("cluster {}", clusters[at]).into());
        record
    };
    let trials = |value: &Value| value.as_array().unwrap().len();
    let candidate = (0..size).map(|at| {
        let of = |metric: usize| &metrics[metric].1["cand"][at];
        record(at, trials(of(0)), &|metric, trial| own(&specs[metric], &of(metric)[trial]))
    });
    let candidate = run(specs.clone(), candidate.collect());
    let runs: Vec<Run> = (0..trials(&metrics[0].1["base"]))
        .map(|of_run| {
            let cases = (0..size).map(|at| {
                let of = |metric: usize| &metrics[metric].1["base"][of_run][at];
                record(at, trials(of(0)), &|metric, trial| own(&specs[metric], &of(metric)[trial]))
            });
            run(specs.clone(), cases.collect())
        })
        .collect();
    let margins: serde_json::Map<String, Value> =
        metrics.iter().map(|(name, metric)| ((*name).clone(), json!({ "margin": metric["margin"] }))).collect();
    let baseline = accept(&runs.iter().collect::<Vec<_>>());
    World { candidate, baseline, gate: json!({ "metrics": margins, "baseline": { "runs": 10 } }) }
}

fn near(got: f64, want: &Value, what: &str) {
    let want = want.as_f64().unwrap();
    assert!((got - want).abs() <= 1e-9, "{what}: {got}, not {want}");
}

#[test]
fn gate_vectors() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/stats/gate.json");
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    assert_eq!(vectors.len() as u64, file["count"].as_u64().unwrap());
    for vector in vectors {
        let id = vector["id"].as_str().unwrap();
        let World { candidate, baseline, gate } = world(&vector["input"]);
        let verdict = verdict(&candidate, &baseline, gate);
        let expected = &vector["expected"];
        for (name, want) in expected["metrics"].as_object().unwrap() {
            let found = verdict.rules.iter().find(|rule| rule.rule == RuleKind::NotWorse && *rule.metric == **name);
            compare(found.unwrap(), want, &format!("{id} {name}"), &candidate);
        }
        overall(&verdict, expected["verdict"].as_str().unwrap(), id);
    }
}

fn compare(rule: &Comparison, want: &Value, what: &str, candidate: &Run) {
    let word = match rule.verdict {
        RuleVerdict::Met => "not_worse",
        RuleVerdict::Violated => "regressed",
        RuleVerdict::Inconclusive | RuleVerdict::NotEvaluated => "inconclusive",
    };
    assert_eq!(word, want["verdict"], "{what}");
    assert_eq!(serde_json::to_value(rule.reason).unwrap(), want["reason"], "{what}");
    let kind = candidate.header.metrics[candidate.metric_index(&rule.metric).unwrap()].kind;
    let range = kind.range().1 - kind.range().0;
    near(rule.delta.unwrap() / range, &want["delta"], what);
    near(rule.p.unwrap(), &want["p"], what);
    near(rule.p_adjusted.unwrap(), &want["p_adj"], what);
    for (name, count) in [("n_units", rule.n), ("up", rule.up), ("down", rule.down), ("same", rule.same)] {
        assert_eq!(count, want[name].as_u64().unwrap(), "{what} {name}");
    }
    match rule.ci {
        None => assert!(want["ci"].is_null(), "{what}"),
        Some([lower, upper]) => {
            near(lower / range, &want["ci"][0], what);
            near(upper / range, &want["ci"][1], what);
        }
    }
    if let Some(breaks) = rule.breaks {
        assert_eq!(breaks, want["breaks"]["breaks"].as_u64().unwrap(), "{what}");
        near(rule.breaks_expected.unwrap(), &want["breaks"]["expected"], what);
    } else {
        assert!(want["breaks"].is_null(), "{what}");
    }
    assert!(!rule.explanation.is_empty());
}

fn overall(verdict: &Verdict, want: &str, id: &str) {
    match want {
        "regressed" => assert_eq!((verdict.decision, verdict.exit_code), (Decision::Failed, 1), "{id}"),
        "not_worse" => assert_eq!((verdict.decision, verdict.exit_code), (Decision::Passed, 0), "{id}"),
        // Identical scores pass without a word of doubt.
        _ => {
            assert_eq!(verdict.exit_code, 0, "{id}: {}", verdict.headline);
            assert_ne!(verdict.decision, Decision::Failed, "{id}");
        }
    }
}
