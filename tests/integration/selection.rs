//! `--only-failed`, `--only-changed`, `--tag`, `--case`, `--sample`: some of the cases, and a verdict that says so.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crate::chat_server::ChatServer;
use crate::command::{check, folder, out, outcomes, report, results, scoregate, verdict};

const CASES: usize = 20;

/// Cases 0 to 11 are answered right, 12 to 16 wrong, 17 to 19 with an error of the server.
fn answer(_: usize, body: &str) -> (&'static str, String) {
    let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
    let at: usize = body["q"].as_str().and_then(|text| text.trim_end_matches('?').parse().ok()).expect("a number");
    match at {
        0..=11 | 20 => ("200 OK", serde_json::json!({"answer": "yes"}).to_string()),
        12..=16 => ("200 OK", serde_json::json!({"answer": "no"}).to_string()),
        _ => ("400 Bad Request", "{}".to_owned()),
    }
}

fn rows(cases: impl Iterator<Item = usize>) -> String {
    cases.map(|at| format!("{{\"id\":\"q{at}\",\"input\":\"{at}?\",\"reference\":\"yes\"}}\n")).collect()
}

/// The cases that the last run asked.
fn asked(place: &Path) -> BTreeSet<String> {
    outcomes(place).iter().map(|line| line["case"].as_str().expect("an id").to_owned()).collect()
}

fn named(cases: std::ops::Range<usize>) -> BTreeSet<String> {
    cases.map(|at| format!("q{at}")).collect()
}

#[test]
fn rn_rerun_failing() {
    let server = ChatServer::start(Duration::ZERO, answer);
    let suite = format!(
        "version: 1\nname: again\ndataset: {{ path: data.jsonl }}\ntargets:\n  app:\n    http: {{ url: \"{}/q\", body: {{ q: \"{{{{ input }}}}\" }}, answer: $.answer }}\nevaluators:\n  exact_match: {{}}\n",
        server.url
    );
    let place = folder(&[("scoregate.yaml", &suite), ("data.jsonl", &rows(0..CASES))]);
    scoregate(place.path(), &["run", "--out", "earlier"]);
    // Another order, and one case more.
    std::fs::write(place.path().join("data.jsonl"), rows((0..=CASES).rev())).expect("a file");
    for (flag, expected) in
        [("--only-failed-scores", named(12..17)), ("--only-errors", named(17..20)), ("--only-failed", named(12..20))]
    {
        let before = server.with(|counts| counts.requests);
        let output = scoregate(place.path(), &["run", flag, "earlier/results.jsonl", "--ledger", "off"]);
        assert_eq!(asked(place.path()), expected, "{flag}: {}", out(&output));
        // Nobody else was called.
        assert_eq!(server.with(|counts| counts.requests) - before, expected.len(), "{flag}");
        let words = format!("selection: {} of 21 cases", expected.len());
        let verdict = verdict(place.path());
        assert!(verdict["headline"].as_str().is_some_and(|text| text.contains(&words)), "{verdict}");
        assert_eq!(verdict["selection"]["of"], 21);
        assert!(report(place.path(), "comment.md").contains(&words));
        assert!(out(&output).contains(&words));
    }
}

const SUITE: &str = "version: 1
name: some
dataset: { path: data.jsonl }
evaluators:
  exact_match: {}
gate:
  must_pass: { tags: [critical], ids: [c0] }
  baseline: { path: base.jsonl }
";

fn tagged() -> String {
    let row = |at: usize| {
        let tag = match at {
            0..=1 => "critical",
            2..=11 => "billing",
            _ => "search",
        };
        format!(
            "{{\"id\":\"c{at}\",\"input\":\"{at}?\",\"reference\":\"yes\",\"answer\":\"yes\",\"tags\":[\"{tag}\"]}}\n"
        )
    };
    (0..100).map(row).collect()
}

