//! `scoregate comment`: the second workflow of a pair, which may write, and believes nothing that the first one left.

use serde_json::{Value, json};

use super::*;

const HEAD: &str = "ec26c3e57ca3a959ca5aad62de7213c562f8c821";
const OTHER: &str = "0123456789abcdef0123456789abcdef01234567";

/// A pull request's workflow that ran `event`, with the commit that it tested.
fn following(runner: Runner, event: &str, head: &str) -> Runner {
    let payload = json!({
        "action": "completed",
        "repository": { "id": 1, "full_name": "octo/demo" },
        "workflow_run": {
            "event": event, "head_sha": head, "head_branch": "main", "pull_requests": [],
            "head_repository": { "full_name": "mallory/demo", "owner": { "login": "mallory" } },
        },
    });
    let runner = runner.file("event.json", &payload.to_string());
    let place = runner.workspace().join("event.json").display().to_string();
    runner.event("workflow_run", &place)
}

/// What the first workflow left, in `run` of a checkout of its own, with the results of `wrong` answers; and the second workflow's runner.
fn pair(github: &FakeGithub, wrong: usize) -> Runner {
    let first = runner(github, wrong)
        .event("pull_request", "fixtures/contracts/github/events/pull_request.synchronize.fork.json");
    let step = first.step(&["run", "--no-comment", "--out", "run"]);
    assert_eq!(step.code, i32::from(wrong > 0), "{}", step.err);
    let mut second = following(Runner::new(github), "pull_request", HEAD);
    for name in ["verdict.json", "results.jsonl", "comment.md"] {
        let text = std::fs::read_to_string(first.workspace().join("run").join(name)).expect(name);
        second = second.file(&format!("run/{name}"), &text);
    }
    let base = std::fs::read_to_string(first.workspace().join("base.jsonl")).expect("the baseline");
    second.file("base.jsonl", &base)
}

fn edit(runner: Runner, name: &str, change: impl Fn(&mut Value)) -> Runner {
    let text = std::fs::read_to_string(runner.workspace().join(name)).expect(name);
    let (first, rest) = if name.ends_with(".jsonl") { text.split_once('\n').expect("lines") } else { (&*text, "") };
    let mut value: Value = serde_json::from_str(first).expect("JSON");
    change(&mut value);
    runner.file(name, &format!("{value}\n{rest}"))
}

fn last(step: &Step) -> &str {
    step.err.lines().last().expect("a last line")
}

#[test]
fn the_comment_goes_to_the_pull_request_of_the_commit_that_was_tested() {
    let github = FakeGithub::start();
    github.add_pull(7, "fork", HEAD);
    github.add_pull(8, "fork", OTHER);
    let runner = pair(&github, 20);
    let step = runner.step(&["comment", "run", "--suite-name", "capitals", "--baseline", "base.jsonl"]);
    assert_eq!(step.code, 0, "{}", step.err);
    assert_eq!(github.violations(), Vec::<String>::new());
    let comments = github.comments();
    assert_eq!(comments.len(), 1);
    assert!(github.log().iter().any(|line| line == "POST /repos/octo/demo/issues/7/comments"), "{:?}", github.log());
    let body = &comments[0].body;
    assert!(body.starts_with("<!-- scoregate:capitals -->\n> [!CAUTION]\n> ❌ **failed"), "{body}");
    let (alert, _) = body.split_once("\n\n").expect("a blank line");
    assert!(alert.ends_with("look at the change before believing it."), "whose word it is stands in the box: {alert}");
    assert!(body.contains("| “Paris” | “Lyon”"), "the old answer stands beside the new: {body}");
    assert!(last(&step).starts_with("scoregate: exit 0: the comment is https://github.test/octo/demo/pull/"));
    // The word of a stranger becomes neither an output nor a summary.
    assert_eq!((step.outputs.len(), step.summary.as_str()), (0, ""), "{step:?}");

    // Once more, and the same comment says what is new.
    let passed = pair(&github, 0);
    assert_eq!(passed.step(&["comment", "run"]).code, 0);
    let again = github.comments();
    assert_eq!((again.len(), again[0].id), (1, comments[0].id));
    assert!(again[0].body.starts_with("<!-- scoregate:capitals -->\n> [!TIP]"), "{}", again[0].body);
}

