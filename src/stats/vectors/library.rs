//! Drift, judges, and the tests that no verdict reads (§16, §18, §22).

use super::super::*;
use super::*;

#[test]
fn change_point_vectors() {
    for vector in vectors("change_points") {
        let input = &vector["input"];
        let min_effect = input["min_effect"].as_f64().unwrap_or(0.0);
        let found = change_points(&floats(&input["x"]), 0.01, min_effect);
        let want = vector["expected"]["points"].as_array().unwrap();
        assert_eq!(found.len(), want.len(), "{}", vector["id"]);
        for (found, want) in found.iter().zip(want) {
            let close = |name: &str, got: f64| {
                let want = want[name].as_f64().unwrap();
                assert!(
                    (got - want).abs() <= 1e-9 * want.abs().max(1.0),
                    "{}: {name} is {got}, not {want}",
                    vector["id"]
                );
            };
            assert_eq!(found.index as u64, want["index"].as_u64().unwrap(), "{}", vector["id"]);
            close("p", found.p);
            close("diff", found.difference);
            if want["t"].is_null() {
                assert!(found.t.is_infinite(), "{}", vector["id"]);
            } else {
                close("t", found.t);
            }
        }
    }
}

#[test]
fn judge_noise_vectors() {
    for vector in vectors("judge_noise") {
        let repeats: Vec<Vec<f64>> = vector["input"]["repeats"].as_array().unwrap().iter().map(floats).collect();
        let noise = judge_noise(&repeats).unwrap();
        near(&vector, "variance", noise.variance);
        near(&vector, "se", noise.standard_error.unwrap());
        near(&vector, "flip_rate", noise.flip_rate);
    }
}

#[test]
fn rogan_gladen_vectors() {
    for vector in vectors("rogan_gladen") {
        let number = |name: &str| vector["input"][name].as_f64().unwrap();
        let rates = JudgeRates {
            sensitivity: number("sens"),
            good: number("m_pos") as u64,
            specificity: number("spec"),
            bad: number("m_neg") as u64,
        };
        match rogan_gladen(number("p"), number("n") as u64, rates, 0.05) {
            None => assert!(vector["expected"].is_null(), "{}", vector["id"]),
            Some(corrected) => {
                near(&vector, "theta", corrected.level);
                near(&vector, "se", corrected.standard_error);
                near(&vector, "lower", corrected.lower);
                near(&vector, "upper", corrected.upper);
            }
        }
    }
}

#[test]
fn ppi_vectors() {
    for vector in vectors("ppi") {
        let input = &vector["input"];
        let rows = |name: &str| floats(&input[name]);
        let alpha = input["alpha"].as_f64().unwrap();
        let (corrected, lambda) = prediction_powered_mean(&rows("y"), &rows("f_lab"), &rows("f_unl"), alpha).unwrap();
        near(&vector, "lam", lambda);
        near(&vector, "theta", corrected.level);
        near(&vector, "se", corrected.standard_error);
        near(&vector, "lower", corrected.lower);
        near(&vector, "upper", corrected.upper);
    }
}

#[test]
fn paired_t_vectors() {
    for vector in vectors("paired_t") {
        let result = paired_t_test(&floats(&vector["input"]["d"]));
        match result.t {
            None => assert!(vector["expected"]["t"].is_null(), "{}", vector["id"]),
            Some(t) => near(&vector, "t", t),
        }
        near(&vector, "p_lower", result.p_lower);
        near(&vector, "p_two", result.p_two);
    }
}

#[test]
fn wilcoxon_vectors() {
    for vector in vectors("wilcoxon") {
        let zeros = if vector["input"]["zeros"] == "pratt" { Zeros::Pratt } else { Zeros::Dropped };
        let result = wilcoxon(&floats(&vector["input"]["d"]), zeros);
        near(&vector, "statistic_w_plus", result.positive);
        near(&vector, "p_lower", result.p_lower);
        near(&vector, "p_two", result.p_two);
    }
}

#[test]
fn clustered_se_vectors() {
    for vector in vectors("clustered_se") {
        let clusters: Vec<usize> = floats(&vector["input"]["clusters"]).iter().map(|id| *id as usize).collect();
        near(&vector, "se", clustered_standard_error(&floats(&vector["input"]["x"]), &clusters).unwrap());
    }
}

#[test]
fn bca_vectors() {
    for vector in vectors("bca") {
        let numbers = floats(&vector["input"]["d"]);
        let level = vector["input"]["level"].as_f64().unwrap();
        let seed = seed_for(42, vector["id"].as_str().unwrap());
        let (lower, upper) = bootstrap_interval(&numbers, level, 10_000, seed).unwrap();
        near(&vector, "lower", lower);
        near(&vector, "upper", upper);
        let (lower, upper) = mean_interval(&numbers, 0.0, (1.0 - level) / 2.0, 0.0, (-1.0, 1.0)).unwrap();
        assert!((lower - vector["expected"]["hall_lower"].as_f64().unwrap()).abs() < 1e-9, "{}", vector["id"]);
        assert!((upper - vector["expected"]["hall_upper"].as_f64().unwrap()).abs() < 1e-9, "{}", vector["id"]);
    }
}

/// A topic without a test would pass in silence.
#[test]
fn every_topic_has_a_test() {
    let folder = format!("{}/fixtures/stats", env!("CARGO_MANIFEST_DIR"));
    let here =
        [include_str!("paired.rs"), include_str!("plan.rs"), include_str!("rules.rs"), include_str!("library.rs")];
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let topic = name.trim_end_matches(".json");
        // Whole verdicts are the gate's.
        let known = topic == "gate" || here.iter().any(|text| text.contains(&format!("vectors(\"{topic}\")")));
        assert!(known, "no test reads fixtures/stats/{name}");
    }
}
