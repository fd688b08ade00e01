//! The whole room against a GitLab on loopback.

use super::fake_gitlab::{self, GitLab, TOKEN, US};
use super::fake_server::{FakeServer, Fault};
use super::*;

fn job_of(gitlab: &FakeServer<GitLab>, publication: &Publication, more: &[(&str, &str)]) -> Published {
    let more = more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let pairs = fake_gitlab::variables(gitlab).into_iter().chain(more);
    let mut context = detect(&Env::from_pairs(pairs)).unwrap();
    quick(&mut context);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let published = runtime.block_on(publish(&context, publication, Ok(client())));
    assert_eq!(gitlab.violations(), Vec::<String>::new());
    assert!(published.lines.is_empty(), "GitLab reads no commands");
    published
}

fn run_job(gitlab: &FakeServer<GitLab>, text: &str) -> Published {
    job_of(gitlab, &publication(text), &[])
}

fn bodies(gitlab: &FakeServer<GitLab>) -> Vec<String> {
    gitlab.with(|gitlab| gitlab.notes.iter().map(|note| note.body.clone()).collect())
}

#[test]
fn one_note_is_made_found_again_over_all_pages_and_updated() {
    let mark = marker("support-rag");
    for page in [100, 3] {
        let gitlab = fake_gitlab::start();
        gitlab.with(|gitlab| {
            gitlab.page = page;
            for at in 0..8 {
                gitlab.add(9, &format!("remark {at}"));
            }
            gitlab.add(9, &format!("{mark}\nquoted by somebody"));
            gitlab.add(US, &format!("> {mark}\n> quoted by us"));
        });
        let first = run_job(&gitlab, "**failed**");
        assert_eq!(bodies(&gitlab)[10], format!("{mark}\n**failed**"));
        gitlab.with(|gitlab| gitlab.notes[10].body = format!("\r\n{mark}\r\nedited in a browser"));
        let second = run_job(&gitlab, "**passed**");
        assert_eq!((bodies(&gitlab).len(), &*bodies(&gitlab)[10]), (11, &*format!("{mark}\n**passed**")));
        assert_eq!(first.comment_url, second.comment_url);
        let id = gitlab.with(|gitlab| gitlab.notes[10].id);
        let page = format!("https://gitlab.test/octo/demo/-/merge_requests/7#note_{id}");
        assert_eq!((second.comment_url, second.warnings.len()), (Some(page), 0));
    }
}

#[test]
fn an_elder_note_that_appears_meanwhile_gets_the_text() {
    let gitlab = fake_gitlab::start();
    gitlab.fail(
        "POST",
        "/notes",
        1,
        Fault::Before(|gitlab| {
            gitlab.add(US, &format!("{}\nanother job's", marker("support-rag")));
        }),
    );
    run_job(&gitlab, "ours");
    assert_eq!(bodies(&gitlab), [format!("{}\nours", marker("support-rag"))]);
}

#[test]
fn an_answer_that_was_lost_does_not_make_a_second_note() {
    for (lost_answer, posts) in [(true, 1), (false, 2)] {
        let gitlab = fake_gitlab::start();
        let fault = if lost_answer { Fault::LoseAnswer } else { Fault::LoseRequest };
        gitlab.fail("POST", "/notes", 1, fault);
        let published = run_job(&gitlab, "text");
        assert_eq!((published.warnings.len(), bodies(&gitlab).len()), (0, 1), "{:?}", gitlab.log());
        assert_eq!(gitlab.log().iter().filter(|line| line.starts_with("POST")).count(), posts);
    }
}

#[test]
fn a_deleted_note_is_made_anew() {
    let gitlab = fake_gitlab::start();
    run_job(&gitlab, "old");
    gitlab.fail("PUT", "/notes/", 1, Fault::Before(|gitlab| gitlab.notes.clear()));
    let published = run_job(&gitlab, "new");
    assert_eq!(published.warnings, []);
    assert_eq!(bodies(&gitlab), [format!("{}\nnew", marker("support-rag"))]);
}

#[test]
fn a_status_stands_at_the_proposed_commit_and_may_be_set_again() {
    let gitlab = fake_gitlab::start();
    let checked = Publication {
        comment_markdown: None,
        check: Some(Check { form: CheckForm::Status, title: "failed: ".to_owned() + &"long ".repeat(90) }),
        ..publication("")
    };
    let merged = [("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", "4444444444444444444444444444444444444444")];
    for _ in 0..2 {
        assert_eq!(job_of(&gitlab, &checked, &merged).warnings, []);
    }
    let statuses = gitlab.with(|gitlab| gitlab.statuses.clone());
    assert_eq!((statuses.len(), &*statuses[0].0), (1, merged[0].1));
    assert_eq!(
        (&statuses[0].1["state"], &statuses[0].1["name"]),
        (&"failed".into(), &"scoregate / support-rag".into())
    );
    assert!(statuses[0].1["description"].as_str().unwrap().chars().count() <= 255);
}

