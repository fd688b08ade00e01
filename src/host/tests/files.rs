//! Summary and outputs.

use super::*;

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

#[test]
fn the_token_is_known_as_a_secret_and_never_shown() {
    let pairs = [("GITHUB_ACTIONS", "true"), ("GITHUB_TOKEN", " ghs_0123456789abcdef\n")];
    let context = detect(&Env::from_pairs(pairs)).unwrap();
    assert_eq!(context.secrets()[0].expose(), TOKEN);
    assert!(!format!("{context:?}").contains("0123456789"));
}
