//! The way of every text before it is escaped: controls and invisible characters become visible, secrets are masked, the end is cut.
//!
//! A [`Clean`] text can only be made here, and the escape functions take nothing else, so no text reaches a sink by a shorter way.

use std::borrow::Cow;
use std::fmt;

use unicode_segmentation::UnicodeSegmentation as _;

use crate::domain::Redactor;

/// Stands where a text was cut.
pub const CUT: char = '…';

/// A text that shows all it holds: redacted, without control and invisible characters, cut. Not yet escaped for any sink.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Clean(String);

impl Clean {
    /// Words and numbers of this program.
    pub(crate) fn ours(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Nothing to be seen.
    pub fn is_blank(&self) -> bool {
        self.0.trim().is_empty()
    }

    /// The same, shorter.
    pub(crate) fn cut(&self, limit: usize) -> Self {
        Self(cut(&self.0, limit).into_owned())
    }
}

impl fmt::Display for Clean {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Makes texts clean, with the secrets of one run.
#[derive(Clone, Debug, Default)]
pub struct Cleaner {
    redactor: Redactor,
}

impl Cleaner {
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor }
    }

    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// One line of at most `limit` characters: line ends and runs of blanks become one space, the ends are trimmed.
    pub fn line(&self, text: &str, limit: usize) -> Clean {
        let text = self.visible(text);
        let mut line = String::with_capacity(text.len());
        for word in text.split_whitespace() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        Clean(cut(&line, limit).into_owned())
    }

    /// The text with its line ends and blanks, at most `limit` characters.
    pub fn block(&self, text: &str, limit: usize) -> Clean {
        Clean(cut(&self.visible(text), limit).into_owned())
    }

    /// Masked before and after: a secret may hold a line end, and an invisible character may split one.
    fn visible<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match visible(&self.redactor.redact_cow(text)) {
            Cow::Borrowed(_) => self.redactor.redact_cow(text),
            Cow::Owned(shown) => Cow::Owned(self.redactor.redact(&shown)),
        }
    }
}

/// What is not seen, or steers what shows it, as `\u{…}`. Line feeds and tabs stay; a carriage return before a line feed goes.
fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|character| hidden(character) || character == '\u{200d}') {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\r' if rest.peek() == Some(&'\n') => {}
            // Families, professions, flags: one picture of several.
            '\u{200d}' if before.is_some_and(pictured) && rest.peek().is_some_and(|next| pictured(*next)) => {
                shown.push(character);
            }
            '\u{200d}' => shown.extend(character.escape_unicode()),
            character if hidden(character) => shown.extend(character.escape_unicode()),
            character => shown.push(character),
        }
        before = Some(character);
    }
    Cow::Owned(shown)
}

fn pictured(character: char) -> bool {
    matches!(character, '\u{1f000}'..='\u{1faff}' | '\u{2190}'..='\u{2bff}' | '\u{fe0f}' | '\u{a9}' | '\u{ae}')
}

/// Controls, line separators that are no line feed, bidirectional and zero-width characters, tags, fillers, non-characters.
/// The zero-width joiner is not among them; [`visible`] looks at its neighbours.
pub(crate) fn hidden(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        character if character.is_control() => true,
        '\u{2028}' | '\u{2029}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}'
        | '\u{17b5}' => true,
        '\u{180b}'..='\u{180e}' | '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' => true,
        '\u{e0000}'..='\u{e0fff}' => true,
        character => u32::from(character) & 0xfffe == 0xfffe,
    }
}

/// At most `limit` characters, cut between two of what a reader takes for a character, and marked.
///
/// A heap of combining marks may be longer than the limit by itself; it is cut inside.
pub fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    if text.char_indices().nth(limit).is_none() {
        return Cow::Borrowed(text);
    }
    let room = limit.saturating_sub(1);
    let mut used = 0;
    let mut end = 0;
    for (at, unit) in text.grapheme_indices(true) {
        let more = unit.chars().take(room + 1).count();
        if used + more > room {
            break;
        }
        used += more;
        end = at + unit.len();
    }
    if end == 0 {
        end = text.char_indices().nth(room).map_or(0, |(at, _)| at);
    }
    let mut kept = text.get(..end).unwrap_or_default().trim_end().to_owned();
    if limit > 0 {
        kept.push(CUT);
    }
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Secret;

    #[test]
    fn rp_truncate() {
        let units = ["a", "é", "中", "😀", "e\u{301}", "👨‍👩‍👧", "🇳🇴"];
        for limit in [1, 2, 3, 10, 40, 80, 120, 160, 200, 300, 600, 1200, 4000] {
            for unit in units {
                for length in limit.max(3) - 3..=limit + 3 {
                    for text in [unit.repeat(length), unit.repeat(length / unit.len() + 1)] {
                        let shown = Cleaner::default().line(&text, limit);
                        let count = shown.as_str().chars().count();
                        assert!(count <= limit, "{unit} {length} {limit}");
                        if text.chars().count() > limit {
                            let kept = shown.as_str().strip_suffix(CUT).expect("marked as cut");
                            assert!(text.starts_with(kept));
                            let whole = kept.len().is_multiple_of(unit.len()) || limit <= unit.chars().count();
                            assert!(whole, "{kept} ends inside {unit}");
                        } else {
                            assert_eq!(shown.as_str(), text);
                        }
                    }
                }
            }
        }
        let heap = format!("a{}", "\u{301}".repeat(10_000));
        assert_eq!(cut(&heap, 10).chars().count(), 10);
    }

    #[test]
    fn what_is_not_seen_is_shown() {
        let line = |text| Cleaner::default().line(text, 200).as_str().to_owned();
        assert_eq!(line("a\u{0}b\u{1b}[31m\u{202e}c\u{feff}"), "a\\u{0}b\\u{1b}[31m\\u{202e}c\\u{feff}");
        assert_eq!(line("  a \r\n\t b\n\n c "), "a b c");
        assert_eq!(line("👨‍👩‍👧 中文 é"), "👨‍👩‍👧 中文 é");
        assert_eq!(line("pass\u{200d}word"), "pass\\u{200d}word");
        assert_eq!(line("\u{fffe}\u{10ffff}\u{85}"), "\\u{fffe}\\u{10ffff}\\u{85}");
        let block = Cleaner::default().block("a\r\n\tb\rc", 200);
        assert_eq!(block.as_str(), "a\n\tb\\u{d}c");
    }

    #[test]
    fn a_secret_is_masked_before_the_cut_and_before_controls_are_shown() {
        let cleaner = Cleaner::new(Redactor::new(&[Secret::new("KEY", "sk-12345\n67890").unwrap()]));
        assert_eq!(cleaner.line("say sk-12345\n67890 now", 10).as_str(), "say *** n…");
        assert_eq!(cleaner.line("say sk-12\u{200b}34567890", 100).as_str(), "say ***");
    }
}
