//! Thresholds, guards, multiplicity, must-pass (§7, §8, §11, §12, §15.3).

use super::super::*;
use super::*;

#[test]
fn proportion_vectors() {
    for vector in vectors("proportions") {
        let input = &vector["input"];
        let (x, n) = (input["successes"].as_u64().unwrap(), input["n"].as_u64().unwrap());
        let alpha = input["alpha"].as_f64().unwrap();
        let (lower, upper) = wilson(x, n, alpha);
        near(&vector, "wilson_lower", lower);
        near(&vector, "wilson_upper", upper);
        let (lower, upper) = clopper_pearson(x, n, alpha);
        near(&vector, "cp_lower", lower);
        near(&vector, "cp_upper", upper);
    }
}

#[test]
fn threshold_vectors() {
    for vector in vectors("thresholds") {
        let input = &vector["input"];
        let number = |name: &str| input[name].as_f64().unwrap();
        let mode = match input["mode"].as_str().unwrap() {
            "point" => ThresholdMode::Point,
            "strict" => ThresholdMode::Strict,
            _ => ThresholdMode::Confident,
        };
        let state = threshold_state(number("mean"), number("lower"), number("upper"), number("tau"), mode);
        let word = match state {
            ThresholdState::Violated => "violated",
            ThresholdState::Met => "met",
            ThresholdState::Uncertain => "uncertain",
        };
        assert_eq!(word, vector["expected"]["verdict"], "{}", vector["id"]);
    }
}

#[test]
fn multiplicity_vectors() {
    for vector in vectors("multiplicity") {
        let p = floats(&vector["input"]["p"]);
        for (name, got) in [("holm", holm(&p)), ("bh", benjamini_hochberg(&p))] {
            for (got, want) in got.iter().zip(floats(&vector["expected"][name])) {
                assert!((got - want).abs() <= 1e-12, "{} {name}", vector["id"]);
            }
        }
    }
}

#[test]
fn break_guard_vectors() {
    for vector in vectors("break_guard") {
        let input = &vector["input"];
        let runs: Vec<Vec<f64>> = input["runs"].as_array().unwrap().iter().map(floats).collect();
        let clusters: Option<Vec<f64>> = (!input["clusters"].is_null()).then(|| floats(&input["clusters"]));
        let cases: Vec<(Vec<f64>, Option<usize>)> = floats(&input["cand"])
            .iter()
            .enumerate()
            .map(|(case, candidate)| {
                let scores = runs.iter().map(|run| run[case]).chain([*candidate]).collect();
                (scores, clusters.as_ref().map(|clusters| clusters[case] as usize))
            })
            .collect();
        let count = break_guard(&cases, input["severity"].as_f64().unwrap());
        near(&vector, "n_single_low", count.lone_lows as f64);
        near(&vector, "breaks", count.breaks as f64);
        near(&vector, "expected", count.expected);
        near(&vector, "p_mid", count.p_mid);
    }
}

#[test]
fn break_guard_tail_vectors() {
    for vector in vectors("break_guard_tail") {
        let number = |name: &str| vector["input"][name].as_u64().unwrap();
        near(&vector, "p_mid", break_tail(number("n_single_low"), number("breaks"), number("runs_total")));
    }
}

#[test]
fn run_effect_vectors() {
    for vector in vectors("run_effect") {
        let input = &vector["input"];
        let runs: Vec<Vec<f64>> = input["runs"].as_array().unwrap().iter().map(floats).collect();
        let effect = run_effect(&runs);
        near(&vector, "ratio", effect.ratio.unwrap());
        near(&vector, "p", effect.p);
        if let Some(p) = input["p"].as_f64() {
            let adjusted = adjust_for_runs(p, &floats(&input["d"]), run_variance(&runs), runs.len());
            near(&vector, "p_adjusted", adjusted);
        }
    }
}

#[test]
fn must_pass_vectors() {
    for vector in vectors("must_pass") {
        let (per_case, family) = must_pass_false_alarm(&floats(&vector["input"]["flake"]), 3);
        near(&vector, "family", family);
        for (got, want) in per_case.iter().zip(floats(&vector["expected"]["per_case"])) {
            assert!((got - want).abs() <= 1e-12, "{}", vector["id"]);
        }
    }
}