/// In a job of the workflow that made it, nothing is said of strangers; results of other tools have no `results.jsonl`.
#[test]
fn a_later_job_of_the_same_workflow_may_comment() {
    let github = FakeGithub::start();
    let event = "fixtures/contracts/github/events/pull_request.synchronize.json";
    let runner = runner(&github, 20).event("pull_request", event);
    assert_eq!(runner.step(&["run", "--no-comment"]).code, 1);
    let step = runner.step(&["comment", "scoregate-out"]);
    assert_eq!((step.code, github.comments().len()), (0, 1), "{}", step.err);
    assert!(!github.comments()[0].body.contains("believing"));
    let compared =
        ["compare", "scoregate-out/results.jsonl", "base.jsonl", "--suite", "scoregate.yaml", "--out", "compared"];
    assert_eq!(runner.step(&compared).code, 1);
    let step = runner.step(&["comment", "compared"]);
    assert_eq!((step.code, github.comments().len()), (0, 1), "{}", step.err);
    assert!(github.comments()[0].body.contains("❌ **failed"), "{}", github.comments()[0].body);
}

#[test]
fn a_run_of_another_commit_suite_or_shape_is_not_commented() {
    type Change = fn(Runner) -> Runner;
    let changes: [(&str, Change); 12] = [
        ("this is about commit", |runner| edit(runner, "run/results.jsonl", |run| run["head"] = OTHER.into())),
        ("does not say that it is of commit", |runner| {
            edit(runner, "run/results.jsonl", |run| {
                run.as_object_mut().expect("an object").remove("head");
                run.as_object_mut().expect("an object").remove("commit");
            })
        }),
        ("is of the suite `other`", |runner| {
            edit(runner, "run/verdict.json", |verdict| verdict["suite"] = "other".into())
        }),
        ("not of `capitals`", |runner| {
            let runner = edit(runner, "run/verdict.json", |verdict| verdict["suite"] = "other".into());
            edit(runner, "run/results.jsonl", |run| run["suite"] = "other".into())
        }),
        ("use a newer scoregate", |runner| edit(runner, "run/verdict.json", |verdict| verdict["schema"] = 9.into())),
        ("not a verdict of scoregate", |runner| runner.file("run/verdict.json", "<html>")),
        ("not a verdict of scoregate", |runner| runner.file("run/verdict.json", &"[".repeat(100_000))),
        ("is larger than", |runner| {
            let file = std::fs::File::create(runner.workspace().join("run/verdict.json")).expect("a file");
            file.set_len((16 << 20) + 1).expect("a sparse file");
            runner
        }),
        ("is larger than", |runner| {
            let file = std::fs::File::create(runner.workspace().join("run/results.jsonl")).expect("a file");
            file.set_len((512 << 20) + 1).expect("a sparse file");
            runner
        }),
        ("results.jsonl", |runner| runner.file("run/results.jsonl", "not a run\n")),
        ("says of which commit", |runner| {
            std::fs::remove_file(runner.workspace().join("run/results.jsonl")).expect("a file");
            runner
        }),
        ("one shard of a run", |runner| {
            edit(runner, "run/verdict.json", |verdict| verdict["shard"] = json!({ "index": 1, "total": 2, "of": 40 }))
        }),
    ];
    for (words, change) in changes {
        let github = FakeGithub::start();
        github.add_pull(7, "fork", HEAD);
        let runner = change(pair(&github, 20));
        let step = runner.step(&["comment", "run", "--suite-name", "capitals"]);
        assert_eq!((step.code, github.comments().len()), (3, 0), "{words}: {}", step.err);
        assert!(last(&step).contains("no comment: ") && last(&step).contains(words), "{words}: {}", last(&step));
        assert!(github.seen().is_empty(), "nothing is asked before the run is checked: {:?}", github.log());
    }
}

/// A link in the artifact would show what the job can read.
#[cfg(unix)]
#[test]
fn links_in_the_artifact_are_not_followed() {
    let github = FakeGithub::start();
    github.add_pull(7, "fork", HEAD);
    for name in ["verdict.json", "results.jsonl"] {
        let runner = pair(&github, 20);
        let file = runner.workspace().join("run").join(name);
        std::fs::rename(&file, runner.workspace().join("elsewhere")).expect("a file");
        std::os::unix::fs::symlink("../elsewhere", &file).expect("a link");
        let step = runner.step(&["comment", "run"]);
        assert_eq!((step.code, github.comments().len()), (3, 0), "{}", step.err);
        assert!(last(&step).contains("is no plain file"), "{}", last(&step));
    }
}

