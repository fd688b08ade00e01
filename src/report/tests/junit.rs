//! JUnit is read back: structure, counts, names, texts.

use std::collections::HashSet;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::*;
use crate::domain::{Cell, FailureKind, Severity, Side, SkipReason};
use crate::report::samples::{all, blank, failing, hostile, hostile_with, value};

#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) attributes: Vec<(String, String)>,
    pub(super) children: Vec<Node>,
    pub(super) text: String,
}

impl Node {
    pub(super) fn get(&self, name: &str) -> &str {
        self.attributes.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    pub(super) fn named<'n>(&'n self, name: &'n str) -> impl Iterator<Item = &'n Node> {
        self.children.iter().filter(move |child| child.name == name)
    }

    fn count(&self, name: &str) -> usize {
        self.children.iter().map(|child| usize::from(child.name == name) + child.count(name)).sum()
    }
}

/// Strict: every end tag matches, every reference is known, no character that XML 1.0 does not have.
pub(super) fn parse(text: &str) -> Node {
    let legal =
        |c: char| matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(text.chars().all(legal));
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_comments = true;
    let mut open = vec![Node::default()];
    let start = |start: &BytesStart<'_>| Node {
        name: start.name().as_ref().to_owned(),
        attributes: start
            .attributes()
            .map(|attribute| attribute.unwrap())
            .map(|one| {
                (one.key.as_ref().to_owned(), one.normalized_value(XmlVersion::Implicit1_0).unwrap().into_owned())
            })
            .collect(),
        ..Node::default()
    };
    loop {
        match reader.read_event().unwrap() {
            Event::Start(event) => open.push(start(&event)),
            Event::Empty(event) => open.last_mut().unwrap().children.push(start(&event)),
            Event::End(_) => {
                let node = open.pop().unwrap();
                open.last_mut().unwrap().children.push(node);
            }
            Event::Text(text) => open.last_mut().unwrap().text.push_str(&text.xml10_content()),
            Event::GeneralRef(name) => {
                let name = name.into_inner();
                let known = match name.strip_prefix("#x").map(|hex| u32::from_str_radix(hex, 16)) {
                    Some(code) => char::from_u32(code.unwrap()).unwrap().to_string(),
                    None => match name.strip_prefix('#') {
                        Some(code) => char::from_u32(code.parse().unwrap()).unwrap().to_string(),
                        None => quick_xml::escape::resolve_predefined_entity(&name).expect("a known entity").to_owned(),
                    },
                };
                open.last_mut().unwrap().text.push_str(&known);
            }
            Event::Decl(_) => {}
            Event::Eof => break,
            other => panic!("there is no {other:?} in our dialect"),
        }
    }
    assert_eq!(open.len(), 1);
    open.pop().unwrap().children.pop().unwrap()
}

fn is_time(text: &str) -> bool {
    text.split_once('.').is_some_and(|(whole, part)| {
        !whole.is_empty() && part.len() == 3 && whole.chars().chain(part.chars()).all(|c| c.is_ascii_digit())
    })
}

/// What every reader relies on.
pub(super) fn check(sample: &Sample) -> Node {
    for strict in [true, false] {
        let settings = ReportSettings { junit_strict: strict, ..ReportSettings::default() };
        let root = parse(&file_with(sample, "junit.xml", &settings));
        assert_eq!(root.name, "testsuites");
        let mut names = HashSet::new();
        let millis = |node: &Node| node.get("time").replace('.', "").parse::<u64>().unwrap();
        for suite in root.named("testsuite") {
            for (attribute, element) in
                [("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")]
            {
                assert_eq!(suite.get(attribute), suite.count(element).to_string(), "{attribute}");
            }
            assert!(is_time(suite.get("time")));
            assert_eq!(suite.named("testcase").map(millis).sum::<u64>(), millis(suite));
            for case in suite.named("testcase") {
                let ends = ["failure", "error", "skipped"].map(|name| case.named(name).count()).iter().sum::<usize>();
                assert!(ends <= 1);
                assert!(is_time(case.get("time")));
                let (class, name) = (case.get("classname"), case.get("name"));
                assert!(!name.trim().is_empty() && class.matches('.').count() == 1, "{class} {name}");
                let cut = |text: &str| text.to_lowercase().trim().chars().take(250).collect::<String>();
                assert!(names.insert((cut(class), cut(name))), "{class} {name} stands twice");
                for end in case.children.iter().filter(|end| matches!(&*end.name, "failure" | "error" | "skipped")) {
                    assert!(!end.get("message").is_empty() && !end.text.is_empty() && !end.get("type").is_empty());
                    assert!(!end.get("message").contains('\n'));
                }
                assert!(!strict || case.named("properties").count() == 0);
                assert!(!strict || (case.get("file").is_empty() && case.get("line").is_empty()));
            }
        }
        for (attribute, element) in [("tests", "testcase"), ("failures", "failure"), ("errors", "error")] {
            assert_eq!(root.get(attribute), root.count(element).to_string(), "{attribute}");
        }
        assert_eq!(root.named("testsuite").map(millis).sum::<u64>(), millis(&root));
        assert_eq!(root.get("failures") == "0", sample.verdict.exit_code == 0);
        if !strict {
            return root;
        }
    }
    unreachable!()
}

fn cases(root: &Node) -> Vec<&Node> {
    root.named("testsuite").skip(1).flat_map(|suite| suite.named("testcase")).collect()
}

