//! JUnit XML, as pytest, Jest, Go, Maven and others write it.
//!
//! **Case**: `classname::name` (without a class: `suite::name`). **Metric**: `pass`: 1 without, 0 with `<failure>`. **Error**: `<error>`
//! is no score. **Trial**: the same test again in its suite (retries that are written as further test cases). A `<skipped>` test is not
//! there.

use std::collections::{BTreeMap, BTreeSet};

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::Peer;
use super::look::{Shape, Text};
use super::mark;
use super::sheet::{Hint, Sheet, Unsaid, outcome};
use crate::store::{ScoreLine, StoreError};

pub(super) const PEER: Peer = Peer { name: "junit", known_by: "XML with <testsuites> or <testsuite>", fits, read };

const PASS: &str = "pass";

fn fits(text: &Text) -> bool {
    text.shape == Shape::Xml && text.text.contains("<testsuite")
}

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    Passed,
    Failed,
    Error(String),
    Skipped,
}

struct Test {
    line: u64,
    suite: String,
    class: String,
    name: String,
    end: End,
}

fn read(text: &Text) -> Result<Sheet, StoreError> {
    let mut walk = Walk::default();
    walk.read(text)?;
    let mut sheet = walk.sheet;
    sheet.hints.insert(PASS.to_owned(), Hint::PASS);
    sheet.header.started = walk.started;
    let all = walk.tests.len();
    let suites = suites_of(&walk.tests);
    for test in walk.tests {
        let case = id_of(&test, &suites);
        let mut line = outcome(case.clone(), String::new(), 0);
        match test.end {
            End::Skipped => continue,
            End::Passed | End::Failed => {
                let passed = test.end == End::Passed;
                let score = mark::scored(PASS, f64::from(u8::from(passed)));
                line.scores.push(ScoreLine { passed: Some(passed), ..score });
            }
            End::Error(message) => line.error = Some(mark::no_answer(message)),
        }
        line.trial = sheet.repeat("", &case, "");
        sheet.push(test.line, line, Unsaid::Planned(vec![PASS.to_owned()]));
    }
    if all > 0 && sheet.seen.is_empty() {
        return Err(text.whole(format!("every one of its {all} tests was skipped: nothing was measured")));
    }
    Ok(sheet)
}

/// Tests that stand in several suites under one class and name, which only the suite tells apart.
fn suites_of(tests: &[Test]) -> BTreeSet<(String, String)> {
    let mut suites: BTreeMap<(String, String), BTreeSet<&str>> = BTreeMap::new();
    for test in tests {
        suites.entry((test.class.clone(), test.name.clone())).or_default().insert(&test.suite);
    }
    suites.into_iter().filter(|(_, suites)| suites.len() > 1).map(|(test, _)| test).collect()
}

fn id_of(test: &Test, several: &BTreeSet<(String, String)>) -> String {
    let twice = several.contains(&(test.class.clone(), test.name.clone()));
    let suite = if twice || test.class.is_empty() { test.suite.as_str() } else { "" };
    let parts = [suite, &test.class, &test.name].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("::")
}

/// The walk over the elements.
#[derive(Default)]
struct Walk {
    sheet: Sheet,
    tests: Vec<Test>,
    suites: Vec<String>,
    open: Option<Test>,
    started: Option<String>,
    /// Bytes and lines that were counted.
    counted: (usize, u64),
}

impl Walk {
    fn read(&mut self, text: &Text) -> Result<(), StoreError> {
        let mut reader = Reader::from_str(&text.text);
        let mut depth = 0_usize;
        loop {
            let line = self.line(&text.text, reader.buffer_position());
            let event = reader.read_event();
            match event {
                Err(error) => {
                    let line = self.line(&text.text, reader.error_position());
                    return Err(text.bad(line, format!("not XML: {error}")));
                }
                Ok(Event::Eof) if depth > 0 => {
                    return Err(text.bad(line, "not XML: an element is not closed; the file seems to be cut off"));
                }
                Ok(Event::Eof) => break,
                Ok(Event::Start(element)) => {
                    depth += 1;
                    self.start(&element, line);
                }
                Ok(Event::Empty(element)) => {
                    self.start(&element, line);
                    self.end(element.local_name().as_ref());
                }
                Ok(Event::End(element)) => {
                    depth = depth.saturating_sub(1);
                    self.end(element.local_name().as_ref());
                }
                Ok(_) => {}
            }
        }
        Ok(())
    }

    /// The line of a byte; asked for in order.
    fn line(&mut self, text: &str, position: u64) -> u64 {
        let to = usize::try_from(position).unwrap_or(usize::MAX).min(text.len());
        let (from, line) = self.counted;
        let passed = text.as_bytes().get(from..to).unwrap_or_default();
        self.counted = (to.max(from), line + passed.iter().filter(|byte| **byte == b'\n').count() as u64);
        self.counted.1 + 1
    }

    fn start(&mut self, element: &BytesStart<'_>, line: u64) {
        let attribute = |name: &str| -> String {
            let found = element.attributes().flatten().find(|attribute| attribute.key.local_name().as_ref() == name);
            let value =
                found.and_then(|it| it.normalized_value(XmlVersion::Implicit1_0).ok().map(|it| it.into_owned()));
            value.unwrap_or_default().trim().to_owned()
        };
        match element.local_name().as_ref() {
            "testsuite" => {
                self.suites.push(attribute("name"));
                let stamp = Some(attribute("timestamp")).filter(|stamp| !stamp.is_empty());
                self.started = self.started.take().or(stamp);
            }
            "testcase" => {
                let name = attribute("name");
                if name.is_empty() {
                    self.sheet.problem(line, "a <testcase> has no name");
                }
                let suite = self.suites.last().cloned().unwrap_or_default();
                self.open = Some(Test { line, suite, class: attribute("classname"), name, end: End::Passed });
            }
            kind @ ("failure" | "error" | "skipped") => {
                let message = attribute("message");
                let message = if message.is_empty() { attribute("type") } else { message };
                let end = match kind {
                    "failure" => End::Failed,
                    "error" => End::Error(message),
                    _ => End::Skipped,
                };
                if let Some(test) = &mut self.open {
                    test.end = worse(std::mem::replace(&mut test.end, End::Passed), end);
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "testsuite" => drop(self.suites.pop()),
            "testcase" => self.tests.extend(self.open.take().filter(|test| !test.name.is_empty())),
            _ => {}
        }
    }
}

/// pytest writes a failure and, of its teardown, an error into one test: it failed.
fn worse(one: End, other: End) -> End {
    let rank = |end: &End| match end {
        End::Passed => 0,
        End::Skipped => 1,
        End::Error(_) => 2,
        End::Failed => 3,
    };
    if rank(&other) > rank(&one) { other } else { one }
}
