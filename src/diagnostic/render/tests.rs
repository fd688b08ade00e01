use std::sync::Arc;

use super::*;
use crate::diagnostic::Source;

fn show(diagnostic: Diagnostic) -> String {
    render(&diagnostic.into())
}

#[test]
fn the_line_its_place_and_the_help_are_shown() {
    let source = Arc::new(Source::new("scoregate.yaml", "version: 1\nname: a\n  threshhold: 0.5\n"));
    let text = show(
        Diagnostic::error("unknown-key", "unknown key `threshhold`")
            .at(&source, Span::new(3, 3, 10))
            .help("did you mean `threshold`?"),
    );
    insta::assert_snapshot!(text, @r"
    error[unknown-key]: unknown key `threshhold`
     --> scoregate.yaml:3:3
      |
    3 |   threshhold: 0.5
      |   ^^^^^^^^^^
      |
      = help: did you mean `threshold`?
    ");
}

#[test]
fn both_places_of_a_repeated_key_are_shown() {
    let lines: String = (1..=20).map(|line| format!("key{line}: 1\n")).collect();
    let source = Arc::new(Source::new("a.yaml", lines));
    let text = show(
        Diagnostic::error("duplicate-key", "`limit` is given twice")
            .at(&source, Span::new(18, 1, 5))
            .related(Span::new(2, 1, 4), "first given here"),
    );
    insta::assert_snapshot!(text, @r"
    error[duplicate-key]: `limit` is given twice
      --> a.yaml:18:1
       |
     2 | key2: 1
       | ---- first given here
    ...
    18 | key18: 1
       | ^^^^^
    ");
}

#[test]
fn control_characters_are_shown_and_the_column_stays_true() {
    let source = Arc::new(Source {
        path: "a\u{1b}[31m.yaml".into(),
        text: "a\u{1b}[31m\u{202e}: bad".into(),
        first_line: 7,
        masked: Vec::new(),
    });
    let text = show(Diagnostic::warning("odd", "odd \u{7}bell").at(&source, Span::new(7, 9, 3)));
    insta::assert_snapshot!(text, @r"
    warning[odd]: odd \u{7}bell
     --> a\u{1b}[31m.yaml:7:9
      |
    7 | a\u{1b}[31m\u{202e}: bad
      |                     ^^^
    ");
}

#[test]
fn a_long_line_is_cut_around_the_place() {
    let line = format!("{}HERE{}", "x".repeat(5_000), "y".repeat(100_000));
    let source = Arc::new(Source::new("a.json", line));
    let text = show(Diagnostic::error("here", "it is here").at(&source, Span::new(1, 5_001, 4)));
    assert!(text.contains("a.json:1:5001"), "{text}");
    assert!(text.contains("xHEREy") && text.contains("^^^^"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() < 220), "{text}");
}

#[test]
fn a_problem_without_a_place_and_one_behind_the_end_are_shown_too() {
    let source = Arc::new(Source::new("a.yaml", ""));
    let mut all = Diagnostics::from(Diagnostic::error("no-file", "cannot read `a.yaml`").help("give the suite's path"));
    all.push(Diagnostic::error("end", "the file ends too early").at(&source, Span::new(1, 1, 0)));
    all.push(Diagnostic::error("gone", "not there").at(&source, Span::new(40, 1, 3)));
    insta::assert_snapshot!(render(&all), @r"
    error[no-file]: cannot read `a.yaml`
     |
     = help: give the suite's path

    error[end]: the file ends too early
    --> a.yaml:1:1

    error[gone]: not there
    --> a.yaml:40:1
    ");
}

#[test]
fn wide_characters_do_not_move_the_caret_to_another_word() {
    let source = Arc::new(Source::new("a.yaml", "名前: 値 bad\n"));
    let text = show(Diagnostic::error("bad", "bad").at(&source, Span::new(1, 7, 3)));
    insta::assert_snapshot!(text, @r"
    error[bad]: bad
     --> a.yaml:1:7
      |
    1 | 名前: 値 bad
      |          ^^^
    ");
}

#[test]
fn colours_come_only_when_asked_for() {
    let all = Diagnostics::from(Diagnostic::error("a", "b"));
    assert!(!render(&all).contains('\u{1b}'));
    assert!(render_with(&all, Colours::Ansi).contains('\u{1b}'));
}
