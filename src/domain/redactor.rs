//! Finds secrets in text, in whatever form they come, and masks them (security §6).
//!
//! Two passes. The first looks for the values themselves, and for their hexadecimal and Base64 forms, in the text as it is. The
//! second looks for the same in the text with its escapes undone (`%2B`, `\u002b`, `\"`, `&quot;`, `&#43;`) and its blanks taken
//! out, so that no spelling and no line break hides a secret; escapes within escapes are undone up to three times.
//!
//! Base64 has three alignments: each is searched for by the part that does not depend on its neighbours.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::{MASK, SHORTEST_SECRET, Secret};

/// Escapes within escapes that are undone.
const LEVELS: usize = 3;

/// Masks secrets. Cheap to clone; without secrets it costs nothing.
#[derive(Clone, Default)]
pub struct Redactor(Option<Arc<Search>>);

struct Search {
    /// The forms as they are.
    plain: AhoCorasick,
    /// The forms without blanks and escapes.
    bare: AhoCorasick,
    /// Bytes of the longest form.
    longest: usize,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.0.is_some() { "Redactor(secrets)" } else { "Redactor(no secrets)" })
    }
}

impl Redactor {
    pub fn new(secrets: &[Secret]) -> Self {
        let mut plain: Vec<Vec<u8>> = secrets.iter().flat_map(|secret| forms(secret.expose())).collect();
        plain.sort();
        plain.dedup();
        if plain.is_empty() {
            return Self::default();
        }
        let mut bare: Vec<Vec<u8>> = plain.iter().flat_map(|form| levels(form)).collect();
        bare.retain(|form| form.len() >= SHORTEST_SECRET);
        bare.sort();
        bare.dedup();
        let longest = plain.iter().map(Vec::len).max().unwrap_or_default();
        Self(Some(Arc::new(Search { plain: automaton(&plain), bare: automaton(&bare), longest })))
    }

    /// The text with every form of every secret replaced by [`MASK`].
    pub fn redact(&self, text: &str) -> String {
        self.redact_cow(text).into_owned()
    }

    /// The same without a copy where there is nothing to mask.
    pub fn redact_cow<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.redact_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Ranges begin and end at characters: needles are whole, and what is decoded is decoded by whole characters.
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// The same for bytes of any encoding that has ASCII below 128.
    pub fn redact_bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        let ranges = self.find(bytes);
        if ranges.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let mut clean = Vec::with_capacity(bytes.len());
        let mut from = 0;
        for range in ranges {
            clean.extend_from_slice(bytes.get(from..range.start).unwrap_or_default());
            clean.extend_from_slice(MASK.as_bytes());
            from = range.end;
        }
        clean.extend_from_slice(bytes.get(from..).unwrap_or_default());
        Cow::Owned(clean)
    }

    /// Where secrets stand: in order, apart from each other.
    pub(super) fn find(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let Some(search) = &self.0 else { return Vec::new() };
        let mut found = Vec::new();
        if search.plain.is_match(bytes) {
            found.extend(search.plain.find_overlapping_iter(bytes).map(|hit| hit.range()));
        }
        if bytes.iter().any(|byte| hides(*byte)) {
            find_bare(&search.bare, bytes, &mut found);
        }
        found.sort_by_key(|range| range.start);
        let mut merged: Vec<Range<usize>> = Vec::with_capacity(found.len());
        for range in found {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        for at in 0..merged.len() {
            let next = merged.get(at + 1).map_or(bytes.len(), |range| range.start);
            if let Some(range) = merged.get_mut(at) {
                range.end = padding(bytes, range.end).min(next);
            }
        }
        merged
    }

    /// Bytes that a secret may take in a stream, escaped and with some blanks.
    pub(super) fn reach(&self) -> usize {
        self.0.as_ref().map_or(0, |search| search.longest.saturating_mul(6).saturating_add(64))
    }
}

fn automaton(needles: &[Vec<u8>]) -> AhoCorasick {
    AhoCorasick::new(needles)
        .expect("values of the environment stay far below the automaton's two thousand million states")
}

/// The value, and the encodings that no unescaping undoes.
fn forms(value: &str) -> Vec<Vec<u8>> {
    let bytes = value.as_bytes();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut forms = vec![bytes.to_vec(), hex.to_uppercase().into_bytes(), hex.into_bytes()];
    if value.contains(' ') {
        forms.push(value.replace(' ', "+").into_bytes());
    }
    if value.contains('\n') {
        forms.push(value.lines().collect::<Vec<&str>>().join(" ").into_bytes());
    }
    for shift in 0..3 {
        let mut shifted = vec![0; shift];
        shifted.extend_from_slice(bytes);
        for encoded in [STANDARD_NO_PAD.encode(&shifted), URL_SAFE_NO_PAD.encode(&shifted)] {
            // Characters that also hold bits of what stands before or after the secret.
            let before = [0, 2, 3].get(shift).copied().unwrap_or_default();
            let after = usize::from(!shifted.len().is_multiple_of(3));
            let core = encoded.get(before..encoded.len().saturating_sub(after)).unwrap_or_default();
            forms.push(core.as_bytes().to_vec());
        }
    }
    forms
}

