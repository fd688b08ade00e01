//! Cases of the topic `baselines` that need the whole program: real files, real processes, a real repository.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use scoregate::store::read_baseline;
use serde_json::Value;

use crate::command::{check, code, err, fixture, folder, git, report, scoregate, verdict};

const POLICY: &str =
    "version: 1\nname: base\ndataset: { path: data.jsonl }\nevaluators:\n  exact_match: {}\ngate:\n  metrics:\n";

/// The lines of scores that a neutral file of `fixtures/cases` means.
fn scores(name: &str) -> String {
    let neutral: Value = serde_json::from_slice(&fixture(&format!("baselines/{name}.json"))).expect("JSON");
    let mut lines = String::new();
    for (case, metrics) in neutral["cases"].as_object().expect("cases") {
        for (metric, value) in metrics.as_object().expect("metrics") {
            lines.push_str(&format!("{}\n", serde_json::json!({"case": case, "metric": metric, "value": value})));
        }
    }
    lines
}

/// Compares two neutral files under the policy; returns what was said.
fn compared(current: &str, baseline: &str, metrics: &str, expected: i32) -> (String, tempfile::TempDir) {
    let (policy, now, before) = (format!("{POLICY}{metrics}"), scores(current), scores(baseline));
    let place = folder(&[("policy.yaml", &policy), ("now.jsonl", &now), ("before.jsonl", &before)]);
    let arguments = ["compare", "now.jsonl", "before.jsonl", "--suite", "policy.yaml", "--out", "scoregate-out"];
    (check(place.path(), &arguments, expected), place)
}

#[test]
fn bl_metric_vanished() {
    let (said, place) =
        compared("metric-vanished.current", "metric-vanished.baseline", "    quality: { min: 0.5 }\n", 3);
    for text in [said, report(place.path(), "comment.md")] {
        assert!(text.contains("grounding is in the baseline, not in this run"), "{text}");
    }
}

#[test]
fn bl_new_case() {
    let (said, place) = compared("new-case.current", "new-case.baseline", "    quality: { case_min: 0.5 }\n", 1);
    for text in [said, report(place.path(), "comment.md")] {
        assert!(text.contains("new, no baseline: c2") && !text.contains("+0.00%"), "{text}");
    }
}

/// A suite with one recorded answer a case, for each id whether it is right.
fn recorded(place: &Path, cases: &[(&str, &str, bool)]) {
    let row = |(id, question, right): &(&str, &str, bool)| {
        let answer = if *right { "yes" } else { "no" };
        format!("{{\"id\":\"{id}\",\"input\":\"{question}\",\"reference\":\"yes\",\"answer\":\"{answer}\"}}\n")
    };
    std::fs::write(place.join("data.jsonl"), cases.iter().map(row).collect::<String>()).expect("a file");
}

const WITH_BASELINE: &str = "version: 1\nname: base\ndataset: { path: data.jsonl }\nevaluators:\n  exact_match: {}\ngate:\n  baseline: { path: base.jsonl }\n";
const FIRST: &str = "version: 1\nname: base\ndataset: { path: data.jsonl }\nevaluators:\n  exact_match: {}\n";

