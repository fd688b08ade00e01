//! `cases/cases.yaml`, topic yaml.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use super::*;
use crate::diagnostic::Source;
use crate::suite::node::Node;

fn tree(text: &str) -> (Option<Node>, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let text = decode::decode("case.yaml", text.as_bytes()).unwrap();
    let node = read::read(&Arc::new(Source::new("case.yaml", text)), &mut diagnostics);
    (node, diagnostics)
}

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../../fixtures/cases/yaml/", $name))
    };
}

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Texts {
    values: Vec<String>,
}

/// Each value is used exactly as written, or refused with its line.
#[test]
fn yaml_implicit_types() {
    let (node, diagnostics) = tree(fixture!("implicit-types.yaml"));
    assert!(diagnostics.is_empty());
    let source = Arc::new(Source::new("case.yaml", fixture!("implicit-types.yaml")));
    let label = locate::Label {
        name: "x",
        kind: "x",
        path: "x".into(),
        span: Default::default(),
        kind_span: Default::default(),
    };
    let mut block = locate::block(&node.unwrap(), label, &source);
    let mut diagnostics = Diagnostics::default();
    assert!(block.settings::<Texts>(&mut diagnostics).is_none());
    // Only `~` is refused: it is no text.
    assert_eq!(list(&diagnostics), ["wrong-type 6:5 entry 5 of `values` must be text, found nothing"]);
    block.value["values"][4] = json!("~");
    let texts: Texts = block.settings(&mut Diagnostics::default()).unwrap();
    let written: Vec<&str> =
        fixture!("implicit-types.yaml").lines().skip(1).map(|line| line.trim_start_matches("  - ")).collect();
    assert_eq!(texts.values, written);
}

#[test]
fn yaml_duplicate_key() {
    let (_, diagnostics) = tree(fixture!("duplicate-key.yaml"));
    insta::assert_snapshot!(render(&diagnostics), @r"
    error[duplicate-key]: the key `level` is given twice, on lines 5 and 6
     --> case.yaml:6:5
      |
    5 |     level: 1
      |     ----- first given here
    6 |     level: 2
      |     ^^^^^
      |
      = help: keep one of them; neither value is used

    error[duplicate-key]: the key `minimum` is given twice, on lines 3 and 7
     --> case.yaml:7:3
      |
    3 |   minimum: 0.9
      |   ------- first given here
    ...
    7 |   minimum: 0.1
      |   ^^^^^^^
      |
      = help: keep one of them; neither value is used
    ");
}

#[test]
fn yaml_merge_key() {
    let (node, diagnostics) = tree(fixture!("merge-key.yaml"));
    assert!(diagnostics.is_empty());
    assert_eq!(node.unwrap().value()["strict"], json!({"retries": 3, "floor": 0.95}));
}

#[test]
fn a_merged_value_is_placed_where_it_is_written() {
    let text = "x-base: &base { model: judge, treshold: 1 }\nversion: 1\nname: a\ndataset: {}\nevaluators:\n  e: { <<: *base }\n";
    let suite = suite(text).unwrap();
    let evaluator = suite.evaluators.first().unwrap();
    assert_eq!(evaluator.place("/treshold").line, 1);
    assert_eq!(evaluator.value, json!({"model": "judge", "treshold": 1}));
}

fn refused_soon(text: &str, limit: &str) {
    let begin = Instant::now();
    let (node, diagnostics) = tree(text);
    // One second is the limit of the released program; a test build on a busy machine gets more.
    let limit_of_time = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 1 });
    assert!(begin.elapsed() < limit_of_time, "{:?}", begin.elapsed());
    assert!(node.is_none());
    let problems = list(&diagnostics);
    assert!(problems.len() == 1 && problems[0].starts_with("limit ") && problems[0].contains(limit), "{problems:?}");
}

#[test]
fn yaml_alias_bomb() {
    refused_soon(fixture!("alias-bomb.yaml"), "alias limit");
}

