//! The text of a comment as a host gets it: its marker, its limit, and what an earlier one says once it is outdated.

use std::borrow::Cow;

use super::{NoVerdict, Outdated, markdown};
use crate::report::MARKER_START;

/// Bytes of a comment's text. GitHub's limit is 65,536 characters; bytes are the strictest count, and other hosts take more.
pub const COMMENT_LIMIT: usize = 65_000;

/// Ends the notice of [`outdated`]; texts cannot hold it, since they are escaped.
const NOTICE_END: &str = "<!-- scoregate-notice -->";

/// Marker and text, within the limit. Markers inside the text are broken: only the first line may be one.
pub(super) fn body(marker: Option<&str>, text: &str, run_url: Option<&str>) -> String {
    let marker = first_line(marker);
    let text = text.replace(MARKER_START, &MARKER_START.replacen("<!--", "<!- -", 1));
    let more = match run_url {
        Some(url) => format!("\n\n_Cut here: the whole report is in the [job summary]({url})._\n"),
        None => "\n\n_Cut here: the whole report is in the job summary._\n".to_owned(),
    };
    let room = COMMENT_LIMIT.saturating_sub(marker.len()).saturating_sub(more.len());
    match markdown::cut(&text, room) {
        None => format!("{marker}{text}"),
        Some(start) => format!("{marker}{start}{more}"),
    }
}

/// What an earlier run's comment says once a later run came to no verdict: the notice first, then what it said before.
pub(super) fn outdated(
    body: &str,
    marker: Option<&str>,
    outdated: &Outdated,
    head: Option<&str>,
    run_url: Option<&str>,
) -> String {
    let lines: Vec<&str> = body.lines().collect();
    let after = |wanted: &str| {
        let at = lines.iter().position(|line| line.trim_end() == wanted);
        at.map(|at| at.saturating_add(1))
    };
    // An earlier notice is replaced.
    let begins = after(NOTICE_END).or_else(|| after(marker?)).unwrap_or(0);
    let rest = lines.get(begins..).unwrap_or_default().join("\n");
    let commit = head.and_then(|sha| sha.get(..10)).map_or_else(String::new, |sha| format!(" of commit {sha}"));
    let what = match outdated.why {
        NoVerdict::Cancelled => format!("a later run{commit} was cancelled"),
        NoVerdict::Stopped { exit_code } => {
            format!("a later run{commit} could not be evaluated (exit code {exit_code})")
        }
    };
    let log = run_url.map_or_else(String::new, |url| format!(" ([log]({url}))"));
    let notice =
        format!("> [!WARNING]\n> ⌛ **Outdated:** {what}{log}. What follows is of an earlier run.\n\n{NOTICE_END}");
    let marker = first_line(marker);
    let room = COMMENT_LIMIT.saturating_sub(marker.len()).saturating_sub(notice.len()).saturating_sub(1);
    let rest = markdown::cut(&rest, room).unwrap_or(&rest);
    format!("{marker}{notice}\n{rest}")
}

/// One line of at most `limit` characters.
pub(super) fn line(text: &str, limit: usize) -> String {
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let line: String = clean.clone().take(limit).collect();
    if clean.count() <= limit { line } else { line.chars().take(limit.saturating_sub(1)).chain(['…']).collect() }
}

fn first_line(marker: Option<&str>) -> String {
    marker.map_or_else(String::new, |marker| format!("{marker}\n"))
}

/// For hosts that do not know GitHub's alerts: the same quotation without its `[!CAUTION]`, which would stand there as text.
pub(super) fn without_alerts(text: &str) -> Cow<'_, str> {
    let alert = |line: &str| {
        let word = line.trim_end().strip_prefix("> [!").and_then(|rest| rest.strip_suffix(']'));
        word.is_some_and(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase()))
    };
    if !text.lines().any(alert) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.split_inclusive('\n').filter(|line| !alert(line)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEWS: Outdated = Outdated { why: NoVerdict::Cancelled, since: String::new() };

    #[test]
    fn only_the_words_of_alerts_are_taken_out() {
        let text = "> [!CAUTION]\n> ❌ **failed**\n>\n> more\n\n> [!note]\n";
        assert_eq!(without_alerts(text), "> ❌ **failed**\n>\n> more\n\n> [!note]\n");
        assert_eq!(without_alerts("> plain\n"), "> plain\n");
    }

    #[test]
    fn a_notice_replaces_an_earlier_one_with_and_without_a_marker() {
        for marker in [None, Some("<!-- scoregate:x -->")] {
            let first = body(marker, "the verdict\n", None);
            let once = outdated(&first, marker, &NEWS, None, None);
            let twice = outdated(&once, marker, &NEWS, Some("0123456789abcdef"), Some("https://ci.test/1"));
            assert_eq!(twice.matches(NOTICE_END).count(), 1, "{twice}");
            assert!(twice.contains("of commit 0123456789 was cancelled ([log](https://ci.test/1))"), "{twice}");
            assert!(twice.ends_with("the verdict") && twice.matches("the verdict").count() == 1, "{twice}");
            assert_eq!(twice.starts_with("<!-- scoregate:x -->\n> [!WARNING]\n"), marker.is_some());
        }
    }

    #[test]
    fn both_forms_stay_below_the_limit() {
        let long = "A paragraph of some length about a case.\n\n".repeat(4_000);
        let shown = body(Some("<!-- scoregate:x -->"), &long, None);
        assert!(shown.len() <= COMMENT_LIMIT && shown.contains("_Cut here"));
        assert!(outdated(&shown, Some("<!-- scoregate:x -->"), &NEWS, None, None).len() <= COMMENT_LIMIT);
    }
}
