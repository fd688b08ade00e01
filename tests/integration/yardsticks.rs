//! A change does not choose what it is compared with: files and targets that the gate names, in real repositories. What `check` foretells of it.

use serde_json::{Value, json};

use crate::command::{checked, command, err, git, out, verdict};
use crate::proposal::{COMPARED, Proposal, SUITE, job, rows, suite};

fn loosened(folder: &std::path::Path) -> Vec<String> {
    let changes = verdict(folder)["base"]["changes"].as_array().cloned().unwrap_or_default();
    let words = |one: &Value| one["what"].as_str().expect("what").to_owned();
    changes.iter().filter(|one| one["loosens"] == true).map(words).collect()
}

/// `bl-pr-edits-own-gate`: a baseline that the command line names is no way around it.
#[test]
fn a_named_baseline_that_the_change_edits_is_red() {
    let world = Proposal::usual();
    let pull = world.propose(|world| {
        world.write("data.jsonl", &rows(30, 2));
        world.accept();
    });
    let clone = world.checkout("ci", "refs/pull/1/merge");
    let said = checked(&pull.judged(&clone, &["--baseline", "base.jsonl"]), 1);
    assert_eq!(loosened(&clone), ["baseline base.jsonl"], "{said}");
}

#[test]
fn a_named_baseline_that_only_the_change_has_is_red_and_one_of_the_workflow_is_not() {
    let world = Proposal::new(&[(SUITE, &suite("0.5", ""))]);
    world.commit("begin");
    world.push("main");
    let pull = world.propose(|world| world.accept());
    let clone = world.checkout("ci", "refs/pull/1/merge");
    let said = checked(&pull.judged(&clone, &["--baseline", "base.jsonl"]), 1);
    assert_eq!(loosened(&clone), ["baseline base.jsonl"], "{said}");
    // What the job itself brought is the workflow's word.
    std::fs::copy(clone.join("base.jsonl"), clone.join("fetched.jsonl")).expect("a file");
    let said = checked(&pull.judged(&clone, &["--baseline", "fetched.jsonl"]), 0);
    assert!(loosened(&clone).is_empty(), "{said}");
    // The same where it replaces a file that the base has.
    let compared = job(
        &clone,
        "pull_request",
        &pull.payload(),
        &["compare", "scoregate-out/results.jsonl", "base.jsonl", "--suite", SUITE, "--out", "scoregate-out"],
    );
    checked(&compared, 1);
    assert_eq!(loosened(&clone), ["baseline base.jsonl"]);
}

#[test]
fn the_system_of_the_base_is_not_the_change_s_to_choose() {
    let with = |old: &str| {
        let targets = format!("targets:\n  app:\n    recorded: {{}}\n  old:\n    recorded: {{ path: {old} }}\n");
        let gate = "  baseline: { mode: concurrent, target: old }\n";
        suite("0.5", gate).replace("evaluators:", &format!("{targets}evaluators:"))
    };
    let world =
        Proposal::new(&[(SUITE, &with("good.jsonl")), ("good.jsonl", &rows(30, 0)), ("bad.jsonl", &rows(30, 30))]);
    world.commit("begin");
    world.push("main");
    let pull = world.propose(|world| world.write(SUITE, &with("bad.jsonl")));
    let clone = world.checkout("ci", "refs/pull/1/merge");
    checked(&pull.judged(&clone, &[]), 1);
    assert_eq!(loosened(&clone), ["targets.old"]);
}

#[test]
fn every_later_part_of_the_gate_is_compared_with_the_base_s() {
    let gate = |limit: &str, kappa: &str| {
        format!(
            "  slices: {{ critical: {{ limits: {{ quality: {{ min: {limit} }} }} }} }}\n  resources: {{ tokens: {{ total: {}, on_missing: warn }} }}\n  \
             judges: {{ quality: {{ calibration: judge.json, min_kappa: {kappa}, on_fail: warn }} }}\n",
            if limit == "0.9" { 100 } else { 200 }
        )
    };
    let world = Proposal::new(&[(SUITE, &suite("0.5", &gate("0.9", "0.6")))]);
    world.commit("begin");
    world.push("main");
    let pull = world.propose(|world| world.write(SUITE, &suite("0.5", &gate("0.8", "0.5"))));
    let clone = world.checkout("ci", "refs/pull/1/merge");
    let said = checked(&pull.judged(&clone, &[]), 1);
    let expected = ["gate.slices.critical.limits.quality.min", "gate.resources.tokens.total", "gate.judges.quality"];
    assert_eq!(loosened(&clone), expected, "{said}");
}

