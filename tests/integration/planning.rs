//! `power` before a run, `drift` after many.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::command::{check, code, err, folder, out, scoregate};

fn json_of(place: &Path, arguments: &[&str]) -> Value {
    let output = scoregate(place, arguments);
    assert_eq!(code(&output), 0, "{}", err(&output));
    serde_json::from_str(&out(&output)).expect("JSON")
}

fn near(value: &Value, expected: f64) {
    let value = value.as_f64().unwrap_or_else(|| panic!("{value} is no number"));
    assert!((value - expected).abs() < 5e-4 * expected.abs().max(1.0), "{value}, not {expected}");
}

/// Flips of 10 % are a variance of 0.05 within a case; of one trial against five runs √(0.05·(1 + 1/5)).
#[test]
fn power_from_stated_noise_is_the_formula() {
    let place = folder(&[]);
    let plan = json_of(
        place.path(),
        &["power", "--flip", "0.1", "--cases", "200", "--runs", "5", "--drop", "5", "--format", "json"],
    );
    let plan = &plan["plans"][0];
    near(&plan["sd"], 0.244_949);
    near(&plan["alpha"], 0.04);
    near(&plan["detectable_drop"], 0.044_900);
    assert_eq!(plan["drops"][0]["cases"], 162);
    assert_eq!(plan["drops"][0]["trials"], 1);
    near(&plan["drops"][0]["chance"], 0.872_2);
    // With one baseline run all of alpha is the mean's, and the run itself is half of the noise.
    let one = json_of(
        place.path(),
        &["power", "--flip", "0.1", "--cases", "200", "--runs", "1", "--drop", "5", "--format", "json"],
    );
    near(&one["plans"][0]["sd"], 0.316_228);
    near(&one["plans"][0]["alpha"], 0.05);
    assert_eq!(one["plans"][0]["drops"][0]["baseline_runs"], 2);
    let said = out(&scoregate(place.path(), &["power", "--sd", "0.3", "--drop", "2"]));
    assert!(said.contains("2 points") && said.contains("200 cases, 1 trial, 5 baseline runs"), "{said}");
    for wrong in [
        &["power", "--sd", "1.5"][..],
        &["power", "--flip", "0.6"],
        &["power", "--sd", "0.1", "--drop", "0"],
        &["power"],
    ] {
        check(place.path(), wrong, 2);
    }
}

