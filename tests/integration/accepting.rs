//! What becomes a baseline, and what does not: a run that measured too little, lost a few answers, or cannot be compared with the last one.

use std::fs;
use std::path::Path;

use scoregate::store::read_baseline;
use serde_json::json;

use crate::command::{check, code, err, folder, scoregate};

/// An application that says what a file says, and fails without it.
const PROGRAM: &str = "version: 1\nname: accepting\ndataset: { path: data.jsonl }\ntargets:\n  app:\n    \
     command: { stdin: none, argv: [sh, -c, 'echo asked >> log; cat index'] }\nevaluators:\n  contains: { values: [\"yes\"] }\n\
     run: { retry: { attempts: 1 }, ledger: { mode: off } }\n";
const RECORDED: &str = "version: 1\nname: accepting\ndataset: { path: data.jsonl }\nevaluators:\n  exact_match: {}\n";

/// Cases with recorded answers but for those that `lost` says.
fn rows(name: &str, count: usize, lost: impl Fn(usize) -> bool) -> String {
    let row = |at: usize| {
        let mut row = json!({ "id": format!("{name}{at:02}"), "input": format!("{at}?"), "reference": "yes" });
        if !lost(at) {
            row["answer"] = json!("yes");
        }
        format!("{row}\n")
    };
    (0..count).map(row).collect()
}

fn with(suite: &str, gate: &str, data: &str) -> tempfile::TempDir {
    folder(&[("scoregate.yaml", &format!("{suite}gate:\n{gate}")), ("data.jsonl", data), ("index", "yes\n")])
}

/// A command that ends well and says what it likes.
fn fine(place: &Path, arguments: &[&str]) {
    let output = scoregate(place, arguments);
    assert_eq!(code(&output), 0, "{}", err(&output));
}

fn kept(place: &Path) -> Vec<u8> {
    fs::read(place.join("base.jsonl")).expect("a baseline")
}

#[test]
fn a_run_in_which_nothing_was_measured_is_no_baseline() {
    let place =
        with(PROGRAM, "  baseline: { path: base.jsonl, ratchet: 0.01, missing: warn }\n", &rows("q", 20, |_| true));
    check(place.path(), &["run"], 0);
    fine(place.path(), &["baseline", "update", "scoregate-out/results.jsonl"]);
    let before = kept(place.path());
    fs::remove_file(place.path().join("index")).expect("a file");
    check(place.path(), &["run", "--out", "down"], 1);
    let update = ["baseline", "update", "down/results.jsonl"];
    for more in [&[][..], &["--add"], &["--allow-lower"], &["--to", "base.jsonl", "--suite", "none.yaml"]] {
        let said = check(place.path(), &[&update[..], more].concat(), 3);
        assert!(said.contains("20 of 20 cases have no score for contains") && said.contains("run again"), "{said}");
        assert_eq!(kept(place.path()), before);
    }
}

#[test]
fn an_accepted_run_says_how_many_answers_it_lost_and_may_lose_what_the_gate_allows() {
    let few = |at: usize| at == 7;
    let many = |at: usize| at >= 10;
    let gate = "  baseline: { path: base.jsonl, missing: warn }\n";
    let place = with(RECORDED, gate, &rows("q", 60, few));
    check(place.path(), &["run"], 0);
    let update = ["baseline", "update", "scoregate-out/results.jsonl"];
    let accepted = scoregate(place.path(), &update);
    assert!(err(&accepted).contains("note: 1 of 60 cases had no answer in this run (q07)"), "{}", err(&accepted));
    assert_eq!(code(&accepted), 0);
    let before = kept(place.path());
    fs::write(place.path().join("data.jsonl"), rows("q", 60, many)).expect("a file");
    let _red = scoregate(place.path(), &["run"]);
    let said = check(place.path(), &update, 3);
    assert!(said.contains("only 10 of 60 cases have a score for exact_match (50 no_answer)"), "{said}");
    assert_eq!(kept(place.path()), before);
    fs::write(place.path().join("scoregate.yaml"), format!("{RECORDED}gate:\n  min_measured: 0.1\n{gate}"))
        .expect("a file");
    let allowed = scoregate(place.path(), &update);
    assert!(err(&allowed).contains("note: 50 of 60 cases had no answer"), "{}", err(&allowed));
    assert_eq!(code(&allowed), 0);
}

