//! The whole room against an Azure DevOps on loopback that checks every request against the contract.

use super::fake_azure::{self, Azure, PROJECT, REPOSITORY, TOKEN};
use super::fake_server::{FakeServer, Fault};
use super::*;

const KEY: &str = "support-rag";

fn build_of(azure: &FakeServer<Azure>, prefix: &str, publication: &Publication, more: &[(&str, &str)]) -> Published {
    let folder = tempfile::tempdir().unwrap();
    let more = more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let temp = ("AGENT_TEMPDIRECTORY".to_owned(), folder.path().display().to_string());
    let pairs = fake_azure::variables(azure, prefix).into_iter().chain([temp]).chain(more);
    let mut context = detect(&Env::from_pairs(pairs)).unwrap();
    quick(&mut context);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let published = runtime.block_on(publish(&context, publication, Ok(client())));
    assert_eq!(azure.violations(), Vec::<String>::new(), "the contract is broken");
    published
}

fn run_build(azure: &FakeServer<Azure>, publication: &Publication) -> Published {
    build_of(azure, "", publication, &[])
}

fn ended(verdict: Decision, exit_code: u8, text: &str) -> Publication {
    let base = publication(text);
    let outputs = Outputs { verdict, exit_code, ..base.outputs.clone() };
    Publication { outputs, standing: Standing::of(verdict, exit_code), ..base }
}

#[test]
fn a_thread_is_active_on_failure_and_fixed_on_a_pass() {
    let azure = fake_azure::start();
    azure.with(|azure| azure.add(None, "a remark", false));
    let alert = "> [!CAUTION]\n> ❌ **failed**\n\nmore";
    let failed = run_build(&azure, &ended(Decision::Failed, 1, alert));
    assert_eq!(failed.warnings, []);
    let thread = azure.with(|azure| azure.threads[1].clone());
    assert_eq!((thread.suite.as_deref(), &*thread.status), (Some(KEY), "active"));
    assert_eq!(thread.text, "> ❌ **failed**\n\nmore", "no alert, which would stand there as text");
    let url = failed.comment_url.unwrap();
    let page = format!("/octo/{PROJECT}/_git/{REPOSITORY}/pullrequest/12?discussionId=2");
    assert_eq!(url, format!("{}{page}", azure.url));

    for (verdict, code, status) in [
        (Decision::Passed, 0, "fixed"),
        (Decision::Inconclusive, 0, "closed"),
        (Decision::Inconclusive, 3, "active"),
        (Decision::NotEvaluated, 3, "active"),
    ] {
        let again = run_build(&azure, &ended(verdict, code, &format!("text {code}")));
        assert_eq!((again.comment_url.as_ref(), again.warnings.len()), (Some(&url), 0));
        let threads = azure.with(|azure| azure.threads.clone());
        assert_eq!((threads.len(), &*threads[1].status), (2, status));
        assert_eq!((&*threads[1].text, &*threads[0].text), (&*format!("text {code}"), "a remark"));
    }
}

#[test]
fn the_thread_is_found_by_its_property_and_by_nothing_else() {
    let azure = fake_azure::start();
    azure.with(|azure| {
        // Somebody's with our property: it cannot be changed, so it is not ours.
        azure.add(Some(KEY), "forged", false);
        azure.add(Some("another suite"), "other", true);
        azure.add(None, "<!-- scoregate:support-rag -->", true);
        let deleted = azure.add(Some(KEY), "deleted", true);
        azure.threads.iter_mut().find(|thread| thread.id == deleted).unwrap().deleted = true;
    });
    run_build(&azure, &ended(Decision::Failed, 1, "first"));
    run_build(&azure, &ended(Decision::Failed, 1, "second"));
    let texts: Vec<String> = azure.with(|azure| azure.threads.iter().map(|thread| thread.text.clone()).collect());
    assert_eq!(texts, ["forged", "other", "<!-- scoregate:support-rag -->", "deleted", "second"]);
}

