//! What `junit-report` does not write: totals, `skipped`, times with three decimals, per-case `properties` and `line`, texts without
//! CDATA, no `id` and `package`. One pass of `quick-xml` over one suite.

use std::io::{self, Write};

use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use quick_xml::{Reader, Writer, XmlVersion};

use junit_report::TestSuite;

use crate::report::escape::XmlText;

/// What stands in a test case beside what `junit-report` says.
#[derive(Clone, Debug, Default)]
pub(super) struct Extra {
    pub(super) line: Option<u32>,
    /// Fixed names, numbers and fixed words.
    pub(super) properties: Vec<(&'static str, String)>,
}

/// As what a test case is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    Passed,
    Failed,
    Error,
    Skipped,
}

/// Counts of elements, and whole milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
    millis: i128,
}

impl Totals {
    pub(super) fn of(suite: &TestSuite) -> Self {
        Self {
            tests: suite.tests(),
            failures: suite.failures(),
            errors: suite.errors(),
            skipped: suite.skipped(),
            millis: suite.time().whole_milliseconds(),
        }
    }

    /// One more test case.
    pub(super) fn count(&mut self, came: Counted, millis: i128) {
        self.tests += 1;
        self.millis += millis;
        match came {
            Counted::Passed => {}
            Counted::Failed => self.failures += 1,
            Counted::Error => self.errors += 1,
            Counted::Skipped => self.skipped += 1,
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.tests += other.tests;
        self.failures += other.failures;
        self.errors += other.errors;
        self.skipped += other.skipped;
        self.millis += other.millis;
    }

    fn attributes(&self, element: &mut BytesStart<'_>, skipped: bool) {
        element.push_attribute(("tests", self.tests.to_string().as_str()));
        element.push_attribute(("failures", self.failures.to_string().as_str()));
        element.push_attribute(("errors", self.errors.to_string().as_str()));
        if skipped {
            element.push_attribute(("skipped", self.skipped.to_string().as_str()));
        }
        element.push_attribute(("time", seconds(self.millis).as_str()));
    }
}

/// `junit-report` writes texts as CDATA and does not look for its end in them.
pub(super) fn cdata(text: &XmlText) -> String {
    text.as_str().replace("]]>", "]]]]><![CDATA[>")
}

/// A suite on its way into the document, part by part; its totals are known before its first part.
pub(super) struct Growing<'w> {
    out: &'w mut dyn Write,
    /// As its first line says.
    totals: Totals,
    /// What is in the parts so far.
    written: Totals,
    /// Of the suite itself.
    properties: Vec<(&'static str, String)>,
    begun: bool,
    strict: bool,
}

impl<'w> Growing<'w> {
    pub(super) fn new(
        out: &'w mut dyn Write,
        totals: Totals,
        properties: Vec<(&'static str, String)>,
        strict: bool,
    ) -> Self {
        Self { out, totals, written: Totals::default(), properties, begun: false, strict }
    }

    /// Writes the test cases of the suite in `plain`, in our dialect; before the first of them the suite's first line.
    pub(super) fn part(&mut self, plain: &[u8], totals: Totals, extras: &[Extra]) -> io::Result<()> {
        self.written.add(totals);
        let text = std::str::from_utf8(plain).map_err(io::Error::other)?;
        let mut reader = Reader::from_str(text);
        let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
        let mut extras = extras.iter();
        loop {
            match reader.read_event().map_err(io::Error::other)? {
                Event::Eof => break,
                Event::Start(start) if start.name().as_ref() == "testcase" => {
                    open(&mut writer, &start, extras.next(), self.strict, false)?;
                }
                Event::Empty(start) if start.name().as_ref() == "testcase" => {
                    open(&mut writer, &start, extras.next(), self.strict, true)?;
                }
                Event::Start(start) if start.name().as_ref() == "testsuite" => {
                    self.begin(&start)?;
                    // For the indentation of what is in it.
                    writer.write_event(Event::Start(BytesStart::new("testsuite")))?;
                }
                Event::Empty(start) if start.name().as_ref() == "testsuite" => self.begin(&start)?,
                Event::Start(start) if start.name().as_ref() == "testsuites" => {}
                Event::End(end) if end.name().as_ref() == "testsuites" => {}
                Event::Decl(_) => {}
                Event::CData(data) => writer.write_event(Event::Text(BytesText::new(&data.into_inner())))?,
                other => writer.write_event(other)?,
            }
        }
        let bytes = writer.into_inner();
        let inner = bytes.strip_prefix(b"<testsuite>").and_then(|bytes| bytes.strip_suffix(b"\n</testsuite>"));
        match inner {
            Some(inner) => self.out.write_all(inner),
            // A suite without test cases is written as one empty element.
            None if bytes.is_empty() => Ok(()),
            None => Err(io::Error::other("a part of a suite is not written as expected")),
        }
    }

    /// The suite's first line and its properties.
    fn begin(&mut self, start: &BytesStart<'_>) -> io::Result<()> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let head = suite(start, &self.totals)?;
        let mut writer = Writer::new_with_indent(vec![b'\n'], b' ', 2);
        let head = if self.is_empty() { Event::Empty(head) } else { Event::Start(head) };
        writer.write_event(head)?;
        write_properties(&mut writer, &self.properties)?;
        self.out.write_all(&writer.into_inner())
    }

    fn is_empty(&self) -> bool {
        self.totals.tests == 0 && self.properties.is_empty()
    }

    /// Writes the last line.
    ///
    /// # Errors
    /// Where the parts hold something else than what the first line says.
    pub(super) fn end(self) -> io::Result<()> {
        if self.written != self.totals || !self.begun {
            let (said, held) = (self.totals, self.written);
            return Err(io::Error::other(format!("a suite says {said:?} and holds {held:?}")));
        }
        if self.is_empty() { Ok(()) } else { self.out.write_all(b"\n</testsuite>") }
    }
}

fn suite<'a>(start: &BytesStart<'_>, totals: &Totals) -> io::Result<BytesStart<'a>> {
    let mut element = BytesStart::new("testsuite");
    element.push_attribute(("name", attribute(start, "name")?.as_str()));
    totals.attributes(&mut element, true);
    element.push_attribute(("timestamp", attribute(start, "timestamp")?.as_str()));
    element.push_attribute(("hostname", attribute(start, "hostname")?.as_str()));
    Ok(element)
}