/// A suite with a baseline of the same answers.
fn project() -> tempfile::TempDir {
    let first = SUITE.replace("  baseline: { path: base.jsonl }\n", "");
    let place = folder(&[("scoregate.yaml", SUITE), ("first.yaml", &first), ("data.jsonl", &tagged())]);
    check(place.path(), &["run", "first.yaml", "--out", "first"], 0);
    let output = scoregate(place.path(), &["baseline", "update", "first/results.jsonl", "--to", "base.jsonl"]);
    assert!(output.status.success());
    place
}

/// Cases that were left out on purpose are missed by no rule: coverage, overlap, must-pass.
#[test]
fn a_selection_passes_on_its_own_and_says_what_it_is() {
    let place = project();
    let said = check(place.path(), &["run", "--tag", "billing"], 0);
    assert!(said.contains("selection: 10 of 100 cases") && said.contains("--tag billing"), "{said}");
    assert_eq!(asked(place.path()), (2..12).map(|at| format!("c{at}")).collect());
    let verdict = verdict(place.path());
    assert_eq!(verdict["cases"]["removed"], 0);
    assert!(verdict["changes"]["removed"].as_array().is_some_and(Vec::is_empty));
    assert_eq!(verdict["selection"]["by"], serde_json::json!(["--tag billing"]));
    assert_eq!(results(place.path())[0]["selection"]["of"], 100);
    let refused = check(place.path(), &["baseline", "update", "scoregate-out/results.jsonl", "--to", "new.jsonl"], 3);
    assert!(refused.contains("selection: 10 of 100 cases"), "{refused}");
    assert!(!place.path().join("new.jsonl").exists());
    // The same from files.
    let said =
        check(place.path(), &["compare", "scoregate-out/results.jsonl", "base.jsonl", "--suite", "scoregate.yaml"], 0);
    assert!(said.contains("selection: 10 of 100 cases"), "{said}");
    // A drop within the selection is still a drop.
    let worse =
        tagged().replace("\"answer\":\"yes\",\"tags\":[\"billing\"]", "\"answer\":\"no\",\"tags\":[\"billing\"]");
    std::fs::write(place.path().join("data.jsonl"), worse).expect("a file");
    check(place.path(), &["run", "--tag", "billing"], 1);
    // Must-pass cases that are selected must pass.
    let worse = tagged().replacen("\"answer\":\"yes\"", "\"answer\":\"no\"", 1);
    std::fs::write(place.path().join("data.jsonl"), worse).expect("a file");
    let said = check(place.path(), &["run", "--tag", "critical"], 1);
    assert!(said.contains("c0"), "{said}");
}

#[test]
fn cases_are_selected_by_id_and_by_pattern() {
    let place = project();
    let selected = |flags: &[&str]| {
        let mut arguments = vec!["run"];
        arguments.extend(flags);
        scoregate(place.path(), &arguments);
        asked(place.path()).into_iter().collect::<Vec<_>>()
    };
    assert_eq!(selected(&["--case", "c7"]), ["c7"]);
    assert_eq!(selected(&["--case", "c7", "--case", "/^c9.$/"]).len(), 11);
    assert_eq!(selected(&["--case", "/^c1/", "--tag", "billing"]), ["c10", "c11"]);
    assert_eq!(selected(&["--tag", "billing", "--tag", "critical"]).len(), 12);
    for (flags, words) in [
        (vec!["--case", "d77"], "did you mean `c77`"),
        (vec!["--case", "/^z/"], "no case fits `--case /^z/`"),
        (vec!["--case", "/(/"], "no regular expression"),
        (vec!["--tag", "biling"], "did you mean `billing`"),
        (vec!["--tag", "x9"], "the tags are `billing`, `critical` and `search`"),
        (vec!["--case", "c7", "--tag", "search"], "no case is left"),
        (vec!["--only-failed", "first/results.jsonl"], "no case failed"),
        (vec!["--only-failed", "no.jsonl"], "no.jsonl"),
        (vec!["--only-failed", "first/results.jsonl", "--only-errors", "first/results.jsonl"], "cannot be used with"),
        (vec!["--seed", "3"], "--sample"),
    ] {
        let mut arguments = vec!["run"];
        arguments.extend(&flags);
        let said = check(place.path(), &arguments, 2);
        assert!(said.contains(words), "{flags:?}: {said}");
    }
    // Everything is no selection.
    check(place.path(), &["run", "--case", "/./"], 0);
    assert!(verdict(place.path()).get("selection").is_none());
}