#[test]
fn cm_one_comment_for_each_of_two_suites_on_azure() {
    let azure = fake_azure::start();
    let other = Publication { key: "support rag --> 2".to_owned(), ..ended(Decision::Passed, 0, "other") };
    for _ in 0..2 {
        run_build(&azure, &ended(Decision::Failed, 1, "first"));
        run_build(&azure, &other);
    }
    let threads = azure.with(|azure| azure.threads.clone());
    assert_eq!(threads.iter().map(|thread| &*thread.text).collect::<Vec<_>>(), ["first", "other"]);
    assert_ne!(threads[0].suite, threads[1].suite);
}

#[test]
fn an_elder_thread_that_appears_meanwhile_gets_the_text() {
    let azure = fake_azure::start();
    azure.fail(
        "POST",
        "/threads",
        1,
        Fault::Before(|azure| {
            azure.add(Some(KEY), "another job's", true);
        }),
    );
    let published = run_build(&azure, &ended(Decision::Passed, 0, "ours"));
    let threads = azure.with(|azure| azure.threads.clone());
    assert_eq!((&*threads[0].text, &*threads[0].status, threads[1].deleted), ("ours", "fixed", true));
    assert!(published.comment_url.unwrap().ends_with("discussionId=1"));
}

#[test]
fn an_answer_that_was_lost_does_not_make_a_second_thread() {
    for (lost_answer, posts) in [(true, 1), (false, 2)] {
        let azure = fake_azure::start();
        let fault = if lost_answer { Fault::LoseAnswer } else { Fault::LoseRequest };
        azure.fail("POST", "/threads", 1, fault);
        let published = run_build(&azure, &ended(Decision::Failed, 1, "text"));
        assert_eq!(published.warnings, [], "{:?}", azure.log());
        assert_eq!(azure.with(|azure| azure.threads.len()), 1);
        assert_eq!(azure.log().iter().filter(|line| line.starts_with("POST")).count(), posts);
    }
}

#[test]
fn a_server_of_ones_own_has_its_collection_below_a_path_and_an_older_api() {
    let azure = fake_azure::start_as("/tfs", "6.0");
    let checked = Publication {
        check: Some(Check { form: CheckForm::Status, title: "failed: it fell".to_owned() }),
        ..ended(Decision::Failed, 1, "text")
    };
    let published = build_of(&azure, "/tfs", &checked, &[]);
    assert_eq!(published.warnings, []);
    assert_eq!(azure.with(|azure| (azure.threads.len(), azure.statuses.len())), (1, 1));
    assert!(azure.seen().iter().all(|seen| seen.path.starts_with("/tfs/octo/")));
    assert!(published.comment_url.unwrap().starts_with(&format!("{}/tfs/octo/", azure.url)));
}

#[test]
fn a_status_stands_at_the_pull_request_and_else_at_the_commit() {
    let azure = fake_azure::start();
    let checked = |verdict, code| Publication {
        comment_markdown: None,
        check: Some(Check { form: CheckForm::Run, title: "a line\nwith an end".to_owned() }),
        ..ended(verdict, code, "")
    };
    run_build(&azure, &checked(Decision::Failed, 1));
    let outside = [("SYSTEM_PULLREQUEST_PULLREQUESTID", ""), ("BUILD_REASON", "IndividualCI")];
    let published = build_of(&azure, "", &checked(Decision::Passed, 0), &outside);
    assert!(published.notes[0].contains("`IndividualCI` belongs to no pull request"), "{:?}", published.notes);
    let statuses = azure.with(|azure| azure.statuses.clone());
    assert_eq!(statuses[0].0, "pullRequests/12/statuses");
    assert_eq!(statuses[1].0, "commits/3333333333333333333333333333333333333333/statuses");
    assert_eq!((&statuses[0].1["state"], &statuses[1].1["state"]), (&"failed".into(), &"succeeded".into()));
    let context = serde_json::json!({ "genre": "scoregate", "name": KEY });
    assert_eq!((&statuses[0].1["context"], &statuses[0].1["description"]), (&context, &"a line with an end".into()));
    let url = statuses[0].1["targetUrl"].as_str().unwrap();
    assert!(url.ends_with(&format!("/octo/{PROJECT}/_build/results?buildId=99")), "{url}");
}

