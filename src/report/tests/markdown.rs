//! Markdown is rendered, and the rendered text looked at as GitHub does.

use pulldown_cmark::{Event, Options, Parser, Tag};
use regex::Regex;

use super::*;
use crate::report::samples::{Sample, all, blank, hostile_with, value};

fn events(markdown: &str) -> Vec<Event<'_>> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_MATH
        | Options::ENABLE_GFM;
    Parser::new_ext(markdown, options).collect()
}

/// Only what we lay out ourselves is markup; what GitHub does afterwards finds nothing.
pub(super) fn check(markdown: &str) {
    let ours = Regex::new(
        r"^(<!-- scoregate:[^<>]* -->\n?|<details( open)?>|</details>\n?|<details( open)?><summary>(<b>)?[^<>]*(</b>)?</summary>\n|<br>|<sub>|</sub>|<br/>)$",
    )
    .unwrap();
    let mut text = String::new();
    let mut cell = 0;
    let (mut columns, mut cells) = (0, 0);
    for event in events(markdown) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => {
                assert!(ours.is_match(&html), "{html:?}");
                text.push('\n');
            }
            Event::Start(
                Tag::Link { .. } | Tag::Image { .. } | Tag::Heading { .. } | Tag::CodeBlock(_) | Tag::Strikethrough,
            ) => {
                panic!("{event:?} in {markdown}")
            }
            Event::Code(_)
            | Event::TaskListMarker(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::Rule => {
                panic!("{event:?} in {markdown}")
            }
            Event::Start(Tag::Table(alignments)) => columns = alignments.len(),
            Event::Start(Tag::TableRow | Tag::TableHead) => {
                cells = 0;
                text.push('\n');
            }
            Event::Start(Tag::TableCell) => {
                cell += 1;
                cells += 1;
                text.push('\n');
            }
            Event::End(pulldown_cmark::TagEnd::TableRow) => assert_eq!(cells, columns),
            Event::Text(words) => text.push_str(&words),
            Event::SoftBreak | Event::HardBreak | Event::Start(Tag::Item | Tag::Paragraph) => text.push('\n'),
            _ => {}
        }
    }
    assert!(cell > 0 || !markdown.contains("| --- "));
    acts(&text);
    raw_lines(markdown);
}

/// What GitHub finds in rendered text.
fn acts(text: &str) {
    for (what, pattern) in [
        ("mention", r"@[A-Za-z0-9]"),
        ("issue", r"#\d"),
        ("issue", r"(?i)\bgh-\d"),
        ("commit", r"\b[0-9a-f]{7,40}\b"),
        ("address", r"(?i)(https?|ftp)://\S"),
        ("address", r"(?i)\bwww\.\S"),
        ("emoji", r":[a-z0-9_+-]+:"),
    ] {
        let found = Regex::new(pattern).unwrap().find(text).map(|found| found.as_str().to_owned());
        assert_eq!(found, None, "a live {what} in {text}");
    }
    let robots = ["@dependabot", "/approve", "/lgtm", "/deploy", "bors r+", "@coderabbitai"];
    for line in text.lines() {
        assert!(!robots.iter().any(|robot| line.trim_start().starts_with(robot)), "{line}");
    }
}

fn raw_lines(markdown: &str) {
    for (at, line) in markdown.lines().enumerate() {
        assert!(!line.trim_start().starts_with(['/', '@', '#']), "{line}");
        assert!(at == 0 || !line.contains("<!-- scoregate:"), "{line}");
        for robot in ["/approve", "bors r+", "/deploy production", "EOF"] {
            assert!(!line.starts_with(robot), "{line}");
        }
    }
    assert_eq!(markdown.matches("<details").count(), markdown.matches("</details>").count());
}

fn check_files(sample: &Sample) {
    for name in ["comment.md", "summary.md"] {
        let text = file(sample, name);
        check(&text);
        let limit = if name == "comment.md" { 65_000 } else { 1_000_000 };
        assert!(text.len() < limit);
    }
}

