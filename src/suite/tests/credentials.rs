//! Variables as credentials.

use super::*;

fn with_target(http: &str) -> String {
    format!("version: 1\nname: a\ndataset: {{}}\nevaluators: {{ equals: {{}} }}\ntargets:\n  app:\n    http: {http}\n")
}

#[test]
fn variables_are_filled_in_and_known_as_secrets() {
    let suite = suite(&with_target(
        "{ url: \"${APP_URL:-x}/q\", headers: { Authorization: \"Bearer ${API_KEY}\" }, a: \"${NO:-d}\" }",
    ))
    .unwrap();
    let target = &suite.targets[0];
    assert_eq!(target.value["url"], "http://app.test:9000/q");
    assert_eq!(target.value["headers"]["Authorization"], "Bearer sk-very-long-key");
    assert_eq!(target.value["a"], "d");
    assert_eq!(suite.secrets.iter().map(crate::domain::Secret::name).collect::<Vec<_>>(), ["APP_URL", "API_KEY"]);
    assert!(!suite.source.text.contains("sk-very"));
}

#[test]
fn a_short_value_is_refused_only_as_a_credential() {
    assert!(suite(&with_target("{ url: \"${SHORT}\" }")).unwrap().secrets.is_empty());
    for http in [
        "{ headers: { X-Tenant: \"${SHORT}\" } }",
        "{ apiKey: \"${SHORT}\" }",
        "{ auth: [\"${SHORT}\"] }",
        "{ x-token: \"${SHORT}\" }",
    ] {
        let found = brief(&with_target(http));
        assert!(found.len() == 1 && found[0].starts_with("short-secret 7:"), "{found:?}");
        assert!(!found[0].contains("abc"));
    }
    assert!(suite(&with_target("{ max_tokens: \"${SHORT}\", keyboard: \"${SHORT}\", author: \"${SHORT}\" }")).is_ok());
}

#[test]
fn an_empty_credential_is_never_sent() {
    assert!(suite(&with_target("{ a: \"${EMPTY:-}\" }")).is_ok());
    let found = brief(&with_target("{ token: \"${EMPTY:-}\", b: \"${EMPTY}\" }"));
    assert!(
        found[0].contains("an empty credential is not sent") && found[1].contains("is set, but empty"),
        "{found:?}"
    );
}

#[test]
fn a_missing_variable_is_placed_at_its_reference() {
    insta::assert_snapshot!(problems(&with_target("{ url: \"http://x/${API_KEI}/y\", body: { q: \"${not ok}\" } }")), @r#"
    error[missing-variable]: the environment variable `API_KEI` is not set
     --> scoregate.yaml:7:28
      |
    7 |     http: { url: "http://x/${API_KEI}/y", body: { q: "${not ok}" } }
      |                            ^^^^^^^^^^
      |
      = help: did you mean `API_KEY`? Set `API_KEI`, or give a default: `${API_KEI:-default}`

    error[bad-variable]: `${not ok` is not a reference to an environment variable
     --> scoregate.yaml:7:55
      |
    7 |     http: { url: "http://x/${API_KEI}/y", body: { q: "${not ok}" } }
      |                                                       ^^^^^^^^^
      |
      = help: write `${NAME}` or `${NAME:-default}`; `$${` is the text `${`
    "#);
    let block = brief("version: 1\nname: |\n  first\n  é ${GONE} x\ndataset: {}\nevaluators: { equals: {} }\n");
    assert_eq!(block, ["missing-variable 4:5 the environment variable `GONE` is not set"]);
}

#[test]
fn keys_are_never_filled_in() {
    let suite = suite(&with_target("{ \"${API_KEY}\": 1 }")).unwrap();
    assert_eq!(suite.targets[0].value["${API_KEY}"], 1);
}

#[test]
fn a_refused_path_does_not_show_where_it_came_from() {
    let text = problems(&format!("{SMALL}run: {{ ledger: \"/tmp/${{API_KEY}}\" }}\n"));
    assert!(text.contains("`/tmp/***` is an absolute path") && !text.contains("sk-very"), "{text}");
}

#[test]
fn a_variable_is_not_mistaken_for_a_longer_one_beside_it() {
    let found = brief(&with_target("{ a: \"${API_KEY} ${API}\" }"));
    assert_eq!(found, ["missing-variable 7:28 the environment variable `API` is not set"]);
}
