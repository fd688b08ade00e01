//! What owners get from [`Block::settings`].

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::*;
use crate::text::duration::Period;

#[derive(Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Retry {
    attempts: u32,
    #[schemars(range(min = 0.0, max = 1.0))]
    share: Option<f64>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OnFail {
    /// Stop.
    Fail,
    /// Say so.
    Warn,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Words {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "from", rename_all = "snake_case", deny_unknown_fields)]
enum Baseline {
    File { path: String },
    Git { runs: Option<u32> },
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default)]
    retry: Retry,
    threshold: f64,
    #[serde(default)]
    on_fail: Option<OnFail>,
    #[serde(default)]
    words: Option<Words>,
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    timeout: Option<PeriodText>,
    #[serde(default)]
    baseline: Option<Baseline>,
    #[serde(default)]
    extra: Map<String, Value>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(transparent)]
struct PeriodText(Period);

fn block(settings: &str) -> Block {
    let body: String = settings.lines().map(|line| format!("    {line}\n")).collect();
    let text = format!("version: 1\nname: a\ndataset: {{}}\nevaluators:\n  tone:\n{body}");
    suite(&text).unwrap().evaluators.remove(0)
}

fn read(settings: &str) -> Result<Settings, Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    block(settings).settings(&mut diagnostics).ok_or(diagnostics)
}

fn refused(settings: &str) -> Vec<String> {
    list(&read(settings).unwrap_err())
}

