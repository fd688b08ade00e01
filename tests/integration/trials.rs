//! What the trials of a case come to (F41), in a real run.
#![cfg(unix)]

use serde_json::Value;

use crate::command::{check, folder, scoregate, verdict};

/// The second of three trials is wrong.
fn suite(rules: &str, trials: u32) -> String {
    let evaluators: String = ["mean", "median", "majority", "any", "all", "two", "hat"]
        .map(|name| format!("  {name}: {{ use: equals, value: \"yes\" }}\n"))
        .concat();
    format!(
        "version: 1\nname: trials\ndataset: {{ path: data.jsonl }}\n\
         targets:\n  app:\n    command:\n      stdin: none\n      argv: [sh, -c, 'if [ \"$1\" = 1 ]; then echo no; else echo yes; fi', sh, \"{{{{ trial }}}}\"]\n\
         evaluators:\n{evaluators}gate:\n  metrics:\n{rules}run: {{ trials: {trials} }}\n"
    )
}

#[test]
fn limits_read_what_the_suite_says_of_a_case_s_trials() {
    let words = [
        ("mean", "mean", 2.0 / 3.0),
        ("median", "median", 1.0),
        ("majority", "majority", 1.0),
        ("any", "any", 1.0),
        ("all", "all", 0.0),
        ("two", "2-of-3", 1.0),
        ("hat", "pass^2", 1.0 / 3.0),
    ];
    let rules: String =
        words.map(|(name, word, _)| format!("    {name}: {{ trials: {word}, min: 0.5, mode: point }}\n")).concat();
    let place = folder(&[("scoregate.yaml", &suite(&rules, 3)), ("data.jsonl", "{\"id\":\"a\",\"input\":\"?\"}\n")]);
    scoregate(place.path(), &["run"]);
    let verdict = verdict(place.path());
    let rules = verdict["rules"].as_array().expect("rules");
    for (name, _, expected) in words {
        let rule = rules.iter().find(|rule| rule["metric"] == name && rule["rule"] == "threshold").expect("the limit");
        let found = rule["current"].as_f64().expect("a level");
        assert!((found - expected).abs() < 1e-6, "{name}: {found}");
        assert_eq!(rule["verdict"], if expected >= 0.5 { "met" } else { "violated" }, "{name}");
    }
    assert_eq!(verdict["exit_code"], 1);
    let notes: Vec<&str> = verdict["notes"].as_array().expect("notes").iter().filter_map(Value::as_str).collect();
    assert!(notes.iter().any(|note| note.contains("two reads 2-of-3 of a case's trials")), "{notes:?}");
}

#[test]
fn a_rule_that_the_trials_do_not_suffice_for_is_found_before_the_first_call() {
    for (word, trials, needed) in [("2-of-3", 1, 3), ("2-of-3", 4, 3), ("pass^5", 3, 5)] {
        let rules = format!("    two: {{ trials: {word}, min: 0.5 }}\n");
        let place =
            folder(&[("scoregate.yaml", &suite(&rules, trials)), ("data.jsonl", "{\"id\":\"a\",\"input\":\"?\"}\n")]);
        let said = check(place.path(), &["run"], 2);
        assert!(said.contains(&format!("set `run.trials: {needed}`")), "{said}");
        assert!(said.contains("scoregate.yaml:"), "{said}");
    }
    let place = folder(&[
        ("scoregate.yaml", &suite("    two: { trials: most }\n", 3)),
        ("data.jsonl", "{\"id\":\"a\",\"input\":\"?\"}\n"),
    ]);
    let said = check(place.path(), &["check"], 2);
    assert!(said.contains("`most` says nothing about trials"), "{said}");
}

/// One answer of three is not the evidence of three.
#[test]
fn a_case_is_measured_by_half_of_its_trials_at_least() {
    let suite = "version: 1\nname: trials\ndataset: { path: data.jsonl }\n\
         targets:\n  app:\n    command:\n      stdin: none\n      argv: [sh, -c, 'test \"$1\" = 0 && echo yes', sh, \"{{ trial }}\"]\n\
         evaluators:\n  equals: { value: \"yes\" }\ngate:\n  metrics:\n    equals: { min: 0.5, mode: point }\nrun: { trials: 3, retry: { attempts: 1 } }\n";
    let rows: String = (0..4).map(|at| format!("{{\"id\":\"q{at}\",\"input\":\"?\"}}\n")).collect();
    let place = folder(&[("scoregate.yaml", suite), ("data.jsonl", &rows)]);
    let said = check(place.path(), &["run"], 3);
    assert!(said.contains("only 0 of 4 cases have a score in half of their trials for equals"), "{said}");
    std::fs::write(place.path().join("scoregate.yaml"), suite.replace("= 0 &&", "!= 0 &&")).expect("a file");
    check(place.path(), &["run"], 0);
}

/// A case is scored by the trials that are there; how many are not is said.
#[test]
fn lost_trials_stand_in_the_totals() {
    let suite = "version: 1\nname: trials\ndataset: { path: data.jsonl }\n\
         targets:\n  app:\n    command:\n      stdin: none\n      argv: [sh, -c, 'test \"$1\" = 0 && echo yes', sh, \"{{ trial }}\"]\n\
         evaluators:\n  equals: { value: \"yes\" }\ngate:\n  metrics:\n    equals: { min: 0.5 }\nrun: { trials: 2, retry: { attempts: 1 } }\n";
    let rows: String = (0..4).map(|at| format!("{{\"id\":\"q{at}\",\"input\":\"?\"}}\n")).collect();
    let place = folder(&[("scoregate.yaml", suite), ("data.jsonl", &rows)]);
    let said = check(place.path(), &["run"], 0);
    assert!(said.contains("4 of 4 scores measured (100%), 4 of 8 trials lost"), "{said}");
    assert!(said.contains("passed with a warning: 4 of 8 trials were lost"), "{said}");
    assert_eq!(verdict(place.path())["trials"], 1.0);
}
