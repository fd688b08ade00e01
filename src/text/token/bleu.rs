//! The tokens of BLEU, as sacrebleu cuts them.
//!
//! **Source**: sacrebleu 2.6.0, `tokenizers/tokenizer_13a.py`, `tokenizer_re.py`, `tokenizer_zh.py`, `tokenizer_char.py`; the first is
//! mteval-v13a of WMT.

use std::borrow::Cow;

use super::super::normalize::is_space;
use super::rouge;
use super::{Cjk, is_cjk};

/// How a text is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Western languages: punctuation is cut off, numbers stay whole.
    Mteval13a,
    /// Chinese characters are cut apart, the rest as `Mteval13a`.
    Zh,
    /// Every character.
    Char,
    /// White space alone.
    None,
    /// Words of Chinese, Japanese and Korean by dictionary, the rest as `Mteval13a`.
    Words,
}

/// The text with white space between its tokens.
pub fn spaced(text: &str, cut: Cut) -> String {
    let text = text.trim_end_matches(is_space);
    match cut {
        Cut::None => text.to_owned(),
        Cut::Char => spread(text, |_| true),
        Cut::Mteval13a => punctuated(&padded(&plain(text))),
        Cut::Zh => punctuated(&spread(text.trim_matches(is_space), is_chinese)),
        Cut::Words => punctuated(&padded(&worded(&plain(text)))),
    }
}

/// Hands on the tokens of a [`spaced`] text.
pub fn each<'t>(spaced: &'t str, token: &mut dyn FnMut(&'t str)) {
    spaced.split(is_space).filter(|one| !one.is_empty()).for_each(token);
}

/// A space at both ends, so that a mark there is between other characters as well.
fn padded(text: &str) -> String {
    let mut padded = String::with_capacity(text.len() + 2);
    padded.extend([" ", text, " "]);
    padded
}

/// Spaces around every character for which `apart` holds.
fn spread(text: &str, apart: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        if apart(c) {
            out.push(' ');
            out.push(c);
            out.push(' ');
        } else {
            out.push(c);
        }
    }
    out
}

/// Spaces around the words of Chinese, Japanese and Korean runs.
fn worded(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut rest = text;
    while let Some(at) = rest.find(is_cjk) {
        let (before, from) = rest.split_at(at);
        let (run, after) = from.split_at(from.find(|c| !is_cjk(c)).unwrap_or(from.len()));
        out.push_str(before);
        out.push(' ');
        rouge::each(run, rouge::Cut { cjk: Cjk::Words, stem: false }, &mut |word| {
            out.push_str(&word);
            out.push(' ');
        });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Line ends and the escapes of XML are undone.
fn plain(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| matches!(byte, b'<' | b'\n' | b'&')) {
        return Cow::Borrowed(text);
    }
    let changes =
        [("<skipped>", ""), ("-\n", ""), ("\n", " "), ("&quot;", "\""), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")];
    let changed = changes.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    Cow::Owned(changed)
}

/// The four rules of `tokenizer_re.py`, one after the other, over the whole text.
///
/// On bytes: all that they look for is ASCII, and a byte of a longer character is what that character is to them, no digit and no mark.
fn punctuated(text: &str) -> String {
    let (bytes, marked) = symbols_apart(text.as_bytes());
    let bytes = if marked { dash_after_digit(&mark_before_other(&mark_after_other(&bytes))) } else { bytes };
    // Spaces were put beside ASCII characters, so no longer one was torn.
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// `([\{-\~\[-\` -\&\(-\+\:-\@\/])` → ` \1 `; and whether there is a character that the other rules look for.
fn symbols_apart(text: &[u8]) -> (Vec<u8>, bool) {
    let mut out = Vec::with_capacity(text.len() * 2);
    let mut marked = false;
    for byte in text {
        match byte {
            b'{'..=b'~' | b'['..=b'`' | b' '..=b'&' | b'('..=b'+' | b':'..=b'@' | b'/' => {
                out.extend_from_slice(&[b' ', *byte, b' ']);
            }
            byte => {
                marked |= matches!(byte, b'.' | b',' | b'-');
                out.push(*byte);
            }
        }
    }
    (out, marked)
}

/// `([^0-9])([\.,])` → `\1 \2 `
fn mark_after_other(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 2);
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        out.push(*byte);
        rest = after;
        if let [mark @ (b'.' | b','), after @ ..] = after
            && !byte.is_ascii_digit()
        {
            out.extend_from_slice(&[b' ', *mark, b' ']);
            rest = after;
        }
    }
    out
}

/// `([\.,])([^0-9])` → ` \1 \2`
fn mark_before_other(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 2);
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        rest = after;
        match (byte, after) {
            (b'.' | b',', [next, after @ ..]) if !next.is_ascii_digit() => {
                out.extend_from_slice(&[b' ', *byte, b' ', *next]);
                rest = after;
            }
            _ => out.push(*byte),
        }
    }
    out
}

/// `([0-9])(-)` → `\1 \2 `
fn dash_after_digit(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 8);
    let mut digit = false;
    for byte in text {
        if digit && *byte == b'-' {
            out.extend_from_slice(b" - ");
        } else {
            out.push(*byte);
        }
        digit = byte.is_ascii_digit();
    }
    out
}

/// What the `zh` tokenizer takes for Chinese. Two of its ranges are written with five digits after `\u` and so begin and end in the
/// first plane: punctuation, arrows and mathematics are cut apart as well, characters beyond the first plane are not.
fn is_chinese(c: char) -> bool {
    matches!(c,
        '\u{2001}'..='\u{2a6d}' | '\u{3400}'..='\u{4db5}' | '\u{4e00}'..='\u{9fbb}' | '\u{f900}'..='\u{fa2d}'
        | '\u{fa30}'..='\u{fa6a}' | '\u{fa70}'..='\u{fad9}' | '\u{ff00}'..='\u{ffef}' | '\u{2e80}'..='\u{2eff}'
        | '\u{3000}'..='\u{303f}' | '\u{31c0}'..='\u{31ef}' | '\u{2f00}'..='\u{2fdf}' | '\u{2ff0}'..='\u{2fff}'
        | '\u{3100}'..='\u{312f}' | '\u{31a0}'..='\u{31bf}' | '\u{fe10}'..='\u{fe1f}' | '\u{fe30}'..='\u{fe4f}'
        | '\u{3200}'..='\u{33ff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str, cut: Cut) -> Vec<String> {
        let spaced = spaced(text, cut);
        let mut tokens = Vec::new();
        each(&spaced, &mut |token| tokens.push(token.to_owned()));
        tokens
    }

    #[test]
    fn western_text() {
        let cut = |text| tokens(text, Cut::Mteval13a);
        assert_eq!(
            cut("It's 3.14, \"or\" 2-3; e.g. x."),
            ["It's", "3.14", ",", "\"", "or", "\"", "2", "-", "3", ";", "e", ".", "g", ".", "x", "."]
        );
        assert_eq!(cut("a.,b well-\nknown &amp;lt;"), ["a", ".", ",", "b", "wellknown", "<"]);
        assert!(cut(" \n").is_empty());
    }

    #[test]
    fn chinese_text() {
        assert_eq!(tokens("PEP8，中文v2.0。", Cut::Zh), ["PEP8", "，", "中", "文", "v2.0", "。"]);
        assert_eq!(tokens("a b中", Cut::Char), ["a", "b", "中"]);
        assert_eq!(tokens("我爱北京大学.", Cut::Words), ["我", "爱", "北京", "大学", "."]);
        assert_eq!(tokens("a.b 中.", Cut::None), ["a.b", "中."]);
    }
}
