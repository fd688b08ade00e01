//! Text inside GitHub-flavoured Markdown that is shown as it is and does nothing.
//!
//! Rules: GFM 0.29 (CommonMark's escapes, section 6.1; tables, strikethrough, autolinks) and what GitHub does to the rendered text
//! afterwards: mentions, issue and commit references, emoji codes, mathematics. Those look at the text after entities are
//! decoded, so they are broken by a zero-width space, as Dependabot and Renovate do it. GitLab's references (docs.gitlab.com, "GitLab
//! Flavored Markdown") and Azure DevOps' (`!12`, `#12`, `@<id>`) are broken alike.

use std::fmt;

use crate::report::clean::Clean;

/// A zero-width space.
const BREAK: &str = "&#8203;";

/// Inline Markdown on one line that shows a text and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MarkdownText(String);

impl fmt::Display for MarkdownText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Whatever stands before and after it, in a cell, a list item, a quotation or a summary.
pub(crate) fn markdown(text: &Clean) -> MarkdownText {
    let line: Vec<char> = text.as_str().trim().chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    let breaks = hash_breaks(&line);
    let mut escaped = String::with_capacity(line.len() * 2);
    for (at, character) in line.iter().enumerate() {
        let before = line.get(..at).unwrap_or_default();
        let rest = line.get(at + 1..).unwrap_or_default();
        if breaks.get(at).copied().unwrap_or_default() {
            escaped.push_str(BREAK);
        }
        character_of(&mut escaped, before, *character, rest);
    }
    MarkdownText(escaped)
}

fn character_of(escaped: &mut String, before: &[char], character: char, rest: &[char]) {
    let (last, next) = (before.last().copied(), rest.first().copied());
    match character {
        // GitLab's epics, milestones, labels and merge requests (also Azure's pull requests).
        '&' if next.is_some_and(|c| c.is_ascii_digit()) => escaped.extend(["&amp;", BREAK]),
        '!' if next.is_some_and(|c| c.is_ascii_digit()) => escaped.extend(["!", BREAK]),
        '%' if next.is_some_and(|c| c.is_alphanumeric() || c == '"') => escaped.extend(["%", BREAK]),
        '~' if last != Some('~') && next.is_some_and(|c| c.is_alphanumeric() || c == '"') => {
            escaped.extend(["\\~", BREAK])
        }
        '$' if next.is_some_and(|c| c.is_ascii_digit()) => escaped.extend(["&#36;", BREAK]),
        '&' => escaped.push_str("&amp;"),
        '<' => escaped.push_str("&lt;"),
        '>' => escaped.push_str("&gt;"),
        '|' => escaped.push_str("&#124;"),
        '\\' => escaped.push_str("&#92;"),
        '$' => escaped.push_str("&#36;"),
        // Robots read the raw lines.
        '/' if before.is_empty() => escaped.push_str("&#47;"),
        '`' | '*' | '[' | ']' | '~' => escaped.extend(['\\', character]),
        // Inside a word an underscore is only itself.
        '_' if last.is_some_and(char::is_alphanumeric) && next.is_some_and(char::is_alphanumeric) => escaped.push('_'),
        '_' => escaped.push_str("\\_"),
        '-' | '+' | '=' if before.is_empty() => escaped.extend(['\\', character]),
        '-' if ends_with(before, "gh") && next.is_some_and(|c| c.is_ascii_digit()) => escaped.extend(["-", BREAK]),
        // The beginning of a numbered list.
        '.' | ')' if !before.is_empty() && before.iter().all(char::is_ascii_digit) => escaped.extend(['\\', character]),
        '.' if ends_with(before, "www") => escaped.extend([BREAK, "."]),
        '@' => escaped.extend(["@", BREAK]),
        '#' if before.is_empty() => escaped.extend(["\\#", BREAK]),
        '#' => escaped.extend(["#", BREAK]),
        ':' if next == Some('/') || emoji_code(rest) => escaped.extend([":", BREAK]),
        character => escaped.push(character),
    }
}

/// In any letter case; `word` is lower-case.
fn ends_with(text: &[char], word: &str) -> bool {
    let mut letters = text.iter().rev();
    word.chars().rev().all(|wanted| letters.next().is_some_and(|letter| letter.eq_ignore_ascii_case(&wanted)))
}

/// `tada:` after a colon.
fn emoji_code(rest: &[char]) -> bool {
    let word = rest.iter().take(40).take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-')).count();
    word > 0 && rest.get(word) == Some(&':')
}

/// Where words of seven and more hexadecimal digits are broken, which GitHub would look up as commits.
fn hash_breaks(line: &[char]) -> Vec<bool> {
    let mut breaks = vec![false; line.len()];
    let mut at = 0;
    while at < line.len() {
        let length = line.iter().skip(at).take_while(|c| c.is_alphanumeric() || **c == '_').count();
        let word = line.get(at..at + length).unwrap_or_default();
        if length >= 7 && word.iter().all(char::is_ascii_hexdigit) {
            for offset in (6..length).step_by(6) {
                if let Some(mark) = breaks.get_mut(at + offset) {
                    *mark = true;
                }
            }
        }
        at += length.max(1);
    }
    breaks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::clean::Cleaner;

    fn shown(text: &str) -> String {
        markdown(&Cleaner::default().line(text, 1_000)).to_string()
    }

    #[test]
    fn plain_words_stay_readable_in_the_source() {
        for text in ["hit_rate dropped by -43.3 points (0.813 → 0.381), at 12:30.", "a/b: 中文 e-mail"] {
            assert_eq!(shown(text), text);
        }
        assert_eq!(shown("1. x"), "1\\. x");
    }

    #[test]
    fn what_would_act_is_broken() {
        assert_eq!(shown("@a #1 GH-5"), "@&#8203;a #&#8203;1 GH-&#8203;5");
        assert_eq!(shown("https://x www.x"), "https:&#8203;//x www&#8203;.x");
        assert_eq!(shown(":tada: 12:30 0123456789abcdef"), ":&#8203;tada: 12:30 012345&#8203;6789ab&#8203;cdef");
        assert_eq!(
            shown("!12 %3 ~bug $5 &7 50% a & b!"),
            "!&#8203;12 %&#8203;3 \\~&#8203;bug &#36;&#8203;5 &amp;&#8203;7 50% a &amp; b!"
        );
        assert_eq!(shown("/approve"), "&#47;approve");
        assert_eq!(shown("<!-- scoregate:x -->"), "&lt;!-- scoregate:x --&gt;");
    }
}
