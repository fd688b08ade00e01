//! A plan of trials in a real run (F42): what is asked, when, and that nothing is asked twice.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::command::{check, folder, outcomes, results, scoregate, verdict};

const CASES: usize = 60;

/// The first `bad` cases are wrong in their first trial; every question is noted.
fn place(rules: &str, trials: &str) -> tempfile::TempDir {
    let suite = format!(
        "version: 1\nname: looks\ndataset: {{ path: data.jsonl }}\n\
         targets:\n  app:\n    command:\n      stdin: none\n      argv: [sh, -c, 'echo \"$2 $1\" >> asked; if [ \"$1\" = 0 ] && [ \"$2\" -le \"$(cat bad)\" ]; then echo no; else echo yes; fi', sh, \"{{{{ trial }}}}\", \"{{{{ input }}}}\"]\n\
         evaluators:\n  right: {{ use: equals, value: \"yes\" }}\n\
         gate:\n  metrics: {{ right: {{ margin: 0.01 }} }}\n  baseline: {{ path: base.jsonl, missing: warn }}\n{rules}\
         run: {{ trials: {trials} }}\n"
    );
    let data: String = (1..=CASES).map(|at| format!("{{\"id\":\"q{at:02}\",\"input\":\"{at}\"}}\n")).collect();
    let place = folder(&[("scoregate.yaml", &suite), ("data.jsonl", &data), ("bad", "0")]);
    check(place.path(), &["run", "--ledger", "off"], 0);
    let accepted =
        scoregate(place.path(), &["baseline", "update", "scoregate-out/results.jsonl", "--to", "base.jsonl"]);
    assert!(accepted.status.success(), "{accepted:?}");
    place
}

/// Runs with so many bad cases; returns what was said and every (case, trial) that was asked.
fn run(place: &Path, bad: usize) -> (String, Vec<String>) {
    std::fs::write(place.join("bad"), bad.to_string()).expect("a file");
    std::fs::remove_file(place.join("asked")).expect("an earlier run asked");
    let said = check(place, &["run", "--ledger", "off"], 0);
    let asked = std::fs::read_to_string(place.join("asked")).expect("questions");
    let asked: Vec<String> = asked.lines().map(str::to_owned).collect();
    assert_eq!(asked.iter().collect::<BTreeSet<_>>().len(), asked.len(), "nothing is asked twice");
    (said, asked)
}

fn trials_of(outcomes: &[Value]) -> Vec<(String, u64)> {
    let entry =
        |line: &Value| (line["case"].as_str().expect("a case").to_owned(), line["trial"].as_u64().expect("a trial"));
    outcomes.iter().map(entry).collect()
}

#[test]
fn a_suspicious_first_look_asks_every_case_up_to_three_times() {
    let place = place("", "[1, 3]");
    let (said, asked) = run(place.path(), 3);
    assert_eq!(asked.len(), CASES * 3);
    assert!(said.contains("the first 1 trial of a case do not settle it (right: adjusted p 0.062"), "{said}");
    let found = trials_of(&outcomes(place.path()));
    let expected: Vec<(String, u64)> =
        (1..=CASES).flat_map(|at| (0..3).map(move |trial| (format!("q{at:02}"), trial))).collect();
    assert_eq!(found, expected, "in the data set's order, a case's trials together");
    let lines = results(place.path());
    assert_eq!((&lines[0]["trials"], &lines[lines.len() - 1]["complete"]), (&Value::from(3), &Value::from(true)));
    let verdict = verdict(place.path());
    assert_eq!((&verdict["trials"], &verdict["looks"]["taken"]), (&Value::from(3.0), &Value::from(2)));
    assert_eq!(verdict["exit_code"], 0);
    // The stored results say the same.
    let again =
        check(place.path(), &["compare", "scoregate-out/results.jsonl", "base.jsonl", "--suite", "scoregate.yaml"], 0);
    assert!(again.contains("trials [1, 3]: decided on 3 trials a case"), "{again}");
}

#[test]
fn without_a_sign_of_a_drop_every_case_is_asked_once() {
    let place = place("", "[1, 3]");
    let (_, asked) = run(place.path(), 0);
    assert_eq!(asked.len(), CASES);
    assert_eq!(verdict(place.path())["trials"], 1.0);
}

#[test]
fn a_failed_must_pass_case_gets_two_more_attempts_that_feed_nothing_else() {
    let place = place("  must_pass: { ids: [q01] }\n", "1");
    let (said, asked) = run(place.path(), 1);
    assert_eq!(asked.len(), CASES + 2);
    assert!(said.contains("1 must-pass case failed and may be tried twice more"), "{said}");
    assert_eq!(outcomes(place.path()).len(), CASES + 2);
    let verdict = verdict(place.path());
    let rule = |name: &str| {
        let rules = verdict["rules"].as_array().expect("rules");
        rules.iter().find(|rule| rule["rule"] == name).cloned().expect("the rule")
    };
    assert_eq!(rule("must_pass")["verdict"], "met");
    assert_eq!(rule("not_worse")["down"], 1, "the first trial is what is compared");
    assert_eq!(verdict["trials"], 1.0);
}
