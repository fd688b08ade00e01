//! Strict JSON, and what stands where nothing was measured.

use serde_json::Value;

use super::*;
use crate::domain::{Comparison, Redactor, RuleKind, Secret};
use crate::report::samples::{all, empty, failing, hostile, passing, rule};
use crate::report::{VerdictFileError, read_verdict};

#[test]
fn rp_json_strict() {
    let mut sample = empty();
    sample.verdict.rules.push(Comparison {
        baseline: Some(f64::NAN),
        current: Some(f64::INFINITY),
        delta: None,
        ci: Some([f64::NEG_INFINITY, 0.0]),
        breaks_expected: Some(f64::NAN),
        ..rule("quality", RuleKind::NotWorse)
    });
    let text = file(&sample, "verdict.json");
    assert!(!text.contains("NaN") && !text.contains("Infinity") && !text.contains("inf"), "{text}");
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["trials"], Value::Null);
    let rule = &value["rules"][1];
    for field in ["baseline", "current", "delta", "ci", "p", "breaks_expected"] {
        assert!(rule[field].is_null(), "{field}");
        assert!(rule["why_null"][field].as_str().is_some_and(|why| !why.is_empty()), "{field}");
    }
    assert!(read_verdict(&text).is_ok());
}

#[test]
fn keys_stand_in_the_order_of_the_contract() {
    let text = file(&failing(), "verdict.json");
    let value: Value = serde_json::from_str(&text).unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&value)[..7], ["schema", "verdict", "exit_code", "rules", "trials", "cases", "comparable"]);
    let first = [
        "metric",
        "target",
        "rule",
        "verdict",
        "baseline",
        "current",
        "delta",
        "ci",
        "p",
        "n",
        "method",
        "explanation",
    ];
    assert_eq!(keys(&value["rules"][0])[..12], first);
    assert_eq!(keys(&value["cases"])[..3], ["total", "scored", "errored"]);
}

#[test]
fn a_verdict_is_read_back_as_it_was() {
    for (name, mut sample) in all() {
        if name == "empty" {
            sample.verdict.trials = 0.0;
        }
        let stored = read_verdict(&file(&sample, "verdict.json")).unwrap();
        assert!(stored.verdict == sample.verdict, "{name}");
        assert_eq!(stored.calls, sample.run.completion.as_ref().map(|end| end.calls));
    }
}

#[test]
fn a_later_or_foreign_file_is_refused() {
    let text = file(&passing(), "verdict.json");
    let later = text.replacen("\"schema\": 1", "\"schema\": 2", 1);
    assert!(matches!(read_verdict(&later), Err(VerdictFileError::Newer { found: 2 })));
    for wrong in ["", "{}", "[]", "{\"schema\":1}", &text[..text.len() / 2]] {
        assert!(matches!(read_verdict(wrong), Err(VerdictFileError::Malformed(_))), "{wrong}");
    }
}

#[test]
fn vd_stored_equals_shown_rates_over_nothing_are_none() {
    for text in [console(&empty(), 120), file(&empty(), "comment.md"), file(&empty(), "summary.md")] {
        assert!(text.contains("0 of 0 scores measured (none)"), "{text}");
        assert!(!text.contains("0%"), "{text}");
    }
}

/// The secret stands in every text; no report, screen or remark holds it in any form.
#[test]
fn secrets_never_leave_by_a_report() {
    use base64::Engine as _;
    let secret = "sg-test-secret-7Q/w+x==";
    let encoded = base64::engine::general_purpose::STANDARD.encode(secret);
    let forms =
        [secret, "sg-test-secret-7Q%2Fw%2Bx%3D%3D", &encoded, "sg-test-secret-7Q\\/w+x==", "sg-test-\nsecret-7Q/w+x=="];
    let texts: Vec<String> = forms.iter().map(|form| format!("Bearer {form} was refused")).collect();
    let mut sample = crate::report::samples::hostile_with(&texts);
    sample.redactor = Redactor::new(&[Secret::new("KEY", secret).unwrap()]);
    let mut outputs = vec![console(&sample, 100), format!("{:?}", crate::report::remarks(&sample.view()).len())];
    outputs.extend(crate::report::KINDS.iter().map(|kind| file(&sample, kind.file)));
    outputs.extend(
        crate::report::remarks(&sample.view()).iter().map(|remark| format!("{}{}", remark.title, remark.message)),
    );
    for output in outputs {
        let squeezed: String = output.chars().filter(|c| !c.is_whitespace()).collect();
        for form in forms.iter().map(|form| form.replace('\n', "")) {
            assert!(!output.contains(&form) && !squeezed.contains(&form), "{form} in {output}");
        }
        assert!(!output.contains("secret-7Q"), "{output}");
    }
}

#[test]
fn texts_in_json_are_exact() {
    let sample = hostile();
    let value: Value = serde_json::from_str(&file(&sample, "verdict.json")).unwrap();
    let notes: Vec<&str> = value["notes"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(notes, sample.verdict.notes);
}

#[test]
fn only_the_asked_formats_are_written() {
    let settings: ReportSettings = serde_json::from_str(r#"{"formats": ["junit"], "junit_strict": true}"#).unwrap();
    let files: Vec<&str> = crate::report::wanted(&settings).map(|kind| kind.file).collect();
    assert_eq!(files, ["junit.xml"]);
}
