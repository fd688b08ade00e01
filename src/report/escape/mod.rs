//! One function per sink: removes what the sink must not carry, cuts, and escapes last.

use unicode_segmentation::UnicodeSegmentation as _;

/// Characters that are invisible or steer a terminal, shown as escapes: C0 and C1 controls, bidi controls, zero-width characters.
fn visible(text: &str, keep_lines: bool) -> String {
    let mut clean = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' if keep_lines => clean.push('\n'),
            '\t' => clean.push(' '),
            '\n' | '\r' | '\u{2028}' | '\u{2029}' | '\u{85}' | '\u{b}' | '\u{c}' => clean.push(' '),
            character if hidden(character) => clean.extend(character.escape_unicode()),
            character => clean.push(character),
        }
    }
    clean
}

fn hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}')
}

/// At most `limit` characters as a reader counts them, marked where something was cut.
pub fn cut(text: &str, limit: usize) -> String {
    let mut graphemes = text.grapheme_indices(true);
    match graphemes.nth(limit) {
        None => text.to_owned(),
        Some(_) => {
            let keep = text.grapheme_indices(true).nth(limit.saturating_sub(1)).map_or(0, |(at, _)| at);
            format!("{}…", text.get(..keep).unwrap_or_default())
        }
    }
}

/// One line for a terminal or a build log: no control, bidi or zero-width character; `##[`, `##vso[` and a leading `::` broken, so
/// that neither GitHub's runner nor the Azure agent takes it for a command.
pub fn terminal(text: &str, limit: usize) -> String {
    let line = cut(visible(text, false).trim(), limit);
    let line = line.replace("##", "##_").replace("::", ":\u{a0}:");
    line.replace("##_ ", "## ")
}

/// Inline Markdown that shows the text and nothing else: no markup, HTML, link, mention, reference or table cell ends.
/// Rule: CommonMark 0.31 section 2.4 (every ASCII punctuation may be escaped by a backslash) and GitHub's autolinks and mentions, which
/// are broken by an entity after `@`, `#`, `:` and `www`.
pub fn markdown(text: &str, limit: usize) -> String {
    let line = cut(visible(text, false).trim(), limit);
    let mut escaped = String::with_capacity(line.len() * 2);
    for character in line.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '@' => escaped.push_str("&#64;<!-- -->"),
            '#' => escaped.push_str("&#35;<!-- -->"),
            ':' => escaped.push_str("&#58;<!-- -->"),
            '.' => escaped.push_str("&#46;<!-- -->"),
            '/' => escaped.push_str("&#47;"),
            '|' => escaped.push_str("&#124;"),
            character if character.is_ascii_punctuation() => {
                escaped.push('\\');
                escaped.push(character);
            }
            character => escaped.push(character),
        }
    }
    escaped
}

/// Text for an XML document: characters that XML 1.0 cannot hold are shown as escapes; the XML writer escapes the rest.
pub fn xml(text: &str, limit: usize) -> String {
    let mut clean = String::with_capacity(text.len());
    for character in cut(text, limit).chars() {
        match character {
            '\t' | '\n' => clean.push(character),
            '\r' => clean.push_str("\\r"),
            '\u{fffe}' | '\u{ffff}' => clean.extend(character.escape_unicode()),
            character if character.is_control() => clean.extend(character.escape_unicode()),
            character => clean.push(character),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cutting_never_splits_a_character() {
        let family = "👨‍👩‍👧‍👦";
        for unit in ["a", "é", "中", "😀", "e\u{301}", family] {
            let cut = cut(&unit.repeat(9), 5);
            assert_eq!(cut, format!("{}…", unit.repeat(4)));
        }
        assert_eq!(cut("abc", 3), "abc");
    }

    proptest! {
        #[test]
        fn no_command_and_no_control_reaches_a_log(before in ".{0,20}", after in ".{0,20}", at in 0..6_usize) {
            let mark = ["::error::", "##[error]", "##vso[task.setvariable]", "\u{1b}[31m", "\u{202e}", "\n::set-output::"];
            let text = terminal(&format!("{before}{}{after}", mark[at]), 500);
            prop_assert!(!text.trim_start().starts_with("::"));
            prop_assert!(!text.contains("##["));
            prop_assert!(!text.to_lowercase().contains("##vso["));
            let hidden = text.chars().any(super::hidden);
            prop_assert!(!hidden);
        }

        #[test]
        fn markdown_shows_text_only(text in "[ -~]{0,60}") {
            let source = format!("| {} |", markdown(&text, 500));
            prop_assert!(!source.contains('\n'));
            prop_assert_eq!(source.matches('|').count(), 2);
            let plain = source.replace("<!-- -->", "");
            prop_assert!(!plain.contains('<'));
        }
    }
}