#[test]
fn check_foretells_what_a_change_loosens_and_where_its_baseline_is() {
    let world = Proposal::usual();
    let pull = world.propose(|world| world.write(SUITE, &suite("0.5", COMPARED)));
    let clone = world.checkout("ci", "refs/pull/1/merge");
    let check = |more: &[&str]| {
        let arguments = [&["check", "--fetch"], more].concat();
        job(&clone, "pull_request", &pull.payload(), &arguments)
    };
    let output = check(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(
        err(&output).contains("loosened, which fails the build: gate.metrics.quality.min: 0.9 → 0.5"),
        "{}",
        err(&output)
    );
    let place = format!("baseline: 1 run of base.jsonl at commit {}\n", &pull.base[..10]);
    assert!(out(&output).contains(&place), "{}", out(&output));
    let object: Value = serde_json::from_str(&out(&check(&["--format", "json"]))).expect("JSON");
    assert_eq!((&object["base"]["by"], &object["baseline"]["state"]), (&json!("base"), &json!("found")));
    assert!(!clone.join("scoregate-out").exists(), "nothing was run");
    // Elsewhere it says nothing of this.
    let plain = command(&world.author(), &["check", "--format", "json"]).output().expect("it starts");
    let object: Value = serde_json::from_str(&out(&plain)).expect("JSON");
    assert!(object.get("base").is_none() && object.get("baseline").is_none(), "{object}");
}

/// Of results the question and the reference can be told apart, too.
#[test]
fn compare_names_what_of_a_case_changed() {
    let world = Proposal::usual();
    let pull = world.propose(|world| {
        let text = rows(30, 0).replacen("\"0?\"", "\"zero?\"", 1).replacen(
            "1?\",\"reference\":\"yes\"",
            "1?\",\"reference\":\"Yes\"",
            1,
        );
        world.write("data.jsonl", &text);
    });
    let clone = world.checkout("ci", "refs/pull/1/merge");
    pull.judged(&clone, &["--out", "measured"]);
    let arguments = ["compare", "measured/results.jsonl", "base.jsonl", "--suite", SUITE, "--out", "scoregate-out"];
    job(&clone, "pull_request", &pull.payload(), &arguments);
    let remarks = verdict(&clone)["base"]["remarks"].to_string();
    assert!(remarks.contains("1 case changed its question: q00"), "{remarks}");
    assert!(remarks.contains("1 case changed its reference: q01"), "{remarks}");
    assert!(git(&clone, &["status", "--porcelain", "--", "base.jsonl"]).is_empty());
}

/// A suite of an application and the base's system, of which `old` is this block.
fn beside(old: &str, more: &str) -> String {
    let targets = format!("{more}targets:\n  app:\n    recorded: {{}}\n  old:\n    {old}\n");
    let gate = "  baseline: { mode: concurrent, target: old }\n";
    suite("0.5", gate).replace("evaluators:", &format!("{targets}evaluators:"))
}

/// What a change of these files does to the base's system; `check` tells without asking anybody.
fn foretold(before: &[(&str, &str)], after: &[(&str, &str)]) -> Vec<(String, String)> {
    let world = Proposal::new(before);
    world.commit("begin");
    world.push("main");
    let pull = world.propose(|world| after.iter().for_each(|(name, text)| world.write(name, text)));
    let clone = world.checkout("ci", "refs/pull/1/merge");
    let told = job(&clone, "pull_request", &pull.payload(), &["check", "--fetch", "--format", "json"]);
    let object: Value = serde_json::from_str(&out(&told)).unwrap_or_else(|_| panic!("{}", err(&told)));
    assert_eq!(object["base"]["by"], "base", "{object}");
    let changes = object["base"]["changes"].as_array().cloned().unwrap_or_default();
    let word = |one: &Value, key: &str| one[key].as_str().expect("a text").to_owned();
    changes.iter().filter(|one| one["loosens"] == true).map(|one| (word(one, "what"), word(one, "new"))).collect()
}

fn loosens(words: &str) -> Vec<(String, String)> {
    vec![("targets.old".to_owned(), words.to_owned())]
}

/// With the same settings its answers, its model or its program can be made worse all the same.
#[test]
fn what_the_system_of_the_base_is_made_of_is_not_the_change_s_to_choose() {
    let recorded = beside("recorded: { path: answers/old.jsonl }", "");
    let (good, bad) = (rows(30, 0), rows(30, 30));
    let before = [(SUITE, recorded.as_str()), ("answers/old.jsonl", &good)];
    assert_eq!(foretold(&before, &[("answers/old.jsonl", &bad)]), loosens("answers/old.jsonl changed"));
    assert_eq!(foretold(&before, &[("README", "words")]), []);

    let model = |name: &str| {
        let model = "{ provider: openai, model: NAME, base_url: \"http://127.0.0.1:9/v1\" }".replace("NAME", name);
        beside("chat: { model: main }", &format!("models:\n  main: {model}\n"))
    };
    assert_eq!(foretold(&[(SUITE, &model("large"))], &[(SUITE, &model("small"))]), loosens("models.main changed"));

    let program = beside("command: { argv: [sh, -c, 'cd old && sh ./say.sh'] }", "");
    let before = [(SUITE, program.as_str()), ("old/say.sh", "echo yes"), ("app.sh", "echo yes")];
    assert_eq!(foretold(&before, &[("old/say.sh", "echo no")]), loosens("old changed"));
    assert_eq!(foretold(&before, &[("app.sh", "echo no")]), []);

    let rows_of_its_own = beside("recorded: {}", "");
    assert_eq!(foretold(&[(SUITE, &rows_of_its_own)], &[("data.jsonl", &bad)]), loosens("data.jsonl changed"));
}

#[test]
fn every_named_baseline_is_compared_with_the_base_s() {
    let world = Proposal::new(&[(SUITE, &suite("0.5", ""))]);
    world.accept();
    world.commit("begin");
    world.push("main");
    let pull = world.propose(|world| {
        let kept = std::fs::read(world.author().join("base.jsonl")).expect("a baseline");
        world.accept();
        let own = world.author().join("own.jsonl");
        std::fs::rename(world.author().join("base.jsonl"), own).expect("a baseline");
        std::fs::write(world.author().join("base.jsonl"), kept).expect("a baseline");
    });
    let clone = world.checkout("ci", "refs/pull/1/merge");
    checked(&pull.judged(&clone, &["--out", "measured"]), 0);
    let arguments =
        ["compare", "measured/results.jsonl", "base.jsonl", "own.jsonl", "--suite", SUITE, "--out", "scoregate-out"];
    let compared = job(&clone, "pull_request", &pull.payload(), &arguments);
    assert_eq!(loosened(&clone), ["baseline own.jsonl"], "{}", err(&compared));
}

/// What cannot be compared is not taken for the same: a link to where the change may write.
#[cfg(unix)]
#[test]
fn a_named_baseline_that_cannot_be_compared_is_red() {
    let world = Proposal::usual();
    let kept = std::fs::read(world.author().join("base.jsonl")).expect("a baseline");
    let pull = world.propose(|world| {
        let file = world.author().join("base.jsonl");
        std::fs::remove_file(&file).expect("a file");
        std::os::unix::fs::symlink("../elsewhere.jsonl", file).expect("a link");
    });
    let clone = world.checkout("ci", "refs/pull/1/merge");
    std::fs::write(clone.with_file_name("elsewhere.jsonl"), &kept).expect("a file");
    let said = checked(&pull.judged(&clone, &["--baseline", "base.jsonl"]), 1);
    assert_eq!(loosened(&clone), ["baseline base.jsonl"], "{said}");
}

/// A pointer of Git LFS that the change left as it was is no change.
#[test]
fn a_named_baseline_in_git_lfs_that_is_the_same_is_green() {
    let world = Proposal::new(&[(SUITE, &suite("0.5", ""))]);
    world.accept();
    let kept = std::fs::read(world.author().join("base.jsonl")).expect("a baseline");
    world.write("base.jsonl", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
    world.commit("begin");
    world.push("main");
    let pull = world.propose(|world| world.write("README", "words"));
    let clone = world.checkout("ci", "refs/pull/1/merge");
    std::fs::write(clone.join("base.jsonl"), &kept).expect("a file");
    let said = checked(&pull.judged(&clone, &["--baseline", "base.jsonl"]), 0);
    assert!(loosened(&clone).is_empty(), "{said}");
}
