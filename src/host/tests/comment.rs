//! One comment, whatever happens.

use super::*;

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
    assert!(github.seen().iter().all(|seen| seen.header("authorization") == Some("Bearer ghs_0123456789abcdef")));
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
            assert!(github.seen().iter().all(|seen| seen.header("authorization").is_some()));
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
    github.fail("PATCH", "/issues/comments/", 1, Fault::Before(|github| github.comments.clear()));
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
fn a_comment_that_is_too_long_is_cut_and_says_so() {
    let github = FakeGithub::start();
    let text = "A paragraph of some length about a case.\n\n".repeat(4_000);
    let job = run(&github, &publication(&text));
    let body = github.comments()[0].body.clone();
    assert!(body.len() <= COMMENT_LIMIT && body.contains("Cut here"));
    assert!(body.contains("(https://github.test/octo/demo/actions/runs/99)"));
    assert_eq!(job.published.warnings, []);
}

fn without_verdict(why: NoVerdict, since: &str) -> Publication {
    let outdated = Some(Outdated { why, since: since.to_owned() });
    Publication { comment_markdown: None, outdated, ..publication("") }
}

const NOW: &str = "2026-06-01T12:00:00Z";

#[test]
fn an_earlier_comment_is_marked_as_outdated_and_none_is_made() {
    let github = FakeGithub::start();
    for why in [NoVerdict::Cancelled, NoVerdict::Stopped { exit_code: 2 }] {
        let job = run(&github, &without_verdict(why, NOW));
        assert_eq!((github.comments().len(), job.published.comment_url.as_deref()), (0, None));
    }
    run(&github, &publication("**passed**"));
    for (why, word) in [(NoVerdict::Cancelled, "was cancelled"), (NoVerdict::Stopped { exit_code: 3 }, "exit code 3")] {
        let job = run(&github, &without_verdict(why, NOW));
        let body = github.comments()[0].body.clone();
        assert!(body.contains(word) && body.ends_with("\n**passed**"), "{body}");
        assert_eq!(body.matches("Outdated").count(), 1, "the notice is replaced: {body}");
        assert!(body.starts_with("<!-- scoregate:support-rag -->\n"));
        assert!(job.published.comment_url.is_some() && job.published.warnings.is_empty());
    }
}

#[test]
fn a_comment_of_a_run_that_began_later_stays_and_so_do_others() {
    let github = FakeGithub::start();
    run(&github, &publication("newer"));
    let quoting = github.add("octo-someone", "User", &format!("{}\nquoted", marker("support-rag")));
    run(&github, &without_verdict(NoVerdict::Cancelled, "2019-01-01T00:00:00Z"));
    assert!(github.comments().iter().all(|comment| !comment.body.contains("Outdated")));
    run(&github, &without_verdict(NoVerdict::Cancelled, NOW));
    assert!(github.comments().iter().all(|comment| comment.body.contains("Outdated") == (comment.id != quoting)));
}

#[test]
fn where_it_cannot_be_marked_there_is_a_note_and_no_warning() {
    let github = FakeGithub::start();
    run(&github, &publication("old"));
    github.fail(
        "PATCH",
        "/issues/comments/",
        9,
        Fault::Answer(b"HTTP/1.1 403 x\r\ncontent-length: 2\r\n\r\n{}".to_vec()),
    );
    let job = run(&github, &without_verdict(NoVerdict::Cancelled, NOW));
    assert_eq!(job.published.warnings, []);
    assert!(job.published.notes.iter().any(|note| note.contains("could not be marked as outdated")));
}

#[test]
fn a_comment_of_full_length_stays_within_the_limit() {
    let github = FakeGithub::start();
    run(&github, &publication(&"A paragraph of some length about a case.\n\n".repeat(4_000)));
    run(&github, &without_verdict(NoVerdict::Cancelled, NOW));
    let body = github.comments()[0].body.clone();
    assert!(body.len() <= COMMENT_LIMIT && body.contains("Outdated"), "{}", body.len());
}
