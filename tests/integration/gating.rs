//! What the gate asks beside scores: time, tokens and money; levels by tag; an anchor; judges that people agree with; a baseline that only
//! moves up; suspects asked of the base's system. Real runs of the real binary.

use std::path::Path;

use scoregate::store::read_baseline;
use serde_json::{Value, json};

use crate::command::{check, checked, code, command, err, folder, out, report, scoregate, verdict};

fn rule(folder: &Path, kind: &str, statistic: Option<&str>) -> Value {
    let verdict = verdict(folder);
    let rules = verdict["rules"].as_array().expect("rules").clone();
    let found = rules.iter().find(|rule| rule["rule"] == kind && rule["statistic"].as_str() == statistic);
    found.unwrap_or_else(|| panic!("no {kind} in {rules:#?}")).clone()
}

const HEAD: &str = "version: 1\nname: gating\ndataset: { path: data.jsonl }\nevaluators:\n  exact_match: {}\n";

/// Recorded answers; each took so many milliseconds and tokens.
fn rows(latencies: &[u32], wrong: impl Fn(usize) -> bool) -> String {
    let row = |(at, latency): (usize, &u32)| {
        let answer = if wrong(at) { "no" } else { "yes" };
        let tag = if at.is_multiple_of(2) { "even" } else { "odd" };
        let row = json!({
            "id": format!("q{at:03}"), "input": format!("{at}?"), "reference": "yes", "answer": answer, "tags": [tag],
            "latency_ms": latency, "prompt_tokens": latency, "completion_tokens": 1,
        });
        format!("{row}\n")
    };
    latencies.iter().enumerate().map(row).collect()
}

#[test]
fn limits_on_time_and_tokens_are_in_every_report() {
    let gate = "gate:\n  resources:\n    latency: { p95: 150ms, p50: 2s }\n    tokens: { total: 100000 }\n";
    let latencies: Vec<u32> = (101..=140).map(|at| if at > 135 { at + 100 } else { at }).collect();
    let place = folder(&[("scoregate.yaml", &format!("{HEAD}{gate}")), ("data.jsonl", &rows(&latencies, |_| false))]);
    let said = check(place.path(), &["run"], 1);
    assert!(said.contains("the 95th percentile of latency is 238 ms, above the allowed 150 ms"), "{said}");
    let p95 = rule(place.path(), "resource", Some("p95"));
    assert_eq!(
        (&p95["current"], &p95["unit"], &p95["limit"], &p95["metric"]),
        (&json!(238.0), &json!("ms"), &json!(150.0), &json!("latency"))
    );
    let p50 = rule(place.path(), "resource", Some("p50"));
    assert_eq!((&p50["verdict"], &p50["current"]), (&json!("met"), &json!(120.0)));
    assert!(p50["ci"].as_array().is_some_and(|ends| ends.len() == 2), "{p50}");
    assert_eq!(rule(place.path(), "resource", Some("total"))["verdict"], "met");
    let comment = report(place.path(), "comment.md").replace('\\', "");
    assert!(comment.contains("| p95 ≤ 150 ms | 238 ms |"), "{comment}");
    let junit = report(place.path(), "junit.xml");
    assert!(junit.contains("name=\"latency / resource p95\"") && junit.contains("<failure"), "{junit}");
}

/// The baseline is what `baseline update` keeps of a run.
#[test]
fn a_slower_application_is_seen_beside_the_baseline() {
    let gate =
        "gate:\n  baseline: { path: base.jsonl }\n  resources: { latency: { increase: { p95: 0.2, mean: 0.2 } } }\n";
    let place = folder(&[("scoregate.yaml", &format!("{HEAD}{gate}")), ("first.yaml", HEAD)]);
    let write = |by: u32| {
        let latencies: Vec<u32> = (100..140).map(|at| at * by / 10).collect();
        std::fs::write(place.path().join("data.jsonl"), rows(&latencies, |_| false)).expect("a file");
    };
    write(10);
    check(place.path(), &["run", "first.yaml", "--out", "first"], 0);
    let accepted = scoregate(place.path(), &["baseline", "update", "first/results.jsonl", "--to", "base.jsonl"]);
    assert_eq!(code(&accepted), 0, "{}", err(&accepted));
    let stored = std::fs::read_to_string(place.path().join("base.jsonl")).expect("a baseline");
    assert!(stored.contains("\"taken\":{\"latency_ms\":[[100.0]]"), "{stored}");
    write(12);
    check(place.path(), &["run"], 0);
    write(13);
    let said = check(place.path(), &["run"], 1);
    assert!(said.contains("the 95th percentile of latency rose by +"), "{said}");
    let mean = rule(place.path(), "resource_rise", Some("mean"));
    assert_eq!((&mean["verdict"], &mean["unit"], &mean["limit"]), (&json!("violated"), &json!("ms"), &json!(0.2)));
    assert!(mean["p"].as_f64().expect("p") < 1e-6, "{mean}");
    let comment = report(place.path(), "comment.md").replace('\\', "");
    assert!(comment.contains("| mean up at most 20% |"), "{comment}");
}

