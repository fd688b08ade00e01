use proptest::prelude::*;

use super::*;
use crate::domain::RedactingWriter;
use std::io::Write as _;

const SECRET: &str = "sg-test-secret-7Q/w+x==";
const AWKWARD: &str = "p\"a\\s<s>&'w 50%ö中";

fn redactor(values: &[&str]) -> Redactor {
    let secrets: Vec<Secret> = values.iter().map(|value| Secret::new("KEY", *value).unwrap()).collect();
    Redactor::new(&secrets)
}

fn percent(value: &str, upper: bool, all: bool) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' if !all => char::from(byte).to_string(),
        byte if upper => format!("%{byte:02X}"),
        byte => format!("%{byte:02x}"),
    };
    value.bytes().map(byte).collect()
}

fn html(value: &str, quote: &str) -> String {
    value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', quote)
}

fn unicode_escapes(value: &str) -> String {
    let quoted = serde_json::to_string(value).unwrap();
    let inner = quoted.trim_matches('"').replace('/', "\\/");
    inner.chars().map(|c| if c.is_ascii() { c.to_string() } else { format!("\\u{:04x}", u32::from(c)) }).collect()
}

/// Every form that may reach a sink.
fn spellings(value: &str) -> Vec<String> {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    let json = serde_json::to_string(value).unwrap().trim_matches('"').to_owned();
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut all = vec![
        value.to_owned(),
        percent(value, true, false),
        percent(value, false, false),
        percent(value, true, true),
        percent(&percent(value, true, false), true, false),
        hex.to_uppercase(),
        hex,
        serde_json::to_string(&json).unwrap().trim_matches('"').to_owned(),
        json,
        unicode_escapes(value),
        html(value, "&#39;"),
        html(value, "&#x27;"),
        html(value, "&apos;"),
    ];
    for before in ["", "u", "us"] {
        for after in ["", ":", ":pw"] {
            let whole = format!("{before}{value}{after}");
            all.extend([STANDARD.encode(&whole), URL_SAFE.encode(&whole)]);
            all.extend([STANDARD_NO_PAD.encode(&whole), URL_SAFE_NO_PAD.encode(&whole)]);
            all.push(percent(&STANDARD.encode(&whole), true, false));
        }
    }
    all
}

#[test]
fn rp_secret_in_request() {
    for value in [SECRET, AWKWARD] {
        let redactor = redactor(&[value]);
        for spelling in spellings(value) {
            let clean = redactor.redact(&format!("a {spelling} b"));
            assert!(clean.contains("***"), "{spelling} became {clean}");
            assert!(!clean.contains(&spelling), "{spelling} became {clean}");
            // What is left of a Base64 token is too short to say anything.
            assert!(clean.len() <= "a *** b".len() + 14, "{spelling} became {clean}");
        }
    }
}

#[test]
fn a_secret_over_two_lines_is_found_at_every_break() {
    let redactor = redactor(&[SECRET, AWKWARD]);
    for value in [SECRET, AWKWARD] {
        for (at, _) in value.char_indices().skip(1) {
            for gap in ["\n", "\r\n", "\n    ", "\u{2028}", "\u{200b}", "\\n"] {
                let (start, end) = value.split_at(at);
                if start.ends_with('\\') && gap == "\\n" {
                    continue; // That is an escaped backslash and an n.
                }
                assert_eq!(redactor.redact(&format!("x {start}{gap}{end} y")), "x *** y", "broken at {at} by {gap:?}");
            }
        }
    }
}

#[test]
fn the_mask_tells_no_length_and_overlaps_leave_nothing() {
    let redactor = redactor(&["aaaaaaaaaa", "abcdefgh", "efghijkl", "abcdefghijklmnop"]);
    assert_eq!(redactor.redact("<abcdefghijkl>"), "<***>");
    assert_eq!(redactor.redact("<abcdefghijklmnop>"), "<***>");
    assert_eq!(redactor.redact("<aaaaaaaaaaaaaaaaaaaaaaaaa>"), "<***>");
}

#[test]
fn a_key_of_many_lines_is_found_as_it_is_and_on_one_line() {
    let key = "-----BEGIN KEY-----\nMIIBVgIBADANBg\nkqhkiG9w0BAQEF\n-----END KEY-----";
    let redactor = redactor(&[key]);
    for text in [key.to_owned(), key.replace('\n', " "), key.replace('\n', "\r\n  "), key.replace('\n', "\\n")] {
        assert_eq!(redactor.redact(&text), "***");
    }
}

#[test]
fn texts_without_secrets_are_not_copied() {
    let redactor = redactor(&[SECRET]);
    assert!(matches!(redactor.redact_cow("50% of a\\b &amp; 中文\nsecond line"), Cow::Borrowed(_)));
    assert!(matches!(Redactor::default().redact_cow(SECRET), Cow::Borrowed(_)));
    assert_eq!(format!("{redactor:?}"), "Redactor(secrets)");
}

/// R14: chunk borders at each offset.
#[test]
fn a_stream_is_masked_wherever_it_is_cut() {
    let redactor = redactor(&[SECRET, AWKWARD]);
    for spelling in spellings(SECRET).into_iter().chain(spellings(AWKWARD)) {
        let text = format!("before {spelling} after {spelling}");
        let expected = redactor.redact(&text);
        for border in 0..=text.len() {
            let (start, end) = text.as_bytes().split_at(border);
            let mut writer = RedactingWriter::new(Vec::new(), redactor.clone());
            writer.write_all(start).unwrap();
            writer.flush().unwrap();
            writer.write_all(end).unwrap();
            assert_eq!(String::from_utf8_lossy(&writer.finish().unwrap()), expected, "cut at {border}");
        }
    }
}

#[test]
fn a_long_stream_keeps_its_bytes_and_little_memory() {
    let redactor = redactor(&[SECRET]);
    let mut writer = RedactingWriter::new(Vec::new(), redactor);
    let mut expected = String::new();
    for at in 0..2_000 {
        writer.write_all(format!("line {at} {SECRET}\n").as_bytes()).unwrap();
        expected.push_str(&format!("line {at} ***\n"));
        assert!(writer.pending() < 10_000);
    }
    assert_eq!(String::from_utf8(writer.finish().unwrap()).unwrap(), expected);
}

proptest! {
    #[test]
    fn no_spelling_survives_anywhere(before in ".{0,30}", after in ".{0,30}", which in 0_usize..58) {
        let all = spellings(SECRET);
        let spelling = &all[which % all.len()];
        let clean = redactor(&[SECRET]).redact(&format!("{before}{spelling}{after}"));
        prop_assert!(!clean.contains(spelling.as_str()));
        prop_assert!(clean.contains("***"));
    }

    #[test]
    fn other_texts_stay(text in "[a-z %&\\\\\n]{0,200}") {
        prop_assert_eq!(redactor(&[SECRET]).redact(&text), text);
    }
}