/// Lines of case, metric and value for runs that each hit other cases.
fn runs(count: usize, cases: usize) -> String {
    let mut text = String::new();
    for run in 0..count {
        for case in 0..cases {
            let value = u8::from(!(case * 7 + run * 13).is_multiple_of(10));
            let line = json!({"case": format!("c{case}"), "metric": "m", "value": value, "run": format!("r{run}")});
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

#[test]
fn power_learns_from_a_baseline() {
    let place = folder(&[("pool.jsonl", &runs(5, 120)), ("one.jsonl", &runs(1, 120))]);
    let plan = json_of(place.path(), &["power", "pool.jsonl", "--format", "json"]);
    let plan = &plan["plans"][0];
    assert_eq!(
        (plan["metric"].as_str(), plan["cases"].as_u64(), plan["baseline_runs"].as_u64()),
        (Some("m"), Some(120), Some(5))
    );
    assert!(plan["within_variance"].as_f64().is_some_and(|variance| variance > 0.0) && plan["note"].is_null());
    let drops = plan["drops"].as_array().expect("drops");
    let cases: Vec<u64> = drops.iter().filter_map(|row| row["cases"].as_u64()).collect();
    assert!(cases.is_sorted_by(|left, right| left >= right) && cases.len() == 5, "{cases:?}");
    let said = out(&scoregate(place.path(), &["power", "one.jsonl"]));
    assert!(said.contains("upper bound"), "{said}");
    let said = check(place.path(), &["power", "gone.jsonl"], 2);
    assert!(said.contains("gone.jsonl"), "{said}");
}

/// A log of inspect_ai of that day in which this share of the 50 samples is right, give or take a few.
fn log(day: usize, right: usize) -> String {
    let sample = |id: usize| {
        let grade = if (id * 3 + day) % 50 < right + day % 2 { "C" } else { "I" };
        json!({"id": id, "epoch": 1, "input": format!("{id}?"), "target": "y", "scores": {"match": {"value": grade}}})
    };
    let samples: Vec<Value> = (0..50).map(sample).collect();
    let revision = json!({"type": "git", "commit": format!("abcdef{day:02}")});
    let eval = json!({"run_id": format!("day-{day}"), "created": format!("2026-11-{:02}T06:00:00+00:00", day + 1), "model": "m", "revision": revision});
    json!({"version": 2, "status": "success", "eval": eval, "samples": samples}).to_string()
}

#[test]
fn drift_names_the_run_and_the_commit_where_the_level_changed() {
    let logs: Vec<(String, String)> =
        (0..10).map(|day| (format!("{day}.json"), log(day, if day < 6 { 45 } else { 35 }))).collect();
    let files: Vec<(&str, &str)> = logs.iter().map(|(name, text)| (&**name, &**text)).collect();
    let place = folder(&files);
    // Whatever order the shell gives them in.
    let mut names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    names.reverse();
    let with = |more: &[&'static str]| [&["drift"][..], &names, more].concat();
    let said = check(place.path(), &with(&[]), 0);
    for words in ["10 runs", "match (50 cases)", "fell by", "day-6", "commit abcdef06", "2026-11-07"] {
        assert!(said.contains(words), "{words} is not in\n{said}");
    }
    let found: Value =
        serde_json::from_str(&out(&scoregate(place.path(), &with(&["--format", "json"])))).expect("JSON");
    let change = &found["series"][0]["changes"][0];
    assert_eq!((change["index"].as_u64(), change["run"]["commit"].as_str()), (Some(6), Some("abcdef06")));
    near(&change["difference"], -0.2);
    check(place.path(), &with(&["--fail"]), 1);
    check(place.path(), &with(&["--fail", "--min-effect", "50"]), 0);
    check(place.path(), &with(&["--alpha", "0.7"]), 2);
    // Too few runs show nothing, which is not green where something was to be decided.
    check(place.path(), &["drift", "0.json", "9.json"], 0);
    check(place.path(), &["drift", "0.json", "9.json", "--fail"], 3);
    let said = check(place.path(), &["drift", "0.json", "gone.json"], 2);
    assert!(said.contains("gone.json"), "{said}");
}

/// Many drops that each are too small to be seen add up, and the anchor shows it.
#[test]
fn a_slide_of_small_drops_shows_against_the_anchor() {
    let logs: Vec<(String, String)> = (0..5).map(|day| (format!("{day}.json"), log(day, 46 - 4 * day))).collect();
    let files: Vec<(&str, &str)> = logs.iter().map(|(name, text)| (&**name, &**text)).collect();
    let place = folder(&files);
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    let said = check(place.path(), &[&["drift"][..], &names, &["--anchor", "0.json", "--fail"]].concat(), 1);
    assert!(said.contains("WORSE than the anchor day-0"), "{said}");
    let said = check(place.path(), &["drift", "0.json", "1.json", "--anchor", "0.json"], 0);
    assert!(said.contains("not worse than the anchor"), "{said}");
}

/// Of pass and fail with one trial on either side: cases break with 0.07625 and are fixed with 0.02625, which is a drop of 5 points at a variance
/// of 0.1. The expected numbers are sums over all counts of cases that differ (Python, `math.comb`).
#[test]
fn power_for_pass_and_fail_is_the_test_s_own() {
    let place = folder(&[]);
    let plan = |runs: &str| {
        let arguments = ["power", "--flip", "0.1", "--cases", "200", "--runs", runs, "--drop", "5", "--format", "json"];
        json_of(place.path(), &arguments)["plans"][0]["drops"][0].clone()
    };
    let exact = plan("1");
    assert_eq!(exact["method"], "exact");
    assert!((exact["chance"].as_f64().expect("a chance") - 0.730_685_469).abs() < 1e-8, "{exact}");
    assert_eq!(exact["cases"], 241);
    assert_eq!(plan("5")["method"], "normal");
}
