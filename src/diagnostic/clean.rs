//! Text from files, made safe and visible for a terminal.

use std::fmt::Write as _;

/// True for characters that would be invisible or act on the terminal: controls, bidirectional marks, zero-width characters, line
/// separators and the non-breaking space.
fn is_unsafe(letter: char) -> bool {
    (letter.is_control() && letter != '\t')
        || matches!(letter,
            '\u{a0}' | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Appends `letter` to `text`, as `\u{…}` where it would not be seen.
pub(super) fn push(text: &mut String, letter: char) {
    if is_unsafe(letter) {
        let _ = write!(text, "\\u{{{:x}}}", letter as u32);
    } else if letter == '\t' {
        text.push_str("    ");
    } else {
        text.push(letter);
    }
}

/// `text` with every invisible character shown; line ends stay.
pub(super) fn message(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter == '\n' { clean.push('\n') } else { push(&mut clean, letter) }
    }
    clean
}
