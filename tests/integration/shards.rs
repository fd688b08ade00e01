//! `--shard` and `merge`: what several machines measure is what one would have.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::chat_server::ChatServer;
use crate::command::{check, checked, code, command, err, folder, out, root, scoregate};
use crate::fake_github::FakeGithub;
use crate::runner::Runner;

/// Two targets, two trials, two files, tags, one answer missing, scores that no short decimal can say.
const SUITE: &str = "version: 1
name: sharded
dataset: { path: [a.jsonl, b.jsonl] }
targets:
  one: { recorded: { path: one.jsonl } }
  two: { recorded: { path: two.jsonl } }
evaluators:
  rouge_l: {}
  token_f1: {}
  exact_match: {}
gate:
  min_measured: 0.9
  max_missing: 0.1
  metrics:
    rouge_l: { min: 0.3 }
    token_f1: { margin: 0.05 }
  baseline: { path: base.jsonl }
run: { trials: 2, record: { chunk: 512 } }
";

fn words(seed: usize, count: usize) -> String {
    let list = ["red", "green", "blue", "black", "white", "grey", "pink"];
    let at = |step: usize| list[(seed * 7 + step * step + seed / 3) % list.len()];
    (0..count).map(at).collect::<Vec<_>>().join(" ")
}

fn questions(cases: std::ops::Range<usize>) -> String {
    let row = |at: usize| {
        let tag = if at.is_multiple_of(3) { "hard" } else { "easy" };
        let reference = words(at, 7);
        format!(
            "{{\"id\":\"q{at}\",\"input\":\"Question {at}?\",\"reference\":\"{reference}\",\"tags\":[\"{tag}\"]}}\n"
        )
    };
    cases.map(row).collect()
}

fn answers(cases: std::ops::Range<usize>, shift: usize, without: Option<usize>) -> String {
    let row = |at: usize| format!("{{\"id\":\"q{at}\",\"answer\":\"{}\"}}\n", words(at + shift, 5 + at % 6));
    cases.filter(|at| Some(*at) != without).map(row).collect()
}