#[test]
fn yaml_deep_nesting() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    refused_soon(&deep, "depth limit");
    refused_soon(&format!("a: {deep}"), "depth limit");
    refused_soon(&"{\"a\":".repeat(100_000), "depth limit");
    refused_soon(&"- ".repeat(100_000), "depth limit");
    let indented: String = (0..200).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    refused_soon(&indented, "depth limit");
}

#[test]
fn nesting_below_the_limit_is_read_in_a_small_stack() {
    let depth = read::MOST_LEVELS - 1;
    let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let reading = std::thread::Builder::new().stack_size(1 << 20).spawn(move || tree(&text).0.is_some());
    assert!(reading.unwrap().join().unwrap());
}

#[test]
fn a_big_suite_is_no_bomb() {
    let cases: String =
        (0..50_000).map(|case| format!("    - {{ id: c{case}, input: \"question {case}?\", <<: *more }}\n")).collect();
    let text = format!(
        "x-more: &more {{ tags: [a, b] }}\nversion: 1\nname: big\ndataset:\n  cases:\n{cases}evaluators: {{ equals: {{}} }}\n"
    );
    let begin = Instant::now();
    let suite = suite(&text).unwrap();
    assert_eq!(suite.dataset[0].value["cases"].as_array().unwrap().len(), 50_000);
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
}

