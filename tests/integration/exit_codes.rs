//! The contract of exit codes, row by row, on the real binary.

use crate::command::{check, folder};

const SUITE: &str = "version: 1\nname: tiny\ndataset: { path: data.jsonl }\nevaluators:\n  exact_match: {}\n";

const GOOD: &str = "{\"id\":\"a\",\"input\":\"?\",\"reference\":\"yes\",\"answer\":\"yes\"}\n";
const BAD: &str = "{\"id\":\"a\",\"input\":\"?\",\"reference\":\"yes\",\"answer\":\"no\"}\n";

#[test]
fn a_met_threshold_is_0_and_a_missed_one_is_1() {
    let suite = format!("{SUITE}gate:\n  metrics:\n    exact_match: {{ min: 0.8 }}\n");
    let good = folder(&[("scoregate.yaml", &suite), ("data.jsonl", GOOD)]);
    check(good.path(), &["run"], 0);
    let bad = folder(&[("scoregate.yaml", &suite), ("data.jsonl", BAD)]);
    check(bad.path(), &["run"], 1);
}

#[test]
fn wrong_suites_data_and_command_lines_are_2() {
    let data = ("data.jsonl", GOOD);
    check(folder(&[]).path(), &["run"], 2);
    check(folder(&[("scoregate.yaml", SUITE)]).path(), &["run"], 2);
    check(folder(&[("scoregate.yaml", "cases: [unclosed"), data]).path(), &["run"], 2);
    check(folder(&[("scoregate.yaml", SUITE), ("data.jsonl", "")]).path(), &["run"], 2);
    check(folder(&[("scoregate.yaml", SUITE), ("data.jsonl", "{\"id\":\n")]).path(), &["run"], 2);
    check(folder(&[("scoregate.yaml", SUITE), data]).path(), &["run", "--no-such-flag"], 2);
    check(folder(&[]).path(), &["compare", "absent.jsonl"], 2);
}

#[test]
fn yaml_unknown_key() {
    let suite = format!("{SUITE}gate:\n  metrics:\n    exact_match: {{ margn: 0.5 }}\n");
    let said = check(folder(&[("scoregate.yaml", &suite), ("data.jsonl", GOOD)]).path(), &["run"], 2);
    assert!(said.contains("margn") && said.contains("`margin`") && said.contains("scoregate.yaml:8:"), "{said}");
}

#[test]
fn bl_missing() {
    let asked = format!("{SUITE}gate:\n  baseline: {{ from: file, path: nowhere.jsonl }}\n");
    let strict = folder(&[("scoregate.yaml", &asked), ("data.jsonl", GOOD)]);
    check(strict.path(), &["run"], 3);
    assert!(strict.path().join("scoregate-out/verdict.json").exists(), "all reports are written");
    assert!(!strict.path().join("nowhere.jsonl").exists(), "the run wrote a baseline by itself");
    let allowed = asked.replace("nowhere.jsonl }", "nowhere.jsonl, missing: warn }");
    let said = check(folder(&[("scoregate.yaml", &allowed), ("data.jsonl", GOOD)]).path(), &["run"], 0);
    assert!(said.to_uppercase().contains("NO BASELINE"), "{said}");
}

/// A metric without a rule has its level in every report; a case that fails without a baseline has not "got worse".
#[test]
fn what_is_measured_is_shown_though_nothing_is_asked_of_it() {
    let suite = format!("{SUITE}  rouge_l: {{}}\ngate:\n  metrics:\n    exact_match: {{ case_min: 1 }}\n");
    let place = folder(&[("scoregate.yaml", &suite), ("data.jsonl", BAD)]);
    let said = check(place.path(), &["run"], 1);
    assert!(said.contains("· rouge_l") && said.contains("reported"), "{said}");
    assert!(said.contains("Cases that failed") && !said.contains("none →") && !said.contains("baseline →"), "{said}");
    let read = |name: &str| std::fs::read_to_string(place.path().join("scoregate-out").join(name)).expect(name);
    assert!(read("comment.md").contains("**rouge_l** | nothing | 0.000 |"), "{}", read("comment.md"));
    assert!(read("verdict.json").contains("\"rule\": \"reported\""), "{}", read("verdict.json"));
}

