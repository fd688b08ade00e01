//! The real binary in a plain step of an Azure Pipelines job, against an Azure DevOps on loopback that checks every request.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

use crate::command::{code, command, err, folder, out, root};
use crate::fake_azure::{self, Azure, TOKEN};
use crate::fake_server::{FakeServer, Fault};

fn rows(wrong: usize) -> String {
    let row = |at: usize| {
        let answer = if at < wrong { "Lyon" } else { "Paris" };
        format!("{{\"id\":\"q{at:02}\",\"input\":\"Capital {at}?\",\"reference\":\"Paris\",\"answer\":\"{answer}\"}}\n")
    };
    (0..40).map(row).collect()
}

const SUITE: &str = "version: 1\nname: capitals\ndataset: { path: data.jsonl }\nevaluators:\n  exact_match: {}\ngate:\n  metrics:\n    \
                     exact_match: { min: 0.8 }\n";

/// One step of a build of pull request 12, and what the agent reads of it.
struct Step {
    output: Output,
    issues: Vec<String>,
    variables: BTreeMap<String, String>,
    /// `results.publish` and `task.uploadsummary`, as they stand.
    others: Vec<String>,
}

fn step(azure: &FakeServer<Azure>, place: &Path, arguments: &[&str], more: &[(&str, &str)]) -> Step {
    std::fs::create_dir_all(place.join("temp")).expect("a folder");
    let mut command = command(place, arguments);
    command.envs(fake_azure::variables(azure, "")).env("AGENT_TEMPDIRECTORY", place.join("temp"));
    command.env("BUILD_SOURCESDIRECTORY", place);
    // The policy and the baseline of the merge base are another test's.
    let output = command.envs(more.iter().copied()).output().expect("a run");
    assert_eq!(azure.violations(), Vec::<String>::new());
    assert!(!out(&output).contains(TOKEN) && !err(&output).contains(TOKEN));
    let mut step = Step { issues: vec![], variables: BTreeMap::new(), others: vec![], output };
    for line in out(&step.output).lines().filter(|line| line.starts_with("##vso[")) {
        let (info, data) = line.trim_start_matches("##vso[").split_once(']').expect("a command");
        if let Some(rest) = info.strip_prefix("task.setvariable variable=") {
            step.variables.insert(rest.split(';').next().expect("a name").to_owned(), data.to_owned());
        } else if info.starts_with("task.logissue") {
            step.issues.push(line.to_owned());
        } else {
            step.others.push(line.to_owned());
        }
    }
    step
}

const RUN: [&str; 4] = ["run", "--base", "none", "--check=status"];

#[test]
fn a_pull_request_gets_one_thread_results_a_summary_and_a_status() {
    let azure = fake_azure::start();
    let place = folder(&[("scoregate.yaml", SUITE), ("data.jsonl", &rows(20))]);
    let failed = step(&azure, place.path(), &RUN, &[]);
    assert_eq!(code(&failed.output), 1, "{}", err(&failed.output));
    let thread = azure.with(|azure| azure.threads[0].clone());
    assert_eq!((&*thread.status, thread.suite.as_deref()), ("active", Some("capitals")));
    assert!(thread.text.starts_with("> ❌ **") && thread.text.contains("case **q00**"), "{}", thread.text);
    assert!(!thread.text.contains("[!CAUTION]"));
    let variable = |step: &Step, name: &str| step.variables[name].clone();
    assert_eq!((&*variable(&failed, "verdict"), &*variable(&failed, "exitCode")), ("failed", "1"));
    assert!(variable(&failed, "commentUrl").ends_with("/pullrequest/12?discussionId=1"));
    assert!(Path::new(&variable(&failed, "junitPath")).is_file());
    assert!(failed.issues[0].contains("type=error;"), "{:?}", failed.issues);
    assert!(
        failed.issues.iter().any(|issue| issue.contains("sourcepath=data.jsonl;linenumber=1;")),
        "{:?}",
        failed.issues
    );
    let published =
        failed.others.iter().find(|line| line.starts_with("##vso[results.publish type=JUnit;")).expect("results");
    assert!(published.contains("runTitle=scoregate capitals;") && published.contains("/scoregate-out/junit.xml;"));
    let page = failed.others.iter().find_map(|line| line.strip_prefix("##vso[task.uploadsummary]")).expect("a summary");
    let summary = std::fs::read_to_string(page).expect("a page");
    assert!(page.ends_with("/scoregate.md") && summary.starts_with("> ❌ **"), "{page}: {summary}");

    std::fs::write(place.path().join("data.jsonl"), rows(0)).expect("a file");
    let passed = step(&azure, place.path(), &RUN, &[]);
    assert_eq!((code(&passed.output), passed.issues.len()), (0, 0), "{:?}", passed.issues);
    let threads = azure.with(|azure| azure.threads.clone());
    assert_eq!((threads.len(), &*threads[0].status), (1, "fixed"));
    assert_eq!(variable(&passed, "passed"), "true");
    let states: Vec<String> =
        azure.with(|azure| azure.statuses.iter().map(|(_, status)| status["state"].to_string()).collect());
    assert_eq!(states, ["\"failed\"", "\"succeeded\""]);
}