#[test]
fn every_sample_is_text_and_our_own_markup() {
    for (_, sample) in all() {
        check_files(&sample);
    }
}

#[test]
fn cm_mentions() {
    check_files(&hostile_with(&texts("comments/mentions.txt")));
}

#[test]
fn cm_bot_commands() {
    check_files(&hostile_with(&texts("comments/bot-commands.txt")));
}

#[test]
fn cm_table_cells() {
    let sample = hostile_with(&texts("comments/cells.txt"));
    check_files(&sample);
    let shown: String = events(&file(&sample, "comment.md"))
        .into_iter()
        .filter_map(|event| if let Event::Text(text) = event { Some(text.into_string()) } else { None })
        .collect();
    for text in ["Type A | B | C", "`a | b`", "`` tick ` inside ``", "*bold* _it_ ~~s~~ [l](u)"] {
        assert!(shown.contains(text), "{text} is not readable in {shown}");
    }
}

#[test]
fn cm_newline_in_name() {
    let lines = std::fs::read_to_string("fixtures/cases/comments/newline-names.jsonl").unwrap();
    let names: Vec<String> = lines
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["name"].as_str().unwrap().to_owned())
        .collect();
    let mut sample = crate::report::samples::failing();
    sample.verdict.broken.clear();
    for name in &names {
        sample.case(name, Some("x"), &[value(0.0), value(0.0)], "");
        sample.broke(name, "hit_rate", 1.0, 0.0, true);
    }
    check_files(&sample);
    let comment = file(&sample, "comment.md");
    assert_eq!(comment.lines().filter(|line| line.starts_with("| case **")).count(), names.len() + 1);
    assert!(!comment.contains("\n# ") && !comment.contains("<u>"));
}

#[test]
fn cm_too_long() {
    let mut sample = blank();
    (sample.verdict.exit_code, sample.verdict.decision) = (1, crate::domain::Decision::Failed);
    for at in 0..5_000 {
        let name = format!("{}{at}", "😀".repeat(100));
        sample.case(&name, Some("a"), &[value(0.0), value(0.0)], &"r".repeat(300));
        sample.broke(&name, "hit_rate", 1.0, 0.0, true);
    }
    let comment = file(&sample, "comment.md");
    let counts = [comment.chars().count(), comment.encode_utf16().count(), comment.len()];
    assert!(counts.iter().all(|count| *count < 65_000), "{counts:?}");
    check_files(&sample);
    let rows = comment.lines().filter(|line| line.starts_with("| case **")).count();
    assert!(rows > 3);
    assert!(comment.contains(&format!("{} more cases in the full report", 5_000 - rows)), "{comment}");
    assert!(comment.contains("What to do next") || sample.view().advice.is_empty());
    assert!(file(&sample, "summary.md").len() > comment.len());
}

#[test]
fn a_hundred_thousand_rules_still_fit() {
    let mut sample = crate::report::samples::failing();
    let one = sample.verdict.rules.last().unwrap().clone();
    for _ in 0..20_000 {
        sample.verdict.rules.push(one.clone());
    }
    check_files(&sample);
    assert!(file(&sample, "comment.md").contains(" more rules in the full report"));
}

#[test]
fn a_summary_fits_the_room_that_is_left() {
    let sample = crate::report::samples::hostile();
    for room in [30_000, 60_000, 500_000] {
        let text = crate::report::summary_markdown(&sample.view(), room, &crate::report::Links::default());
        assert!(text.len() <= room, "{} of {room}", text.len());
        check(&text);
    }
}

#[test]
fn the_marker_is_the_first_line_and_the_hosts_own() {
    let comment = file(&crate::report::samples::passing(), "comment.md");
    assert_eq!(comment.lines().next(), Some("<!-- scoregate:support-rag -->"));
}
