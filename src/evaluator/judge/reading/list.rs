//! One reply with a list of texts.

use serde::Deserialize;
use serde_json::Value;

use super::object::{only, scan};
use super::{Unusable, Why, clean};

/// The most that a list may hold: beyond it each entry would be asked about in vain.
const MOST: usize = 200;

/// The texts of the one object `{"items": ["…"]}`, in their order, without those that stand twice.
///
/// # Errors
/// Whatever is not exactly that, by name. An empty list is a list.
pub fn read_list(reply: &str) -> Result<Vec<String>, Unusable> {
    read_list_as_said(reply).map(|(items, _)| items)
}

/// As [`read_list`], with the object as it stands in the reply.
///
/// # Errors
/// Those of [`read_list`].
pub fn read_list_as_said(reply: &str) -> Result<(Vec<String>, String), Unusable> {
    let text = clean::clean(reply)?;
    let found = scan(&text, &["items"]);
    let whole = only(&found, "`items`").map_err(|unusable| match unusable.why {
        Why::NoVerdict if clean::declines(&text) => Unusable::new(Why::Declined, ""),
        _ => unusable,
    })?;
    let said = whole.raw().to_owned();
    let whole: Whole = serde_json::from_str(&said)
        .map_err(|error| Unusable::new(Why::Malformed, format!("the object is no list of texts: {error}")))?;
    let mut items: Vec<String> = Vec::new();
    for item in whole.items {
        match item {
            Value::String(item) if item.trim().is_empty() => {
                return Err(Unusable::new(Why::Malformed, "an entry of the list is empty"));
            }
            Value::String(item) if items.iter().any(|known| *known == item.trim()) => {}
            Value::String(item) => items.push(item.trim().to_owned()),
            _ => return Err(Unusable::new(Why::Malformed, "an entry of the list is no text")),
        }
    }
    if items.len() > MOST {
        return Err(Unusable::new(Why::OutOfRange, format!("the list has {} entries, more than {MOST}", items.len())));
    }
    Ok((items, said))
}

#[derive(Deserialize)]
struct Whole {
    items: Vec<Value>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_list_is_read_strictly() {
        for (reply, expected) in [
            ("{\"items\": [\"a\", \"b\"]}", Ok(vec!["a", "b"])),
            ("Here:\n```json\n{\"items\": [\" a \", \"a\"]}\n```", Ok(vec!["a"])),
            ("<think>{\"items\": [\"x\"]}</think>\n{\"items\": []}", Ok(vec![])),
            ("{\"items\": [\"a\"", Err(Why::Truncated)),
            ("{\"items\": [\"\"]}", Err(Why::Malformed)),
            ("{\"items\": [1]}", Err(Why::Malformed)),
            ("{\"items\": \"a\"}", Err(Why::Malformed)),
            ("{\"items\": [], \"items\": [\"a\"]}", Err(Why::Malformed)),
            ("{\"items\": []}\n{\"items\": [\"a\"]}", Err(Why::Ambiguous)),
            ("- a\n- b", Err(Why::NoVerdict)),
            ("I'm sorry, but I can't help with that.", Err(Why::Declined)),
            (" ", Err(Why::Empty)),
        ] {
            let read = read_list(reply).map_err(|unusable| unusable.why);
            assert_eq!(read, expected.map(|items| items.into_iter().map(str::to_owned).collect()), "{reply}");
        }
    }

    proptest! {
        #[test]
        fn any_text_survives_in_a_list(text in "[^\\p{C}\\s]{1,20}") {
            prop_assume!(crate::text::normalize::strip_invisible(&text) == text);
            let reply = serde_json::json!({ "items": [text.clone()] }).to_string();
            prop_assert_eq!(read_list(&reply), Ok(vec![text]));
        }

        #[test]
        fn any_reply_has_an_end(text in any::<String>()) {
            let _ = read_list(&text);
            let _ = read_list(&format!("{{\"items\": [{text}]}}"));
        }
    }
}
