//! Texts cut into tokens.

pub mod bleu;
pub mod porter;
pub mod rouge;
mod words;

use super::normalize::squad;

/// How the scripts that are written without spaces are cut: Chinese, Japanese, and Korean too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cjk {
    /// Each character is a token.
    #[default]
    Characters,
    /// Words, as the dictionary of Unicode's ICU finds them.
    Words,
}

/// The words of a text in its SQuAD form.
pub fn squad_words(text: &str) -> Vec<String> {
    squad(text).split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// A character of a script that is written without spaces and where one character is about a word or syllable.
pub fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{2e80}'..='\u{2fdf}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}')
}

/// A character of Japanese that is not Chinese as well: hiragana or katakana, half width too.
pub fn is_kana(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}')
}
