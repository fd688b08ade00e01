//! The verdict beside the commit.

use super::*;

fn checked(form: CheckForm, verdict: Decision, exit_code: u8) -> Publication {
    let publication = publication("text");
    Publication {
        comment_markdown: None,
        outputs: Outputs { verdict, exit_code, ..publication.outputs.clone() },
        check: Some(Check { form, title: format!("a {} line", "long ".repeat(60)) }),
        ..publication
    }
}

const HEAD: &str = "pull_request.synchronize";

fn sample(name: &str) -> String {
    format!("fixtures/contracts/github/events/{name}.json")
}

/// The body of the only request.
fn sent(github: &FakeGithub) -> serde_json::Value {
    let seen = github.seen();
    assert_eq!(seen.len(), 1, "{:?}", github.log());
    serde_json::from_str(&seen[0].body).unwrap()
}

fn head_of(event: &str, pointer: &str) -> String {
    let payload: serde_json::Value = serde_json::from_slice(&std::fs::read(sample(event)).unwrap()).unwrap();
    payload.pointer(pointer).unwrap().as_str().unwrap().to_owned()
}

#[test]
fn it_stands_at_the_proposed_commit_of_every_event() {
    for (event, file, pointer) in [
        ("pull_request", HEAD, "/pull_request/head/sha"),
        ("merge_group", "merge_group.checks_requested", "/merge_group/head_sha"),
        ("push", "push", "/after"),
    ] {
        let head = head_of(file, pointer);
        let github = FakeGithub::start();
        let job = run_event(&github, event, &sample(file), &checked(CheckForm::Status, Decision::Failed, 1), &[]);
        assert_eq!(
            (job.published.warnings.len(), github.log()),
            (0, vec![format!("POST /repos/octo/demo/statuses/{head}")])
        );
        let body = sent(&github);
        assert_eq!((&body["state"], &body["context"]), (&"failure".into(), &"scoregate / support-rag".into()));
        assert_eq!(body["target_url"], "https://github.test/octo/demo/actions/runs/99");
        assert_eq!(body["description"].as_str().unwrap().chars().count(), 140);

        let github = FakeGithub::start_under("/api/v3");
        run_event(&github, event, &sample(file), &checked(CheckForm::Run, Decision::Passed, 0), &[]);
        let body = sent(&github);
        assert_eq!(github.log(), ["POST /api/v3/repos/octo/demo/check-runs"]);
        assert_eq!((&body["head_sha"], &body["conclusion"]), (&head.into(), &"success".into()));
        assert!(body["output"]["summary"].as_str().unwrap().contains("# Summary"));
    }
}

#[test]
fn a_long_summary_is_cut() {
    let github = FakeGithub::start();
    let long = Publication {
        summary_markdown: "A paragraph.\n\n".repeat(20_000),
        ..checked(CheckForm::Run, Decision::Passed, 0)
    };
    let job = run_event(&github, "push", &sample("push"), &long, &[]);
    assert_eq!(job.published.warnings, []);
    assert!(sent(&github)["output"]["summary"].as_str().unwrap().len() <= 65_000);
}

#[test]
fn what_cannot_be_shown_is_one_warning_with_the_right_to_add() {
    let refusal = fixture("403-integration.http");
    for (form, right, fork) in [
        (CheckForm::Run, "checks: write", false),
        (CheckForm::Status, "statuses: write", false),
        (CheckForm::Status, "statuses: write", true),
    ] {
        let github = FakeGithub::start();
        github.fail("POST", "s", 9, Fault::Answer(refusal.clone()));
        let payload = sample(if fork { "pull_request.synchronize.fork" } else { HEAD });
        let job = run_event(&github, "pull_request", &payload, &checked(form, Decision::Failed, 1), &[]);
        let warning = job.one_warning();
        assert!(warning.contains(right) && warning.contains("HTTP 403"), "{warning}");
        assert_eq!(warning.contains("Require the job itself"), fork, "{warning}");
    }
    let github = FakeGithub::start();
    let publication = checked(CheckForm::Run, Decision::Failed, 1);
    let job = run_event(&github, "pull_request", &sample(HEAD), &publication, &[("GITHUB_TOKEN", "")]);
    assert!(job.one_warning().starts_with("no check run: there is no token"));
    let job = run_event(&github, "schedule", &sample("push"), &publication, &[]);
    assert!(job.one_warning().starts_with("no check run: the event `schedule` names no commit"));
    assert!(github.seen().is_empty());
}

#[test]
fn an_answer_that_was_lost_is_asked_for_again() {
    let github = FakeGithub::start();
    github.fail("POST", "/statuses/", 1, Fault::LoseAnswer);
    let job = run_event(&github, "pull_request", &sample(HEAD), &checked(CheckForm::Status, Decision::Passed, 0), &[]);
    assert_eq!((job.published.warnings.len(), github.seen().len()), (0, 2));
}

/// Beside a comment: both are there, and trouble with one is none of the other's.
#[test]
fn comment_and_check_do_not_wait_for_each_other() {
    let github = FakeGithub::start();
    github.fail("POST", "/statuses/", 9, Fault::Answer(fixture("403-integration.http")));
    let both =
        Publication { comment_markdown: Some("text".to_owned()), ..checked(CheckForm::Status, Decision::Failed, 1) };
    let job = run_event(&github, "pull_request", &sample(HEAD), &both, &[]);
    assert_eq!((github.comments().len(), job.published.warnings.len()), (1, 1));
    assert!(job.published.comment_url.is_some());
}