fn program(script: &str, more: &str) -> String {
    format!(
        "version: 1\nname: gating\ndataset: {{ path: data.jsonl }}\ntargets:\n  app:\n    command: {{ stdin: none, argv: [sh, -c, {script:?}] }}\n{more}"
    )
}

fn cases(count: usize) -> String {
    (0..count).map(|at| format!("{{\"id\":\"q{at:03}\",\"input\":\"{at}?\",\"reference\":\"yes\"}}\n")).collect()
}

#[test]
fn answers_from_the_ledger_are_not_timed_and_nothing_else_is_green() {
    let rest = "evaluators:\n  exact_match: {}\ngate:\n  resources: { latency: { p95: 30s } }\n";
    let suite = program("echo yes", rest);
    // Outside of a repository nothing tells one version of the application from another, so the target says it.
    let suite = suite.replace("stdin: none,", "stdin: none, version: one,");
    let place = folder(&[("scoregate.yaml", &suite), ("data.jsonl", &cases(4))]);
    check(place.path(), &["run"], 0);
    assert_eq!(rule(place.path(), "resource", Some("p95"))["n"], 4);
    let again = check(place.path(), &["run"], 3);
    assert!(again.contains("no answer was timed in this run"), "{again}");
    check(place.path(), &["run", "--ledger", "refresh"], 0);
}

#[test]
fn a_tag_s_level_and_the_table_of_tags_are_in_the_reports() {
    let gate = "gate:\n  slices:\n    even: { limits: { exact_match: { min: 0.9, mode: point } } }\n    odd: {}\n";
    let data = rows(&[1; 40], |at| at.is_multiple_of(2) && at < 10);
    let place = folder(&[("scoregate.yaml", &format!("{HEAD}{gate}")), ("data.jsonl", &data)]);
    let said = check(place.path(), &["run"], 1);
    assert!(said.contains("exact_match [even] is at 0.750, below the required 0.9"), "{said}");
    let table = verdict(place.path())["slice_table"].clone();
    let lines: Vec<(String, f64, bool)> = table
        .as_array()
        .expect("a table")
        .iter()
        .map(|line| {
            (
                line["tag"].as_str().expect("a tag").to_owned(),
                line["current"].as_f64().expect("a level"),
                line["decides"] == true,
            )
        })
        .collect();
    assert_eq!(lines, [("even".to_owned(), 0.75, true), ("odd".to_owned(), 1.0, false)]);
    let comment = report(place.path(), "comment.md").replace('\\', "");
    assert!(comment.contains("| **even** | exact_match | 20 | 0.750 |"), "{comment}");
    assert!(report(place.path(), "junit.xml").contains("name=\"exact_match / threshold [even]\""));
}

fn accept(place: &Path, suite: &str, to: &str, more: &[&str]) -> std::process::Output {
    let measured = scoregate(place, &["run", suite, "--out", "measured"]);
    assert!(matches!(code(&measured), 0 | 1), "{}", err(&measured));
    let arguments = [&["baseline", "update", "measured/results.jsonl", "--to", to, "--suite", suite], more].concat();
    scoregate(place, &arguments)
}

