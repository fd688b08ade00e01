//! The paired comparison: units, test, interval (§4 to §6).

use super::super::*;
use super::*;

#[test]
fn sign_flip_vectors() {
    for vector in vectors("sign_flip") {
        let result = sign_flip(&integers(&vector["input"]["d"]).0);
        near(&vector, "p_mid", result.p_mid);
        near(&vector, "p_exact", result.p_exact);
        assert_eq!(result.method.word(), vector["expected"]["method"], "{}", vector["id"]);
    }
}

#[test]
fn mcnemar_vectors() {
    for vector in vectors("mcnemar") {
        let count = |name: &str| vector["input"][name].as_u64().unwrap();
        let result = mcnemar(count("breaks"), count("fixes"));
        near(&vector, "one_mid", result.p_mid);
        near(&vector, "one_exact", result.p_exact);
    }
}

#[test]
fn interval_vectors() {
    for vector in vectors("interval") {
        let input = &vector["input"];
        let (h, alpha) = (input["h"].as_f64().unwrap(), input["alpha"].as_f64().unwrap());
        match mean_interval(&floats(&input["u"]), h, alpha, 0.0, (-1.0, 1.0)) {
            None => assert!(vector["expected"]["lower"].is_null(), "{}", vector["id"]),
            Some((lower, upper)) => {
                near(&vector, "lower", lower);
                near(&vector, "upper", upper);
            }
        }
    }
}

#[test]
fn n_min_vectors() {
    for vector in vectors("n_min") {
        let number = |name: &str| vector["input"][name].as_f64().unwrap();
        near(&vector, "n_min", smallest_certifying_n(number("margin"), number("alpha")) as f64);
    }
}

#[test]
fn cluster_vectors() {
    for vector in vectors("clusters") {
        let (d, common) = integers(&vector["input"]["d"]);
        let scores: Vec<f64> = d.iter().map(|d| *d as f64 / common as f64).collect();
        let clusters = floats(&vector["input"]["clusters"]);
        let pairs: Vec<Pair> = scores
            .iter()
            .zip(&clusters)
            .map(|(score, cluster)| Pair {
                candidate: CaseMean::of(&[*score]).unwrap(),
                baseline: CaseMean::of(&[0.0]).unwrap(),
                cluster: Some(*cluster as usize),
            })
            .collect();
        let differences = differences(&pairs, 1.0, false).unwrap();
        let (want, over) = integers(&vector["expected"]["units"]);
        for (unit, want) in differences.units.iter().zip(&want) {
            assert!((unit - *want as f64 / over as f64).abs() < 1e-12, "{}", vector["id"]);
        }
        assert_eq!(differences.units.len(), want.len());
        near(&vector, "mean", differences.units.iter().sum::<f64>() / differences.units.len() as f64);
        near(&vector, "p_mid", sign_flip(&differences.integers).p_mid);
        let clusters: Vec<Option<usize>> = clusters.iter().map(|cluster| Some(*cluster as usize)).collect();
        for (unit, mean) in differences.units.iter().zip(cluster_means(&scores, &clusters)) {
            assert!((unit - mean).abs() < 1e-12);
        }
    }
}