/// A project with a baseline of slightly other answers.
fn project() -> tempfile::TempDir {
    let first = SUITE.replace("  baseline: { path: base.jsonl }\n", "");
    let place = folder(&[
        ("scoregate.yaml", SUITE),
        ("first.yaml", &first),
        ("b.jsonl", &questions(0..40)),
        ("a.jsonl", &questions(40..60)),
        ("one.jsonl", &answers(0..60, 1, None)),
        ("two.jsonl", &answers(0..60, 2, None)),
    ]);
    assert!([0, 1].contains(&code(&scoregate(place.path(), &["run", "first.yaml", "--out", "first"]))));
    let output = scoregate(place.path(), &["baseline", "update", "first/results.jsonl", "--to", "base.jsonl"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    std::fs::write(place.path().join("one.jsonl"), answers(0..60, 3, Some(17))).expect("a file");
    place
}

/// A report without its declared time fields: start, id made from it, elapsed time.
fn timeless(place: &Path, folder: &str, name: &str) -> String {
    let path = place.join(folder).join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let line = |line: &str| match name {
        "results.jsonl" if line.starts_with("{\"type\":\"run\"") || line.starts_with("{\"type\":\"end\"") => {
            let mut value: Value = serde_json::from_str(line).expect("JSON");
            let object = value.as_object_mut().expect("an object");
            for field in ["started", "elapsed_ms", "id"] {
                object.remove(field);
            }
            value.to_string()
        }
        "junit.xml" => line.split(' ').filter(|word| !word.starts_with("timestamp=")).collect(),
        _ => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

const REPORTS: [&str; 5] = ["results.jsonl", "verdict.json", "junit.xml", "comment.md", "summary.md"];

/// Runs all shards, each into a folder of its own; returns the folders.
fn shards(place: &Path, suite: &str, total: usize) -> Vec<String> {
    let one = |index: usize| {
        let folder = format!("shard-{index}");
        let shard = format!("{index}/{total}");
        let output = scoregate(place, &["run", suite, "--shard", &shard, "--out", &folder]);
        let said = format!("{}{}", out(&output), err(&output));
        assert!([0, 3].contains(&code(&output)), "{said}");
        assert!(said.contains(&format!("shard {index} of {total}")), "{said}");
        folder
    };
    (1..=total).map(one).collect()
}

fn merge<'a>(shards: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["merge"];
    arguments.extend(shards.iter().map(String::as_str));
    arguments.extend(more);
    arguments
}

fn same_reports(place: &Path) {
    for name in REPORTS {
        let (whole, merged) = (timeless(place, "whole", name), timeless(place, "merged", name));
        let odd = whole.lines().zip(merged.lines()).find(|(one, other)| one != other);
        assert!(whole == merged, "{name} differs: {odd:?}");
    }
}

#[test]
fn merged_shards_are_the_run_of_one_machine_byte_for_byte() {
    let place = project();
    let whole = scoregate(place.path(), &["run", "--out", "whole"]);
    for total in [1, 3, 8] {
        let mut shards = shards(place.path(), "scoregate.yaml", total);
        shards.rotate_left(total / 2);
        let merged = scoregate(place.path(), &merge(&shards, &["--out", "merged"]));
        assert_eq!(code(&merged), code(&whole), "{total}: {}", err(&merged));
        same_reports(place.path());
        let last = |text: &str| text.lines().last().map(str::to_owned);
        assert_eq!(last(&err(&merged)), last(&err(&whole)));
    }
}

#[test]
fn merging_again_gives_the_same_bytes_with_all_time_fields() {
    let place = project();
    let shards = shards(place.path(), "scoregate.yaml", 3);
    for folder in ["merged", "again"] {
        scoregate(place.path(), &merge(&shards, &["--out", folder]));
    }
    for name in REPORTS {
        let read = |folder: &str| std::fs::read(place.path().join(folder).join(name)).expect(name);
        assert!(read("merged") == read("again"), "{name}");
    }
}

#[test]
fn real_answers_in_shards_fail_as_they_do_on_one_machine() {
    let place = tempfile::tempdir().expect("a folder");
    let suite = "fixtures/quickstart/regressed.yaml";
    let at = |name: &str| place.path().join(name).display().to_string();
    assert_eq!(code(&scoregate(&root(), &["run", suite, "--out", &at("whole")])), 1);
    let mut folders = Vec::new();
    for index in 1..=3 {
        let folder = at(&format!("shard-{index}"));
        checked(&scoregate(&root(), &["run", suite, "--shard", &format!("{index}/3"), "--out", &folder]), 0);
        folders.push(folder);
    }
    let merged = at("merged");
    checked(&scoregate(&root(), &merge(&folders, &["--suite", suite, "--out", &merged])), 1);
    same_reports(place.path());
}

/// Live calls: each case is asked by one shard only, and what was counted adds up.
#[test]
fn shards_share_the_calls_and_their_sums_are_the_run_s() {
    fn yes(_: usize, _: &str) -> (&'static str, String) {
        ("200 OK", serde_json::json!({"answer": "fine"}).to_string())
    }
    let server = ChatServer::start(Duration::ZERO, yes);
    let suite = format!(
        "version: 1\nname: live\ndataset: {{ path: data.jsonl }}\ntargets:\n  app:\n    http: {{ url: \"{}/q\", body: {{ q: \"{{{{ input }}}}\" }}, answer: $.answer }}\nevaluators:\n  length: {{ min: 1 }}\nrun: {{ workers: 5 }}\n",
        server.url
    );
    let place = folder(&[("scoregate.yaml", &suite), ("data.jsonl", &questions(0..30))]);
    let shards = shards(place.path(), "scoregate.yaml", 3);
    assert_eq!(server.with(|counts| (counts.requests, counts.answered.len())), (30, 30));
    let said = check(place.path(), &merge(&shards, &["--out", "merged"]), 0);
    assert!(said.contains("30 requests"), "{said}");
    assert_eq!(server.with(|counts| counts.requests), 30);
}

#[test]
fn a_shard_decides_nothing_and_says_so_everywhere() {
    let place = project();
    let said = check(place.path(), &["run", "--shard", "2/3", "--out", "shard"], 0);
    let read = |name: &str| std::fs::read_to_string(place.path().join("shard").join(name)).expect(name);
    for text in [&said, &read("comment.md"), &read("summary.md"), &read("junit.xml"), &read("verdict.json")] {
        assert!(text.contains("shard 2 of 3") && text.contains("nothing is decided"), "{text}");
    }
    let verdict: Value = serde_json::from_str(&read("verdict.json")).expect("JSON");
    assert_eq!((&verdict["verdict"], &verdict["exit_code"]), (&"not_evaluated".into(), &0.into()));
    assert_eq!(verdict["shard"], serde_json::json!({"index": 2, "total": 3, "of": 60}));
    assert!(verdict["rules"].as_array().expect("rules").iter().all(|rule| rule["metric"] == ""), "{verdict}");
    let header: Value = serde_json::from_str(read("results.jsonl").lines().next().expect("a line")).expect("JSON");
    assert_eq!(header["shard"]["of"], 60);
    assert!(header["cases"].as_u64().is_some_and(|cases| cases > 5 && cases < 40), "{header}");
    assert!(read("junit.xml").contains("<skipped"), "the verdict is a skipped test");
    for (arguments, expected) in [
        (vec!["compare", "shard/results.jsonl"], 3),
        (vec!["compare", "shard/results.jsonl", "base.jsonl", "--suite", "scoregate.yaml"], 3),
        (vec!["compare", "first/results.jsonl", "shard/results.jsonl"], 3),
        (vec!["run", "--baseline", "shard/results.jsonl"], 3),
        (vec!["baseline", "update", "shard/results.jsonl", "--to", "new.jsonl"], 3),
        (vec!["run", "--only-changed", "shard/results.jsonl"], 3),
    ] {
        let said = check(place.path(), &arguments, expected);
        assert!(said.contains("only shard 2 of 3") && said.contains("merge"), "{arguments:?}: {said}");
    }
    assert!(!place.path().join("new.jsonl").exists());
}

#[test]
fn a_shard_that_measured_too_little_is_not_green_and_the_whole_may_be() {
    let place = project();
    let suite = SUITE.replace("min_measured: 0.9", "min_measured: 0.97");
    std::fs::write(place.path().join("scoregate.yaml"), suite).expect("a file");
    let shards = shards(place.path(), "scoregate.yaml", 8);
    let codes: Vec<i64> = shards
        .iter()
        .map(|shard| {
            let text = std::fs::read_to_string(place.path().join(shard).join("verdict.json")).expect("verdict.json");
            serde_json::from_str::<Value>(&text).expect("JSON")["exit_code"].as_i64().expect("a code")
        })
        .collect();
    assert_eq!(codes.iter().filter(|code| **code == 3).count(), 1, "{codes:?}: one case has no answer");
    let merged = scoregate(place.path(), &merge(&shards, &["--out", "merged"]));
    let text = std::fs::read_to_string(place.path().join("merged/verdict.json")).expect("verdict.json");
    let verdict: Value = serde_json::from_str(&text).expect("JSON");
    let coverage: Vec<&Value> =
        verdict["rules"].as_array().expect("rules").iter().filter(|rule| rule["rule"] == "coverage").collect();
    assert!(!coverage.is_empty() && coverage.iter().all(|rule| rule["verdict"] == "met"), "{}", err(&merged));
}

#[test]
fn shards_without_cases_are_whole() {
    let rows = "{\"id\":\"a\",\"input\":\"A?\",\"reference\":\"x\",\"answer\":\"x\"}\n{\"id\":\"b\",\"input\":\"B?\",\"reference\":\"x\",\"answer\":\"x\"}\n";
    let suite = "version: 1\nname: few\ndataset: { path: data.jsonl }\nevaluators:\n  exact_match: { }\n";
    let place = folder(&[("scoregate.yaml", suite), ("data.jsonl", rows)]);
    check(place.path(), &["run", "--out", "whole"], 0);
    let shards = shards(place.path(), "scoregate.yaml", 5);
    check(place.path(), &merge(&shards, &["--out", "merged"]), 0);
    same_reports(place.path());
}

/// What does not fit together is refused, and leaves what is there as it is.
#[test]
fn merge_refuses_what_is_missing_damaged_or_mixed() {
    let place = project();
    let here = |name: &str| place.path().join(name);
    let shards = shards(place.path(), "scoregate.yaml", 3);
    std::fs::create_dir(here("out")).expect("a folder");
    std::fs::write(here("out/results.jsonl"), "old").expect("a file");
    let refused = |shards: &[&str], expected: i32, words: &str| {
        let mut arguments = vec!["merge", "--out", "out"];
        arguments.extend(shards);
        let said = check(place.path(), &arguments, expected);
        assert!(said.contains(words), "{shards:?}: {words} is not in {said}");
        assert_eq!(std::fs::read_to_string(here("out/results.jsonl")).expect("a file"), "old");
    };
    let results = |shard: &str| std::fs::read_to_string(here(shard).join("results.jsonl")).expect("results");
    let [one, two, three] = [&*shards[0], &*shards[1], &*shards[2]];
    let changed = |name: &str, text: &str| std::fs::write(here(name), text).expect("a file");

    refused(&[one, three], 3, "shard 2 of 3 missing");
    refused(&[two], 3, "shards 1, 3 of 3 missing");
    refused(&[one, two, three, two], 2, "shard 2 of 3 stands twice");
    refused(&[one, two, "shard-9"], 3, "shard-9");
    refused(&[one, two, "first"], 2, "is a whole run");
    refused(&[one, two, "base.jsonl"], 2, "no results file");

    let text = results(three);
    let lines: Vec<&str> = text.lines().collect();
    changed("cut.jsonl", &lines[..lines.len() - 1].join("\n"));
    refused(&[one, two, "cut.jsonl"], 3, "cut off");
    changed("half.jsonl", &text[..text.len() / 2]);
    refused(&[one, two, "half.jsonl"], 3, "cut off");
    let without =
        |at: usize| lines.iter().enumerate().filter(|(line, _)| *line != at).map(|(_, line)| *line).collect::<Vec<_>>();
    changed("lost.jsonl", &without(3).join("\n"));
    refused(&[one, two, "lost.jsonl"], 3, "outcomes");
    // A case that is gone, with an end line that knows no better.
    let case = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["case"].clone();
    let gone = case(lines[1]);
    let rest: Vec<&str> = lines.iter().copied().filter(|line| case(line) != gone).collect();
    let (before, after) = (format!("\"outcomes\":{}", lines.len() - 2), format!("\"outcomes\":{}", rest.len() - 2));
    changed("gone.jsonl", &rest.join("\n").replace(&before, &after));
    refused(&[one, two, "gone.jsonl"], 3, "is in no shard");
    // A case of another shard.
    let stranger = results(one).lines().nth(1).expect("a case").to_owned();
    let (id, other) = (case(&stranger).as_str().expect("an id").to_owned(), gone.as_str().expect("an id").to_owned());
    changed("stranger.jsonl", &text.replace(&format!("\"case\":\"{other}\""), &format!("\"case\":\"{id}\"")));
    refused(&[one, two, "stranger.jsonl"], 3, "does not fall into this shard");
    // Contents that are not those of the data set.
    let content =
        serde_json::from_str::<Value>(lines[1]).expect("JSON")["content"].as_str().expect("a digest").to_owned();
    changed("content.jsonl", &text.replace(&content, &"0".repeat(32)));
    refused(&[one, two, "content.jsonl"], 2, "not those of the data set");
    changed("stopped.jsonl", &text.replace("\"complete\":true", "\"complete\":false,\"reason\":\"cancelled\""));
    refused(&[one, two, "stopped.jsonl"], 3, "is not complete: cancelled");

    for (field, to, words) in [
        ("\"commit\":\"", "\"commit\":\"x", "different commits"),
        ("\"tool\":\"", "\"tool\":\"9.", "different versions of scoregate"),
        ("\"suite\":\"sharded", "\"suite\":\"other", "different suites"),
        ("\"chunk\":512", "\"chunk\":256", "different records"),
        ("\"trials\":2", "\"trials\":1", "different trials"),
        ("\"dataset_digest\":\"", "\"dataset_digest\":\"0000", "different"),
    ] {
        let known = if field.starts_with("\"commit") {
            text.replacen("\"tool\"", "\"commit\":\"a\",\"tool\"", 1)
        } else {
            text.clone()
        };
        let mixed = known.replacen(field, to, 1);
        let mixed = if field.contains("dataset") { shorter(&mixed) } else { mixed };
        changed("mixed.jsonl", &mixed);
        refused(&[one, two, "mixed.jsonl"], 2, words);
    }
    scoregate(place.path(), &["run", "--shard", "3/4", "--out", "of-four"]);
    refused(&[one, two, "of-four"], 2, "different numbers of shards");
    let said = check(place.path(), &["merge", one, two, three, "--out", one], 2);
    assert!(said.contains("would be replaced") && said.contains("--out"), "{said}");
    let edited = SUITE.replace("min: 0.3", "min: 0.1");
    changed("scoregate.yaml", &edited);
    refused(&[one, two, three], 2, "ran another suite");
}

/// A digest that got four digits too many at its start loses its last four.
fn shorter(text: &str) -> String {
    let start = text.find("\"dataset_digest\":\"").expect("a digest") + "\"dataset_digest\":\"".len();
    format!("{}{}", &text[..start + 32], &text[start + 36..])
}

#[test]
fn auto_reads_the_variables_and_refuses_to_guess() {
    let place = project();
    let run = |variables: &[(&str, &str)], shard: &str| {
        command(place.path(), &["check", "--shard", shard]).envs(variables.iter().copied()).output().expect("a run")
    };
    let said = out(&run(&[("CI_NODE_INDEX", "2"), ("CI_NODE_TOTAL", "3")], "auto"));
    assert!(said.contains("shard 2 of 3: "), "{said}");
    let output = run(&[("JOB_COMPLETION_INDEX", "2")], "auto");
    let said = checked(&output, 2);
    assert!(said.contains("auto/8") && said.contains("completions"), "{said}");
    assert!(out(&run(&[("JOB_COMPLETION_INDEX", "2")], "auto/3")).contains("shard 3 of 3"));
    checked(&run(&[], "auto"), 2);
    for wrong in ["0/3", "4/3", "auto/0", "half"] {
        let said = checked(&run(&[], wrong), 2);
        assert!(said.contains("the command line is wrong"), "{said}");
    }
}

#[test]
fn stated_limits_are_divided() {
    let place = project();
    let with = |run: &str| {
        std::fs::write(place.path().join("scoregate.yaml"), SUITE.replace("run: { ", run)).expect("a file");
        let at_once = |index: usize| {
            let said = out(&scoregate(place.path(), &["check", "--shard", &format!("{index}/4")]));
            let (_, shard) = said.split_once("shard ").expect("the shard");
            let words = shard.split_once("cases, ").map(|(_, words)| words.split(' ').next().unwrap_or_default());
            words.unwrap_or("as many as possible").to_owned()
        };
        (1..=4).map(at_once).collect::<Vec<_>>()
    };
    assert_eq!(with("run: { workers: 10, "), ["3", "3", "2", "2"]);
    assert_eq!(with("run: { workers: 2, "), ["1", "1", "1", "1"]);
    assert_eq!(with("run: { "), ["as many as possible"; 4], "nothing was stated");
}

#[test]
fn the_parts_of_check_add_up_and_a_new_case_moves_no_other() {
    let place = project();
    let ids = |total: usize| -> Vec<Vec<String>> {
        let read = |shard: &String| {
            let text = std::fs::read_to_string(place.path().join(shard).join("results.jsonl")).expect("results");
            let lines = text.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
            lines.filter_map(|line| line["case"].as_str().map(str::to_owned)).collect()
        };
        shards(place.path(), "scoregate.yaml", total).iter().map(read).collect()
    };
    let before = ids(3);
    std::fs::write(place.path().join("b.jsonl"), format!("{}{}", questions(60..61), questions(0..40))).expect("a file");
    let after = ids(3);
    for (before, after) in before.iter().zip(&after) {
        let rest: Vec<&String> = after.iter().filter(|id| *id != "q60").collect();
        assert_eq!(rest, before.iter().collect::<Vec<_>>());
    }
    assert_eq!(after.iter().flatten().filter(|id| *id == "q60").count(), 4, "two targets, two trials");
}

#[test]
fn only_the_merged_run_comments_on_the_pull_request() {
    let github = FakeGithub::start();
    let rows: String = (0..30)
        .map(|at| format!("{{\"id\":\"q{at}\",\"input\":\"{at}?\",\"reference\":\"yes\",\"answer\":\"yes\"}}\n"))
        .collect();
    let suite = "version: 1\nname: capitals\ndataset: { path: data.jsonl }\nevaluators:\n  exact_match: {}\ngate:\n  metrics:\n    exact_match: { min: 0.8 }\n";
    let runner = Runner::new(&github).file("data.jsonl", &rows).file("scoregate.yaml", suite);
    for index in 1..=2 {
        let step = runner.step(&["run", "--shard", &format!("{index}/2"), "--out", &format!("s{index}")]);
        assert_eq!((step.code, step.verdict()), (0, ["not_evaluated", "false", "0", "0"]), "{step:?}");
        assert!(step.summary.contains(&format!("shard {index} of 2")), "{}", step.summary);
        assert!(step.err.contains("no comment: this is one shard"), "{}", step.err);
        assert!(github.comments().is_empty());
    }
    let step = runner.step(&["merge", "s1", "s2"]);
    assert_eq!((step.code, step.verdict()), (0, ["passed", "true", "0", "0"]), "{step:?}");
    assert_eq!(github.comments().len(), 1);
    assert!(github.comments()[0].body.contains("passed"), "{}", github.comments()[0].body);
    let step = runner.step(&["merge", "s1"]);
    assert_eq!((step.code, step.verdict()), (3, ["not_evaluated", "false", "3", "0"]), "{step:?}");
    assert!(step.summary.contains("shard 2 of 2 missing"), "{}", step.summary);
    assert_eq!(github.violations(), Vec::<String>::new());
}

/// The command lines of the workflows in `docs/sharding.md`, run as they stand there.
#[test]
#[cfg(unix)]
fn the_workflows_of_the_documents_work() {
    let text = std::fs::read_to_string(root().join("docs/sharding.md")).expect("docs/sharding.md");
    let commands: Vec<String> = text
        .lines()
        .filter_map(|line| line.split_once("target/release/scoregate ").map(|(_, rest)| rest.to_owned()))
        .collect();
    assert_eq!(commands.len(), 4, "{commands:?}");
    for flow in commands.chunks(2) {
        let [run, merge] = flow else { panic!("a run and a merge") };
        let place = tempfile::tempdir().expect("a folder");
        let shell = |script: &str, variables: &[(&str, String)]| {
            Command::new("sh")
                .args(["-c", script])
                .current_dir(root())
                .env_clear()
                .env("PATH", std::env::var_os("PATH").unwrap_or_default())
                .envs(variables.iter().map(|(name, value)| (*name, value.as_str())))
                .output()
                .expect("a shell")
        };
        let (program, shards) = (env!("CARGO_BIN_EXE_scoregate"), place.path().display());
        for index in 1..=4 {
            let number = index.to_string();
            let variables =
                [("SHARD", "4"), ("SYSTEM_JOBPOSITIONINPHASE", "4"), ("SHARDS", "4"), ("SYSTEM_TOTALJOBSINPHASE", "4")];
            let variables = variables.map(|(name, value)| {
                (name, if name.ends_with('S') || name.contains("TOTAL") { value.to_owned() } else { number.clone() })
            });
            let run = run.replace("--out shard", &format!("--out {shards}/shard-{index}"));
            checked(&shell(&format!("exec {program} {run}"), &variables), 0);
        }
        let merge = merge
            .replace("$(Pipeline.Workspace)/shard-*", "shards/*")
            .replace("shards/*", &format!("{shards}/shard-*"));
        let output = shell(&format!("exec {program} {merge} --out {shards}/merged"), &[]);
        let said = checked(&output, 0);
        assert!(said.contains("140 cases"), "{said}");
    }
}

/// Money and requests: a shard may spend its share, and stops there.
#[test]
fn a_budget_is_divided() {
    fn yes(_: usize, _: &str) -> (&'static str, String) {
        ("200 OK", serde_json::json!({"answer": "fine"}).to_string())
    }
    let server = ChatServer::start(Duration::ZERO, yes);
    let suite = format!(
        "version: 1\nname: live\ndataset: {{ path: data.jsonl }}\ntargets:\n  app:\n    http: {{ url: \"{}/q\", body: {{ q: \"{{{{ input }}}}\" }}, answer: $.answer }}\nevaluators:\n  length: {{ min: 1 }}\nrun: {{ workers: 2, budget: {{ requests: 9 }} }}\n",
        server.url
    );
    let place = folder(&[("scoregate.yaml", &suite), ("data.jsonl", &questions(0..60))]);
    for index in 1..=2 {
        check(place.path(), &["run", "--shard", &format!("{index}/2"), "--out", &format!("s{index}")], 3);
    }
    assert_eq!(server.with(|counts| counts.requests), 9, "five and four");
    let said = check(place.path(), &["merge", "s1", "s2"], 3);
    assert!(said.contains("shard 1 of 2") && said.contains("budget"), "{said}");
}

#[test]
fn a_shard_is_compared_with_nothing_and_says_so() {
    let place = project();
    let said = check(place.path(), &["run", "--shard", "1/2", "--baseline", "base.jsonl"], 2);
    assert!(said.contains("scoregate merge"), "{said}");
}
