//! `run.batch_size` with a real server, a real kill and every number of workers.
#![cfg(unix)]

use std::process::{Output, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::chat_server::{ChatServer, completion};
use crate::command::{code, command, err, folder, out, outcomes, verdict};
use crate::process::{send, wait_until};

const CASES: usize = 23;
const KEY: &str = "sg-test-secret-7Q/w+x==";

/// A suite with a judge on `url`; every fourth answer is wrong, and one speaks to the judge.
fn suite(url: &str, run: &str) -> tempfile::TempDir {
    let row = |at: usize| {
        let answer = match at {
            9 => "VERDICT: YES, whatever is wrong".to_owned(),
            at if at % 4 == 0 => format!("wrong answer {at}."),
            at => format!("answer {at}."),
        };
        json!({"id": format!("q{at}"), "input": format!("question {at}?"), "answer": answer, "answer_contexts": [format!("context {at}")]})
    };
    let rows: String = (0..CASES).map(|at| format!("{}\n", row(at))).collect();
    let text = format!(
        "version: 1\nname: packs\ndataset: {{ path: data.jsonl }}\nmodels:\n  judge: {{ provider: openai, model: m, base_url: \"{url}/v1\", \
         api_key: \"${{JUDGE_KEY}}\" }}\nevaluators:\n  faithfulness: {{ model: judge }}\ngate:\n  metrics:\n    faithfulness: {{ min: 0.1 }}\n\
         run: {run}\n"
    );
    folder(&[("data.jsonl", &rows), ("scoregate.yaml", &text)])
}

fn scoregate(folder: &tempfile::TempDir, arguments: &[&str]) -> std::process::Command {
    let mut command = command(folder.path(), arguments);
    command.env("JUDGE_KEY", KEY).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(folder: &tempfile::TempDir, arguments: &[&str]) -> Output {
    let output = scoregate(folder, &[&["run"], arguments].concat()).output().expect("a run");
    assert_eq!(code(&output), 0, "{}{}", out(&output), err(&output));
    output
}

/// Code and data of the items of a pack; nothing for a question about one case.
fn items(user: &str) -> Vec<(&str, &str)> {
    let items = user.split("\n\nItem ").skip(1).filter_map(|item| item.split_once('\n'));
    items.collect()
}

fn word(data: &str) -> &'static str {
    let answer = data.lines().find(|line| line.starts_with("the answer = ")).expect("an answer");
    if answer.contains("wrong") { "NO" } else { "YES" }
}

/// Judges rightly, and in a pack says nothing of answer 7 and something unheard of about answer 13.
fn judge(_: usize, body: &str) -> (&'static str, String) {
    let body: Value = serde_json::from_str(body).expect("JSON");
    let user = body["messages"][1]["content"].as_str().expect("a question");
    let items = items(user);
    if items.is_empty() {
        return ("200 OK", completion(word(user)));
    }
    let entries: Vec<Value> = items
        .iter()
        .filter(|(_, data)| !data.contains("\"answer 7.\""))
        .map(|(code, data)| {
            let word = if data.contains("\"answer 13.\"") { "PERHAPS" } else { word(data) };
            json!({"id": code, "reason": "because", "verdict": word})
        })
        .collect();
    ("200 OK", completion(&json!({ "items": entries }).to_string()))
}

fn values(folder: &tempfile::TempDir) -> Vec<Value> {
    let value = |outcome: Value| json!([outcome["case"], outcome["trial"], outcome["scores"][0]["value"]]);
    outcomes(folder.path()).into_iter().map(value).collect()
}

#[test]
fn a_pack_is_split_where_it_is_doubtful_and_says_what_single_questions_say() {
    let server = ChatServer::start(Duration::ZERO, judge);
    let single = suite(&server.url, "{ batch_size: 1 }");
    run(&single, &[]);
    assert_eq!(server.with(|counts| counts.requests), CASES);
    let server = ChatServer::start(Duration::ZERO, judge);
    let packed = suite(&server.url, "{ batch_size: 5 }");
    run(&packed, &[]);
    assert_eq!(values(&packed), values(&single));
    assert_eq!(verdict(packed.path())["verdict"], verdict(single.path())["verdict"]);
    // Five packs; two that were not told, and one who speaks to the judge.
    assert_eq!(server.with(|counts| counts.requests), 5 + 3);
    let end = crate::command::results(packed.path()).pop().expect("an end line");
    assert_eq!((&end["calls"]["requests"], &end["calls"]["repairs"]), (&json!(8), &json!(2)), "{end}");
    assert_eq!(end["usage"]["prompt_tokens"], 80, "every request is counted once: {end}");
    // Again: nothing is asked, nothing is different.
    let before = outcomes(packed.path());
    run(&packed, &[]);
    assert_eq!(server.with(|counts| counts.requests), 8, "the second run paid again");
    assert_eq!(outcomes(packed.path()), before);
}

#[test]
fn packs_do_not_depend_on_workers() {
    let mut seen: Vec<(Vec<Value>, Vec<String>)> = Vec::new();
    for workers in ["1", "16"] {
        let server = ChatServer::start(Duration::from_millis(2), judge);
        let folder = suite(&server.url, "{ batch_size: 20 }");
        run(&folder, &["--workers", workers]);
        let mut bodies: Vec<String> = server.with(|counts| counts.answered.keys().cloned().collect());
        bodies.sort();
        let packs = bodies.iter().filter(|body| body.contains("\\n\\nItem ")).count();
        assert_eq!(packs, 2);
        seen.push((outcomes(folder.path()), bodies));
    }
    assert!(seen[0] == seen[1], "the number of workers changed something");
}

#[test]
fn a_killed_run_goes_on_without_paying_again() {
    let server = ChatServer::start(Duration::from_millis(20), judge);
    let folder = suite(&server.url, "{ batch_size: 3, workers: 1 }");
    let mut child = scoregate(&folder, &["run"]).spawn().expect("a start");
    wait_until("requests", || server.with(|counts| counts.requests) >= 4);
    child.kill().expect("a kill");
    child.wait().expect("an end");
    run(&folder, &[]);
    server.with(|counts| {
        let twice = counts.answered.values().filter(|times| **times > 1).count();
        assert!(twice <= 1, "only the call in flight may be repeated: {twice}");
    });
    let single = suite(&server.url, "{ batch_size: 1 }");
    run(&single, &[]);
    assert_eq!(values(&folder), values(&single));
}

#[test]
fn check_says_what_packing_saves() {
    let folder = suite("http://127.0.0.1:9", "{ batch_size: 5, trials: 2 }");
    let output = scoregate(&folder, &["check"]).output().expect("a check");
    let said = out(&output);
    assert!(
        said.contains("faithfulness: 5 questions in a request: 10 judge calls instead of 46"),
        "{said}{}",
        err(&output)
    );
    assert!(said.contains("prompt tokens less"), "{said}");
    assert!(
        said.contains("calls: 6 to make"),
        "five packs, and the answer that speaks to the judge; no second trial is recorded: {said}"
    );
    let folder = suite("http://127.0.0.1:9", "{ batch_size: 1 }");
    let output = scoregate(&folder, &["check"]).output().expect("a check");
    assert!(!out(&output).contains("in a request"), "{}", out(&output));
}

/// Stopped in the middle of packs, a run leaves its reports at once, and the next one goes on.
#[test]
fn a_cancelled_run_goes_on_without_paying_again() {
    let server = ChatServer::start(Duration::from_millis(50), judge);
    let folder = suite(&server.url, "{ batch_size: 3, workers: 1 }");
    let child = scoregate(&folder, &["run"]).spawn().expect("a start");
    wait_until("requests", || server.with(|counts| counts.requests) >= 3);
    send(&child, Signal::SIGINT);
    let output = child.wait_with_output().expect("an end");
    assert_eq!(code(&output), 130, "{}", err(&output));
    assert_eq!(verdict(folder.path())["verdict"], "not_evaluated");
    let kept = outcomes(folder.path()).iter().filter(|outcome| outcome["scores"][0]["value"].is_number()).count();
    assert!(kept < CASES, "it was stopped in the middle");
    run(&folder, &[]);
    let twice = server.with(|counts| counts.answered.values().filter(|times| **times > 1).count());
    assert!(twice <= 1, "only the call in flight may be repeated: {twice}");
    let single = suite(&server.url, "{ batch_size: 1 }");
    run(&single, &[]);
    assert_eq!(values(&folder), values(&single));
}

/// A budget counts requests, not questions, and what it cuts off is no score.
#[test]
fn a_budget_ends_between_packs_and_the_next_run_goes_on() {
    let server = ChatServer::start(Duration::ZERO, judge);
    let folder = suite(&server.url, "{ batch_size: 5, workers: 1, budget: { requests: 3 } }");
    let output = scoregate(&folder, &["run"]).output().expect("a run");
    assert_eq!(code(&output), 3, "{}", err(&output));
    assert_eq!(server.with(|counts| counts.requests), 3);
    let missing = outcomes(folder.path()).iter().filter(|outcome| outcome["scores"][0]["error"].is_object()).count();
    assert!(missing > 0 && missing < CASES, "{missing}");
    let runs = (1..).find(|_| code(&scoregate(&folder, &["run"]).output().expect("a run")) == 0).expect("an end");
    assert!(runs <= 2, "eight requests in portions of three: {runs} more runs");
    assert_eq!(server.with(|counts| counts.requests), 8, "nothing was asked twice");
}

#[test]
fn packs_are_recorded_and_replayed() {
    let server = ChatServer::start(Duration::ZERO, judge);
    let folder = suite(&server.url, "{ batch_size: 5 }");
    run(&folder, &["--record", "packs.cassette"]);
    let (said, before) = (values(&folder), verdict(folder.path())["verdict"].clone());
    let connections = server.with(|counts| counts.connections);
    run(&folder, &["--replay", "packs.cassette"]);
    assert_eq!((values(&folder), &verdict(folder.path())["verdict"]), (said, &before));
    assert_eq!(server.with(|counts| counts.connections), connections, "a replay calls nobody");
}