/// Of the issue with every part: a link to the line and to the run, and where the levels come from.
#[test]
fn the_thread_links_to_lines_and_has_the_history_in_one_line() {
    let azure = fake_azure::start();
    let place = folder(&[("scoregate.yaml", SUITE), ("data.jsonl", &rows(1))]);
    let plain = |arguments: &[&str]| {
        let output = crate::command::scoregate(place.path(), arguments);
        assert!(output.status.success(), "{}", err(&output));
    };
    plain(&["run", "--out", "one"]);
    plain(&["baseline", "update", "one/results.jsonl", "--to", "base.jsonl"]);
    std::fs::write(place.path().join("data.jsonl"), rows(2)).expect("a file");
    plain(&["run", "--out", "two"]);
    plain(&["baseline", "update", "two/results.jsonl", "--to", "base.jsonl", "--add"]);
    std::fs::write(place.path().join("data.jsonl"), rows(20)).expect("a file");
    let failed = step(&azure, place.path(), &["run", "--base", "none", "--baseline", "base.jsonl"], &[]);
    assert_eq!(code(&failed.output), 1, "{}", err(&failed.output));
    let text = azure.with(|azure| azure.threads[0].text.clone());
    let commit = "2222222222222222222222222222222222222222";
    assert!(text.contains(&format!("/_git/{}?path=/data.jsonl&version=GC{commit}&", fake_azure::REPOSITORY)), "{text}");
    assert!(text.contains("/_build/results?buildId=99)"), "{text}");
    assert!(
        text.contains("Accepted runs, oldest first: exact\\_match 0.975, 0.950, now 0.500")
            || text.contains("Accepted runs, oldest first: exact_match 0.975, 0.950, now 0.500"),
        "{text}"
    );
    // What is written for every host has neither.
    let file = crate::command::report(place.path(), "comment.md");
    assert!(!file.contains("](http") && file.contains("Accepted runs"), "{file}");
}

#[test]
fn a_run_without_a_verdict_says_so_in_every_place() {
    let azure = fake_azure::start();
    let place = folder(&[("scoregate.yaml", SUITE), ("data.jsonl", &rows(0))]);
    step(&azure, place.path(), &RUN, &[]);
    std::fs::write(place.path().join("data.jsonl"), "{\"id\": \"q1\"").expect("a file");
    let stopped = step(&azure, place.path(), &RUN, &[]);
    assert_eq!(code(&stopped.output), 2);
    assert_eq!((&*stopped.variables["verdict"], &*stopped.variables["passed"]), ("not_evaluated", "false"));
    assert!(stopped.issues[0].contains("sourcepath=data.jsonl;linenumber=1;"), "{:?}", stopped.issues);
    assert!(!stopped.others.iter().any(|line| line.contains("results.publish")), "there are no results");
    let thread = azure.with(|azure| azure.threads[0].clone());
    assert!(thread.text.contains("**Outdated:**") && thread.status == "pending", "{thread:?}");
    assert_eq!(azure.with(|azure| azure.statuses[1].1["state"].to_string()), "\"error\"");
}