#[test]
fn refresh_adds_no_run_that_measured_too_little_even_as_the_first() {
    let place = with(PROGRAM, "  baseline: { path: base.jsonl, runs: 2 }\n", &rows("q", 4, |_| true));
    fs::remove_file(place.path().join("index")).expect("a file");
    let said = check(place.path(), &["baseline", "refresh"], 3);
    assert!(said.contains("the run was not added") && said.contains("4 of 4 cases have no score"), "{said}");
    assert!(!place.path().join("base.jsonl").exists());
    fs::write(place.path().join("index"), "yes\n").expect("a file");
    fine(place.path(), &["baseline", "refresh"]);
    assert_eq!(read_baseline(&place.path().join("base.jsonl"), "base.jsonl").expect("a baseline").runs.len(), 2);
}

#[test]
fn refresh_asks_nothing_where_the_data_set_is_filtered() {
    let suite = PROGRAM.replace("path: data.jsonl", "path: data.jsonl, where: \"id == 'q01'\"");
    let place = with(&suite, "  baseline: { path: base.jsonl }\n", &rows("q", 4, |_| true));
    let said = check(place.path(), &["baseline", "refresh"], 2);
    assert!(said.contains("a filtered run cannot be a baseline") && said.contains("`where`"), "{said}");
    assert!(!place.path().join("log").exists(), "the application was asked");
}

#[test]
fn the_ratchet_takes_nothing_that_it_cannot_compare() {
    let gate = "  baseline: { path: base.jsonl, ratchet: 0.01, missing: warn }\n";
    let place = with(RECORDED, gate, &rows("q", 20, |_| false));
    check(place.path(), &["run"], 0);
    let update = ["baseline", "update", "scoregate-out/results.jsonl"];
    fine(place.path(), &update);
    let before = kept(place.path());
    let tried = |why: &str| {
        let _not_green = scoregate(place.path(), &["run"]);
        let said = check(place.path(), &update, 1);
        assert!(said.contains(why) && said.contains("--allow-lower"), "{said}");
        assert_eq!(kept(place.path()), before);
    };
    fs::write(place.path().join("data.jsonl"), rows("other", 20, |_| false)).expect("a file");
    tried("exact_match has no score on a case that both have unchanged");
    fs::write(place.path().join("data.jsonl"), rows("q", 20, |_| false)).expect("a file");
    let renamed = RECORDED.replace("exact_match: {}", "same: { use: exact_match }");
    fs::write(place.path().join("scoregate.yaml"), format!("{renamed}gate:\n{gate}")).expect("a file");
    tried("exact_match is not in this run");
    fine(place.path(), &["baseline", "update", "scoregate-out/results.jsonl", "--allow-lower"]);
    assert_ne!(kept(place.path()), before);
}

#[test]
fn the_next_step_names_the_folder_of_the_run_and_an_anchor_is_no_baseline() {
    let place = with(RECORDED, "  baseline: { path: base.jsonl }\n", &rows("q", 20, |_| false));
    let said = check(place.path(), &["run", "--out", "elsewhere"], 3);
    assert!(said.contains("baseline update elsewhere/results.jsonl --to") && !said.contains("scoregate-out"), "{said}");
    let place = with(RECORDED, "  anchor: { path: release.jsonl }\n", &rows("q", 20, |_| false));
    let said = check(place.path(), &["run"], 0);
    assert!(said.contains("where `gate.anchor.path` says") && !said.contains("baseline update"), "{said}");
}
