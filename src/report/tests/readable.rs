//! What people see, as snapshots.

use super::*;
use crate::report::samples::{Sample, empty, failing, mixed, passing};

fn readable() -> [(&'static str, Sample); 4] {
    [("passing", passing()), ("failing", failing()), ("mixed", mixed()), ("empty", empty())]
}

#[test]
fn screens_read_like_this() {
    for (name, sample) in readable() {
        insta::assert_snapshot!(format!("screen_{name}"), console(&sample, 120));
    }
    insta::assert_snapshot!("screen_narrow", console(&failing(), 80));
}

#[test]
fn comments_read_like_this() {
    for (name, sample) in readable() {
        insta::assert_snapshot!(format!("comment_{name}"), file(&sample, "comment.md"));
    }
}

#[test]
fn junit_reads_like_this() {
    for (name, sample) in readable() {
        insta::assert_snapshot!(format!("junit_{name}"), file(&sample, "junit.xml"));
    }
}

/// `tests/scripts/validate_junit.py` holds these against the two schemas.
#[test]
fn junit_reads_like_this_in_the_strict_form_and_with_hostile_texts() {
    let strict = ReportSettings { junit_strict: true, ..ReportSettings::default() };
    insta::assert_snapshot!("junit_strict_failing", file_with(&failing(), "junit.xml", &strict));
    insta::assert_snapshot!("junit_strict_mixed", file_with(&mixed(), "junit.xml", &strict));
    let text = crate::report::samples::HOSTILE.concat();
    let mut sample = failing();
    sample.case(&text, Some(&text), &[crate::report::samples::value(0.0); 2], &text);
    sample.broke(&text, "hit_rate", 1.0, 0.0, true);
    insta::assert_snapshot!("junit_hostile", file(&sample, "junit.xml"));
    insta::assert_snapshot!("junit_strict_hostile", file_with(&sample, "junit.xml", &strict));
}

#[test]
fn verdicts_read_like_this() {
    insta::assert_snapshot!("verdict_empty", file(&empty(), "verdict.json"));
}

#[test]
fn remarks_are_worst_first() {
    let sample = failing();
    let remarks = crate::report::remarks(&sample.view());
    let titles: Vec<String> = remarks.iter().map(|remark| remark.title.to_string()).collect();
    assert_eq!(
        titles,
        ["hit_rate worse", "faithfulness missed", "q001: hit_rate 1 → 0, faithfulness 1 → 0.2", "q002: hit_rate 1 → 0"]
    );
    assert!(remarks[2].message.as_str().contains("before: PEP 8 asks"));
    assert_eq!(remarks[2].place.as_ref().map(|place| place.line), Some(1));
}

/// The same counts and numbers in all of them.
#[test]
fn every_report_says_the_same_numbers() {
    for name in ["comment.md", "summary.md"] {
        let text = file(&failing(), name);
        let screen = console(&failing(), 200);
        for number in
            ["0.813 → 0.381", "-43.3", "-50.9 to -35.8", "0.79996", "2.0e-15", "134 of 140", "280 of 280", "$0.12"]
        {
            let wanted = number.replace("2.0e-15", "<1e-12");
            assert!(screen.contains(&wanted), "{wanted} is not on the screen:\n{screen}");
            assert!(text.contains(&wanted.replace('<', "&lt;")), "{wanted} is not in {name}:\n{text}");
        }
    }
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    for (_, sample) in crate::report::samples::all() {
        let bytes = || -> Vec<_> { crate::report::KINDS.iter().map(|kind| file(&sample, kind.file)).collect() };
        assert!(bytes() == bytes());
    }
}