#[test]
fn what_cannot_be_shown_is_one_warning_that_says_what_to_do() {
    let page = b"HTTP/1.1 203 x\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>".to_vec();
    let away = b"HTTP/1.1 302 x\r\nLocation: https://sign-in.test/\r\nContent-Length: 0\r\n\r\n".to_vec();
    let html = b"HTTP/1.1 200 x\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>".to_vec();
    let body = format!(r#"{{"message":"TF401027: You need the Git 'PullRequestContribute' permission. {TOKEN}"}}"#);
    let denied =
        format!("HTTP/1.1 403 x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    for (answer, part) in [
        (page, "SYSTEM_ACCESSTOKEN: $(System.AccessToken)"),
        (away, "SYSTEM_ACCESSTOKEN: $(System.AccessToken)"),
        (html, "a page to sign in on"),
        (denied.into_bytes(), "`Contribute to pull requests`"),
        (b"HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n".to_vec(), "no usable answer"),
    ] {
        let azure = fake_azure::start();
        azure.fail("GET", "/threads", 9, Fault::Answer(answer));
        let published = run_build(&azure, &ended(Decision::Failed, 1, "text"));
        assert_eq!((published.warnings.len(), &published.comment_url), (1, &None));
        let told = published.warnings[0].to_string();
        assert!(told.contains(part) && !told.contains(TOKEN), "{told}");
        assert!(
            published.lines.iter().any(|line| line.starts_with("##vso[task.logissue type=warning;]")),
            "{:?}",
            published.lines
        );
    }
    for (more, part) in [
        ([("SYSTEM_ACCESSTOKEN", "$(System.AccessToken)")], "there is no token"),
        ([("SYSTEM_COLLECTIONURI", "file:///etc")], "no http(s) address"),
        ([("BUILD_REPOSITORY_ID", "")], "do not say where the repository is"),
    ] {
        let azure = fake_azure::start();
        let published = build_of(&azure, "", &ended(Decision::Failed, 1, "text"), &more);
        assert!(published.warnings[0].message.contains(part), "{:?}", published.warnings);
        assert!(azure.seen().is_empty());
    }
}

#[test]
fn a_personal_token_does_as_well() {
    let azure = fake_azure::start();
    let more = [("SYSTEM_ACCESSTOKEN", ""), ("AZURE_DEVOPS_EXT_PAT", "azure-personal-token")];
    let published = build_of(&azure, "", &ended(Decision::Passed, 0, "text"), &more);
    assert_eq!((published.warnings.len(), azure.with(|azure| azure.threads.len())), (0, 1));
}

#[test]
fn an_earlier_thread_is_outdated_and_open_again() {
    let azure = fake_azure::start();
    let stopped = |since: &str| Publication {
        comment_markdown: None,
        outdated: Some(Outdated { why: NoVerdict::Stopped { exit_code: 3 }, since: since.to_owned() }),
        ..ended(Decision::NotEvaluated, 3, "")
    };
    let published = run_build(&azure, &stopped("2026-01-01T00:00:00Z"));
    assert_eq!((published.comment_url, azure.with(|azure| azure.threads.len())), (None, 0));
    run_build(&azure, &ended(Decision::Passed, 0, "the verdict"));
    // A run that began later has said its word already.
    run_build(&azure, &stopped("2019-01-01T00:00:00Z"));
    assert_eq!(azure.with(|azure| azure.threads[0].status.clone()), "fixed");
    run_build(&azure, &stopped("2026-01-01T00:00:00Z"));
    let thread = azure.with(|azure| azure.threads[0].clone());
    assert!(
        thread.text.starts_with("> ⌛ **Outdated:** a later run of commit 2222222222 could not be evaluated"),
        "{thread:?}"
    );
    assert!(thread.text.ends_with("the verdict"));
    assert_eq!(thread.status, "pending");
}

#[test]
fn cm_which_pull_request_on_azure() {
    let azure = fake_azure::start();
    for (more, note) in [
        ([("SYSTEM_PULLREQUEST_PULLREQUESTID", ""), ("BUILD_REASON", "Schedule")], "`Schedule`"),
        ([("BUILD_REPOSITORY_PROVIDER", "GitHub"), ("BUILD_REASON", "PullRequest")], "not in Azure Repos (`GitHub`)"),
        ([("SYSTEM_PULLREQUEST_PULLREQUESTID", "1 OR 1"), ("BUILD_REASON", "PullRequest")], "is no number"),
    ] {
        let published = build_of(&azure, "", &ended(Decision::Failed, 1, "text"), &more);
        assert!(published.notes[0].contains(note), "{:?}", published.notes);
        assert_eq!(published.warnings, []);
    }
    assert!(azure.seen().is_empty());
    assert!(detect(&Env::from_pairs([("TF_BUILD", "False")])).is_none());
}

/// As on GitHub: what is told is waited for within the budget, an hour is not, and there is no storm.
#[test]
fn cm_secondary_limit_on_azure() {
    let limited = |wait: u32| {
        let head = format!("HTTP/1.1 429 x\r\nRetry-After: {wait}\r\nContent-Type: application/json\r\n");
        Fault::Answer(format!("{head}Content-Length: 2\r\n\r\n{{}}").into_bytes())
    };
    let azure = fake_azure::start();
    azure.fail("GET", "/threads", 1, limited(1));
    let started = Instant::now();
    let published = run_build(&azure, &ended(Decision::Failed, 1, "text"));
    assert!(started.elapsed() >= Duration::from_secs(1), "it waits as it is told");
    assert_eq!((published.warnings.len(), azure.with(|azure| azure.threads.len())), (0, 1));

    let azure = fake_azure::start();
    azure.fail("GET", "/threads", 9, limited(3600));
    let published = run_build(&azure, &ended(Decision::Failed, 1, "text"));
    assert_eq!(azure.seen().len(), 1);
    let told = published.warnings[0].to_string();
    assert!(told.contains("rate limit") && told.contains("60 minutes") && !told.contains("Contribute"), "{told}");

    let azure = fake_azure::start();
    azure.fail("GET", "/threads", 99, Fault::LoseRequest);
    assert_eq!(run_build(&azure, &ended(Decision::Failed, 1, "text")).warnings.len(), 1);
    assert_eq!(azure.seen().len(), 3);
}

/// Of `must`: the exit code is the verdict's (nothing here has another), and the warning names the missing permission.
#[test]
fn cm_fork_403_on_azure() {
    let missing = b"HTTP/1.1 404 x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}".to_vec();
    for answer in [fixture("403-integration.http"), missing] {
        let azure = fake_azure::start();
        azure.fail("POST", "/threads", 9, Fault::Answer(answer));
        let fork = [("SYSTEM_PULLREQUEST_ISFORK", "True")];
        let published = build_of(&azure, "", &ended(Decision::Failed, 1, "text"), &fork);
        assert_eq!((published.warnings.len(), azure.seen().len()), (1, 2), "{:?}", azure.log());
        let told = published.warnings[0].to_string();
        assert!(told.contains("Contribute to pull requests") && told.contains("forks"), "{told}");
        let code = "variable=exitCode;isoutput=true;]1";
        assert!(published.lines.iter().any(|line| line.contains(code)), "{:?}", published.lines);
    }
}
