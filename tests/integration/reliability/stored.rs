//! R17: a baseline is whole at any moment. Writers that are killed leave the old one or the new one; half runs never become one.

use std::path::Path;
use std::time::Duration;

use scoregate::store::read_baseline;

use super::{seed, sized};
use crate::command::{check, code, command, err, folder, scoregate};

const SUITE: &str = "version: 1\nname: base\ndataset: { path: data.jsonl }\nevaluators:\n  exact_match: {}\n";

/// Runs of so many recorded answers, in folders of their own.
fn measured(place: &Path, name: &str, cases: usize) {
    let row = |at: usize| {
        let answer = "x".repeat(200);
        format!("{{\"id\":\"{name}-{at}\",\"input\":\"{at}\",\"reference\":\"y\",\"answer\":\"{answer}\"}}\n")
    };
    std::fs::write(place.join("data.jsonl"), (0..cases).map(row).collect::<String>()).expect("a file");
    check(place, &["run", "--out", name], 0);
}

fn update(run: &str) -> [&str; 5] {
    ["baseline", "update", run, "--to", "base.jsonl"]
}

#[test]
fn r17_a_kill_during_an_update_leaves_the_old_baseline_or_the_new_one() {
    let place = folder(&[("scoregate.yaml", SUITE)]);
    for name in ["old", "new"] {
        measured(place.path(), name, 200);
    }
    let runs = [format!("{}/results.jsonl", "old"), format!("{}/results.jsonl", "new")];
    let first = scoregate(place.path(), &update(&runs[0]));
    assert_eq!(code(&first), 0, "{}", err(&first));
    let mut random = fastrand::Rng::with_seed(seed("r17"));
    let kills = sized(30, 1_000);
    let (mut before, mut done, mut stopped) = ("old", 0, 0);
    // How long an update takes here: kills fall into all of it, and a little beyond.
    let begun = std::time::Instant::now();
    assert_eq!(code(&scoregate(place.path(), &update(&runs[0]))), 0);
    let whole = begun.elapsed();
    for kill in 0..kills {
        let run = &runs[usize::from(kill % 2 == 0)];
        let after = run.split('/').next().expect("a name");
        let mut child = command(place.path(), &update(run))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("it starts");
        std::thread::sleep(Duration::from_nanos(random.u64(0..=whole.as_nanos() as u64 * 5 / 4)));
        let _already_over = child.kill();
        let ended = child.wait().expect("its end");
        let baseline = read_baseline(&place.path().join("base.jsonl"), "base.jsonl").expect("one whole document");
        assert_eq!(baseline.cases.len(), 200);
        let found = baseline.cases[0].id.split('-').next().expect("a name").to_owned();
        assert!(found == before || found == after, "{found} is neither {before} nor {after}");
        if ended.success() {
            assert_eq!(found, after, "an update that ended well is there");
            done += 1;
        } else {
            stopped += 1;
        }
        before = if found == "old" { "old" } else { "new" };
    }
    println!("R17: {kills} updates, {stopped} killed, {done} ended before: every baseline whole");
    // Whoever comes next is not kept out by what was left behind.
    let last = scoregate(place.path(), &update(&runs[0]));
    assert_eq!(code(&last), 0, "{}", err(&last));
}

#[test]
fn r17_no_half_run_becomes_a_baseline() {
    let place = folder(&[("scoregate.yaml", SUITE)]);
    measured(place.path(), "whole", 20);
    let text = std::fs::read_to_string(place.path().join("whole/results.jsonl")).expect("results");
    let lines: Vec<&str> = text.lines().collect();
    let mut random = fastrand::Rng::with_seed(seed("r17 halves"));
    let tries = sized(20, 400);
    for _ in 0..tries {
        // Cut at a line, or anywhere.
        let cut = if random.bool() {
            lines[..random.usize(1..lines.len())].join("\n")
        } else {
            text[..random.usize(1..text.len() - 2)].to_owned()
        };
        std::fs::write(place.path().join("half.jsonl"), cut).expect("a file");
        let refused = scoregate(place.path(), &update("half.jsonl"));
        assert!(matches!(code(&refused), 2 | 3), "{}", err(&refused));
        assert!(!place.path().join("base.jsonl").exists(), "half a run was accepted");
    }
    println!("R17: {tries} half runs, none accepted");
}
