//! Random texts with markers of every sink at random places, cut at random (R13, small enough for every change).

use proptest::prelude::*;

use super::*;
use crate::report::samples::{HOSTILE, Sample, failing, hostile_with};

const MARKS: [&str; 30] = [
    "::",
    "::error::",
    "##[",
    "##vso[",
    "##VSO[a]",
    "]",
    "\n",
    "\r",
    "\u{85}",
    "\u{2028}",
    "\u{a0}",
    "\u{1b}[",
    "\u{0}",
    "\u{202e}",
    "]]>",
    "<!--",
    "-->",
    "<script>",
    "&amp;",
    "&#0;",
    "|",
    "\\|",
    "`",
    "```",
    "@a",
    "#1",
    "https://",
    "www.",
    "$$",
    "- [ ] ",
];

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        proptest::sample::select(MARKS.to_vec()).prop_map(str::to_owned),
        proptest::sample::select(HOSTILE.to_vec()).prop_map(str::to_owned),
        "\\PC{0,12}",
        ".{0,6}",
        proptest::collection::vec(any::<char>(), 0..6).prop_map(String::from_iter),
    ];
    (proptest::collection::vec(piece, 1..8), 0_usize..200)
        .prop_map(|(pieces, keep)| pieces.concat().chars().take(keep).collect())
}

/// Small: one broken case, one rule, one note of the text.
fn sample(text: &str) -> Sample {
    let mut sample = failing();
    sample.verdict.broken.clear();
    sample.case(text, Some(text), &[crate::report::samples::value(0.0); 2], text);
    sample.before(text, text);
    sample.broke(text, "hit_rate", 1.0, 0.0, true);
    sample.verdict.notes.push(text.to_owned());
    text.clone_into(&mut sample.verdict.suite);
    text.clone_into(&mut sample.verdict.headline);
    if let Some(rule) = sample.verdict.rules.last_mut() {
        text.clone_into(&mut rule.explanation);
        rule.metric = text.into();
    }
    sample.verdict.metrics[1].name = text.into();
    sample.run.header.metrics[1].name = text.into();
    sample
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_screen_holds_no_command(text in text()) {
        super::hosts::check_screen(&sample(&text));
    }

    #[test]
    fn markdown_holds_text_only(text in text()) {
        let sample = sample(&text);
        super::markdown::check(&file(&sample, "comment.md"));
    }

    #[test]
    fn junit_is_well_formed_and_reads_back(text in text()) {
        let sample = sample(&text);
        let root = super::junit::check(&sample);
        let view = sample.view();
        let shown = &view.broken[0];
        if let Some(now) = &shown.now {
            let now = format!("now: {now}");
            let found = root.named("testsuite").any(|suite| suite.named("testcase").any(|case| case.children.iter().any(|end| end.text.contains(&now))));
            prop_assert!(found, "{}", now);
        }
    }

    #[test]
    fn json_reads_back(text in text()) {
        let sample = sample(&text);
        let stored = crate::report::read_verdict(&file(&sample, "verdict.json")).unwrap();
        prop_assert!(stored.verdict == sample.verdict);
    }
}

#[test]
fn every_hostile_text_in_every_place_at_once() {
    let sample = hostile_with(&HOSTILE.map(str::to_owned));
    super::hosts::check_screen(&sample);
    super::junit::check(&sample);
    super::markdown::check(&file(&sample, "summary.md"));
}
