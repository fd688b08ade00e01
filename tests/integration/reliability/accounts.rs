//! What a run planned, what came of it, and whether every report says the same.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::command::{err, outcomes, report, results, verdict};

/// Cells by what came of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub scored: u64,
    pub errored: u64,
    pub unusable: u64,
    pub skipped: u64,
}

impl Tally {
    fn sum(self) -> u64 {
        self.scored + self.errored + self.unusable + self.skipped
    }

    fn count(&mut self, score: &Value) {
        let kinds = ["value", "error", "unusable", "skipped"];
        let present: Vec<&str> = kinds.into_iter().filter(|kind| score.get(kind).is_some()).collect();
        match present.as_slice() {
            ["value"] => {
                let value = score["value"].as_f64().expect("a number");
                assert!((0.0..=1.0).contains(&value), "{score}");
                self.scored += 1;
            }
            ["error"] => self.errored += 1,
            ["unusable"] => self.unusable += 1,
            ["skipped"] => self.skipped += 1,
            other => panic!("a score is one of four things, not {other:?}: {score}"),
        }
    }
}

/// Checks that `cases` × `metrics` is the sum of what came of them, alike in every report and the exit code; returns the outcomes by case.
pub fn balanced(place: &Path, output: &Output, cases: usize, metrics: &[&str]) -> (Tally, BTreeMap<usize, Value>) {
    let said = err(output);
    let code = output.status.code().unwrap_or_else(|| panic!("ended by a signal: {said}"));
    let lines = outcomes(place);
    let mut tally = Tally::default();
    let mut found = BTreeMap::new();
    let mut below = 0;
    for (at, line) in lines.into_iter().enumerate() {
        assert_eq!(line["case"], format!("q{at}"), "the order is the data set's");
        assert_ne!(line.get("answer").is_some(), line.get("error").is_some(), "an answer or an error: {line}");
        let scores = line["scores"].as_array().expect("scores");
        let names: Vec<&str> = scores.iter().filter_map(|score| score["metric"].as_str()).collect();
        assert_eq!(names, metrics, "{line}");
        scores.iter().for_each(|score| tally.count(score));
        below += scores.iter().filter(|score| score["value"].as_f64().is_some_and(|value| value < 1.0)).count();
        found.insert(at, line);
    }
    let planned = (cases * metrics.len()) as u64;
    assert_eq!((found.len(), tally.sum()), (cases, planned), "planned and what came of it: {said}");
    let end = results(place).pop().expect("an end");
    assert_eq!((&end["outcomes"], &end["complete"]), (&cases.into(), &true.into()), "{end}");

    let verdict = verdict(place);
    let counts = &verdict["cases"];
    let told = |name: &str| counts[name].as_u64().unwrap_or_else(|| panic!("{name}: {counts}"));
    let cells = ["cells_scored", "cells_errored", "cells_unusable", "cells_skipped"].map(told);
    assert_eq!((told("total"), told("cells")), (cases as u64, planned), "{counts}");
    assert_eq!(cells, [tally.scored, tally.errored, tally.unusable, tally.skipped], "verdict.json");
    assert_eq!(verdict["exit_code"], code, "{said}");

    let junit = report(place, "junit.xml");
    in_junit(&junit, cases, metrics, tally, code, below);
    let comment = report(place, "comment.md");
    assert!(comment.contains(&in_words(cases, planned, tally)), "{}\n{comment}", in_words(cases, planned, tally));
    assert!(said.lines().last().unwrap_or_default().starts_with(&format!("scoregate: exit {code}:")), "{said}");

    // Green needs a good score for everything that was planned.
    let green = code == 0;
    assert_eq!(green, tally.scored == planned && below == 0, "exit {code} with {tally:?}, {below} low: {said}");
    assert_eq!(verdict["verdict"] == "passed", green, "{}", verdict["verdict"]);
    assert_eq!(comment.contains("[!TIP]"), green, "{comment}");
    (tally, found)
}

fn in_junit(junit: &str, cases: usize, metrics: &[&str], tally: Tally, code: i32, below: usize) {
    let suites: Vec<&str> = junit.split("<testsuite ").skip(1).collect();
    assert_eq!(suites.len(), 1 + metrics.len(), "one for the gate, one a metric");
    let number = |suite: &str, name: &str| -> u64 {
        let (_, rest) = suite.split_once(&format!(" {name}=\"")).unwrap_or_else(|| panic!("{name} in {suite:.200}"));
        rest.split_once('"').expect("an end").0.parse().expect("a number")
    };
    let count = |text: &str, what: &str| text.matches(what).count() as u64;
    let (mut errors, mut skipped, mut failures) = (0, 0, 0);
    for suite in &suites {
        let head = suite.split_once('>').expect("an end").0;
        assert_eq!(number(head, "tests"), count(suite, "<testcase "), "{head}");
        assert_eq!(number(head, "errors"), count(suite, "<error "), "{head}");
        assert_eq!(number(head, "skipped"), count(suite, "<skipped"), "{head}");
        assert_eq!(number(head, "failures"), count(suite, "<failure "), "{head}");
        failures += number(head, "failures");
        if !head.contains("name=\"gate\"") {
            assert_eq!(number(head, "tests"), cases as u64, "{head}");
            (errors, skipped) = (errors + number(head, "errors"), skipped + number(head, "skipped"));
            assert!(number(head, "failures") <= below as u64, "{head}");
        }
    }
    assert_eq!((errors, skipped), (tally.errored + tally.unusable, tally.skipped), "junit.xml");
    assert_eq!(failures + errors == 0, code == 0, "{failures} failures and {errors} errors with exit {code}");
}

fn in_words(cases: usize, planned: u64, tally: Tally) -> String {
    let mut words =
        format!("{} cases, {} of {} scores measured", grouped(cases as u64), grouped(tally.scored), grouped(planned));
    words.push_str(&format!(" ({})", rate(tally.scored, planned)));
    for (count, what) in [(tally.errored, "failed"), (tally.unusable, "unusable"), (tally.skipped, "skipped")] {
        if count > 0 {
            words.push_str(&format!(", {} {what}", grouped(count)));
        }
    }
    words
}

/// As the reports write it: rounded, but never to all or nothing where it is not.
fn rate(part: u64, whole: u64) -> String {
    match part {
        0 => "0%".to_owned(),
        _ if part == whole => "100%".to_owned(),
        _ => format!("{:.1}%", (100.0 * part as f64 / whole as f64).clamp(0.1, 99.9)),
    }
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let parts: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|part| std::str::from_utf8(part).expect("digits")).collect();
    parts.join(",")
}
