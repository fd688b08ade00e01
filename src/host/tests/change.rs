//! Which pull request and which commits.

use super::*;

#[test]
fn outside_of_github_there_is_no_host() {
    assert!(detect(&Env::from_pairs([("CI", "true")])).is_none());
}

#[test]
fn cm_which_pull_request() {
    let github = FakeGithub::start();
    for (event, payload, expected) in [
        ("pull_request", "event-pull-request.json", Some(12)),
        ("pull_request", "event-imitation.json", Some(77)),
        ("merge_group", "event-merge-group.json", None),
        ("push", "event-push.json", None),
        ("schedule", "event-push.json", None),
    ] {
        let before = github.seen().len();
        let payload = format!("fixtures/cases/comments/{payload}");
        let job = run_event(&github, event, &payload, &publication("text"), &[]);
        job.verdict_is_unchanged();
        assert_eq!(job.published.warnings, []);
        let log = github.log().split_off(before);
        match expected {
            Some(number) => assert_eq!(log[0], format!("GET /repos/octo/demo/issues/{number}/comments")),
            None => {
                assert_eq!(log, Vec::<String>::new());
                assert!(job.published.notes[0].contains(event), "{:?}", job.published.notes);
            }
        }
    }
}

#[test]
fn every_sample_event_is_understood() {
    let read = |event: &str, file: &str| {
        let path = format!("fixtures/contracts/github/events/{file}.json");
        let pairs = [("GITHUB_ACTIONS", "true"), ("GITHUB_EVENT_NAME", event), ("GITHUB_EVENT_PATH", path.as_str())];
        detect(&Env::from_pairs(pairs)).unwrap().change
    };
    let head = Some("ec26c3e57ca3a959ca5aad62de7213c562f8c821".to_owned());
    for (file, fork) in
        [("pull_request.opened", false), ("pull_request.synchronize", false), ("pull_request.synchronize.fork", true)]
    {
        let change = read("pull_request", file);
        assert_eq!((change.pull_request, change.fork), (PullRequest::Number(2), fork), "{file}");
        assert_eq!(change.head_sha, head);
        assert_eq!(change.base_ref.as_deref(), Some("master"));
    }
    let group = read("merge_group", "merge_group.checks_requested");
    assert_eq!(group.pull_request, PullRequest::None);
    assert_eq!(group.base_sha.as_deref(), Some("380387fbc80638b734a49e1be1c4dfec1c01b33c"));
    assert_eq!(group.base_ref.as_deref(), Some("main"));
    let push = read("push", "push");
    assert_eq!(
        (push.pull_request, push.head_sha),
        (PullRequest::None, Some("6113728f27ae82c7b1a177c8d03f9e96e0adf246".to_owned()))
    );
    assert_eq!(push.base_sha, None, "nothing was there before a new branch");
    // Started by repository_dispatch, though it lists another repository's pull request.
    assert_eq!(read("workflow_run", "workflow_run.completed").pull_request, PullRequest::None);
    // On an issue that is no pull request.
    assert_eq!(read("issue_comment", "issue_comment.created").pull_request, PullRequest::None);
}

/// A fork's run lists no pull request: it is looked up, and what is found must have the tested commit as its head.
#[test]
fn a_workflow_run_of_a_fork_finds_its_pull_request() {
    let sha = "3484a3fb816e0859fd6e1cea078d76385ff50625";
    let sample = std::fs::read("fixtures/contracts/github/events/workflow_run.completed.json").unwrap();
    let mut event: serde_json::Value = serde_json::from_slice(&sample).unwrap();
    event["workflow_run"]["event"] = "pull_request".into();
    event["workflow_run"]["head_branch"] = "a&b=c#é".into();
    let folder = tempfile::tempdir().unwrap();
    let payload = folder.path().join("event.json");
    std::fs::write(&payload, event.to_string()).unwrap();
    let payload = payload.display().to_string();

    let github = FakeGithub::start();
    github.add_pull(5, "fork", "0000000000000000000000000000000000000001");
    github.add_pull(6, "closed", sha);
    let none = run_event(&github, "workflow_run", &payload, &publication("text"), &[]);
    assert!(none.published.notes[0].contains("no open pull request"), "{:?}", none.published);
    assert_eq!((none.published.warnings.len(), github.comments().len()), (0, 0));

    github.add_pull(34, "fork", sha);
    let found = run_event(&github, "workflow_run", &payload, &publication("text"), &[]);
    assert!(found.published.comment_url.is_some());
    assert!(github.log().contains(&"POST /repos/octo/demo/issues/34/comments".to_owned()));
}
