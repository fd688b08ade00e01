//! What is refused, limited or unreachable: one warning, and the verdict stays.

use super::*;

#[test]
fn a_server_error_is_no_storm() {
    let answer = b"HTTP/1.1 502 x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".to_vec();
    let github = FakeGithub::start();
    github.fail("GET", "/comments", 99, Fault::Answer(answer));
    let warning = run(&github, &publication("text")).one_warning();
    assert_eq!(github.seen().len(), 3);
    assert!(warning.contains("HTTP 502") && warning.contains("verdict is unchanged"), "{warning}");
}

#[test]
fn cm_fork_403() {
    let permission = fixture("403-integration.http");
    for method in ["GET", "POST"] {
        let github = FakeGithub::start();
        github.fail(method, "/comments", 99, Fault::Answer(permission.clone()));
        let job = run(&github, &publication("text"));
        let warning = job.one_warning();
        assert!(warning.contains("permissions:\n  contents: read\n  pull-requests: write"), "{warning}");
        assert!(warning.contains("workflow_run"), "the head is a fork: {warning}");
        assert!(job.took < Duration::from_secs(2) && github.seen().len() <= 2, "{:?}", github.log());
    }
}

#[test]
fn cm_fork_403_within_the_repository() {
    let github = FakeGithub::start();
    github.add("github-actions[bot]", "Bot", &format!("{}\nold", marker("support-rag")));
    for method in ["PATCH", "POST"] {
        github.fail(method, "/comments", 99, Fault::Answer(fixture("403-integration.http")));
    }
    let payload = "fixtures/cases/comments/event-imitation.json";
    let warning = run_event(&github, "pull_request", payload, &publication("text"), &[]).one_warning();
    assert!(warning.contains("#77") && warning.contains("Add to the job:\npermissions:"), "{warning}");
    assert!(!warning.contains("workflow_run"));
}

#[test]
fn cm_fork_403_other_refusals() {
    for (status, word) in [(404, "token"), (422, "did not accept"), (401, "token"), (410, "disabled")] {
        for method in ["GET", "POST"] {
            let answer =
                format!("HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: 15\r\n\r\n{{\"message\":\"m\"}}");
            let github = FakeGithub::start();
            github.fail(method, "/comments", 99, Fault::Answer(answer.into_bytes()));
            let warning = run(&github, &publication("text")).one_warning();
            assert!(warning.contains(&format!("HTTP {status}")) && warning.contains(word), "{warning}");
            assert!(github.seen().len() <= 2);
        }
    }
}

#[test]
fn cm_fork_403_secondary_limit_waits_as_told() {
    let github = FakeGithub::start();
    github.fail("POST", "/comments", 1, Fault::Answer(fixture("403-secondary.http")));
    let job = run(&github, &publication("text"));
    assert_eq!(job.published.warnings, []);
    assert!(job.took >= Duration::from_secs(3));
    assert_eq!(github.comments().len(), 1);
}

/// 403 with Retry-After 2, 403 with a reset time 2 s ahead, 429: on the first request and on the one that creates.
#[test]
fn cm_secondary_limit() {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let reset = String::from_utf8(fixture("403-reset-time.http")).unwrap();
    let answers = [
        String::from_utf8(fixture("403-retry-after.http")).unwrap(),
        reset.replace("4102444800", &(now + 3).to_string()),
        "HTTP/1.1 429 x\r\nretry-after: 2\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".to_owned(),
    ];
    let waits_and_comments_once = |method: &'static str, answer: &str| {
        let github = FakeGithub::start();
        github.fail(method, "/comments", 1, Fault::Answer(answer.as_bytes().to_vec()));
        let job = run(&github, &publication("text"));
        assert_eq!(job.published.warnings, []);
        assert!(job.took >= Duration::from_secs(1), "waits as told: {:?}", job.took);
        assert_eq!(github.comments().len(), 1, "comments once");
        assert_eq!(github.seen().len(), 3, "{:?}", github.log());
    };
    std::thread::scope(|scope| {
        for method in ["GET", "POST"] {
            for answer in &answers {
                scope.spawn(move || waits_and_comments_once(method, answer));
            }
        }
    });
}

#[test]
fn cm_secondary_limit_of_an_hour_is_not_waited_for() {
    let an_hour = "HTTP/1.1 403 x\r\nretry-after: 3600\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    for answer in [fixture("403-reset-time.http"), an_hour.as_bytes().to_vec()] {
        let github = FakeGithub::start();
        github.fail("POST", "/comments", 99, Fault::Answer(answer));
        let job = run(&github, &publication("text"));
        let warning = job.one_warning();
        assert!(warning.contains("rate limit") && !warning.contains("permissions"), "{warning}");
        assert!(job.took < Duration::from_secs(2));
        assert_eq!(github.seen().len(), 2);
    }
}

#[test]
fn cm_secondary_limit_that_stays_ends_after_three_requests() {
    let github = FakeGithub::start();
    let answer = "HTTP/1.1 403 x\r\nretry-after: 0\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    github.fail("GET", "/comments", 99, Fault::Answer(answer.as_bytes().to_vec()));
    run(&github, &publication("text")).one_warning();
    assert_eq!(github.seen().len(), 3);
}

#[test]
fn without_a_token_there_is_a_summary_and_one_warning() {
    let github = FakeGithub::start();
    for token in ["", "short", "with\nline end"] {
        let payload = "fixtures/cases/comments/event-pull-request.json";
        let job = run_event(&github, "pull_request", payload, &publication("text"), &[("GITHUB_TOKEN", token)]);
        assert!(job.one_warning().contains("token"));
    }
    assert!(github.seen().is_empty());
}

#[test]
fn an_unreadable_event_or_address_is_no_failure() {
    let github = FakeGithub::start();
    for (payload, more) in [("no/such/file", vec![]), ("fixtures/cases/comments/cells.txt", vec![])] {
        let job = run_event(&github, "pull_request", payload, &publication("text"), &more);
        job.verdict_is_unchanged();
        assert!(job.published.notes[0].contains(payload), "{:?}", job.published.notes);
    }
    let payload = "fixtures/cases/comments/event-pull-request.json";
    for pair in [("GITHUB_API_URL", "ftp://x"), ("GITHUB_API_URL", "nonsense"), ("GITHUB_REPOSITORY", "../x")] {
        let job = run_event(&github, "pull_request", payload, &publication("text"), &[pair]);
        assert!(job.one_warning().contains(pair.0));
    }
    let closed = ("GITHUB_API_URL", "http://127.0.0.1:9");
    let warning = run_event(&github, "pull_request", payload, &publication("text"), &[closed]).one_warning();
    assert!(warning.contains("refused"), "the cause is named: {warning}");
}
