//! The tokens of ROUGE.

use std::borrow::Cow;

use super::{Cjk, is_cjk, porter, words};

/// How a text is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    pub cjk: Cjk,
    /// English words of four letters and more lose their endings.
    pub stem: bool,
}

/// A text in the form in which it is cut.
pub fn prepared(text: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase();
    if text.bytes().all(plain) { Cow::Borrowed(text) } else { Cow::Owned(text.to_lowercase()) }
}

/// Hands on the tokens of a [`prepared`] text: runs of a–z and 0–9, Chinese, Japanese and Korean as `cut` says, and runs of letters
/// and digits of other scripts.
///
/// On English text the same as the `rouge-score` package, which knows only a–z and 0–9 and drops all other scripts; accented Latin
/// letters separate words, as there.
pub fn each<'t>(prepared: &'t str, cut: Cut, token: &mut dyn FnMut(Cow<'t, str>)) {
    if prepared.is_ascii() {
        let between = |c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit();
        for run in prepared.split(between).filter(|run| !run.is_empty()) {
            end(run, Class::Plain, cut, token);
        }
        return;
    }
    let mut running = Class::Other;
    let mut from = 0;
    for (at, c) in prepared.char_indices() {
        let class = class(c);
        if class != running {
            end(prepared.get(from..at).unwrap_or_default(), running, cut, token);
            (running, from) = (class, at);
        }
    }
    end(prepared.get(from..).unwrap_or_default(), running, cut, token);
}

/// The tokens of a text, each on its own.
pub fn tokens(text: &str, cut: Cut) -> Vec<String> {
    let prepared = prepared(text);
    let mut tokens = Vec::new();
    each(&prepared, cut, &mut |token| tokens.push(token.into_owned()));
    tokens
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// a–z and 0–9.
    Plain,
    /// Written without spaces.
    Cjk,
    /// Letters from Greek on.
    Script,
    /// Between tokens.
    Other,
}

fn class(c: char) -> Class {
    match c {
        'a'..='z' | '0'..='9' => Class::Plain,
        c if c < '\u{370}' => Class::Other,
        c if is_cjk(c) => Class::Cjk,
        // Combining marks belong to the letters of Indic and Arabic words.
        c if c.is_alphanumeric() => Class::Script,
        _ => Class::Other,
    }
}

/// A run of one class has ended.
fn end<'t>(run: &'t str, class: Class, cut: Cut, token: &mut dyn FnMut(Cow<'t, str>)) {
    match (class, cut.cjk) {
        (Class::Plain, _) if cut.stem && run.len() > 3 => token(porter::stem(run)),
        (Class::Plain | Class::Script, _) => token(Cow::Borrowed(run)),
        (Class::Cjk, Cjk::Characters) => run.split_inclusive(|_| true).for_each(|one| token(Cow::Borrowed(one))),
        (Class::Cjk, Cjk::Words) => words::each(run, &mut |word| token(Cow::Borrowed(word))),
        (Class::Other, _) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Vec<String> {
        tokens(text, Cut::default())
    }

    #[test]
    fn plain_words_chinese_characters_and_other_scripts() {
        assert_eq!(plain("Don't use 4-space TABs"), ["don", "t", "use", "4", "space", "tabs"]);
        assert_eq!(plain("刘备 PEP8好"), ["刘", "备", "pep8", "好"]);
        assert_eq!(plain("Привет, мир2 abc"), ["привет", "мир", "2", "abc"]);
        assert_eq!(plain("café"), ["caf"]);
        assert_eq!(plain("ab\u{3c3}c"), ["ab", "\u{3c3}", "c"]);
        assert!(plain(" \u{0}!？").is_empty());
    }

    #[test]
    fn words_of_chinese_and_japanese_come_from_the_dictionary() {
        let words = |text: &str| tokens(text, Cut { cjk: Cjk::Words, stem: false });
        assert_eq!(words("北京大学的学生。"), ["北京", "大学", "的", "学生"]);
        assert_eq!(words("こんにちは世界"), ["こんにちは", "世界"]);
        assert_eq!(words("PEP8 是风格"), ["pep8", "是", "风格"]);
    }

    #[test]
    fn stemming_joins_the_forms_of_a_word_and_leaves_short_ones() {
        let stems = |text: &str| tokens(text, Cut { cjk: Cjk::Characters, stem: true });
        assert_eq!(stems("Connections connected, was 中"), ["connect", "connect", "was", "中"]);
    }
}