#[test]
fn every_problem_is_told_at_once_in_plain_words() {
    let settings = "retry: { attempts: two, share: 1.5, attemps: 1 }\nthreshhold: 0.5\non_fail: warm\nwords: { a: 1 }\nlabel: [x]\ntimeout: 5";
    insta::assert_snapshot!(render(&read(settings).unwrap_err()), @r#"
    error[wrong-type]: `attempts` must be a whole number, found the text "two"
     --> scoregate.yaml:6:24
      |
    6 |     retry: { attempts: two, share: 1.5, attemps: 1 }
      |                        ^^^

    error[out-of-range]: `share` must be at most 1.0, found the number 1.5
     --> scoregate.yaml:6:36
      |
    6 |     retry: { attempts: two, share: 1.5, attemps: 1 }
      |                                    ^^^
      |
      = help: write a value that is at most 1.0, or leave the key out for the default

    error[unknown-key]: unknown key `attemps`
     --> scoregate.yaml:6:41
      |
    6 |     retry: { attempts: two, share: 1.5, attemps: 1 }
      |                                         ^^^^^^^
      |
      = help: did you mean `attempts`?

    error[unknown-key]: unknown key `threshhold`
     --> scoregate.yaml:7:5
      |
    7 |     threshhold: 0.5
      |     ^^^^^^^^^^
      |
      = help: did you mean `threshold`?

    error[invalid-value]: `on_fail` must be `fail` or `warn`, found the text "warm"
     --> scoregate.yaml:8:14
      |
    8 |     on_fail: warm
      |              ^^^^
      |
      = help: did you mean `warn`?

    error[wrong-type]: `words` must be a list or text, found a mapping
     --> scoregate.yaml:9:12
      |
    9 |     words: { a: 1 }
      |            ^^^^^^^^

    error[wrong-type]: `label` must be text, found a list
      --> scoregate.yaml:10:12
       |
    10 |     label: [x]
       |            ^^^

    error[invalid-value]: `timeout`: a duration needs a unit, such as `5s`, `5m` or `5ms`
      --> scoregate.yaml:11:14
       |
    11 |     timeout: 5
       |              ^
    "#);
}

#[test]
fn numbers_stay_what_is_written_where_a_text_is_asked_for() {
    let settings = read("threshold: 0.90\nlabel: 1.10\nwords: [NO, 010, 1e3]\nextra: { a: 1.10 }").unwrap();
    assert_eq!(settings.threshold, 0.9);
    assert_eq!(settings.label.as_deref(), Some("1.10"));
    assert_eq!(settings.words, Some(Words::Many(vec!["NO".into(), "010".into(), "1e3".into()])));
    assert_eq!(read("threshold: 1\nwords: 1.50").unwrap().words, Some(Words::One("1.50".into())));
    let block = block("threshold: 1\nextra: { a: 1.10 }");
    assert_eq!(block.as_written("/extra/a"), Some("1.10"));
}

#[test]
fn what_is_no_number_is_refused_where_one_is_asked_for() {
    for text in ["\"0.5\"", "010", "1_000", ".nan", ".inf", "0,9", "12:30:45", "true", "~"] {
        let found = refused(&format!("threshold: {text}"));
        assert!(
            found.len() == 1 && found[0].starts_with("wrong-type 6:16 `threshold` must be a number, found"),
            "{found:?}"
        );
    }
    assert!(read("threshold: 1e400").is_err());
    assert!(read("threshold: 123456789012345678901234567890").is_err());
}

#[test]
fn a_text_that_looks_like_a_truth_value_needs_quotes() {
    let diagnostics = read("threshold: 1\nlabel: true").unwrap_err();
    let first = diagnostics.iter().next().unwrap();
    assert_eq!(first.message, "`label` must be text, found `true`");
    assert_eq!(first.help.as_deref(), Some("put it in quotes if it is meant as text"));
}

#[test]
fn a_choice_is_explained_by_the_alternative_that_was_meant() {
    assert_eq!(refused("threshold: 1\nbaseline: { from: file, pth: x }"), ["unknown-key 7:29 unknown key `pth`"]);
    assert_eq!(
        refused("threshold: 1\nbaseline: { from: gti }"),
        ["invalid-value 7:23 `from` must be `file` or `git`, found the text \"gti\""]
    );
    assert_eq!(
        refused("threshold: 1\nbaseline: 5"),
        ["wrong-type 7:15 `baseline` must be a mapping, found the number 5"]
    );
    assert_eq!(
        refused("threshold: 1\nwords: [a, [b]]"),
        ["wrong-type 7:16 entry 2 of `words` must be text, found a list"]
    );
}

#[test]
fn what_only_the_reader_knows_is_placed_too() {
    assert_eq!(
        refused("threshold: 1\ntimeout: \"5\""),
        ["invalid-value 7:14 `timeout`: a duration needs a unit, such as `5s`, `5m` or `5ms`"]
    );
}

#[test]
fn nothing_is_the_empty_mapping() {
    for written in ["tone:", "tone: {}", "tone: ~"] {
        let text = SMALL.replace("evaluators: { equals: {} }", &format!("evaluators:\n  {written}"));
        let suite = suite(&text).unwrap();
        let retry: Retry = suite.evaluators[0].settings(&mut Diagnostics::default()).unwrap();
        assert_eq!(retry, Retry::default());
    }
}

#[test]
fn a_value_from_the_environment_is_never_shown() {
    let diagnostics = read("threshold: ${API_KEY}\ntimeout: ${API_KEY}\non_fail: ${API_KEY}\nlabel: x").unwrap_err();
    let text = render(&diagnostics);
    assert!(!text.contains("sk-very"), "{text}");
    assert!(text.contains("found a text from the environment"), "{text}");
    let text = render(&read("threshold: 1\ntimeout: ${API_KEY}").unwrap_err());
    assert!(!text.contains("sk-very") && text.contains("`***` is not a duration"), "{text}");
}

#[test]
fn keys_with_slashes_and_dots_keep_their_place() {
    let diagnostics = read("threshold: 1\n\"a/b~c.d\": 1").unwrap_err();
    assert_eq!(list(&diagnostics), ["unknown-key 7:5 unknown key `a/b~c.d`"]);
}

#[test]
fn a_block_made_in_code_reports_too() {
    let block = Block::from_value("tone", "tone", json!({"threshold": "x"}));
    let mut diagnostics = Diagnostics::default();
    assert!(block.settings::<Settings>(&mut diagnostics).is_none());
    assert!(render(&diagnostics).contains("must be a number"));
}