/// Every text that a run can hold, as hostile as it can be: it stays a text, in the comment and in the log.
#[test]
fn hostile_texts_of_the_artifact_do_nothing() {
    let github = FakeGithub::start();
    github.add_pull(7, "fork", HEAD);
    let hostile = "@octo-someone <img src=x onerror=alert(1)> ![x](https://evil.test/x.png) [y](https://evil.test) \n\n# Passed\n\
                   <!-- scoregate:other -->\n::error::x\n##[error]y\n```\n/approve\n| a | b |\nfixes #1";
    let mut runner = edit(pair(&github, 20), "run/verdict.json", |verdict| {
        fill(verdict, hostile);
        verdict["suite"] = hostile.into();
    });
    let text = std::fs::read_to_string(runner.workspace().join("run/results.jsonl")).expect("results");
    let lines: Vec<String> = text
        .lines()
        .map(|line| {
            let mut value: Value = serde_json::from_str(line).expect("JSON");
            if value["type"] == "run" {
                value["suite"] = hostile.into();
                value["tool"] = hostile.into();
            } else if value["type"] == "outcome" {
                value["input"] = hostile.into();
                value["reference"] = hostile.into();
                value["answer"]["text"] = hostile.into();
                for score in value["scores"].as_array_mut().into_iter().flatten() {
                    score["reason"] = hostile.into();
                }
            }
            value.to_string()
        })
        .collect();
    runner = runner.file("run/results.jsonl", &(lines.join("\n") + "\n"));
    let step = runner.step(&["comment", "run"]);
    assert_eq!(step.code, 0, "{}", step.err);
    assert_eq!(step.commands(), [], "{}{}", step.out, step.err);
    let body = &github.comments()[0].body;
    assert_eq!(body.matches("<!--").count(), 1, "{body}");
    for part in
        ["@octo-someone", "<img", "](https://evil", "\n# Passed", "\n/approve", "```", "fixes #1", "https://evil"]
    {
        assert!(!body.contains(part), "{part}: {body}");
    }
    assert!(body.len() < 65_000);
}

/// Explanations, notes and headlines are whole sentences of the file.
fn fill(value: &mut Value, text: &str) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, text)),
        Value::Object(map) => {
            for (key, value) in map {
                if ["headline", "explanation", "why_null", "place", "method"].contains(&key.as_str())
                    && value.is_string()
                {
                    *value = text.into();
                } else if key == "notes" {
                    *value = json!(vec![text; 50]);
                } else {
                    fill(value, text);
                }
            }
        }
        _ => {}
    }
}

#[test]
fn where_there_is_no_pull_request_nothing_is_read() {
    let github = FakeGithub::start();
    for (event, found) in [("push", "started by `push`"), ("pull_request", "no open pull request")] {
        // Of the second one the pull request has been closed meanwhile.
        let runner = following(pair(&github, 20), event, HEAD);
        let step = runner.step(&["comment", if event == "push" { "no/such/folder" } else { "run" }]);
        assert_eq!((step.code, github.comments().len()), (0, 0), "{}", step.err);
        assert!(last(&step).contains("no comment: ") && last(&step).contains(found), "{}", last(&step));
    }
}

#[test]
fn a_comment_that_cannot_be_made_is_not_green() {
    let github = FakeGithub::start();
    github.add_pull(7, "fork", HEAD);
    let refusal = std::fs::read(crate::command::root().join("fixtures/cases/comments/403-integration.http"));
    github.fail("POST", "/comments", 99, Fault::Answer(refusal.expect("the fixture")));
    let step = pair(&github, 20).step(&["comment", "run"]);
    assert_eq!((step.code, github.comments().len()), (3, 0), "{}", step.err);
    assert!(step.annotations("warning")[0].message.contains("pull-requests: write"), "{}", step.out);
    let absent = pair(&github, 20).step(&["comment", "nowhere"]);
    assert_eq!(absent.code, 2, "{}", absent.err);
}

#[test]
fn outside_of_a_job_there_is_nowhere_to_comment() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = scoregate(folder.path(), &["comment", "run"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no job of a code host"));
}

/// The verdict beside the commit, of runs that end in every way.
#[test]
fn the_check_says_what_the_exit_code_says() {
    let head = "fixtures/contracts/github/events/pull_request.synchronize.json";
    for (wrong, suite_text, code, state) in
        [(0, None, 0, "success"), (20, None, 1, "failure"), (0, Some("version: 1\nname: capitals\nx: 1\n"), 2, "error")]
    {
        let github = FakeGithub::start();
        let mut runner = runner(&github, wrong).event("pull_request", head);
        if let Some(text) = suite_text {
            runner = runner.file("scoregate.yaml", text);
        }
        let step = runner.step(&["run", "--no-comment", "--check", "status"]);
        done(&github, &step);
        assert_eq!(step.code, code);
        let seen = github.seen();
        assert_eq!(github.log(), [format!("POST /repos/octo/demo/statuses/{HEAD}")]);
        let body: Value = serde_json::from_str(&seen[0].body).expect("JSON");
        assert_eq!((&body["state"], &body["context"]), (&state.into(), &"scoregate / capitals".into()));
    }
    // A shard decides nothing.
    let github = FakeGithub::start();
    let step = runner(&github, 0).event("pull_request", head).step(&["run", "--check", "run", "--shard", "1/2"]);
    assert_eq!((step.code, github.seen().len()), (0, 0), "{}", step.err);
}