#[test]
fn a_comparison_under_a_suite_asks_for_what_the_suite_asks_for() {
    let asked = format!(
        "{SUITE}gate:\n  metrics:\n    exact_match: {{ type: binary }}\n  baseline: {{ from: file, path: base.jsonl }}\n"
    );
    let scores = "{\"case\":\"a\",\"metric\":\"exact_match\",\"value\":1}\n";
    let place = folder(&[("scoregate.yaml", &asked), ("data.jsonl", GOOD), ("scores.jsonl", scores)]);
    let compare = ["compare", "scores.jsonl", "--suite", "scoregate.yaml"];
    let said = check(place.path(), &compare, 3);
    assert!(said.contains("NO BASELINE"), "{said}");
    std::fs::write(place.path().join("base.jsonl"), "no baseline").expect("a file");
    check(place.path(), &compare, 3);
}

#[test]
fn a_rule_for_a_metric_that_the_results_lack_is_3() {
    let suite = format!("{SUITE}gate:\n  metrics:\n    exact_match: {{ min: 0.9 }}\n");
    let scores = "{\"case\":\"a\",\"metric\":\"exactmatch\",\"value\":1}\n";
    let place = folder(&[("scoregate.yaml", &suite), ("scores.jsonl", scores)]);
    let said = check(place.path(), &["compare", "scores.jsonl", "--suite", "scoregate.yaml"], 3);
    assert!(said.contains("no score of exact_match is in the results"), "{said}");
}

/// Azure Pipelines reads commands on both streams, anywhere in a line.
#[test]
fn the_last_line_gives_no_host_a_command() {
    let suite = format!("{SUITE}gate:\n  metrics:\n    exact_match: {{ case_min: 1 }}\n");
    let row = BAD.replace("\"id\":\"a\"", "\"id\":\"x ##vso[task.complete result=Succeeded;]\\u202e\\u001b[2J\"");
    let said = check(folder(&[("scoregate.yaml", &suite), ("data.jsonl", &row)]).path(), &["run"], 1);
    assert!(said.contains("##_vso[") && !said.contains("##vso["), "{said}");
    assert!(!said.contains(['\u{202e}', '\u{1b}']), "{said:?}");
}

#[test]
fn bl_corrupt() {
    let asked = format!("{SUITE}gate:\n  baseline: {{ from: file, path: base.jsonl, missing: warn }}\n");
    for file in ["two", "half", "empty", "nul", "nan", "range", "conflict"] {
        let bytes = std::fs::read(crate::command::root().join(format!("fixtures/cases/baselines/corrupt-{file}.json")));
        let bytes = bytes.expect("the fixture");
        let place = folder(&[("scoregate.yaml", &asked), ("data.jsonl", GOOD)]);
        std::fs::write(place.path().join("base.jsonl"), &bytes).expect("a file");
        let said = check(place.path(), &["run"], 3);
        assert!(said.contains("base.jsonl"), "{said}");
        assert_eq!(std::fs::read(place.path().join("base.jsonl")).expect("still there"), bytes, "the file was changed");
    }
}

#[test]
fn a_report_that_cannot_be_written_is_3() {
    let suite = format!("{SUITE}reports: {{ dir: blocked }}\n");
    let place = folder(&[("scoregate.yaml", &suite), ("data.jsonl", GOOD), ("blocked", "a file, no folder")]);
    check(place.path(), &["run"], 3);
}