#[test]
fn what_cannot_be_shown_is_one_warning_that_says_what_to_do() {
    let json = |status: &str, body: &str| {
        let head =
            format!("HTTP/1.1 {status} x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
        format!("{head}{body}").into_bytes()
    };
    for (answer, part) in [
        (json("401", r#"{"message":"401 Unauthorized"}"#), "it may have expired"),
        (
            json(
                "403",
                r#"{"error":"insufficient_scope","error_description":"The request requires higher privileges"}"#,
            ),
            "higher privileges",
        ),
        (json("404", r#"{"message":"404 Project Not Found"}"#), "the role Reporter"),
        (json("400", r#"{"message":{"note":["is too long"]}}"#), "is too long"),
    ] {
        let gitlab = fake_gitlab::start();
        gitlab.fail("GET", "/notes", 9, Fault::Answer(answer));
        let published = run_job(&gitlab, "text");
        assert_eq!((published.warnings.len(), &published.comment_url), (1, &None));
        let told = published.warnings[0].to_string();
        assert!(told.contains(part) && told.contains("merge request !7") && !told.contains(TOKEN), "{told}");
    }
    let gitlab = fake_gitlab::start();
    let published = job_of(&gitlab, &publication("text"), &[("GITLAB_TOKEN", "$GITLAB_TOKEN")]);
    assert!(published.warnings[0].to_string().contains("project access token"), "{:?}", published.warnings);
    let outside = [("CI_MERGE_REQUEST_IID", ""), ("CI_PIPELINE_SOURCE", "push")];
    let published = job_of(&gitlab, &publication("text"), &outside);
    assert!(published.notes[0].contains("`push` belongs to no merge request") && published.warnings.is_empty());
    assert!(gitlab.seen().is_empty());
}

#[test]
fn an_earlier_note_is_outdated() {
    let gitlab = fake_gitlab::start();
    run_job(&gitlab, "the verdict");
    let outdated = Some(Outdated { why: NoVerdict::Cancelled, since: "2026-01-01T00:00:00Z".to_owned() });
    job_of(&gitlab, &Publication { comment_markdown: None, outdated, ..publication("") }, &[]);
    let body = &bodies(&gitlab)[0];
    assert!(body.contains("**Outdated:** a later run of commit 2222222222 was cancelled ([log]"), "{body}");
    assert!(body.ends_with("the verdict"));
}

/// As on GitHub: what is told is waited for within the budget, and an hour is not.
#[test]
fn cm_secondary_limit_on_gitlab() {
    let limited = |wait: u32| {
        let head = format!("HTTP/1.1 429 x\r\nRetry-After: {wait}\r\nContent-Type: text/plain\r\n");
        Fault::Answer(format!("{head}Content-Length: 11\r\n\r\nRetry later").into_bytes())
    };
    let gitlab = fake_gitlab::start();
    gitlab.fail("GET", "/notes", 1, limited(1));
    let started = Instant::now();
    let published = run_job(&gitlab, "text");
    assert!(started.elapsed() >= Duration::from_secs(1), "it waits as it is told");
    assert_eq!((published.warnings.len(), bodies(&gitlab).len()), (0, 1));
    let gitlab = fake_gitlab::start();
    gitlab.fail("GET", "/notes", 9, limited(3600));
    let told = run_job(&gitlab, "text").warnings[0].to_string();
    assert!(told.contains("rate limit") && gitlab.seen().len() == 1, "{told}");
}

/// Pipelines without a merge request, and one of a fork, whose merge request is another project's.
#[test]
fn cm_which_pull_request_on_gitlab() {
    let of = |more: &[(&str, &str)]| {
        let gitlab = fake_gitlab::start();
        let more = more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        detect(&Env::from_pairs(fake_gitlab::variables(&gitlab).into_iter().chain(more))).unwrap()
    };
    assert_eq!(of(&[]).change.pull_request, PullRequest::Number(7));
    for source in ["push", "schedule", "web"] {
        let context = of(&[("CI_MERGE_REQUEST_IID", ""), ("CI_PIPELINE_SOURCE", source)]);
        assert_eq!(context.change.pull_request, PullRequest::None);
        assert!(context.notes[0].contains(source), "{:?}", context.notes);
    }
    // A branch whose name imitates one.
    let named = of(&[("CI_MERGE_REQUEST_IID", ""), ("CI_COMMIT_BRANCH", "refs/merge-requests/1/head")]);
    assert_eq!(named.change.pull_request, PullRequest::None);
    let fork = of(&[("CI_PROJECT_ID", "99"), ("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "99")]);
    assert!(fork.change.fork && fork.change.pull_request == PullRequest::Number(7));
}

/// GitLab reads a line of a note that begins with a slash as a command.
#[test]
fn cm_bot_commands_are_no_quick_actions() {
    let texts = String::from_utf8(fixture("bot-commands.txt")).unwrap();
    let sample = crate::report::comment_of_texts(&texts.lines().chain(["/close", "/label ~bug"]).collect::<Vec<_>>());
    let gitlab = fake_gitlab::start();
    run_job(&gitlab, &sample);
    let body = &bodies(&gitlab)[0];
    assert!(body.lines().count() > 10 && body.lines().all(|line| !line.trim_start().starts_with('/')), "{body}");
}