#[test]
fn every_sample_keeps_the_dialect() {
    for (_, sample) in all() {
        let root = check(&sample);
        assert_eq!(root.named("testsuite").next().unwrap().get("name"), "gate");
        let metrics = sample.run.header.metrics.len();
        assert_eq!(root.named("testsuite").count(), 1 + metrics);
        assert_eq!(cases(&root).len(), sample.run.cases.len() * metrics);
    }
}

#[test]
fn ju_control_characters() {
    let sample = hostile_with(&texts("junit/control-characters.bin"));
    let root = check(&sample);
    let text = file(&sample, "junit.xml");
    assert!(text.contains("🚀") && text.contains("中文"));
    for shown in ["\\u{0}", "\\u{7}", "\\u{8}", "\\u{1b}[31m", "\\u{fffe}", "\\u{ffff}", "\\u{85}", "\\u{2028}"] {
        assert!(text.contains(shown), "{shown}");
    }
    drop(root);
    let twins = hostile_with(&["a\u{0}".to_owned(), "a".to_owned(), "a\\u{0}".to_owned()]);
    check(&twins);
}

#[test]
fn ju_cdata_end() {
    let text = std::fs::read_to_string("fixtures/cases/junit/cdata-end.txt").unwrap();
    let text = text.trim_end();
    let root = check(&hostile_with(&[text.to_owned()]));
    let bodies: Vec<&Node> = cases(&root).into_iter().flat_map(|case| &case.children).collect();
    let failure =
        bodies.iter().find(|node| node.name == "failure" && node.text.contains("CDATA") | node.text.contains("]]>"));
    let failure = failure.expect("the case failed");
    assert!(failure.text.contains(&format!("now: {text}")), "{}", failure.text);
    assert!(failure.get("message").contains(text), "{}", failure.get("message"));
    assert!(!file(&hostile_with(&[text.to_owned()]), "junit.xml").contains("CDATA["));
}

#[test]
fn ju_time() {
    let mut sample = blank();
    for (at, ms) in [
        None,
        Some(0.0),
        Some(812.4),
        Some(259_200_000.0),
        Some(-3_600_000.0),
        Some(f64::NAN),
        Some(f64::INFINITY),
        Some(1e300),
    ]
    .into_iter()
    .enumerate()
    {
        sample.case(&format!("c{at}"), Some("x"), &[value(1.0), value(1.0)], "");
        sample.run.cases[at].trials[0].latency_ms = ms;
    }
    let root = check(&sample);
    let times: Vec<&str> = cases(&root).iter().map(|case| case.get("time")).take(5).collect();
    assert_eq!(times, ["0.000", "0.000", "0.812", "259200.000", "0.000"]);
}

#[test]
fn ju_name_collisions() {
    let text = std::fs::read_to_string("fixtures/cases/junit/names.jsonl").unwrap();
    let mut names: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["name"].as_str().unwrap().to_owned())
        .collect();
    names.push("y".repeat(5_000));
    let mut sample = blank();
    for name in &names {
        sample.case(name, Some("x"), &[value(1.0), value(0.0)], "");
    }
    let root = check(&sample);
    assert_eq!(cases(&root).len(), names.len() * 2);
    // A name does not depend on the other cases' order.
    let mut turned = blank();
    for name in names.iter().rev() {
        turned.case(name, Some("x"), &[value(1.0), value(0.0)], "");
    }
    let set = |root: &Node| cases(root).iter().map(|case| case.get("name").to_owned()).collect::<HashSet<_>>();
    assert_eq!(set(&root), set(&check(&turned)));
}

#[test]
fn ju_one_failure_per_case() {
    let mut sample = failing();
    sample.verdict.rules.last_mut().unwrap().severity = Severity::Warn;
    let error = Cell::Error { kind: FailureKind::Unusable, side: Side::Infra };
    sample.case("c1", Some("x"), &[value(0.1), error], "judge reply not usable");
    sample.case("c2", Some("x"), &[Cell::Skipped(SkipReason::NotMeasured), value(1.0)], "");
    sample.broke("c1", "hit_rate", 1.0, 0.1, true);
    let root = check(&sample);
    let gate = root.named("testsuite").next().unwrap();
    assert_eq!(gate.count("failure"), 1, "a warning is no failure");
    let of = |case: &str| {
        cases(&root)
            .into_iter()
            .filter(|one| one.get("classname").ends_with(case))
            .flat_map(|one| &one.children)
            .filter(|end| end.name != "properties")
            .map(|end| end.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(of(".c1"), ["failure", "error"]);
    assert_eq!(of(".c2"), ["skipped"]);
}

#[test]
fn a_passing_gate_has_no_failure_whatever_single_cases_score() {
    let mut sample = crate::report::samples::passing();
    sample.case("low", Some("x"), &[value(0.0), value(0.0)], "");
    sample.broke("low", "hit_rate", 1.0, 0.0, true);
    assert_eq!(check(&sample).get("failures"), "0");
}

#[test]
fn a_cancelled_run_is_no_pass() {
    let mut sample = crate::report::samples::passing();
    sample.verdict.exit_code = 130;
    let root = check(&sample);
    assert_eq!(root.get("failures"), "1");
}

#[test]
fn texts_read_back_equal() {
    let sample = hostile();
    let root = check(&sample);
    let view = sample.view();
    for shown in view.broken.iter().filter(|shown| shown.decisive) {
        let now = format!("now: {}", shown.now.as_ref().unwrap());
        let found = cases(&root).iter().any(|case| case.children.iter().any(|end| end.text.contains(&now)));
        assert!(found, "{now}");
    }
}
