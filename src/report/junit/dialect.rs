//! What `junit-report` does not write: totals, `skipped`, times with three decimals, per-case `properties` and `line`, texts without
//! CDATA, no `id` and `package`. One pass of `quick-xml` over one suite.

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

/// Counts of elements, and whole milliseconds.
#[derive(Clone, Copy, Debug, Default)]
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

/// A suite on its way into the document, part by part: what stands in its first line is known at its end.
pub(super) struct Growing {
    /// Where in the document it begins.
    from: usize,
    totals: Totals,
    head: Option<BytesStart<'static>>,
    /// Of the suite itself.
    properties: Vec<(&'static str, String)>,
}

impl Growing {
    pub(super) fn new(body: &[u8], properties: Vec<(&'static str, String)>) -> Self {
        Self { from: body.len(), totals: Totals::default(), head: None, properties }
    }

    /// Appends the test cases of the suite in `plain`, in our dialect.
    pub(super) fn part(
        &mut self,
        plain: &[u8],
        totals: Totals,
        extras: &[Extra],
        strict: bool,
        body: &mut Vec<u8>,
    ) -> Result<(), String> {
        self.totals.add(totals);
        let text = std::str::from_utf8(plain).map_err(|error| error.to_string())?;
        let mut reader = Reader::from_str(text);
        let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
        let mut extras = extras.iter();
        loop {
            let event = reader.read_event().map_err(|error| error.to_string())?;
            let written = match event {
                Event::Eof => break,
                Event::Start(start) if start.name().as_ref() == "testcase" => {
                    open(&mut writer, &start, extras.next(), strict, false)
                }
                Event::Empty(start) if start.name().as_ref() == "testcase" => {
                    open(&mut writer, &start, extras.next(), strict, true)
                }
                Event::Start(start) if start.name().as_ref() == "testsuite" => {
                    self.head.get_or_insert_with(|| start.into_owned());
                    // For the indentation of what is in it.
                    writer.write_event(Event::Start(BytesStart::new("testsuite"))).map_err(|error| error.to_string())
                }
                Event::Empty(start) if start.name().as_ref() == "testsuite" => {
                    self.head.get_or_insert_with(|| start.into_owned());
                    Ok(())
                }
                Event::Start(start) if start.name().as_ref() == "testsuites" => Ok(()),
                Event::End(end) if end.name().as_ref() == "testsuites" => Ok(()),
                Event::Decl(_) => Ok(()),
                Event::CData(data) => writer
                    .write_event(Event::Text(BytesText::new(&data.into_inner())))
                    .map_err(|error| error.to_string()),
                other => writer.write_event(other).map_err(|error| error.to_string()),
            };
            written?;
        }
        let bytes = writer.into_inner();
        let inner = bytes.strip_prefix(b"<testsuite>").and_then(|bytes| bytes.strip_suffix(b"\n</testsuite>"));
        match inner {
            Some(inner) => body.extend_from_slice(inner),
            // A suite without test cases is written as one empty element.
            None if bytes.is_empty() => {}
            None => return Err("a part of a suite is not written as expected".to_owned()),
        }
        Ok(())
    }

    /// Puts the first and the last line around the parts; returns what is in them.
    pub(super) fn end(self, body: &mut Vec<u8>) -> Result<Totals, String> {
        let head = suite(&self.head.ok_or("a suite without a part")?, &self.totals)?;
        let empty = body.len() == self.from && self.properties.is_empty();
        let mut writer = Writer::new_with_indent(vec![b'\n'], b' ', 2);
        let head = if empty { Event::Empty(head) } else { Event::Start(head) };
        writer.write_event(head).map_err(|error| error.to_string())?;
        write_properties(&mut writer, &self.properties)?;
        drop(body.splice(self.from..self.from, writer.into_inner()));
        if !empty {
            body.extend_from_slice(b"\n</testsuite>");
        }
        Ok(self.totals)
    }
}

fn suite<'a>(start: &BytesStart<'_>, totals: &Totals) -> Result<BytesStart<'a>, String> {
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
) -> Result<(), String> {
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
    let mut write = |event: Event<'_>| writer.write_event(event).map_err(|error| error.to_string());
    if empty && properties.is_empty() {
        return write(Event::Empty(element));
    }
    write(Event::Start(element))?;
    write_properties(writer, properties)?;
    if !empty {
        return Ok(());
    }
    writer.write_event(Event::End(BytesEnd::new("testcase"))).map_err(|error| error.to_string())
}

/// Nothing where there are none.
fn write_properties(writer: &mut Writer<Vec<u8>>, properties: &[(&'static str, String)]) -> Result<(), String> {
    if properties.is_empty() {
        return Ok(());
    }
    let mut write = |event: Event<'_>| writer.write_event(event).map_err(|error| error.to_string());
    write(Event::Start(BytesStart::new("properties")))?;
    for (name, value) in properties {
        let property = BytesStart::new("property").with_attributes([("name", *name), ("value", value.as_str())]);
        write(Event::Empty(property))?;
    }
    write(Event::End(BytesEnd::new("properties")))
}

/// An attribute's value; empty where there is none.
fn attribute(start: &BytesStart<'_>, name: &str) -> Result<String, String> {
    let found = start.try_get_attribute(name).map_err(|error| error.to_string())?;
    let Some(found) = found else { return Ok(String::new()) };
    found.normalized_value(XmlVersion::Implicit1_0).map(|value| value.into_owned()).map_err(|error| error.to_string())
}

/// Digits, point, three digits.
fn seconds(millis: i128) -> String {
    let millis = millis.max(0);
    format!("{}.{:03}", millis / 1_000, millis % 1_000)
}

/// The whole document around the suites.
pub(super) fn document(
    name: &str,
    timestamp: &str,
    strict: bool,
    totals: &Totals,
    mut body: Vec<u8>,
) -> Result<Vec<u8>, String> {
    let mut writer = Writer::new(Vec::new());
    let mut write = |event: Event<'_>| writer.write_event(event).map_err(|error| error.to_string());
    write(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    write(Event::Text(BytesText::from_escaped("\n")))?;
    let mut root = BytesStart::new("testsuites");
    root.push_attribute(("name", name));
    totals.attributes(&mut root, !strict);
    if !strict {
        root.push_attribute(("timestamp", timestamp));
    }
    write(Event::Start(root))?;
    drop(body.splice(0..0, writer.into_inner()));
    body.extend_from_slice(b"\n</testsuites>\n");
    Ok(body)
}
