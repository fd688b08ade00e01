//! The whole room against a GitHub on loopback that checks every request against the contract.

#[path = "../../tests/integration/support/fake_github.rs"]
mod fake_github;

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use fake_github::{FakeGithub, Fault};

use super::*;
use crate::domain::{Decision, Env};

const TOKEN: &str = "ghs_0123456789abcdef";

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new("fixtures/cases/comments").join(name)).unwrap()
}

/// A runner's environment for the event payload at `payload`.
fn environment(github: &FakeGithub, folder: &Path, event: &str, payload: &str) -> Vec<(String, String)> {
    let file = |name: &str| folder.join(name).display().to_string();
    [
        ("GITHUB_ACTIONS", "true".to_owned()),
        ("GITHUB_API_URL", github.url.clone()),
        ("GITHUB_SERVER_URL", "https://github.test".to_owned()),
        ("GITHUB_REPOSITORY", "octo/demo".to_owned()),
        ("GITHUB_RUN_ID", "99".to_owned()),
        ("GITHUB_EVENT_NAME", event.to_owned()),
        ("GITHUB_EVENT_PATH", payload.to_owned()),
        ("GITHUB_STEP_SUMMARY", file("summary.md")),
        ("GITHUB_OUTPUT", file("output")),
        ("GITHUB_TOKEN", TOKEN.to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

fn publication(text: &str) -> Publication {
    Publication {
        key: "support-rag".to_owned(),
        comment_markdown: Some(text.to_owned()),
        summary_markdown: format!("# Summary\n\n{text}\n"),
        annotations: Vec::new(),
        outputs: Outputs {
            verdict: Decision::Failed,
            exit_code: 1,
            regressions: 2,
            junit_path: Some("scoregate-out/junit.xml".into()),
            summary_path: Some("scoregate-out/summary.md".into()),
        },
    }
}

fn client() -> reqwest::Client {
    let _installed_by_another_test = rustls::crypto::ring::default_provider().install_default();
    let roots =
        webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().filter_map(|der| reqwest::Certificate::from_der(der).ok());
    reqwest::Client::builder().tls_certs_merge(roots).no_proxy().build().unwrap()
}

/// One job: its folder, what was published, and how long it took.
struct Job {
    folder: tempfile::TempDir,
    published: Published,
    took: Duration,
}

impl Job {
    fn outputs(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("output")).unwrap()
    }

    fn summary(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("summary.md")).unwrap()
    }

    /// Summary and outputs are there whatever became of the comment, and say the verdict's code.
    fn verdict_is_unchanged(&self) {
        assert!(self.outputs().contains("verdict=failed\npassed=false\nexit-code=1\nregressions=2\n"));
        assert!(self.summary().starts_with("# Summary"));
    }

    fn one_warning(&self) -> String {
        assert_eq!(self.published.warnings.len(), 1, "{:?}", self.published.warnings);
        assert_eq!(self.published.comment_url, None);
        self.verdict_is_unchanged();
        self.published.warnings[0].to_string()
    }
}

fn quick(context: &mut HostContext) {
    let Settings::GitHub(settings) = &mut context.settings;
    settings.patience.backoff = Duration::from_millis(10);
}

fn run(github: &FakeGithub, publication: &Publication) -> Job {
    run_event(github, "pull_request", "fixtures/cases/comments/event-pull-request.json", publication, &[])
}

fn run_event(github: &FakeGithub, event: &str, payload: &str, publication: &Publication, more: &[(&str, &str)]) -> Job {
    let folder = tempfile::tempdir().unwrap();
    let more = more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let env = Env::from_pairs(environment(github, folder.path(), event, payload).into_iter().chain(more));
    let mut context = detect(&env).unwrap();
    quick(&mut context);
    let start = Instant::now();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let published = runtime.block_on(publish(&context, publication, client()));
    assert_eq!(github.violations(), Vec::<String>::new(), "the contract is broken");
    Job { folder, published, took: start.elapsed() }
}

#[test]
fn outside_of_github_there_is_no_host() {
    assert!(detect(&Env::from_pairs([("CI", "true")])).is_none());
}

#[test]
fn a_first_run_creates_one_comment_and_says_where() {
    let github = FakeGithub::start();
    let job = run(&github, &publication("**failed**"));
    let comments = github.comments();
    assert_eq!(comments.len(), 1);
    assert_eq!(comments[0].body, "<!-- scoregate:support-rag -->\n**failed**");
    let url = job.published.comment_url.clone().unwrap();
    assert!(job.outputs().contains(&format!("\n{url}\n")), "{}", job.outputs());
    job.verdict_is_unchanged();
    assert!(github.seen().iter().all(|seen| seen.authorization.as_deref() == Some("Bearer ghs_0123456789abcdef")));
}

/// 250 comments, ours on the third page, pages of 100 and (a server that gives less than asked for) of 30.
#[test]
fn cm_one_comment_over_all_pages() {
    for cap in [100, 30] {
        for user in [None, Some("release-robot")] {
            let github = FakeGithub::start().with_pages_of(cap);
            let github = if let Some(login) = user { github.with_login(login) } else { github };
            let marker = marker("support-rag");
            for i in 0..220 {
                github.add("octo-someone", "User", &format!("remark {i}"));
            }
            let quoting = github.add("octo-someone", "User", &format!("{marker}\nlook what it says"));
            let quoted = github.add("github-actions[bot]", "Bot", &format!("> {marker}\n> quoted"));
            let (login, kind) = user.map_or(("github-actions[bot]", "Bot"), |login| (login, "User"));
            let ours = github.add(login, kind, &format!("{marker}\r\nold"));
            for i in 0..27 {
                github.add("octo-someone", "User", &format!("later remark {i}"));
            }
            let before = github.comments();
            let job = run(&github, &publication("new"));
            assert_eq!(job.published.warnings, []);
            let after = github.comments();
            assert_eq!(after.len(), 250);
            for (old, new) in before.iter().zip(&after) {
                assert_eq!(old.id, new.id);
                assert_eq!(new.body != old.body, new.id == ours, "{new:?}");
            }
            assert!(after.iter().any(|c| c.id == quoting) && after.iter().any(|c| c.id == quoted));
            assert_eq!(
                job.published.comment_url.unwrap(),
                format!("https://github.test/octo/demo/pull/12#issuecomment-{ours}")
            );
            assert!(github.seen().iter().all(|seen| seen.authorization.is_some()));
        }
    }
}

#[test]
fn cm_one_comment_for_each_of_two_suites() {
    let github = FakeGithub::start();
    let other = Publication { key: "support rag --> 2".to_owned(), ..publication("other") };
    for _ in 0..2 {
        run(&github, &publication("first"));
        run(&github, &other);
    }
    let bodies: Vec<String> = github.comments().into_iter().map(|comment| comment.body).collect();
    assert_eq!(bodies.len(), 2);
    assert_ne!(bodies[0].lines().next(), bodies[1].lines().next());
    assert!(bodies[1].lines().next().unwrap().ends_with(" -->") && bodies[1].matches("-->").count() == 1);
}

#[test]
fn cm_one_comment_when_two_jobs_create_at_once() {
    for _ in 0..5 {
        let github = FakeGithub::start();
        github.let_lists_meet(2);
        std::thread::scope(|scope| {
            for text in ["one", "two"] {
                let github = &github;
                scope.spawn(move || run(github, &publication(text)));
            }
        });
        assert_eq!(github.comments().len(), 1, "{:?}", github.log());
    }
}

#[test]
fn cm_one_comment_after_ours_was_deleted() {
    let github = FakeGithub::start();
    let ours = github.add("github-actions[bot]", "Bot", &format!("{}\nold", marker("support-rag")));
    // It is listed, and gone when it is to be updated.
    github.fail("PATCH", "/issues/comments/", 1, Fault::Vanish);
    let job = run(&github, &publication("new"));
    assert_eq!(job.published.warnings, []);
    let comments = github.comments();
    assert!(comments.len() == 1 && comments[0].id != ours && comments[0].body.ends_with("\nnew"));
}

#[test]
fn a_marker_in_the_text_is_broken() {
    let github = FakeGithub::start();
    let mark = marker("support-rag");
    run(&github, &publication(&format!("| x |\n{mark}\n<!-- scoregate:other -->\n")));
    assert_eq!(github.comments()[0].body.matches("<!-- scoregate:").count(), 1);
}

#[test]
fn an_answer_that_was_lost_does_not_make_a_second_comment() {
    for (fault, posts) in [(Fault::LoseAnswer, 1), (Fault::LoseRequest, 2)] {
        let github = FakeGithub::start();
        github.fail("POST", "/comments", 1, fault);
        let job = run(&github, &publication("text"));
        assert_eq!(job.published.warnings, [], "{:?}", github.log());
        assert_eq!(github.comments().len(), 1);
        assert_eq!(github.log().iter().filter(|line| line.starts_with("POST")).count(), posts);
    }
}

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

#[test]
fn a_ghes_has_its_api_below_a_path() {
    let github = FakeGithub::start_under("/api/v3").with_pages_of(30);
    for i in 0..40 {
        github.add("octo-someone", "User", &format!("remark {i}"));
    }
    let job = run(&github, &publication("text"));
    assert!(job.published.comment_url.is_some(), "{:?}", job.published);
    assert_eq!(github.comments().len(), 41);
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

#[test]
fn a_comment_that_is_too_long_is_cut_and_says_so() {
    let github = FakeGithub::start();
    let text = "A paragraph of some length about a case.\n\n".repeat(4_000);
    let job = run(&github, &publication(&text));
    let body = github.comments()[0].body.clone();
    assert!(body.len() <= COMMENT_LIMIT && body.contains("Cut here"));
    assert!(body.contains("(https://github.test/octo/demo/actions/runs/99)"));
    assert_eq!(job.published.warnings, []);
}

#[test]
fn the_summary_keeps_what_is_there_and_stays_below_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("summary.md");
    std::fs::write(&file, format!("earlier\n{}", "x".repeat(900_000))).unwrap();
    let env = [("GITHUB_ACTIONS", "true"), ("GITHUB_STEP_SUMMARY", file.to_str().unwrap())];
    let context = detect(&Env::from_pairs(env)).unwrap();
    assert_eq!(summary_room(&context), Some(SUMMARY_LIMIT - 900_008));
    let text = "A paragraph.\n\n".repeat(20_000);
    let github = FakeGithub::start();
    let payload = "fixtures/cases/comments/event-push.json";
    let more = [("GITHUB_STEP_SUMMARY", file.to_str().unwrap())];
    let long = Publication { summary_markdown: text, ..publication("") };
    let job = run_event(&github, "push", payload, &long, &more);
    assert_eq!(job.published.warnings, []);
    let summary = std::fs::read_to_string(&file).unwrap();
    assert!(summary.len() <= SUMMARY_LIMIT && summary.starts_with("earlier\nxxx"));
    assert!(summary.contains("x\nA paragraph.\n") && summary.contains("Cut here"));
    let full = run_event(&github, "push", payload, &long, &more);
    assert!(full.published.warnings[0].message.contains("full"), "{:?}", full.published.warnings);
}

#[test]
fn no_comment_is_made_where_none_is_wanted() {
    let github = FakeGithub::start();
    let job = run(&github, &Publication { comment_markdown: None, ..publication("text") });
    job.verdict_is_unchanged();
    assert!(github.seen().is_empty() && job.published.warnings.is_empty());
}