#[test]
fn new_and_changed_cases_are_selected() {
    let place = project();
    let same = check(place.path(), &["run", "--only-changed", "base.jsonl"], 2);
    assert!(same.contains("no case is left by --only-changed base.jsonl"), "{same}");
    let mut lines: Vec<String> = tagged().lines().map(|line| line.replace("\"50?\"", "\"fifty?\"")).collect();
    lines.reverse();
    lines.push("{\"id\":\"new\",\"input\":\"new?\",\"reference\":\"yes\",\"answer\":\"yes\"}".to_owned());
    std::fs::write(place.path().join("data.jsonl"), lines.join("\n")).expect("a file");
    for known in ["base.jsonl", "first/results.jsonl"] {
        let said = check(place.path(), &["run", "--only-changed", known], 0);
        assert_eq!(asked(place.path()), BTreeSet::from(["c50".to_owned(), "new".to_owned()]), "{said}");
        assert!(said.contains("selection: 2 of 101 cases"), "{said}");
        let verdict = verdict(place.path());
        assert_eq!((&verdict["cases"]["changed"], &verdict["cases"]["added"]), (&1.into(), &1.into()), "{verdict}");
    }
    // Of new cases alone there is nothing to compare, and that is no damaged baseline.
    let said = check(place.path(), &["run", "--case", "new"], 0);
    assert!(said.contains("no selected case is in the baseline") && !said.contains("cannot be used"), "{said}");
}

#[test]
fn a_sample_is_seeded_and_takes_from_every_tag() {
    let place = project();
    let sample = |seed: &str| {
        check(place.path(), &["run", "--sample", "20", "--seed", seed], 0);
        asked(place.path())
    };
    let one = sample("7");
    let count = |tag: &str| outcomes(place.path()).iter().filter(|line| line["tags"][0] == tag).count();
    assert_eq!((one.len(), count("critical"), count("billing"), count("search")), (20, 1, 2, 17));
    let mut lines: Vec<String> = tagged().lines().map(str::to_owned).collect();
    lines.rotate_left(33);
    std::fs::write(place.path().join("data.jsonl"), lines.join("\n")).expect("a file");
    assert_eq!(sample("7"), one, "whatever the order");
    assert_ne!(sample("8"), one);
    let said = out(&scoregate(place.path(), &["check", "--sample", "20", "--seed", "7"]));
    assert!(said.contains("20 cases") && said.contains("selection: 20 of 100 cases (--sample 20 --seed 7)"), "{said}");
}

#[test]
fn a_selection_can_be_sharded() {
    let place = project();
    check(place.path(), &["run", "--tag", "search", "--out", "whole"], 0);
    let mut arguments = vec!["merge", "--out", "merged"];
    for (shard, folder) in [("1/2", "s1"), ("2/2", "s2")] {
        check(place.path(), &["run", "--tag", "search", "--shard", shard, "--out", folder], 0);
        arguments.push(folder);
    }
    let said = check(place.path(), &arguments, 0);
    assert!(said.contains("selection: 88 of 100 cases"), "{said}");
    let read =
        |folder: &str| std::fs::read_to_string(place.path().join(folder).join("verdict.json")).expect("a verdict");
    assert_eq!(read("whole"), read("merged"));
    check(place.path(), &["run", "--tag", "billing", "--shard", "2/2", "--out", "s2"], 0);
    let said = check(place.path(), &arguments, 2);
    assert!(said.contains("different"), "{said}");
}
