//! Texts cut into tokens.

use super::normalize::squad;

/// The words of a text in its SQuAD form.
pub fn squad_words(text: &str) -> Vec<String> {
    squad(text).split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The tokens of ROUGE: lower case; runs of a–z and 0–9, each Chinese, Japanese or Korean character, and runs of letters
/// and digits of other scripts. On English text the same as the `rouge-score` package without stemming, which knows only
/// a–z and 0–9 and drops all other scripts; accented Latin letters separate words, as there.
pub fn rouge(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut run = String::new();
    let mut running = Class::Other;
    for c in text.to_lowercase().chars() {
        let class = class(c);
        if class != running || class == Class::Single {
            flush(&mut run, &mut tokens);
            running = class;
        }
        if class != Class::Other {
            run.push(c);
        }
    }
    flush(&mut run, &mut tokens);
    tokens
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// a–z and 0–9.
    Plain,
    /// A token of its own.
    Single,
    /// Letters from Greek on.
    Script,
    /// Between tokens.
    Other,
}

fn class(c: char) -> Class {
    match c {
        'a'..='z' | '0'..='9' => Class::Plain,
        c if is_cjk(c) => Class::Single,
        // Combining marks belong to the letters of Indic and Arabic words.
        c if c >= '\u{370}' && c.is_alphanumeric() => Class::Script,
        _ => Class::Other,
    }
}

fn flush(run: &mut String, tokens: &mut Vec<String>) {
    if !run.is_empty() {
        tokens.push(std::mem::take(run));
    }
}

/// A character of a script that is written without spaces and where one character is about a word or syllable.
pub fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{2e80}'..='\u{2fdf}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rouge_knows_plain_words_chinese_characters_and_other_scripts() {
        assert_eq!(rouge("Don't use 4-space TABs"), ["don", "t", "use", "4", "space", "tabs"]);
        assert_eq!(rouge("刘备 PEP8好"), ["刘", "备", "pep8", "好"]);
        assert_eq!(rouge("Привет, мир2 abc"), ["привет", "мир", "2", "abc"]);
        assert_eq!(rouge("café"), ["caf"]);
        assert!(rouge(" \u{0}!？").is_empty());
    }
}
