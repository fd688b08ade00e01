//! The replies of `fixtures/cases/judge-replies`, by the ids of `cases.yaml`, and what holds for all replies.

use proptest::prelude::*;

use super::*;

fn file(name: &str) -> String {
    let path = format!("{}/fixtures/cases/judge-replies/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// "End with one line `VERDICT: PASS` or `VERDICT: FAIL`."
fn verdict() -> Contract {
    Contract::Words { label: "VERDICT".to_owned(), words: &[("PASS", 1.0), ("FAIL", 0.0)], bare: false }
}

/// The contract of our own binary judges.
fn yes_or_no() -> Contract {
    Contract::Words { label: "VERDICT".to_owned(), words: &[("YES", 1.0), ("NO", 0.0)], bare: true }
}

fn score() -> Contract {
    Contract::Object { pass: false, lo: 0.0, hi: 1.0 }
}

fn pass_and_score() -> Contract {
    Contract::Object { pass: true, lo: 0.0, hi: 1.0 }
}

fn first_line() -> Contract {
    Contract::FirstLine { lo: 1.0, hi: 5.0, object: false }
}

/// The contract of our own `correctness`.
fn first_line_or_object() -> Contract {
    Contract::FirstLine { lo: 1.0, hi: 5.0, object: true }
}

fn tagged() -> Contract {
    Contract::Tagged { tag: "score".to_owned(), lo: 1.0, hi: 5.0 }
}

fn labelled() -> Contract {
    Contract::Labelled { label: "00ff".to_owned(), lo: 1.0, hi: 5.0 }
}

fn letters() -> Contract {
    Contract::Letters { label: "VERDICT".to_owned(), letters: &[("A", 1.0), ("B", 0.0), ("C", 0.5)], bare: true }
}

fn all() -> [Contract; 9] {
    [
        verdict(),
        yes_or_no(),
        letters(),
        score(),
        pass_and_score(),
        first_line(),
        first_line_or_object(),
        tagged(),
        labelled(),
    ]
}

fn value(contract: &Contract, reply: &str) -> Result<f64, Why> {
    read(contract, reply).map(|reading| reading.value).map_err(|unusable| unusable.why)
}

fn of(contract: &Contract, name: &str) -> Result<f64, Why> {
    value(contract, &file(name))
}

#[test]
fn jr_word_contains_label() {
    assert_eq!(of(&verdict(), "jr-word-contains-label.txt"), Ok(1.0));
}

#[test]
fn jr_zero_width() {
    assert_eq!(of(&verdict(), "jr-zero-width.txt"), Ok(1.0));
}

#[test]
fn jr_lower_case() {
    assert_eq!(of(&verdict(), "jr-lower-case.txt"), Ok(1.0));
}

#[test]
fn jr_no_verdict() {
    assert_eq!(of(&verdict(), "jr-no-verdict.txt"), Err(Why::NoVerdict));
}

#[test]
fn jr_fenced() {
    assert_eq!(of(&score(), "jr-fenced.txt"), Ok(0.63));
}

#[test]
fn jr_fenced_python_bool() {
    assert_eq!(of(&pass_and_score(), "jr-fenced-python-bool.txt"), Err(Why::Malformed));
}

#[test]
fn jr_truncated() {
    for name in ["jr-truncated.txt", "jr-truncated-number.txt", "jr-truncated-number-2.txt"] {
        assert_eq!(of(&score(), name), Err(Why::Truncated), "{name}");
    }
}

#[test]
fn jr_think_draft() {
    assert_eq!(of(&score(), "jr-think-draft.txt"), Ok(0.9));
}

#[test]
fn jr_think_unclosed() {
    assert_eq!(of(&score(), "jr-think-unclosed.txt"), Err(Why::Truncated));
}

#[test]
fn jr_think_in_string() {
    let reading = read(&score(), &file("jr-think-in-string.txt")).unwrap();
    assert_eq!(reading.value, 0.4);
    assert_eq!(reading.reason.as_deref(), Some("The answer leaks <think>internal notes</think> to the user."));
}

#[test]
fn jr_score_only() {
    assert_eq!(of(&first_line(), "jr-score-only.txt"), Ok(4.5));
}

#[test]
fn jr_leading_blank() {
    let reading = read(&first_line(), &file("jr-leading-blank.txt")).unwrap();
    assert_eq!(reading.value, 4.5);
    assert_eq!(reading.reason.as_deref(), Some("Good, but the last step is missing."));
}

#[test]
fn jr_empty() {
    for name in ["jr-empty.txt", "jr-empty-blanks.txt", "jr-empty-fence.txt"] {
        for contract in all() {
            assert_eq!(of(&contract, name), Err(Why::Empty), "{name} {contract:?}");
        }
    }
}

#[test]
fn jr_refusal() {
    for contract in all() {
        assert_eq!(of(&contract, "jr-refusal.txt"), Err(Why::Declined), "{contract:?}");
    }
}

#[test]
fn jr_reason_only() {
    for name in ["jr-reason-only.json", "jr-empty-object.json", "jr-score-only-object.json"] {
        assert_eq!(of(&pass_and_score(), name), Err(Why::NoVerdict), "{name}");
    }
}

#[test]
fn jr_pass_true_score_zero() {
    assert_eq!(of(&pass_and_score(), "jr-pass-true-score-zero.json"), Err(Why::Contradiction));
    assert_eq!(of(&yes_or_no(), "jr-pass-true-score-zero.json"), Err(Why::Contradiction));
}

#[test]
fn jr_score_null() {
    assert_eq!(of(&pass_and_score(), "jr-score-null.json"), Err(Why::NoVerdict));
}

#[test]
fn jr_many_numbers() {
    assert_eq!(of(&first_line(), "jr-many-numbers.txt"), Err(Why::OtherScale));
}

#[test]
fn jr_eight_of_ten() {
    for name in ["jr-eight-of-ten.txt", "jr-four-half-of-five.txt", "jr-label-four.txt"] {
        let unusable = read(&first_line(), &file(name)).unwrap_err();
        assert_eq!(unusable.why, Why::OtherScale, "{name}");
        assert!(unusable.to_string().contains("from 1 to 5"), "{unusable}");
    }
}

#[test]
fn jr_comma_decimal() {
    assert_eq!(of(&first_line(), "jr-comma-decimal.txt"), Err(Why::OtherScale));
}

#[test]
fn jr_fullwidth() {
    for name in ["jr-fullwidth.txt", "jr-arabic-indic.txt"] {
        assert_eq!(of(&first_line(), name), Err(Why::OtherScale), "{name}");
    }
}

#[test]
fn jr_score_as_text() {
    for name in ["jr-score-as-text.json", "jr-score-percent.json", "jr-score-word.json"] {
        assert_eq!(of(&score(), name), Err(Why::NoVerdict), "{name}");
    }
}

#[test]
fn jr_two_objects() {
    assert_eq!(of(&score(), "jr-two-objects.txt"), Err(Why::Ambiguous));
}

#[test]
fn jr_out_of_range() {
    for name in ["jr-out-of-range.json", "jr-negative.json", "jr-just-above-one.json"] {
        assert_eq!(of(&score(), name), Err(Why::OutOfRange), "{name}");
    }
}

#[test]
fn jr_score_nan() {
    for name in ["jr-score-nan.json", "jr-score-infinity.json"] {
        assert_eq!(of(&score(), name), Err(Why::Malformed), "{name}");
    }
}

#[test]
fn jr_steps_then_tags() {
    for name in ["jr-steps-then-tags.txt", "jr-tags-twice.txt"] {
        assert_eq!(of(&tagged(), name), Ok(4.0), "{name}");
    }
}

#[test]
fn our_binary_contract_takes_a_last_line_with_any_decoration() {
    for reply in ["YES", "yes.", "**YES**", "Because.\n\nVERDICT: YES", "# Verdict: **Yes**\n", "`YES`", "so\n__YES__"]
    {
        assert_eq!(value(&yes_or_no(), reply), Ok(1.0), "{reply}");
    }
    let json = "{\"verdict\":\"no\",\"pass\":false,\"score\":0.0,\"reason\":\"not supported\"}";
    let reading = read(&yes_or_no(), json).unwrap();
    assert_eq!((reading.value, reading.reason.as_deref()), (0.0, Some("not supported")));
    assert_eq!(value(&yes_or_no(), "{\"pass\": true}"), Ok(1.0));
}

#[test]
fn what_llamaindex_takes_for_a_yes_is_none() {
    let replies =
        ["No. **Yes**terday's data differ", "NO, my **eyes**…", "Yes, it is supported.", "YES or NO", "4.0\nreason"];
    for reply in replies {
        assert!(value(&yes_or_no(), reply).is_err(), "{reply}");
    }
}

#[test]
fn the_last_verdict_line_decides_even_where_it_does_not_fit() {
    assert_eq!(value(&verdict(), "VERDICT: FAIL\nVERDICT: PASS"), Ok(1.0));
    assert_eq!(value(&verdict(), "VERDICT: PASS\nVERDICT: UNSURE"), Err(Why::Ambiguous));
    assert_eq!(value(&verdict(), "VERDICT: PASS or FAIL"), Err(Why::Ambiguous));
}

#[test]
fn forms_that_do_not_agree_are_a_contradiction() {
    assert_eq!(value(&yes_or_no(), "{\"pass\": true}\nNO"), Err(Why::Contradiction));
    assert_eq!(value(&yes_or_no(), "VERDICT: YES\n\nNO"), Err(Why::Contradiction));
    assert_eq!(value(&yes_or_no(), "{\"verdict\": \"yes\", \"pass\": false}"), Err(Why::Contradiction));
    assert_eq!(value(&yes_or_no(), "{\"pass\": false, \"pass\": true}"), Err(Why::Ambiguous));
    assert_eq!(value(&first_line_or_object(), "4\n{\"score\": 5}"), Err(Why::Contradiction));
    // A pass with the lowest grade: the scale was another one.
    assert_eq!(value(&first_line_or_object(), "{\"pass\": true, \"score\": 1.0}"), Err(Why::Contradiction));
}

#[test]
fn a_broken_object_hides_no_good_one() {
    assert_eq!(value(&score(), "{'score': 0.2} {\"score\": 0.9}"), Err(Why::Malformed));
    assert_eq!(value(&score(), "{\"a\": {'b': {\"score\": 0.9}}}"), Err(Why::Malformed));
    assert_eq!(value(&score(), "{\"result\": {\"score\": 0.9}}"), Err(Why::NoVerdict));
    assert_eq!(value(&score(), "the set {1, 2} and {} then {\"score\": 0.9}"), Ok(0.9));
}

#[test]
fn deep_and_long_replies_are_read_in_no_time() {
    let deep = "{\"a\":".repeat(100_000);
    let braces = "{".repeat(1_000_000);
    let thinking = "<think>\n</think>\n".repeat(20_000);
    for contract in all() {
        assert!(read(&contract, &deep).is_err());
        assert!(read(&contract, &braces).is_err());
        assert!(read(&contract, &thinking).is_err());
    }
}

/// What a poor model really replied, in many shapes (`fixtures/peps-rag`, "Judge replies").
#[test]
fn real_replies_of_a_poor_judge_are_read_or_refused() {
    let (mut read_as_words, mut replies) = (0, 0);
    for name in ["judge-base", "judge-regressed", "judge-variety"] {
        let path = format!("{}/fixtures/peps-rag/runs/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let raw = row["raw"].as_str().unwrap();
            replies += 1;
            if let Ok(reading) = read(&yes_or_no(), raw) {
                let word = if reading.value == 1.0 { "yes" } else { "no" };
                assert_eq!(raw.trim().trim_end_matches(['.', '!']).to_lowercase(), word, "{raw:?}");
                read_as_words += 1;
            }
            for contract in [score(), first_line_or_object(), tagged()] {
                if let Ok(reading) = read(&contract, raw) {
                    assert!((0.0..=5.0).contains(&reading.value), "{raw:?}");
                }
            }
        }
    }
    assert_eq!((read_as_words, replies), (188, 656));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn reading_is_total_repeatable_and_in_range(
        parts in proptest::collection::vec(
            prop_oneof![
                any::<String>(),
                "[{}\"':,<>/`\\[\\]\n0-9.-]{0,6}",
                proptest::sample::select(vec![
                    "VERDICT:", "PASS", "YES", "NO", "\"score\"", "\"pass\"", "true", "<score>", "</score>", "<think>", "</think>",
                    "```json\n", "{", "}", "\n", "1e400", "NaN", "4.5", "00ff:", "-1",
                ]).prop_map(str::to_owned),
            ],
            0..12,
        )
    ) {
        let text = parts.concat();
        for contract in all() {
            let reading = read(&contract, &text);
            prop_assert_eq!(&reading, &read(&contract, &text));
            if let Ok(reading) = reading {
                let (lo, hi) = match contract {
                    Contract::Words { .. } | Contract::Letters { .. } => (0.0, 1.0),
                    // Read as somebody else reads it; the score's own range is checked behind.
                    Contract::Compat(_) => (f64::MIN, f64::MAX),
                    Contract::Object { lo, hi, .. } | Contract::FirstLine { lo, hi, .. }
                    | Contract::Labelled { lo, hi, .. } | Contract::Tagged { lo, hi, .. } => (lo, hi),
                };
                prop_assert!((lo..=hi).contains(&reading.value));
            }
        }
    }
}