/// Runs, then accepts the run into `base.jsonl`.
fn accept(place: &Path) {
    std::fs::write(place.join("first.yaml"), FIRST).expect("a file");
    check(place, &["run", "first.yaml", "--out", "first"], 0);
    let output = scoregate(place, &["baseline", "update", "first/results.jsonl", "--to", "base.jsonl"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
}

#[test]
fn bl_case_renamed() {
    let place = folder(&[("scoregate.yaml", WITH_BASELINE)]);
    recorded(place.path(), &[("easy", "easy?", true), ("hard", "hard?", true)]);
    accept(place.path());
    recorded(place.path(), &[("easy", "easy?", true), ("hard-v2", "hard?", false)]);
    let said = check(place.path(), &["run"], 3);
    for text in [said, report(place.path(), "comment.md")] {
        assert!(text.contains("1 removed, 1 new"), "{text}");
        assert!(text.replace('\\', "").contains("likely rename: hard → hard-v2"), "{text}");
    }
}

#[test]
fn bl_asked_for() {
    let place = folder(&[("scoregate.yaml", FIRST)]);
    let (main, release, now) =
        (scores("asked-main.baseline"), scores("asked-release.baseline"), scores("asked.current"));
    for (name, text) in [("main.jsonl", main), ("release.jsonl", release), ("now.jsonl", now)] {
        std::fs::write(place.path().join(name), text).expect("a file");
    }
    let said = check(place.path(), &["compare", "now.jsonl", "release.jsonl", "--out", "scoregate-out"], 0);
    assert!(said.contains("0.600 → 0.700") && !said.contains("0.950"), "{said}");
    let source = &verdict(place.path())["baseline"];
    assert!(source.to_string().contains("release.jsonl") && !source.to_string().contains("main.jsonl"), "{source}");
    let typo = check(place.path(), &["compare", "now.jsonl", "relase.jsonl"], 2);
    assert!(typo.contains("relase.jsonl"), "{typo}");
    recorded(place.path(), &[("easy", "easy?", true)]);
    let typo = check(place.path(), &["run", "--baseline", "relase.jsonl"], 2);
    assert!(typo.contains("relase.jsonl"), "{typo}");
}

#[test]
fn bl_own_history() {
    let place = folder(&[("scoregate.yaml", WITH_BASELINE), ("first.yaml", FIRST)]);
    let cases = |right: usize| -> Vec<(String, bool)> { (0..30).map(|at| (format!("c{at}"), at < right)).collect() };
    let write = |right: usize| {
        let cases = cases(right);
        let cases: Vec<(&str, &str, bool)> = cases.iter().map(|(id, right)| (&**id, &**id, *right)).collect();
        recorded(place.path(), &cases);
    };
    git(place.path(), &["init", "-q", "-b", "main"]);
    let mut commits = Vec::new();
    for base in [27, 28] {
        write(base);
        git(place.path(), &["add", "data.jsonl"]);
        git(place.path(), &["commit", "-q", "-m", "base"]);
        commits.push(git(place.path(), &["rev-parse", "HEAD"]));
        accept(place.path());
        // The same drop, whatever was measured in between: its own last run is never the yardstick.
        write(18);
        for _ in 0..2 {
            let said = check(place.path(), &["run"], 1);
            let commit = &commits[commits.len() - 1];
            assert!(verdict(place.path())["baseline_runs"].to_string().contains(commit.as_str()), "{said}");
            assert!(report(place.path(), "comment.md").replace("&#8203;", "").contains(&commit[..7]), "{said}");
        }
        git(place.path(), &["checkout", "-q", "data.jsonl"]);
    }
    assert_ne!(commits[0], commits[1]);
}

/// Writers in processes of their own, readers all the while. No write is lost without an error: with `--add` every one is in the pool.
#[test]
fn bl_concurrent() {
    const WRITERS: usize = 16;
    // At full size as promised (R17).
    let full = std::env::var("SCOREGATE_TEST_SIZE").as_deref() == Ok("full");
    let rounds = if full { 50 } else { 6 };
    let place = folder(&[]);

    for writer in 0..WRITERS {
        // Documents from 1 to 100 kB.
        let answer = "x".repeat(100 + 6_000 * writer / 16);
        let row = |at: usize| {
            format!("{{\"id\":\"w{writer}-{at}\",\"input\":\"{at}\",\"reference\":\"y\",\"answer\":\"{answer}\"}}\n")
        };
        std::fs::write(place.path().join("data.jsonl"), (0..16).map(row).collect::<String>()).expect("a file");
        std::fs::write(place.path().join("first.yaml"), FIRST).expect("a file");
        check(place.path(), &["run", "first.yaml", "--out", &format!("run-{writer}")], 0);
    }
    let target = place.path().join("base.jsonl");
    let update = |writer: usize| {
        let run = format!("run-{writer}/results.jsonl");
        scoregate(place.path(), &["baseline", "update", &run, "--to", "base.jsonl"])
    };
    assert_eq!(code(&update(0)), 0);
    let (over, loads) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                let baseline = read_baseline(&target, "base.jsonl").expect("one complete document");
                assert_eq!(baseline.cases.len(), 16);
                loads.fetch_add(1, Ordering::SeqCst);
            }
        });
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn(move || {
                    for _ in 0..rounds {
                        let output = update(writer);
                        assert_eq!(code(&output), 0, "{}", err(&output));
                    }
                })
            })
            .collect();
        let ended: Vec<_> = writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        over.store(true, Ordering::SeqCst);
        reader.join().expect("the reader");
        assert!(ended.iter().all(Result::is_ok));
    });
    assert!(loads.load(Ordering::SeqCst) > 10);
    let left: Vec<_> = std::fs::read_dir(place.path())
        .expect("a folder")
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with('.'))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn bl_concurrent_additions_are_all_in_the_pool() {
    let place = folder(&[("first.yaml", FIRST)]);
    recorded(place.path(), &[("a", "a?", true), ("b", "b?", true)]);
    accept(place.path());
    let base = std::fs::read_to_string(place.path().join("first/results.jsonl")).expect("results");
    let (first, rest) = base.split_once('\n').expect("lines");
    // As if the application had been asked each time.
    let rest = rest.replace("\"requests\":0", "\"requests\":2");
    let mut header: Value = serde_json::from_str(first).expect("JSON");
    for run in 0..8 {
        header["id"] = format!("run-{run}").into();
        std::fs::write(place.path().join(format!("{run}.jsonl")), format!("{header}\n{rest}")).expect("a file");
    }
    std::thread::scope(|scope| {
        for run in 0..8 {
            let place = place.path();
            scope.spawn(move || {
                let run = format!("{run}.jsonl");
                let output = scoregate(place, &["baseline", "update", &run, "--to", "base.jsonl", "--add"]);
                assert_eq!(code(&output), 0, "{}", err(&output));
            });
        }
    });
    let pool = read_baseline(&place.path().join("base.jsonl"), "base.jsonl").expect("a baseline");
    assert_eq!(pool.runs.len(), 9);
}

/// A copy would make the pool look steadier than the application is.
#[test]
fn a_run_that_repeats_one_of_the_pool_is_not_added() {
    let place = folder(&[("first.yaml", FIRST)]);
    recorded(place.path(), &[("a", "a?", true), ("b", "b?", false)]);
    accept(place.path());
    let add = |expected: i32| {
        // Ids tell runs of one second apart by their start alone.
        std::thread::sleep(std::time::Duration::from_millis(1_100));
        check(place.path(), &["run", "first.yaml", "--out", "again"], 0);
        let again = ["baseline", "update", "again/results.jsonl", "--to", "base.jsonl", "--add"];
        let output = scoregate(place.path(), &again);
        assert_eq!(code(&output), expected, "{}", err(&output));
        err(&output)
    };
    let before = std::fs::read(place.path().join("base.jsonl")).expect("a baseline");
    let said = add(3);
    assert!(said.contains("it repeats run") && said.contains("--ledger refresh"), "{said}");
    assert_eq!(std::fs::read(place.path().join("base.jsonl")).expect("a baseline"), before);
    recorded(place.path(), &[("a", "a?", true), ("b", "b?", true)]);
    add(0);
    assert_eq!(read_baseline(&place.path().join("base.jsonl"), "base.jsonl").expect("a baseline").runs.len(), 2);
}
