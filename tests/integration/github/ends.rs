//! Runs that end without a verdict, and what the comment of an earlier run says then.

use super::*;

/// SIGINT, as a runner sends it first: summary and outputs say so, no comment is waited for.
#[cfg(unix)]
#[test]
fn a_cancelled_run_says_so_without_a_comment() {
    cancelled(false);
}

/// Whoever reads the comment of the run before is told that a later one was cancelled.
#[cfg(unix)]
#[test]
fn a_cancelled_run_marks_the_comment_of_an_earlier_one() {
    cancelled(true);
}

#[cfg(unix)]
fn cancelled(earlier: bool) {
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    use nix::sys::signal::Signal;

    use crate::process::{send, wait_until};

    let github = FakeGithub::start();
    let slow = "targets:\n  app:\n    command: { argv: [sh, -c, 'touch started; sleep 30'] }\n";
    let text = suite("capitals", COMPARED).replace("evaluators:", &format!("{slow}evaluators:"));
    if earlier {
        assert_eq!(runner(&github, 20).step(&["run"]).code, 1);
    }
    let runner = runner(&github, 0).file("scoregate.yaml", &text);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_scoregate"));
    let child = runner.command(program).arg("run").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.expect("a run");
    wait_until("its start", || runner.workspace().join("started").exists());
    let begun = Instant::now();
    send(&child, Signal::SIGINT);
    let step = runner.read(&child.wait_with_output().expect("an end"));
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    done(&github, &step);
    assert_eq!((step.code, step.verdict()[..3].to_vec()), (130, vec!["not_evaluated", "false", "130"]));
    assert!(step.summary.contains("cancelled"), "{}", step.summary);
    assert!(step.err.contains("note: no comment: the run was cancelled"), "{}", step.err);
    assert_eq!(github.comments().len(), usize::from(earlier));
    if earlier {
        let body = &github.comments()[0].body;
        assert!(
            body.starts_with("<!-- scoregate:capitals -->\n> [!WARNING]\n> ⌛ **Outdated:** a later run"),
            "{body}"
        );
        assert!(body.contains("was cancelled ([log](https://github.test/octo/demo/actions/runs/99))"), "{body}");
        assert!(body.contains("> [!CAUTION]"), "what it said stays: {body}");
    }
}

/// A run that stops before its verdict leaves no older verdict standing as if it were of now.
#[test]
fn a_run_that_stops_marks_the_comment_of_an_earlier_one() {
    let github = FakeGithub::start();
    let good = runner(&github, 20);
    assert_eq!(good.step(&["run"]).code, 1);
    let before = github.comments()[0].body.clone();
    let ways = [
        suite("capitals", "  basline: {}\n"),
        suite("capitals", COMPARED).replace("version: 1", "version: ["),
        suite("capitals", COMPARED).replace("data.jsonl", "absent.jsonl"),
    ];
    let mut runner = good;
    for text in &ways {
        runner = runner.file("scoregate.yaml", text);
        let step = runner.step(&["run"]);
        done(&github, &step);
        let comments = github.comments();
        assert_eq!((step.code, comments.len()), (2, 1), "{}", step.err);
        let body = &comments[0].body;
        assert_eq!(body.matches("**Outdated:**").count(), 1, "{body}");
        assert!(body.contains("could not be evaluated (exit code 2)"), "{body}");
        assert!(body.ends_with(before.split_once('\n').expect("a marker").1.trim_end()), "{body}");
        assert!(step.comment_url().contains("#issuecomment-"));
    }
    // Nobody wants a comment: none is touched.
    let seen = github.seen().len();
    assert_eq!(runner.step(&["run", "--no-comment"]).code, 2);
    assert_eq!(github.seen().len(), seen);
    // The next verdict takes the notice away.
    let step = runner.file("scoregate.yaml", &suite("capitals", COMPARED)).step(&["run"]);
    assert_eq!((step.code, github.comments().len()), (1, 1));
    assert!(!github.comments()[0].body.contains("Outdated"));
}

/// Steps that follow find the outputs also where the command line is wrong.
#[test]
fn a_wrong_command_line_has_outputs_too() {
    let github = FakeGithub::start();
    let runner = runner(&github, 0);
    for arguments in [&["run", "--no-such-flag"][..], &["run", "a", "b"], &["rnu"], &[]] {
        let step = runner.step(arguments);
        done(&github, &step);
        assert_eq!((step.code, step.verdict()), (2, ["not_evaluated", "false", "2", "0"]), "{arguments:?}");
        assert_eq!(step.annotations("error").len(), 1, "{}", step.out);
    }
    for arguments in [&["--help"][..], &["compare", "--no-such-flag"]] {
        let step = runner.step(arguments);
        assert!(step.outputs.is_empty() && step.annotations("error").is_empty(), "{step:?}");
    }
    assert!(github.seen().is_empty());
}

/// The comment on the host and `comment.md`, which a second workflow may post, find each other whatever the suite is called.
#[test]
fn the_comment_file_has_the_hosts_marker() {
    let github = FakeGithub::start();
    for name in ["capitals", "a --> <b> @octocat", "中文", "- x"] {
        let runner = runner(&github, 0).file("scoregate.yaml", &suite(&format!("\"{name}\""), ""));
        done(&github, &runner.step(&["run"]));
        let file = std::fs::read_to_string(runner.workspace().join("scoregate-out/comment.md")).expect("comment.md");
        let comments = github.comments();
        let posted = comments.last().expect("a comment").body.lines().next();
        assert_eq!(file.lines().next(), posted, "{name}");
    }
}
