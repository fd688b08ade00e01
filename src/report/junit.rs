//! `junit.xml`: one suite per target and metric with a test case per case, and one suite `gate` with a test case per rule.
//!
//! The number of failures is zero exactly when the gate passes: a low score under a mean rule is a property of a passing test case.

use std::collections::HashSet;
use std::time::Duration as Seconds;

use junit_report::{Duration, OffsetDateTime, ReportBuilder, TestCase, TestCaseBuilder, TestSuite, TestSuiteBuilder};

use super::View;
use super::console::rule_word;
use super::escape::xml;
use crate::domain::{CaseRecord, Cell, Comparison, Severity};

/// Characters of a name that readers keep.
const NAME: usize = 200;
const TEXT: usize = 4000;

pub(super) fn render(view: &View<'_>) -> Result<String, String> {
    let mut report = ReportBuilder::new();
    let started = started(view);
    report.add_testsuite(gate(view, started));
    for target in &view.run.header.targets_or_default() {
        for (at, metric) in view.run.header.metrics.iter().enumerate() {
            let cases = view.run.cases.iter().filter(|case| case.target == *target);
            let name = format!("{} / {} / {}", view.verdict.suite, target, metric.name);
            let mut suite = TestSuiteBuilder::new(&one_line(&name));
            suite.set_timestamp(started);
            let mut names = HashSet::new();
            for case in cases {
                if let Some(test) = test_case(view, case, at, &mut names) {
                    suite.add_testcase(test);
                }
            }
            report.add_testsuite(suite.build());
        }
    }
    let mut bytes = Vec::new();
    report.build().write_xml(&mut bytes).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

/// The run's start; the epoch where a foreign file does not say it: the same file gives the same bytes.
fn started(view: &View<'_>) -> OffsetDateTime {
    let started = view.run.header.started.as_deref().and_then(|text| text.parse::<jiff::Timestamp>().ok());
    let seconds = started.map_or(0, jiff::Timestamp::as_second);
    OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

fn gate(view: &View<'_>, started: OffsetDateTime) -> TestSuite {
    let mut suite = TestSuiteBuilder::new("gate");
    suite.set_timestamp(started);
    let mut names = HashSet::new();
    for rule in &view.verdict.rules {
        let what = [&*rule.target, &*rule.metric, rule_word(rule.rule)];
        let parts: Vec<&str> = what.into_iter().filter(|part| !part.is_empty()).collect();
        let name = unique(&parts.join(" / "), &mut names);
        suite.add_testcase(rule_case(view, rule, &name));
    }
    suite.build()
}

fn rule_case(view: &View<'_>, rule: &Comparison, name: &str) -> TestCase {
    let message = text(view, &rule.explanation);
    let mut case = match rule.severity {
        Severity::Ok | Severity::Warn => TestCaseBuilder::success(name, none()),
        Severity::Fail => TestCaseBuilder::failure(name, none(), "gate", &first_line(&message)),
        Severity::Block => TestCaseBuilder::error(name, none(), "not-evaluated", &first_line(&message)),
    };
    if matches!(rule.severity, Severity::Fail | Severity::Block) {
        case.set_trace(&message);
    }
    case.set_classname("gate");
    case.build()
}

/// `None` where the metric does not apply to the case.
fn test_case(view: &View<'_>, case: &CaseRecord, at: usize, names: &mut HashSet<String>) -> Option<TestCase> {
    let metric = view.run.header.metrics.get(at)?;
    let cells: Vec<Cell> = case.trials.iter().filter_map(|trial| trial.cells.get(at).copied().flatten()).collect();
    let cell = cells.iter().find(|cell| matches!(cell, Cell::Value { .. })).or(cells.first())?;
    let name = unique(&view.redactor.redact(&format!("{} / {}", case.id, metric.name)), names);
    let decisive = view.verdict.broken.iter().find(|broken| {
        broken.decisive && broken.case == case.id && broken.target == case.target && broken.metric == metric.name
    });
    let place = case.place.as_ref().map_or_else(String::new, |place| format!("{}:{}\n", place.file, place.line));
    let mut test = match cell {
        Cell::Value { value, .. } => match decisive {
            Some(broken) => {
                let before = broken.baseline.map_or_else(|| "none".to_owned(), |value| value.to_string());
                let message = format!("{} {before} → {value}", metric.name);
                let mut test = TestCaseBuilder::failure(&name, none(), "regression", &one_line(&message));
                test.set_trace(&text(view, &format!("{place}{message}")));
                test
            }
            None => {
                let mut test = TestCaseBuilder::success(&name, none());
                test.set_system_out(&format!("{} {value}", one_line(&metric.name)));
                test
            }
        },
        Cell::Error { kind, .. } | Cell::Unusable { kind } => {
            let mut test =
                TestCaseBuilder::error(&name, none(), kind.word(), &format!("not measured: {}", kind.word()));
            test.set_trace(&text(view, &format!("{place}not measured: {}", kind.word())));
            test
        }
        Cell::Skipped(_) => TestCaseBuilder::skipped(&name),
    };
    test.set_classname(&one_line(&format!("{}.{}", case.target, case.id.replace('.', "_"))));
    Some(test.build())
}

fn none() -> Duration {
    Duration::try_from(Seconds::ZERO).unwrap_or(Duration::ZERO)
}

fn first_line(text: &str) -> String {
    one_line(text.lines().next().unwrap_or_default())
}

/// Attributes lose line ends in XML parsers, and junit-report writes them raw.
fn one_line(text: &str) -> String {
    xml(&text.replace(['\n', '\t', '\r'], " "), 300)
}

/// junit-report writes traces as CDATA without breaking its end mark.
fn text(view: &View<'_>, text: &str) -> String {
    xml(&view.redactor.redact(text), TEXT).replace("]]>", "]]]]><![CDATA[>")
}

/// Non-empty, and distinct even lower-cased, trimmed and cut.
fn unique(name: &str, names: &mut HashSet<String>) -> String {
    let base = one_line(&super::escape::cut(name.trim(), NAME));
    let base = if base.is_empty() { "(empty)".to_owned() } else { base };
    let mut name = base.clone();
    let mut count = 1;
    while !names.insert(name.to_lowercase()) {
        count += 1;
        name = format!("{base} ({count})");
    }
    name
}