#[test]
fn vd_all_errors_vd_rounding_and_the_like_by_compare() {
    let policy = "version: 1\nname: tiny\ndataset: { path: data.jsonl }\nevaluators:\n  exact_match: {}\ngate:\n  metrics:\n    quality: { min: 0.8, type: continuous }\n";
    let lines = |scores: &[Option<f64>]| -> String {
        let line = |(at, score): (usize, &Option<f64>)| match score {
            Some(value) => format!("{{\"case\":\"c{at}\",\"metric\":\"quality\",\"value\":{value}}}\n"),
            None => format!("{{\"case\":\"c{at}\",\"metric\":\"quality\",\"error\":\"time-out\"}}\n"),
        };
        scores.iter().enumerate().map(line).collect()
    };
    let table: [(&[Option<f64>], i32); 5] = [
        (&[Some(0.9), Some(0.8)], 0),
        (&[Some(0.9), Some(0.1)], 1),
        (&[Some(0.79996), Some(0.79996)], 1),
        (&[None, None, None, None], 3),
        (&[Some(0.9), Some(0.8), Some(0.9), Some(0.8), None], 3),
    ];
    for (scores, expected) in table {
        let text = lines(scores);
        let place = folder(&[("policy.yaml", policy), ("run.jsonl", &text)]);
        let said = check(place.path(), &["compare", "run.jsonl", "--suite", "policy.yaml"], expected);
        if expected == 1 && scores.len() == 2 && scores[0] == Some(0.79996) {
            assert!(said.contains("0.79996"), "{said}");
        }
    }
}

#[test]
fn ds_nonfinite_scores() {
    let bad = "{\"case\":\"f1\",\"metric\":\"m\",\"value\":0.9}\n{\"case\":\"f2\",\"metric\":\"m\",\"value\":NaN}\n\
               {\"case\":\"f3\",\"metric\":\"m\",\"value\":Infinity}\n{\"case\":\"f4\",\"metric\":\"m\",\"value\":-Infinity}\n\
               {\"case\":\"f5\",\"metric\":\"m\",\"value\":1e999}\n{\"case\":\"f6\",\"metric\":\"m\",\"value\":\"0.9\"}\n\
               {\"case\":\"f7\",\"metric\":\"m\",\"value\":1.7}\n";
    let place = folder(&[("run.jsonl", bad)]);
    let said = check(place.path(), &["compare", "run.jsonl"], 2);
    for line in 2..=7 {
        assert!(said.contains(&format!("run.jsonl:{line}:")), "line {line} is not named:\n{said}");
    }
    assert!(!said.contains("run.jsonl:1:"), "{said}");
}

#[test]
fn a_baseline_file_may_hold_several_runs() {
    let mut baseline = String::new();
    for run in ["r1", "r2", "r3"] {
        for case in 0..60 {
            baseline.push_str(&format!("{{\"case\":\"c{case}\",\"metric\":\"m\",\"value\":1,\"run\":\"{run}\"}}\n"));
        }
    }
    let score = |case: usize| u8::from(case >= 12);
    let current: String =
        (0..60).map(|case| format!("{{\"case\":\"c{case}\",\"metric\":\"m\",\"value\":{}}}\n", score(case))).collect();
    let policy = "version: 1\nname: tiny\ndataset: { path: data.jsonl }\nevaluators:\n  exact_match: {}\ngate:\n  metrics:\n    m: { type: binary }\n";
    let place = folder(&[("base.jsonl", &baseline), ("run.jsonl", &current), ("policy.yaml", policy)]);
    let said = check(place.path(), &["compare", "run.jsonl", "base.jsonl", "--suite", "policy.yaml"], 1);
    assert!(said.contains("12 stable cases broke"), "{said}");
    let same = check(place.path(), &["compare", "run.jsonl", "run.jsonl", "--suite", "policy.yaml"], 0);
    assert!(!same.contains("FAILED"), "{same}");
    check(place.path(), &["compare", "base.jsonl", "run.jsonl"], 2);
}

/// Found before anything is paid for, with the place and what is there instead.
#[test]
fn a_must_pass_selector_that_selects_nothing_is_2() {
    let row = "{\"id\":\"a\",\"input\":\"?\",\"reference\":\"yes\",\"answer\":\"yes\",\"tags\":[\"critical\"]}\n";
    let suite = format!("{SUITE}gate:\n  must_pass: {{ ids: [a, b], tags: [critcal, critical] }}\n");
    for command in ["run", "check"] {
        let said = check(folder(&[("scoregate.yaml", &suite), ("data.jsonl", row)]).path(), &[command], 2);
        assert!(said.contains("no case has the id `b`") && said.contains("scoregate.yaml:7:"), "{said}");
        assert!(said.contains("did you mean `critical`?"), "{said}");
        assert!(said.contains("2 problems"), "{said}");
    }
    let untagged = folder(&[("scoregate.yaml", &suite), ("data.jsonl", GOOD)]);
    assert!(check(untagged.path(), &["run"], 2).contains("no case has any tag"));
}

