//! What accepts a run, and what must not: places that do not exist, levels that nobody vouches for, files that are none. Real runs of the real
//! binary.

use std::path::Path;

use crate::command::{check, checked, code, err, folder, scoregate, verdict};

/// An application that says what `index` holds, and notes that it was asked.
fn suite(gate: &str) -> String {
    let app = "command: { stdin: none, argv: [sh, -c, 'cat index; echo asked >> log'] }";
    format!(
        "version: 1\nname: accepting\ndataset: {{ path: data.jsonl }}\ntargets:\n  app:\n    {app}\n  old:\n    {app}\n\
         evaluators:\n  contains: {{ values: [\"yes\"] }}\n{gate}"
    )
}

fn cases(count: usize) -> String {
    (0..count).map(|at| format!("{{\"id\":\"q{at:03}\",\"input\":\"{at}?\",\"reference\":\"yes\"}}\n")).collect()
}

fn place(gate: &str, count: usize) -> tempfile::TempDir {
    folder(&[("scoregate.yaml", &suite(gate)), ("data.jsonl", &cases(count)), ("index", "yes\n")])
}

fn asked(place: &Path) -> usize {
    std::fs::read_to_string(place.join("log")).map_or(0, |log| log.lines().count())
}

/// Before anything is paid: no run could ever be counted there.
#[test]
fn refresh_without_a_stored_baseline_measures_nothing() {
    let gates = [
        ("gate:\n  baseline: { mode: concurrent, target: old }\n", &[][..], "has no stored baseline"),
        ("gate:\n  baseline: { mode: concurrent, target: old }\n", &["--to", "base.jsonl"], "has no stored baseline"),
        ("gate:\n  baseline: { from: none }\n", &[], "asks for no baseline"),
        ("", &[], "asks for no baseline"),
        (
            "gate:\n  baseline: { path: base.jsonl, digest: 0123456789abcdef0123456789abcdef }\n",
            &[],
            "with the digest 0123456789abcdef0123456789abcdef and no other",
        ),
    ];
    for (gate, more, words) in gates {
        let place = place(gate, 4);
        let said = checked(&scoregate(place.path(), &[&["baseline", "refresh"], more].concat()), 2);
        assert!(said.contains(words), "{gate}: {said}");
        assert_eq!(asked(place.path()), 0, "{gate}: nothing is measured");
    }
    // Where the command line says where to, the suite need not.
    let place = place("gate:\n  baseline: { from: none }\n", 4);
    let refreshed = scoregate(place.path(), &["baseline", "refresh", "--to", "base.jsonl", "--runs", "2"]);
    assert_eq!(code(&refreshed), 0, "{}", err(&refreshed));
    assert_eq!(asked(place.path()), 2 * 2 * 4, "two runs of two targets");
}

/// What a gate would not let pass is no run of a baseline, whatever its exit code is.
#[test]
fn refresh_adds_no_run_that_the_gate_could_not_decide() {
    let gate = "gate:\n  baseline: { path: base.jsonl, runs: 2 }\n  judges: { contains: { calibration: judge.json, min_kappa: 0.6 } }\n";
    let place = place(gate, 4);
    let said = checked(&scoregate(place.path(), &["baseline", "refresh"]), 3);
    assert!(said.contains("the run was not added") && said.contains("judge of contains"), "{said}");
    assert!(!place.path().join("base.jsonl").exists(), "{said}");
    std::fs::write(place.path().join("scoregate.yaml"), suite(gate.split("  judges").next().expect("a gate")))
        .expect("a file");
    let refreshed = scoregate(place.path(), &["baseline", "refresh"]);
    assert_eq!(code(&refreshed), 0, "that there is no baseline yet is no reason: {}", err(&refreshed));
}

#[test]
fn a_ratchet_that_is_not_known_lets_nothing_in() {
    let place = place("gate:\n  baseline: { path: base.jsonl, missing: warn, ratchet: 0.05 }\n", 30);
    let file = place.path().join("base.jsonl");
    check(place.path(), &["run", "--out", "first"], 0);
    let update = |results: &str, more: &[&str]| {
        scoregate(place.path(), &[&["baseline", "update", results, "--to", "base.jsonl"], more].concat())
    };
    assert_eq!(code(&update("first/results.jsonl", &["--suite", "gone.yaml"])), 0, "there is nothing to lower");
    let before = std::fs::read(&file).expect("a baseline");
    std::fs::write(place.path().join("index"), "no\n").expect("a file");
    let worse = scoregate(place.path(), &["run", "--out", "worse", "--ledger", "off"]);
    assert!(matches!(code(&worse), 0 | 1), "{}", err(&worse));
    let other = suite("").replace("name: accepting", "name: other");
    for (name, text) in [("other.yaml", other.as_str()), ("broken.yaml", "version: ["), ("gone.yaml", "")] {
        if !text.is_empty() {
            std::fs::write(place.path().join(name), text).expect("a file");
        }
        let said = checked(&update("worse/results.jsonl", &["--suite", name]), 2);
        assert!(said.contains("may be lowered is not known") && said.contains("--allow-lower"), "{name}: {said}");
        assert_eq!(std::fs::read(&file).expect("a baseline"), before, "{name}");
    }
    assert_eq!(code(&update("worse/results.jsonl", &["--suite", "other.yaml", "--ratchet", "0.1"])), 1);
    assert_eq!(code(&update("worse/results.jsonl", &["--suite", "other.yaml", "--allow-lower"])), 0);
}

/// What was asked of the base's system in vain was paid for, too.
#[test]
fn suspects_that_the_budget_cuts_short_are_counted() {
    let gate =
        "gate:\n  confirm: { target: old }\n  baseline: { path: base.jsonl, missing: warn }\nrun: { workers: 1 }\n";
    let place = place(gate, 30);
    check(place.path(), &["run"], 0);
    let update = scoregate(place.path(), &["baseline", "update", "scoregate-out/results.jsonl"]);
    assert_eq!(code(&update), 0, "{}", err(&update));
    std::fs::write(place.path().join("index"), "no\n").expect("a file");
    let short = gate.replace("workers: 1", "workers: 1, budget: { requests: 33 }");
    std::fs::write(place.path().join("scoregate.yaml"), suite(&short)).expect("a file");
    std::fs::remove_file(place.path().join("log")).expect("a log");
    let said = check(place.path(), &["run", "--ledger", "off"], 1);
    assert_eq!(asked(place.path()), 33, "{said}");
    assert!(said.contains("it excuses nothing"), "{said}");
    assert_eq!(verdict(place.path())["calls"]["requests"], 33, "{said}");
}

/// A pipe would wait for its writer.
#[cfg(unix)]
#[test]
fn a_calibration_or_an_anchor_that_is_no_file_is_not_opened() {
    let gate = "gate:\n  judges: { contains: { calibration: judge.json, min_kappa: 0.6 } }\n  anchor: { path: release.jsonl }\n";
    let place = place(gate, 4);
    for name in ["judge.json", "release.jsonl"] {
        let made = std::process::Command::new("mkfifo").arg(place.path().join(name)).status().expect("mkfifo");
        assert!(made.success());
    }
    let said = check(place.path(), &["run"], 3);
    for name in ["judge.json", "release.jsonl"] {
        assert!(said.contains(&format!("{name}: it is no plain file")), "{name}: {said}");
    }
}