#[test]
fn a_baseline_with_a_ratchet_only_moves_up() {
    let gate = "gate:\n  baseline: { path: base.jsonl, ratchet: 0.05, missing: warn }\n";
    let place = folder(&[("scoregate.yaml", &format!("{HEAD}{gate}"))]);
    let write = |wrong: usize| {
        std::fs::write(place.path().join("data.jsonl"), rows(&[1; 40], |at| at < wrong)).expect("a file");
    };
    let update = |more: &[&str]| accept(place.path(), "scoregate.yaml", "base.jsonl", more);
    write(4);
    assert_eq!(code(&update(&[])), 0, "the first one has nothing to fall below");
    let before = std::fs::read(place.path().join("base.jsonl")).expect("a baseline");
    write(8);
    for more in [&[][..], &["--add"], &["--ratchet", "0.09"]] {
        let refused = update(more);
        let said = checked(&refused, 1);
        assert!(said.contains("exact_match 0.900 → 0.800 over 40 cases") && said.contains("--allow-lower"), "{said}");
        assert_eq!(std::fs::read(place.path().join("base.jsonl")).expect("a baseline"), before);
    }
    assert_eq!(code(&update(&["--ratchet", "0.1"])), 0);
    write(12);
    assert_eq!(code(&update(&["--allow-lower"])), 0);
    write(0);
    assert_eq!(code(&update(&[])), 0, "up it moves");
    assert_eq!(code(&update(&["--ratchet", "1.5"])), 2);
}

#[test]
fn nothing_is_accepted_in_a_merge_queue() {
    let place = folder(&[("scoregate.yaml", HEAD), ("data.jsonl", &rows(&[1; 4], |_| false))]);
    check(place.path(), &["run"], 0);
    for event in ["merge_group", "pull_request", "pull_request_target", "pull_request_review"] {
        for arguments in
            [&["baseline", "update", "scoregate-out/results.jsonl", "--to", "b.jsonl"][..], &["baseline", "refresh"]]
        {
            let output = command(place.path(), arguments).env("GITHUB_EVENT_NAME", event).output().expect("it starts");
            let said = checked(&output, 2);
            assert!(said.contains("merge queue, cannot accept its own results"), "{event}: {said}");
        }
    }
    assert!(!place.path().join("b.jsonl").exists());
    let pushed = command(place.path(), &["baseline", "update", "scoregate-out/results.jsonl", "--to", "b.jsonl"])
        .env("GITHUB_EVENT_NAME", "push")
        .output();
    assert_eq!(code(&pushed.expect("it starts")), 0);
}

#[test]
fn a_slide_since_the_anchor_is_warned_of() {
    let gate = "gate:\n  baseline: { path: base.jsonl }\n  anchor: { path: release.jsonl }\n";
    let place = folder(&[("scoregate.yaml", &format!("{HEAD}{gate}")), ("first.yaml", HEAD)]);
    let write = |wrong: usize| {
        std::fs::write(place.path().join("data.jsonl"), rows(&[1; 200], |at| at < wrong)).expect("a file");
    };
    for (wrong, to) in [(0, "release.jsonl"), (9, "base.jsonl")] {
        write(wrong);
        assert_eq!(code(&accept(place.path(), "first.yaml", to, &[])), 0);
    }
    write(10);
    let said = check(place.path(), &["run"], 0);
    assert!(said.contains("exact_match has slid since the anchor"), "{said}");
    let slide = rule(place.path(), "anchor", None);
    assert_eq!(
        (&slide["severity"], &slide["baseline"], &slide["current"]),
        (&json!("warn"), &json!(1.0), &json!(0.95))
    );
    assert_eq!(verdict(place.path())["anchor"]["place"], "release.jsonl");
    std::fs::remove_file(place.path().join("release.jsonl")).expect("a file");
    let gone = check(place.path(), &["run"], 0);
    assert!(gone.contains("the anchor cannot be compared with: there is no release.jsonl"), "{gone}");
}

