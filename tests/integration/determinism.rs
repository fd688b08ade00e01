//! Same input, same output: whatever the workers, the locale, the time zone (R16).

use std::process::Command;

use crate::command::root;

/// Without the declared time fields: the run's start in `results.jsonl` and JUnit, the elapsed time, and the run's id made from the start.
fn reports(arguments: &[&str], environment: &[(&str, &str)]) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_scoregate"))
        .args(["run", "fixtures/quickstart/regressed.yaml", "--out"])
        .arg(folder.path())
        .args(arguments)
        .current_dir(root())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs(environment.iter().copied())
        .output()
        .expect("the binary starts");
    assert_eq!(output.status.code(), Some(1));
    let mut files = Vec::new();
    for name in ["results.jsonl", "verdict.json", "junit.xml", "comment.md"] {
        let text = std::fs::read_to_string(folder.path().join(name)).expect(name);
        let lines = text.lines().map(|line| match name {
            "results.jsonl" if line.starts_with("{\"type\":\"run\"") || line.starts_with("{\"type\":\"end\"") => {
                let mut value: serde_json::Value = serde_json::from_str(line).expect("JSON");
                let object = value.as_object_mut().expect("an object");
                for field in ["started", "elapsed_ms", "id"] {
                    object.remove(field);
                }
                value.to_string()
            }
            "junit.xml" => line.split(' ').filter(|word| !word.starts_with("timestamp=")).collect(),
            _ => line.to_owned(),
        });
        files.push((name.to_owned(), lines.collect::<Vec<_>>().join("\n")));
    }
    files
}

#[test]
fn ju_locale_and_workers_change_no_byte() {
    let plain = reports(&["--workers", "1"], &[]);
    let locales = ["C", "de_DE.UTF-8", "ar_EG.UTF-8", "tr_TR.UTF-8", "zh_CN.UTF-8", "POSIX"];
    let zones = ["UTC", "Asia/Kathmandu", "America/St_Johns", "Pacific/Chatham"];
    let full = std::env::var("SCOREGATE_TEST_SIZE").as_deref() == Ok("full");
    // Every locale, every zone, one and many workers; at full size a hundred runs over 1 to 64 of them (R16).
    let runs: Vec<usize> = if full { (0..100).collect() } else { vec![0, 15, 31, 47, 63, 7, 1, 2] };
    for run in runs {
        let (workers, locale, zone) = ((run % 64 + 1).to_string(), locales[run % 6], zones[run % 4]);
        let other = reports(&["--workers", &workers], &[("LANG", locale), ("LC_ALL", locale), ("TZ", zone)]);
        for ((name, one), (_, two)) in plain.iter().zip(&other) {
            assert!(one == two, "{name} differs with {workers} workers, {locale}, {zone}");
        }
    }
}

/// Where a case stands in its file is told, and nothing is read from it (R16).
#[test]
fn another_order_of_the_rows_changes_no_verdict() {
    let suite = "version: 1\nname: order\ndataset: { path: data.jsonl }\nevaluators:\n  exact_match: {}\n  rouge_l: {}\n\
                 gate:\n  metrics: { rouge_l: { min: 0.5 } }\n  baseline: { path: base.jsonl, missing: warn }\n  slices: { a: {} }\n";
    let place = crate::command::folder(&[("scoregate.yaml", suite)]);
    let row = |at: usize, wrong: usize| {
        let answer = if at < wrong { "something else" } else { "the right answer" };
        let tag = if at.is_multiple_of(2) { "a" } else { "b" };
        format!(
            "{{\"id\":\"q{at}\",\"input\":\"{at}?\",\"reference\":\"the right answer\",\"answer\":\"{answer}\",\"tags\":[\"{tag}\"]}}\n"
        )
    };
    let write = |rows: &[String]| std::fs::write(place.path().join("data.jsonl"), rows.concat()).expect("a file");
    write(&(0..60).map(|at| row(at, 3)).collect::<Vec<_>>());
    crate::command::check(place.path(), &["run"], 0);
    let accepted = crate::command::scoregate(place.path(), &["baseline", "update", "scoregate-out/results.jsonl"]);
    assert!(accepted.status.success());
    let judged = |rows: &[String]| {
        write(rows);
        crate::command::scoregate(place.path(), &["run"]);
        let mut verdict = crate::command::verdict(place.path());
        for list in ["broken", "fixed"] {
            for case in verdict[list].as_array_mut().expect("cases") {
                case.as_object_mut().expect("a case").remove("place");
            }
        }
        verdict
    };
    let mut rows: Vec<String> = (0..60).map(|at| row(at, 12)).collect();
    let sorted = judged(&rows);
    assert!(sorted["broken"].as_array().is_some_and(|cases| !cases.is_empty()), "{sorted}");
    let full = std::env::var("SCOREGATE_TEST_SIZE").as_deref() == Ok("full");
    let mut random = fastrand::Rng::with_seed(16);
    for _ in 0..if full { 100 } else { 4 } {
        random.shuffle(&mut rows);
        assert_eq!(judged(&rows), sorted);
    }
}
