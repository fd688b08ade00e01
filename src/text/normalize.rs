//! Texts made comparable.

/// Removes characters that no reader sees: zero-width and other format characters, direction marks, variation tags, and the
/// byte order mark. White space and everything visible stays.
pub fn strip_invisible(text: &str) -> String {
    text.chars().filter(|c| !is_invisible(*c)).collect()
}

/// True for characters without a visible form that are no white space (Unicode `Default_Ignorable_Code_Point`, the part that
/// appears in practice, and the other format controls).
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Runs of white space become one space; none at the ends.
pub fn collapse_space(text: &str) -> String {
    let mut collapsed = String::with_capacity(text.len());
    for word in text.split(is_space).filter(|word| !word.is_empty()) {
        if !collapsed.is_empty() {
            collapsed.push(' ');
        }
        collapsed.push_str(word);
    }
    collapsed
}

/// The characters of [`collapse_space`] of [`strip_invisible`] of the text, one by one, without a copy.
pub fn collapsed(text: &str) -> impl Iterator<Item = char> + '_ {
    let mut rest = text.chars().filter(|c| !is_invisible(*c)).peekable();
    let mut begun = false;
    std::iter::from_fn(move || {
        let mut space = false;
        while rest.next_if(|c| is_space(*c)).is_some() {
            space = true;
        }
        rest.peek()?;
        if std::mem::replace(&mut begun, true) && space { Some(' ') } else { rest.next() }
    })
}

/// Lower case, white space collapsed: the form in which two passages are compared.
pub fn fold(text: &str) -> String {
    collapse_space(&text.to_lowercase())
}

/// The normal form of SQuAD's answers: lower case, ASCII punctuation removed, the words a, an, the removed, white space joined.
///
/// Source: `evaluate-v1.1.py` of SQuAD (Rajpurkar and others, 2016), `normalize_answer`.
pub fn squad(text: &str) -> String {
    let lower: String = text.to_lowercase().chars().filter(|c| !c.is_ascii_punctuation()).collect();
    let mut kept = String::with_capacity(lower.len());
    let mut word = String::new();
    for c in lower.chars().chain(std::iter::once(' ')) {
        if c.is_alphanumeric() {
            word.push(c);
            continue;
        }
        kept.push_str(if is_article(&word) { " " } else { &word });
        word.clear();
        kept.push(c);
    }
    collapse_space(&kept)
}

fn is_article(word: &str) -> bool {
    matches!(word, "a" | "an" | "the")
}

/// White space as Python's `str.split` sees it: Unicode's, and the four information separators.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// The first `limit` characters, with an ellipsis where something was left out; white space collapsed, for messages.
pub fn excerpt(text: &str, limit: usize) -> String {
    let mut characters = text.chars();
    // White space may collapse, so a little more is looked at than is shown.
    let head: String = characters.by_ref().take(limit.saturating_mul(4)).collect();
    let mut rest = characters.next().is_some();
    let head = collapse_space(&head);
    let mut shown: String = head.chars().take(limit).collect();
    rest |= head.chars().count() > limit;
    if rest {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_squad_form_drops_case_punctuation_articles_and_spaces() {
        assert_eq!(squad("The  Eiffel-Tower, a (tall) tower!"), "eiffeltower tall tower");
        assert_eq!(squad("  "), "");
        assert_eq!(squad("theatre an\tapple the"), "theatre apple");
        // Not ASCII punctuation: stays, and ends a word.
        assert_eq!(squad("the—end"), "—end");
    }

    #[test]
    fn invisible_characters_go_and_spaces_stay() {
        assert_eq!(strip_invisible("VER\u{200b}DICT:\u{feff} PASS\u{3000}x"), "VERDICT: PASS\u{3000}x");
    }

    #[test]
    fn an_excerpt_is_short_and_says_so() {
        assert_eq!(excerpt("a\n b", 10), "a b");
        assert_eq!(excerpt("检索检索", 2), "检索…");
        assert_eq!(excerpt(&format!("a{}b", " ".repeat(50)), 3), "a…");
    }
}