/// What `judge calibrate` prints is what the suite asks for.
#[test]
fn a_judge_below_its_minimum_makes_no_run_green() {
    let gate = "gate:\n  judges: { exact_match: { calibration: judge.json, min_kappa: 0.6 } }\n";
    let place = folder(&[("scoregate.yaml", &format!("{HEAD}{gate}")), ("first.yaml", HEAD)]);
    std::fs::write(place.path().join("data.jsonl"), rows(&[1; 20], |at| at < 10)).expect("a file");
    check(place.path(), &["run", "first.yaml", "--out", "first"], 0);
    let absent = check(place.path(), &["run"], 3);
    assert!(absent.contains("the judge of exact_match is not to be trusted"), "{absent}");
    let calibrated = |agrees: usize| {
        let label = |at: usize| u8::from((at >= 10) == (at % 10 < agrees));
        let labels: String = (0..20).map(|at| format!("q{at:03},{}\n", label(at))).collect();
        std::fs::write(place.path().join("labels.csv"), format!("id,label\n{labels}")).expect("a file");
        let arguments =
            ["judge", "calibrate", "labels.csv", "first/results.jsonl", "--metric", "exact_match", "--format", "json"];
        let output = scoregate(place.path(), &arguments);
        assert_eq!(code(&output), 0, "{}", err(&output));
        std::fs::write(place.path().join("judge.json"), out(&output)).expect("a file");
    };
    calibrated(9);
    let said = check(place.path(), &["run"], 0);
    let trust = rule(place.path(), "judge_trust", None);
    assert_eq!((&trust["verdict"], &trust["current"]), (&json!("met"), &json!(0.8)), "{said}");
    calibrated(7);
    let said = check(place.path(), &["run"], 3);
    assert!(said.contains("its kappa is 0.400, below the required 0.6 (20 labelled cases)"), "{said}");
    // Of another judge it says nothing.
    calibrated(10);
    let text = std::fs::read_to_string(place.path().join("judge.json")).expect("a file");
    let mut other: Value = serde_json::from_str(&text).expect("JSON");
    other["fingerprint"]["version"] = json!("another");
    std::fs::write(place.path().join("judge.json"), other.to_string()).expect("a file");
    let said = check(place.path(), &["run"], 3);
    assert!(said.contains("another judge was measured, its version differs"), "{said}");
}

/// An application and the base's system, which read what they say from a file: the environment that both share.
fn pair(place: &Path, gate: &str) {
    let suite = format!(
        "version: 1\nname: gating\ndataset: {{ path: data.jsonl }}\ntargets:\n  app:\n    command: {{ stdin: none, argv: [sh, -c, 'cat app index'] }}\n  \
         old:\n    command: {{ stdin: none, argv: [sh, -c, 'cat old index; echo asked >> log'] }}\n\
         evaluators:\n  contains: {{ values: [\"yes\"] }}\n{gate}"
    );
    std::fs::write(place.join("scoregate.yaml"), suite).expect("a file");
    std::fs::write(place.join("data.jsonl"), cases(30)).expect("a file");
    says(place, "", "", "yes");
}

fn says(place: &Path, app: &str, old: &str, index: &str) {
    for (name, text) in [("app", app), ("old", old), ("index", index)] {
        std::fs::write(place.join(name), format!("{text}\n")).expect("a file");
    }
    let _none_yet = std::fs::remove_file(place.join("log"));
}

fn asked(place: &Path) -> usize {
    std::fs::read_to_string(place.join("log")).map_or(0, |log| log.lines().count())
}

#[test]
fn suspects_are_asked_of_the_base_before_the_change_is_blamed() {
    let place = folder(&[]);
    let gate = "gate:\n  confirm: { target: old }\n  baseline: { path: base.jsonl, missing: warn }\n";
    pair(place.path(), gate);
    check(place.path(), &["run"], 0);
    assert_eq!(asked(place.path()), 0, "it is asked for suspects alone");
    let update = scoregate(place.path(), &["baseline", "update", "scoregate-out/results.jsonl"]);
    assert_eq!(code(&update), 0, "{}", err(&update));
    // The change broke it.
    says(place.path(), "", "yes", "");
    let blamed = check(place.path(), &["run", "--ledger", "off"], 1);
    assert!(blamed.contains("asked of old too, which does no better on 0 today"), "{blamed}");
    let requests = verdict(place.path())["calls"]["requests"].clone();
    assert_eq!(requests, 30 + asked(place.path()), "no call is silent");
    assert_eq!(asked(place.path()), 10, "at most ten of a metric");
    // The index that both use is gone.
    says(place.path(), "", "", "");
    let environment = check(place.path(), &["run", "--ledger", "off"], 3);
    assert!(environment.contains("and so it is on old today"), "{environment}");
    let rule = rule(place.path(), "not_worse", None);
    assert_eq!((&rule["reason"], &rule["severity"]), (&json!("environment"), &json!("block")));
    assert!(place.path().join("scoregate-out/confirm.jsonl").exists());
    let unknown = gate.replace("old", "odl");
    pair(place.path(), &unknown);
    let said = check(place.path(), &["check"], 2);
    assert!(said.contains("`odl` is no target of this suite") && said.contains("did you mean `old`?"), "{said}");
}

