//! JSON as Python writes it: `NaN`, `Infinity` and `-Infinity` stand where numbers may stand. They become texts, which no reader takes
//! for a score.

use std::borrow::Cow;

const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// The text with these words in quotes. Lines stay where they are.
pub(super) fn tamed(text: &str) -> Cow<'_, str> {
    if !text.contains("NaN") && !text.contains("Infinity") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 64);
    let mut rest = text;
    // Strings are copied whole: what stands in them is nobody's number.
    while let Some(at) = rest.find(['"', '-', 'I', 'N']) {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        if after.starts_with('"') {
            let end = end_of_string(after);
            let (string, more) = after.split_at(end);
            out.push_str(string);
            rest = more;
        } else if let Some(word) = WORDS.iter().find(|word| after.starts_with(**word)) {
            out.push('"');
            out.push_str(word);
            out.push('"');
            rest = after.get(word.len()..).unwrap_or_default();
        } else {
            let (one, more) = after.split_at(1);
            out.push_str(one);
            rest = more;
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Bytes of the string that begins here, with its quotes.
fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_outside_of_strings_become_texts() {
        let text = "{\"a\": NaN, \"NaN\": \"is \\\"NaN\\\" Infinity\", \"b\": [-Infinity, Infinity, -1]}";
        let value: serde_json::Value = serde_json::from_str(&tamed(text)).unwrap();
        assert_eq!(value["a"], "NaN");
        assert_eq!(value["NaN"], "is \"NaN\" Infinity");
        assert_eq!(value["b"], serde_json::json!(["-Infinity", "Infinity", -1]));
        assert!(matches!(tamed("{\"a\": 1}"), Cow::Borrowed(_)));
        assert_eq!(tamed("\"open NaN"), "\"open NaN");
    }
}