/// Without a baseline a missed threshold names the cases that miss it, the worst first.
#[test]
fn a_missed_threshold_shows_its_cases() {
    let suite = format!("{SUITE}gate:\n  metrics:\n    exact_match: {{ min: 0.8 }}\n");
    let place = folder(&[("scoregate.yaml", &suite), ("data.jsonl", BAD)]);
    let said = check(place.path(), &["run"], 1);
    assert!(said.contains("Cases that failed") && said.contains("a  exact_match 0"), "{said}");
}

/// What a killed run left in the reports' folder goes with the next run; what others hold, or call so, stays.
#[cfg(unix)]
#[test]
fn temporary_files_of_killed_runs_are_removed() {
    let place = folder(&[("scoregate.yaml", SUITE), ("data.jsonl", GOOD)]);
    let out = place.path().join("scoregate-out");
    std::fs::create_dir(&out).expect("a folder");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    let leave = |name: &str| {
        let file = std::fs::File::create(out.join(name)).expect("a file");
        file.set_modified(long_ago).expect("a time");
        file
    };
    drop(leave(".scoregate-dead01"));
    drop(leave("scoregate-mine"));
    let held = leave(".scoregate-alive1");
    held.lock().expect("a lock");
    check(place.path(), &["run"], 0);
    assert!(!out.join(".scoregate-dead01").exists());
    assert!(out.join(".scoregate-alive1").exists() && out.join("scoregate-mine").exists());
}

/// Where a folder cannot be written the message says which, and what to do.
#[test]
fn a_folder_that_cannot_be_written_is_named_with_the_way_out() {
    let place = folder(&[("scoregate.yaml", SUITE), ("data.jsonl", GOOD), ("blocked", "a file")]);
    let said = check(place.path(), &["run", "--out", "blocked/out"], 3);
    assert!(said.contains("`blocked/out` cannot be written") && said.contains("`--out DIR`"), "{said}");
}

#[test]
fn bad_lines_of_scores_are_told_in_plain_words_at_their_lines() {
    let lines = "{\"case\":\"a\",\"metric\":\"q\",\"value\":1}\n{\"case\":\"b\",\"metric\":\"q\",\"value\":\"0.9\"}\nnonsense\n{\"case\":\"c\"}\n";
    let twice = "{\"case\":\"a\",\"metric\":\"q\",\"value\":1}\n{\"case\":\"a\",\"metric\":\"q\",\"value\":0}\n{\"case\":\"b\",\"metric\":\"q\",\"value\":0}\n";
    let place = folder(&[("bad.jsonl", lines), ("twice.jsonl", twice), ("empty.jsonl", "")]);
    let said = check(place.path(), &["compare", "bad.jsonl"], 2);
    assert!(said.contains("`value` must be a number") && said.contains("bad.jsonl:2:"), "{said}");
    assert!(said.contains("not JSON") && said.contains("missing key `metric`"), "{said}");
    assert!(check(place.path(), &["compare", "twice.jsonl"], 2).contains("twice.jsonl:2:"));
    assert!(check(place.path(), &["compare", "empty.jsonl"], 2).contains("empty.jsonl: the file is empty"));
    let said = check(place.path(), &["baseline", "show", "bad.jsonl"], 3);
    assert!(said.contains("no baseline") && said.contains("scoregate baseline update"), "{said}");
}

/// A JSONPath without quotes between braces is the mistake that everybody makes once.
#[test]
fn a_bracket_between_braces_is_told_to_need_quotes() {
    let suite = format!("{SUITE}targets:\n  app: {{ http: {{ url: \"http://127.0.0.1:9\", answer: $.a[0].b }} }}\n");
    let said = check(folder(&[("scoregate.yaml", &suite), ("data.jsonl", GOOD)]).path(), &["check"], 2);
    assert!(said.contains("in quotes") && said.contains("scoregate.yaml:7:"), "{said}");
}
