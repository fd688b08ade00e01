//! Steps of JSON pointers.
//!
//! **Source**: RFC 6901, §3 and §4.

/// A key as a step of a pointer.
pub fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// The key that a step stands for.
pub fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_step_leads_to_its_key_and_back() {
        for key in ["plain", "a/b", "~", "~1", "/~0/", ""] {
            assert_eq!(json!({ key: 1 }).pointer(&format!("/{}", escape(key))), Some(&json!(1)), "{key}");
            assert_eq!(unescape(&escape(key)), key);
        }
    }
}
