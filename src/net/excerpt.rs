//! A server's words, short enough for a message: one line of plain text.

/// Characters of an excerpt.
const LONGEST: usize = 200;
/// Bytes that are looked at.
const LOOKED_AT: usize = 16 * 1024;

/// The first words of a body on one line, without markup, at most 200 characters; empty where there are none.
pub(super) fn excerpt(body: &[u8]) -> String {
    let body = body.get(..LOOKED_AT).unwrap_or(body);
    let text = String::from_utf8_lossy(body);
    let text = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    if text.starts_with('<') { one_line(&without_markup(text)) } else { one_line(text) }
}

/// `text` on one line, runs of white space and control characters as one blank, cut at 200 characters.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::new();
    let mut length = 0_usize;
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() && length < LONGEST - 1 {
            line.push(' ');
            length += 1;
        }
        for letter in word.chars() {
            if length >= LONGEST - 1 {
                line.push('…');
                return line;
            }
            line.push(letter);
            length += 1;
        }
    }
    line
}

/// The text of an HTML or XML page: tags, comments, scripts and styles are left out, the common entities decoded.
fn without_markup(page: &str) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        text.push(' ');
        let lower: String = after.chars().take(8).collect::<String>().to_ascii_lowercase();
        let end = ["script", "style", "!--"].into_iter().find(|word| lower.starts_with(word)).map(|word| match word {
            "script" => "</script",
            "style" => "</style",
            _ => "--",
        });
        rest = match end {
            Some(end) => skip_past(after, end),
            None => after,
        };
        rest = rest.split_once('>').map_or("", |(_, behind)| behind);
    }
    text.push_str(rest);
    for (entity, letter) in
        [("&nbsp;", " "), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
    {
        text = text.replace(entity, letter);
    }
    text
}

/// What follows the first `end` behind the first three characters, in any letter case; nothing where it never comes.
fn skip_past<'t>(text: &'t str, end: &str) -> &'t str {
    let inside = text.get(3..).unwrap_or("");
    let found = inside.to_ascii_lowercase().find(end);
    found.and_then(|at| inside.get(at.saturating_add(end.len())..)).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_page_becomes_its_text() {
        let page =
            b"<!doctype html><html><head><style>p { color: red }</style><script>if (a<b) {}</script></head>\n<!-- x > y -->\
            <body><h1>502 Bad&nbsp;Gateway</h1>\n<p>nginx &amp; co</p></body></htm";
        assert_eq!(excerpt(page), "502 Bad Gateway nginx & co");
    }

    #[test]
    fn long_texts_are_cut_to_one_line() {
        assert_eq!(one_line(" a\n\t b\u{1b}[31m "), "a b [31m");
        assert_eq!(one_line(&"x".repeat(500)).chars().count(), LONGEST);
    }

    proptest! {
        #[test]
        fn any_body_becomes_a_short_line(body in proptest::collection::vec(any::<u8>(), 0..400), text in "[<>!a-zİ/& -]{0,60}") {
            for line in [excerpt(&body), excerpt(text.as_bytes()), excerpt(format!("<{text}").as_bytes())] {
                prop_assert!(line.chars().count() <= LONGEST);
                prop_assert!(!line.contains(char::is_control));
            }
        }
    }
}