/// The last character of a Base64 form and its padding.
fn padding(bytes: &[u8], end: usize) -> usize {
    let rest = bytes.get(end..).unwrap_or_default();
    let [first, second, ..] = rest else { return end };
    if first.is_ascii_alphanumeric() && *second == b'=' {
        return if rest.get(2) == Some(&b'=') { end + 3 } else { end + 2 };
    }
    end
}

/// Bytes that begin an escape, a blank or an invisible character. A plain space alone hides nothing.
fn hides(byte: u8) -> bool {
    byte < 0x20 || matches!(byte, b'%' | b'\\' | b'&' | 0x7f | 0xc2 | 0xd8 | 0xe2 | 0xe3 | 0xef | 0xf3)
}

fn find_bare(bare: &AhoCorasick, bytes: &[u8], found: &mut Vec<Range<usize>>) {
    let quick: Vec<Vec<u8>> = levels(bytes);
    if !quick.iter().any(|level| bare.is_match(level)) {
        return;
    }
    let mut text: Vec<u8> = bytes.to_vec();
    let mut spans: Vec<Range<usize>> = (0..bytes.len()).map(|at| at..at + 1).collect();
    for _ in 0..LEVELS {
        let (mut next, mut next_spans) = (Vec::with_capacity(text.len()), Vec::with_capacity(text.len()));
        unescape(&text, &mut |byte, range: Range<usize>| {
            let start = spans.get(range.start).map_or(0, |span| span.start);
            let end = spans.get(range.end.saturating_sub(1)).map_or(start, |span| span.end);
            next.push(byte);
            next_spans.push(start..end);
        });
        (text, spans) = (next, next_spans);
        for hit in bare.find_overlapping_iter(&text) {
            let first = spans.get(hit.start());
            let last = spans.get(hit.end().saturating_sub(1));
            if let (Some(first), Some(last)) = (first, last) {
                found.push(first.start..last.end);
            }
        }
    }
}

/// The text with its escapes undone once, twice, three times; fewer where nothing is left to undo.
fn levels(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut levels: Vec<Vec<u8>> = Vec::new();
    for _ in 0..LEVELS {
        let last = levels.last().map_or(bytes, Vec::as_slice);
        let mut next = Vec::with_capacity(last.len());
        unescape(last, &mut |byte, _| next.push(byte));
        if levels.last() == Some(&next) {
            break;
        }
        levels.push(next);
    }
    levels
}

/// Emits each byte with the range it came from: escapes undone, blanks and invisible characters left out.
fn unescape(bytes: &[u8], emit: &mut impl FnMut(u8, Range<usize>)) {
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        let end = at + valid.len();
        while at < end {
            let rest = bytes.get(at..end).unwrap_or_default();
            let (character, length) = match escape(rest) {
                Some(found) => found,
                None => {
                    let plain = std::str::from_utf8(rest).ok().and_then(|rest| rest.chars().next());
                    plain.map_or((Unit::Nothing, 1), |plain| (Unit::Character(plain), plain.len_utf8()))
                }
            };
            let range = at..at + length;
            match character {
                Unit::Byte(byte) if byte <= b' ' => {}
                Unit::Byte(byte) => emit(byte, range),
                Unit::Character(character) if blank(character) => {}
                Unit::Character(character) => {
                    let mut buffer = [0; 4];
                    character.encode_utf8(&mut buffer).bytes().for_each(|byte| emit(byte, range.clone()));
                }
                Unit::Nothing => {}
            }
            at += length;
        }
        for byte in chunk.invalid() {
            emit(*byte, at..at + 1);
            at += 1;
        }
    }
}

enum Unit {
    Byte(u8),
    Character(char),
    Nothing,
}

/// The escape that begins here, and its length; all of it is ASCII.
fn escape(rest: &[u8]) -> Option<(Unit, usize)> {
    match rest {
        [b'%', high, low, ..] => Some((Unit::Byte(hex(&[*high, *low]).and_then(|value| u8::try_from(value).ok())?), 3)),
        [b'\\', b'u', digits @ ..] => Some((hex(digits.get(..4)?).map(utf16)?, 6)),
        [b'\\', b'n' | b'r' | b't' | b'b' | b'f', ..] => Some((Unit::Nothing, 2)),
        [b'\\', mark @ (b'"' | b'\\' | b'/'), ..] => Some((Unit::Byte(*mark), 2)),
        [b'&', ..] => entity(rest),
        _ => None,
    }
}

/// Halves of a pair are left out: a secret with such a character is still found by what stands around it in most encodings, and
/// serializers that escape beyond the basic plane are rare.
fn utf16(value: u32) -> Unit {
    char::from_u32(value).map_or(Unit::Nothing, Unit::Character)
}

fn entity(rest: &[u8]) -> Option<(Unit, usize)> {
    let length = rest.iter().take(12).position(|byte| *byte == b';')? + 1;
    let character = match rest.get(1..length - 1)? {
        b"amp" => '&',
        b"lt" => '<',
        b"gt" => '>',
        b"quot" => '"',
        b"apos" => '\'',
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(hex(digits)?)?,
        [b'#', digits @ ..] => char::from_u32(std::str::from_utf8(digits).ok()?.parse().ok()?)?,
        _ => return None,
    };
    Some((Unit::Character(character), length))
}

fn hex(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// White space, controls, and characters that are not seen.
fn blank(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests;
