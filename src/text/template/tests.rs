use std::borrow::Cow;

use serde_json::{Value, json};

use super::*;

const NAMES: &[&str] = &["id", "input", "contexts", "metadata.*"];

fn lookup<'v>(values: &'v Value) -> impl Fn(&str) -> Option<Cow<'v, Value>> + 'v {
    move |name| values.get(name).map(Cow::Borrowed)
}

fn render(text: &str, values: &Value) -> Result<String, FillError> {
    Template::parse(text, NAMES).unwrap().render(&lookup(values))
}

#[test]
fn a_placeholder_becomes_its_value() {
    let values = json!({"input": "Why?", "id": 7, "metadata.topic": "sky"});
    assert_eq!(render("{{id}}: {{ input }} ({{metadata.topic}})", &values).unwrap(), "7: Why? (sky)");
}

/// cases.yaml `ds-template-chars`: what a case holds is never a template, a variable or a shell text.
#[test]
fn ds_template_chars() {
    let rows = include_str!("../../../fixtures/cases/datasets/template-chars.jsonl");
    for row in rows.lines() {
        let case: Value = serde_json::from_str(row).unwrap();
        let input = case["input"].as_str().unwrap();
        assert_eq!(render("<{{ input }}>", &case).unwrap(), format!("<{input}>"));
        let body = JsonTemplate::parse(&json!({"q": "{{ input }}", "t": "Q: {{ input }}"}), NAMES).unwrap();
        let sent = body.render(&lookup(&case)).unwrap();
        assert_eq!(sent, json!({"q": input, "t": format!("Q: {input}")}));
    }
}

#[test]
fn an_unknown_variable_is_found_before_any_call() {
    let error = Template::parse("Ask: {{ inptu }}", NAMES).unwrap_err();
    assert_eq!((error.column, error.message.as_str()), (5, "unknown variable `inptu`"));
    assert_eq!(error.help.as_deref(), Some("did you mean `input`?"));
    assert!(Template::parse("{{ metadata }}", NAMES).is_err());
}

#[test]
fn broken_placeholders_are_refused_at_their_column() {
    for (text, column) in
        [("€ {{ input", 2), ("{{ input }} {{ a b }}", 12), ("{{}}", 0), ("{{ input | upper }}", 0), ("{{{ input }}", 0)]
    {
        assert_eq!(Template::parse(text, NAMES).unwrap_err().column, column, "{text}");
    }
}

#[test]
fn braces_can_be_written_as_text() {
    assert_eq!(render("{{ \"{{ input }}\" }} } }} {", &json!({})).unwrap(), "{{ input }} } }} {");
}

#[test]
fn a_missing_value_is_never_an_empty_text() {
    assert_eq!(render("{{ input }}", &json!({})), Err(FillError::Missing("input".to_owned())));
    assert_eq!(render("{{ input }}", &json!({"input": null})), Err(FillError::Missing("input".to_owned())));
    assert_eq!(render("{{ contexts }}", &json!({"contexts": []})), Err(FillError::NotText("contexts".to_owned())));
}

#[test]
fn json_is_written_on_request() {
    let values = json!({"contexts": ["a\"b"], "input": "x\ny"});
    assert_eq!(render("{{ contexts | json }} {{input|json}}", &values).unwrap(), r#"["a\"b"] "x\ny""#);
}

#[test]
fn only_values_are_encoded() {
    let template = Template::parse("http://h/?a=b&q={{ input }}", NAMES).unwrap();
    let values = json!({"input": "a&b"});
    let url = template.render_encoded(&lookup(&values), |value| value.replace('&', "%26").into()).unwrap();
    assert_eq!(url, "http://h/?a=b&q=a%26b");
}

#[test]
fn a_sole_placeholder_keeps_its_type() {
    let body = json!({"n": 1, "k": ["{{ contexts }}"], "id": "{{ id }}", "text": "id {{ id }}", "{{ id }}": "a}}"});
    let template = JsonTemplate::parse(&body, NAMES).unwrap();
    let values = json!({"id": 7, "contexts": ["x", "y"]});
    assert_eq!(
        template.render(&lookup(&values)).unwrap(),
        json!({"n": 1, "k": [["x", "y"]], "id": 7, "text": "id 7", "{{ id }}": "a}}"})
    );
    assert_eq!(template.names(), vec!["contexts", "id", "id"]);
}

#[test]
fn all_broken_texts_of_a_body_are_reported_with_their_place() {
    let errors = JsonTemplate::parse(&json!({"a/b": ["{{ nope }}"], "c": "{{"}), NAMES).unwrap_err();
    let pointers: Vec<&str> = errors.iter().map(|error| error.pointer.as_str()).collect();
    assert_eq!(pointers, vec!["/a~1b/0", "/c"]);
}

proptest::proptest! {
    /// Any text is a template or refused inside itself; a text without `{{` is itself.
    #[test]
    fn any_text_is_a_template_or_refused(text in "(\\{\\{|\\}\\}|\\{|\\}| |input|x|\\.|\\||json|\"|é|😀){0,16}") {
        match Template::parse(&text, NAMES) {
            Ok(template) => {
                let value = Value::from("{{ input }}");
                let filled = template.render(&|_| Some(Cow::Borrowed(&value))).unwrap();
                if !text.contains("{{") {
                    proptest::prop_assert_eq!(filled, text);
                }
            }
            Err(error) => proptest::prop_assert!(error.column <= text.chars().count()),
        }
    }
}