#[test]
fn yaml_env_dollar() {
    let values = fixture!("env-dollar.values.txt");
    let tricky = values.strip_prefix("TRICKY_VAR=").unwrap().trim_end();
    let env = Env::from_pairs([("TRICKY_VAR", tricky)]);
    let (node, mut diagnostics) = tree(fixture!("env-dollar.yaml"));
    let mut node = node.unwrap();
    let source = Arc::new(Source::new("env-dollar.yaml", fixture!("env-dollar.yaml")));
    let secrets = interpolate::interpolate(&mut node, &env, &source, &mut diagnostics);
    let value = node.value();
    assert_eq!(value["price"], "It costs $5.00, $6 or ${7}");
    assert_eq!(value["path"], "$HOME/x");
    assert_eq!(value["tricky"], tricky);
    assert_eq!(secrets.iter().map(crate::domain::Secret::name).collect::<Vec<_>>(), ["TRICKY_VAR"]);
    insta::assert_snapshot!(render(&diagnostics), @r#"
    error[missing-variable]: the environment variable `MISSING_VAR` is not set
     --> env-dollar.yaml:1:17
      |
    1 | header: "Bearer ${MISSING_VAR}"
      |                 ^^^^^^^^^^^^^^
      |
      = help: set `MISSING_VAR`, or give a default: `${MISSING_VAR:-default}`; a dollar sign as text is written `$$`
    "#);
}

#[test]
fn yaml_unknown_key() {
    let slip = |from: &str, to: &str| {
        let text = "version: 1\nname: a\ndataset: { path: a.csv }\nmodels:\n  judge: { provider: openai, model: m }\ntargets:\n  app:\n    http: { url: x }\nevaluators:\n  similar: {}\ngate: {}\n";
        assert!(suite(text).is_ok());
        suite(&text.replace(from, to)).unwrap_err()
    };
    let help = |diagnostics: &Diagnostics| {
        let first = diagnostics.iter().next().unwrap();
        assert!(first.span.unwrap().line > 0);
        (first.message.clone(), first.help.clone().unwrap())
    };
    assert_eq!(
        help(&slip("dataset:", "datasets:")),
        ("unknown key `datasets`".into(), "did you mean `dataset`?".into())
    );
    assert_eq!(
        help(&slip("evaluators:", "Evaluators:")),
        ("unknown key `Evaluators`".into(), "did you mean `evaluators`?".into())
    );
    assert_eq!(help(&slip("http:", "htpp:")), ("unknown kind of target `htpp`".into(), "did you mean `http`?".into()));
    let extra = slip("gate:", "banana: 1\ngate:");
    assert_eq!(list(&extra), ["unknown-key 11:1 unknown key `banana`"]);
    assert!(help(&extra).1.starts_with("known here: `version`, `name`, `dataset`"));
    // The threshold's key and the metric's kind belong to the block's owner.
    let suite = suite(&SMALL.replace("equals: {}", "similarity: { threshhold: 1 }")).unwrap();
    let block = &suite.evaluators[0];
    let unknown = block.unknown_kind("evaluator", ["equals", "similar"]);
    assert_eq!(unknown.help.as_deref(), Some("did you mean `similar`?"));
    assert_eq!(unknown.span.unwrap(), crate::diagnostic::Span::new(4, 15, 10));
    #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its form matters")]
    struct Settings {
        threshold: f64,
    }
    let mut diagnostics = Diagnostics::default();
    assert!(block.settings::<Settings>(&mut diagnostics).is_none());
    assert_eq!(list(&diagnostics), ["unknown-key 4:29 unknown key `threshhold`"]);
    // `0,9` is no number.
    let comma = super::suite(&SMALL.replace("equals: {}", "similar: { threshold: \"0,9\" }")).unwrap();
    assert!(comma.evaluators[0].settings::<Settings>(&mut diagnostics).is_none());
}

#[test]
fn yaml_tabs() {
    for (text, place) in [
        (fixture!("tab-indent.yaml"), (2, 1)),
        (fixture!("nbsp-indent.yaml"), (2, 1)),
        ("a:\n  b: 1\n \t c: 2\n", (3, 2)),
    ] {
        let (_, diagnostics) = tree(text);
        let first = diagnostics.iter().next().unwrap();
        let span = first.span.unwrap();
        assert_eq!((first.code, (span.line, span.column)), ("odd-space", place), "{}", first.message);
        assert!(first.help.as_ref().unwrap().contains("ordinary spaces"));
    }
    let (node, diagnostics) = tree(fixture!("crlf-bom.yaml"));
    assert!(diagnostics.is_empty());
    assert_eq!(node.unwrap().value(), json!({"a": {"b": "x"}}));
    let (_, diagnostics) = tree(fixture!("two-documents.yaml"));
    let problem = diagnostics.iter().next().unwrap();
    assert_eq!((problem.code, problem.span.unwrap().line), ("several-documents", 3));
}

#[test]
fn other_yaml_errors_have_a_place_too() {
    for (text, place) in [
        ("a: [1\n", 1),
        ("a: *b\n", 1),
        ("a: !foo x\n", 1),
        ("a: \"x\n", 1),
        ("? [a]\n: 1\n", 1),
        ("a: 1\nb\n", 2),
        ("<<: 1\n", 1),
    ] {
        let (_, diagnostics) = tree(text);
        let first = diagnostics.iter().next().unwrap_or_else(|| panic!("{text}"));
        assert!(first.span.unwrap().line >= place, "{text} {first:?}");
    }
}

#[test]
fn a_byte_that_is_no_utf8_is_named_with_its_place() {
    let error = decode::decode("a.yaml", b"name: a\nx: \xe9\n").unwrap_err();
    assert_eq!(
        (error.message.as_str(), error.span.unwrap()),
        ("the byte 0xE9 is not UTF-8", crate::diagnostic::Span::new(2, 4, 1))
    );
    let utf16: Vec<u8> = "\u{feff}name: é\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(decode::decode("a.yaml", &utf16).unwrap(), "name: é\n");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(300))]

    /// Whatever the file holds, it is read or refused with a place; nothing panics.
    #[test]
    fn any_text_is_read_or_refused(text in "(version: 1|name: a|dataset|evaluators|: |- |\\[|\\]|\\{|\\}|&a |\\*a|<<: |\\$\\{|\\$|\"|\u{a0}|\t|\n|\n  |#|é|!|\\||1\\.10|~|, ){0,24}") {
        if let Err(diagnostics) = suite(&text) {
            proptest::prop_assert!(diagnostics.has_errors());
            proptest::prop_assert!(render(&diagnostics).contains("error["));
            for diagnostic in diagnostics.iter() {
                proptest::prop_assert!(diagnostic.span.is_some(), "{:?}", diagnostic);
            }
        }
    }
}