fn open(
    writer: &mut Writer<Vec<u8>>,
    start: &BytesStart<'_>,
    extra: Option<&Extra>,
    strict: bool,
    empty: bool,
) -> io::Result<()> {
    let mut element = BytesStart::new("testcase");
    let wanted: &[&str] = if strict { &["name", "classname"] } else { &["name", "classname", "file"] };
    for name in wanted {
        let value = attribute(start, name)?;
        if !value.is_empty() {
            element.push_attribute((*name, value.as_str()));
        }
    }
    if let Some(line) = extra.and_then(|extra| extra.line).filter(|_| !strict) {
        element.push_attribute(("line", line.to_string().as_str()));
    }
    let time: f64 = attribute(start, "time")?.parse().unwrap_or_default();
    element.push_attribute(("time", seconds((time * 1e3).round() as i128).as_str()));
    let properties = extra.map(|extra| extra.properties.as_slice()).filter(|_| !strict).unwrap_or_default();
    let mut write = |event: Event<'_>| writer.write_event(event);
    if empty && properties.is_empty() {
        return write(Event::Empty(element));
    }
    write(Event::Start(element))?;
    write_properties(writer, properties)?;
    if !empty {
        return Ok(());
    }
    writer.write_event(Event::End(BytesEnd::new("testcase")))
}

/// Nothing where there are none.
fn write_properties(writer: &mut Writer<Vec<u8>>, properties: &[(&'static str, String)]) -> io::Result<()> {
    if properties.is_empty() {
        return Ok(());
    }
    let mut write = |event: Event<'_>| writer.write_event(event);
    write(Event::Start(BytesStart::new("properties")))?;
    for (name, value) in properties {
        let property = BytesStart::new("property").with_attributes([("name", *name), ("value", value.as_str())]);
        write(Event::Empty(property))?;
    }
    write(Event::End(BytesEnd::new("properties")))
}

/// An attribute's value; empty where there is none.
fn attribute(start: &BytesStart<'_>, name: &str) -> io::Result<String> {
    let found = start.try_get_attribute(name).map_err(io::Error::other)?;
    let Some(found) = found else { return Ok(String::new()) };
    found.normalized_value(XmlVersion::Implicit1_0).map(|value| value.into_owned()).map_err(io::Error::other)
}

/// Digits, point, three digits.
fn seconds(millis: i128) -> String {
    let millis = millis.max(0);
    format!("{}.{:03}", millis / 1_000, millis % 1_000)
}

/// What stands before the suites.
pub(super) fn begin(out: &mut dyn Write, name: &str, timestamp: &str, strict: bool, totals: &Totals) -> io::Result<()> {
    let mut writer = Writer::new(Vec::new());
    let mut write = |event: Event<'_>| writer.write_event(event);
    write(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    write(Event::Text(BytesText::from_escaped("\n")))?;
    let mut root = BytesStart::new("testsuites");
    root.push_attribute(("name", name));
    totals.attributes(&mut root, !strict);
    if !strict {
        root.push_attribute(("timestamp", timestamp));
    }
    write(Event::Start(root))?;
    out.write_all(&writer.into_inner())
}

/// What stands behind them.
pub(super) fn end(out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"\n</testsuites>\n")
}
