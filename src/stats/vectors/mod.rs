//! Every reference vector of `fixtures/stats`, but for whole verdicts, which the gate tests. The vectors come from scipy and
//! statsmodels.

mod library;
mod paired;
mod plan;
mod rules;

use serde_json::Value;

use super::{SCALE, decimal, exact};

fn vectors(topic: &str) -> Vec<Value> {
    let path = format!("{}/fixtures/stats/{topic}.json", env!("CARGO_MANIFEST_DIR"));
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let vectors = file["vectors"].as_array().unwrap().clone();
    assert_eq!(vectors.len() as u64, file["count"].as_u64().unwrap());
    vectors
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn near(vector: &Value, name: &str, got: f64) {
    let want = vector["expected"][name].as_f64().unwrap();
    let tolerance = vector["tol"].as_f64().unwrap();
    assert!((got - want).abs() <= tolerance, "{}: {name} is {got}, not {want}", vector["id"]);
}

/// "-7/15" or "0.25" → a fraction.
fn fraction(text: &str) -> (i128, i128) {
    if let Some((numerator, denominator)) = text.split_once('/') {
        return (numerator.parse().unwrap(), denominator.parse().unwrap());
    }
    (decimal(text.parse().unwrap()).unwrap(), SCALE)
}

/// Fractions over their common denominator.
fn integers(texts: &Value) -> (Vec<i128>, i128) {
    let fractions: Vec<(i128, i128)> =
        texts.as_array().unwrap().iter().map(|text| fraction(text.as_str().unwrap())).collect();
    let mut common = 1;
    for (_, denominator) in &fractions {
        common *= denominator / exact::gcd(common, *denominator);
    }
    (fractions.iter().map(|(numerator, denominator)| numerator * (common / denominator)).collect(), common)
}

fn text(vector: &Value, name: &str) -> String {
    vector["expected"][name].as_str().unwrap().to_owned()
}