#[test]
fn trouble_with_the_host_changes_nothing_of_the_verdict() {
    let azure = fake_azure::start();
    azure.fail(
        "GET",
        "/threads",
        9,
        Fault::Answer(b"HTTP/1.1 203 x\r\nContent-Type: text/html\r\nContent-Length: 1\r\n\r\nx".to_vec()),
    );
    let place = folder(&[("scoregate.yaml", SUITE), ("data.jsonl", &rows(0))]);
    let step = step(&azure, place.path(), &["run", "--base", "none"], &[]);
    assert_eq!((code(&step.output), &*step.variables["passed"]), (0, "true"));
    assert!(step.issues.len() == 1 && step.issues[0].contains("type=warning;"), "{:?}", step.issues);
    assert!(step.issues[0].contains("SYSTEM_ACCESSTOKEN"));
}

#[test]
fn shards_publish_no_results_and_who_joins_them_does() {
    let azure = fake_azure::start();
    let place = folder(&[("scoregate.yaml", SUITE), ("data.jsonl", &rows(20))]);
    for shard in ["1/2", "2/2"] {
        let out = format!("shard-{}", &shard[..1]);
        let step = step(&azure, place.path(), &["run", "--base", "none", "--shard", shard, "--out", &out], &[]);
        assert_eq!(code(&step.output), 0, "{}", err(&step.output));
        assert!(!step.others.iter().any(|line| line.contains("results.publish")));
    }
    assert_eq!(azure.with(|azure| azure.threads.len()), 0);
    let joined = step(&azure, place.path(), &["merge", "--base", "none", "shard-1", "shard-2"], &[]);
    assert_eq!(code(&joined.output), 1, "{}", err(&joined.output));
    assert!(joined.others.iter().any(|line| line.contains("results.publish")));
    assert_eq!(azure.with(|azure| azure.threads.len()), 1);
}

#[test]
fn a_stored_verdict_becomes_the_thread_and_nothing_else() {
    let azure = fake_azure::start();
    let place = folder(&[("scoregate.yaml", SUITE), ("data.jsonl", &rows(20))]);
    step(&azure, place.path(), &["run", "--base", "none", "--no-comment"], &[]);
    assert_eq!(azure.with(|azure| azure.threads.len()), 0);
    let posted = step(&azure, place.path(), &["comment", "scoregate-out"], &[]);
    assert_eq!(code(&posted.output), 0, "{}", err(&posted.output));
    assert_eq!(azure.with(|azure| azure.threads[0].status.clone()), "active");
    assert!(posted.variables.is_empty() && posted.others.is_empty() && posted.issues.is_empty());
}

/// `task.json` declares what the binary sets, and the table of its page every input.
#[test]
fn the_task_says_what_the_binary_does() {
    let task = std::fs::read_to_string(root().join("azure/task/task.json")).expect("task.json");
    let task: serde_json::Value = serde_json::from_str(&task).expect("JSON");
    let names = |key: &str| -> Vec<String> {
        let all = task[key].as_array().expect("a list").iter();
        all.map(|one| one["name"].as_str().expect("a name").to_owned()).collect()
    };
    let mut variables: Vec<&str> = scoregate::host::AZURE_VARIABLES.to_vec();
    variables.push("binary");
    assert_eq!(names("outputVariables"), variables);
    let page = std::fs::read_to_string(root().join("docs/start/azure.md")).expect("the page");
    for input in names("inputs") {
        assert!(
            page.lines().any(|line| line.starts_with("| `") && line.contains(&format!("`{input}`"))),
            "no row for `{input}`"
        );
    }
    for variable in scoregate::host::AZURE_VARIABLES {
        assert!(page.contains(variable), "{variable} is not on the page");
    }
    for handler in ["Node20_1", "Node24"] {
        assert!(
            root().join("azure/task").join(task["execution"][handler]["target"].as_str().expect("a target")).is_file()
        );
    }
}
