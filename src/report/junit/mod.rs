//! `junit.xml`: one suite `gate` with a test case a rule, then one suite a target and metric with a test case a case.
//!
//! The number of failures is zero exactly when the gate passes: a low score under a mean rule is a passing test case with its
//! score as a property; it fails only where it made the gate fail. What could not be measured is an error. Dialect and readers:
//! Azure Pipelines takes the failure's message attribute, GitLab only its body, most drop properties, so the facts stand in the body too.
//!
//! `junit-report` writes a suite from sanitised text; [`dialect`] adds what it cannot write. A few hundred test cases
//! are in memory at a time, beside the finished pieces.

mod dialect;
mod gate;
mod label;
mod metric;

use junit_report::{OffsetDateTime, Report, TestSuite};

use super::pieces::Pieces;
use super::settings::ReportSettings;
use super::view::View;
use dialect::{Extra, Growing, Totals};
use label::Labels;

pub(super) fn render(view: &View<'_>, settings: &ReportSettings) -> Result<Pieces, String> {
    let labels = Labels::new(view);
    let mut body = Pieces::default();
    let root = body.place();
    let mut totals = Totals::default();
    let strict = settings.junit_strict;
    type Fill<'f> = dyn FnMut(&mut Write<'_>) -> Result<(), String> + 'f;
    let mut grow = |properties, fill: &mut Fill<'_>| -> Result<(), String> {
        let mut growing = Growing::new(&mut body, properties);
        fill(&mut |part| write(part, strict, &mut growing, &mut body))?;
        totals.add(growing.end(&mut body)?);
        Ok(())
    };
    grow(gate::effort(view), &mut |write| write(gate::suite(view, &labels)))?;
    let mut texts = metric::Texts::new(view);
    for target in &view.run.header.reported_targets() {
        for at in 0..view.run.header.metrics.len() {
            grow(Vec::new(), &mut |write| metric::suite(view, target, at, &labels, &mut texts, write))?;
        }
    }
    dialect::document(&labels.suite, &timestamp(started(view)), strict, &totals, (root, body))
}

/// Takes a part of a suite.
type Write<'w> = dyn FnMut(Part) -> Result<(), String> + 'w;

fn write(part: Part, strict: bool, growing: &mut Growing, body: &mut Pieces) -> Result<(), String> {
    let own = Totals::of(&part.tests);
    let mut report = Report::new();
    report.add_testsuite(part.tests);
    let mut plain = Vec::new();
    report.write_xml(&mut plain).map_err(|error| error.to_string())?;
    growing.part(&plain, own, &part.extras, strict, body)
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
