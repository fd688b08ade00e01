//! `junit.xml`: one suite `gate` with a test case a rule, then one suite a target and metric with a test case a case.
//!
//! The number of failures is zero exactly when the gate passes: a low score under a mean rule is a passing test case with its
//! score as a property; it fails only where it made the gate fail. What could not be measured is an error. Dialect and readers:
//! Azure Pipelines takes the failure's message attribute, GitLab only its body, most drop properties, so the facts stand in the body too.
//!
//! `junit-report` writes a suite from sanitised text; [`dialect`] adds what it cannot write. A few hundred test cases
//! are in memory at a time: what the first lines say is counted before.

mod dialect;
mod gate;
mod label;
mod metric;

use std::io::{self, Write};

use junit_report::{OffsetDateTime, Report, TestSuite};

use super::settings::ReportSettings;
use super::view::View;
use crate::domain::TargetName;
use dialect::{Extra, Growing, Totals};
use label::Labels;

pub(super) fn render(view: &View<'_>, settings: &ReportSettings, out: &mut dyn Write) -> io::Result<()> {
    let (labels, texts, strict) = (Labels::new(view), metric::Texts::new(view), settings.junit_strict);
    let gate = gate::suite(view, &labels);
    let targets = view.run.header.reported_targets();
    let suites: Vec<(&TargetName, usize, Totals)> = targets
        .iter()
        .flat_map(|target| (0..view.run.header.metrics.len()).map(move |at| (target, at)))
        .map(|(target, at)| (target, at, metric::totals(view, target, at, &texts)))
        .collect();
    let of_gate = Totals::of(&gate.tests);
    let mut totals = of_gate;
    suites.iter().for_each(|(.., more)| totals.add(*more));
    dialect::begin(out, &labels.suite, &timestamp(started(view)), strict, &totals)?;
    let mut growing = Growing::new(out, of_gate, gate::effort(view), strict);
    write(gate, &mut growing)?;
    growing.end()?;
    let mut reader = metric::Reader::new(&texts);
    for (target, at, totals) in suites {
        let mut growing = Growing::new(out, totals, Vec::new(), strict);
        metric::suite(view, target, at, &labels, &mut reader, &mut |part| write(part, &mut growing))?;
        growing.end()?;
    }
    dialect::end(out)
}

/// Takes a part of a suite.
type Take<'w> = dyn FnMut(Part) -> io::Result<()> + 'w;

fn write(part: Part, growing: &mut Growing<'_>) -> io::Result<()> {
    let own = Totals::of(&part.tests);
    let mut report = Report::new();
    report.add_testsuite(part.tests);
    let mut plain = Vec::new();
    report.write_xml(&mut plain).map_err(io::Error::other)?;
    growing.part(&plain, own, &part.extras)
}

/// Some of a suite's test cases, and what `junit-report` cannot say of them, in the same order.
struct Part {
    tests: TestSuite,
    extras: Vec<Extra>,
}

impl Part {
    fn new(view: &View<'_>, name: &str) -> Self {
        let mut tests = TestSuite::new(name);
        tests.set_timestamp(started(view));
        Self { tests, extras: Vec::new() }
    }
}

/// The run's start; the epoch where a foreign file does not say it: the same file gives the same bytes.
fn started(view: &View<'_>) -> OffsetDateTime {
    let started = view.run.header.started.as_deref().and_then(|text| text.parse::<jiff::Timestamp>().ok());
    let seconds = started.map_or(0, jiff::Timestamp::as_second);
    OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

fn timestamp(time: OffsetDateTime) -> String {
    let time = time.unix_timestamp();
    jiff::Timestamp::from_second(time)
        .map_or_else(|_| String::new(), |time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}
