//! The hidden first line that finds a suite's comment again: the same in `comment.md` and on every host.

use sha2::{Digest as _, Sha256};

/// What every marker begins with; inside texts it is broken.
pub const MARKER_START: &str = "<!-- scoregate:";
/// Characters of a name that is taken as it is.
const PLAIN: usize = 80;
/// Characters of a hostile name that are kept for the reader.
const READABLE: usize = 40;

/// The marker of the suite with this name; stable from run to run.
///
/// Characters that could end an HTML comment or break the line are left out, and a digest keeps such names apart.
pub fn marker(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ' ');
    let tame = |c: char| plain(c) || c == '-';
    if !name.is_empty() && name.len() <= PLAIN && name.chars().all(tame) && !name.contains("--") && name.trim() == name
    {
        return format!("{MARKER_START}{name} -->");
    }
    let readable: String = name.chars().filter(|c| plain(*c)).take(READABLE).collect();
    let digest: String = Sha256::digest(name).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("{MARKER_START}{}.{digest} -->", readable.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tame_names_are_taken_as_they_are_and_others_stay_apart() {
        assert_eq!(marker("support-rag v1.2"), "<!-- scoregate:support-rag v1.2 -->");
        let hostile = ["a --> b", "a --&gt; b", "中文", "", " a", "a\n<script>", "a--b", &"x".repeat(81)];
        let markers: std::collections::BTreeSet<String> = hostile.iter().map(|name| marker(name)).collect();
        assert_eq!(markers.len(), hostile.len());
        for marker in markers {
            assert!(marker.starts_with(MARKER_START) && marker.ends_with(" -->") && marker.len() < 100, "{marker}");
            let inner = marker.strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->")).unwrap_or_default();
            assert!(!inner.contains("--") && !inner.contains('>') && !inner.contains('\n'), "{marker}");
        }
    }
}