#[test]
fn a_concurrent_baseline_is_measured_in_the_same_run() {
    let place = folder(&[]);
    pair(place.path(), "gate:\n  baseline: { mode: concurrent, target: old }\n");
    says(place.path(), "", "", "no");
    let said = check(place.path(), &["run"], 0);
    assert_eq!(asked(place.path()), 30);
    let compared = rule(place.path(), "not_worse", None);
    assert_eq!(
        (&compared["target"], &compared["baseline"], &compared["reason"]),
        (&json!("app"), &json!(0.0), &json!("identical")),
        "{said}"
    );
    says(place.path(), "", "yes", "");
    let said = check(place.path(), &["run", "--ledger", "off"], 1);
    assert!(said.contains("1.000 → 0.000"), "{said}");
    assert_eq!(verdict(place.path())["baseline"]["place"], "target old of this run");
}

#[test]
fn refresh_adds_runs_up_to_what_the_suite_asks_for() {
    let rest = "evaluators:\n  contains: { values: [\"yes\"] }\ngate:\n  baseline: { path: base.jsonl, runs: 3 }\n";
    let place =
        folder(&[("scoregate.yaml", &program("cat index", rest)), ("data.jsonl", &cases(4)), ("index", "yes\n")]);
    let refreshed = scoregate(place.path(), &["baseline", "refresh"]);
    assert_eq!(code(&refreshed), 0, "{}", err(&refreshed));
    assert!(out(&refreshed).ends_with("the baseline has 3 runs, 3 of them added now\n"), "{}", out(&refreshed));
    let pool = || read_baseline(&place.path().join("base.jsonl"), "base.jsonl").expect("a baseline");
    assert_eq!(pool().runs.len(), 3);
    let full = scoregate(place.path(), &["baseline", "refresh"]);
    assert_eq!((code(&full), pool().runs.len()), (0, 3), "{}", err(&full));
    let more = scoregate(place.path(), &["baseline", "refresh", "--runs", "4"]);
    assert_eq!((code(&more), pool().runs.len()), (0, 4), "{}", err(&more));
    // A run of another level is no run of this pool.
    std::fs::write(place.path().join("data.jsonl"), cases(30)).expect("a file");
    std::fs::remove_file(place.path().join("base.jsonl")).expect("a file");
    assert_eq!(code(&scoregate(place.path(), &["baseline", "refresh", "--runs", "1"])), 0);
    std::fs::write(place.path().join("index"), "no\n").expect("a file");
    let worse = scoregate(place.path(), &["baseline", "refresh"]);
    let said = checked(&worse, 1);
    assert!(said.contains("the run was not added") && pool().runs.len() == 1, "{said}");
}

/// Half of what an answer took is not what it took: no limit on tokens holds by it.
#[test]
fn half_of_the_tokens_meets_no_limit() {
    let half = "{\"id\":\"a\",\"input\":\"?\",\"reference\":\"yes\",\"answer\":\"yes\",\"prompt_tokens\":5}\n";
    let gate = "gate:\n  metrics: { exact_match: { min: 0.5 } }\n  resources: { tokens: { mean: 1000 } }\n";
    let place = folder(&[("scoregate.yaml", &format!("{HEAD}{gate}")), ("data.jsonl", half)]);
    let said = check(place.path(), &["run"], 3);
    assert!(said.contains("mean tokens is not known: no answer says how many tokens it took"), "{said}");
    let whole = half.replace("\"prompt_tokens\":5", "\"prompt_tokens\":5,\"completion_tokens\":0");
    std::fs::write(place.path().join("data.jsonl"), whole).expect("a file");
    check(place.path(), &["run"], 0);
}
