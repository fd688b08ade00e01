//! Bytes → text, exactly or not at all.
//!
//! Without a declaration a file is UTF-8, or UTF-16 where it begins with that byte order mark. One mark is taken off.
//! Nothing is replaced by U+FFFD: the first byte that does not fit is an error with line and offset.

use encoding_rs::{DecoderResult, Encoding, REPLACEMENT, UTF_8};

use super::budget;
use super::problem::{at, count32};
use crate::diagnostic::Diagnostic;

/// Bytes that are looked at to phrase a guess.
const GUESS_BYTES: usize = 64 << 10;
pub(crate) const UTF8_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The encoding behind a label of the WHATWG Encoding Standard (`gbk`, `windows-1252`, `shift_jis`, …).
///
/// # Errors
/// Labels that name no encoding.
pub(crate) fn declared(label: &str) -> Result<&'static Encoding, String> {
    match Encoding::for_label(label.trim().as_bytes()) {
        Some(encoding) if encoding != REPLACEMENT => Ok(encoding),
        _ => Err(format!(
            "`{label}` is no encoding; known are utf-8, utf-16le, utf-16be, gbk, gb18030, big5, shift_jis, euc-jp, euc-kr, windows-1252 and the other labels of the WHATWG Encoding Standard"
        )),
    }
}

/// True where the file begins with a UTF-16 byte order mark.
pub(crate) fn is_marked_utf16(start: &[u8]) -> bool {
    start.starts_with(b"\xFF\xFE") || start.starts_with(b"\xFE\xFF")
}

/// The whole file as text, without its byte order mark.
pub(crate) fn decode(file: &str, bytes: Vec<u8>, declared: Option<&'static Encoding>) -> Result<String, Diagnostic> {
    let marked = Encoding::for_bom(&bytes).map(|(encoding, _)| encoding);
    if let (Some(marked), Some(declared)) = (marked, declared)
        && marked != declared
    {
        let message = format!(
            "the file begins with the byte order mark of {}, but `encoding: {}` is declared",
            label(marked),
            label(declared)
        );
        return Err(
            at(file, 1, 1, "encoding", message).help(format!("declare `encoding: {}`, or leave it out", label(marked)))
        );
    }
    let encoding = marked.or(declared).unwrap_or(UTF_8);
    let text = if encoding == UTF_8 {
        String::from_utf8(bytes)
            .map_err(|error| not_utf8(file, error.as_bytes(), error.utf8_error().valid_up_to(), 0, 1))?
    } else {
        exact(file, &bytes, encoding)?
    };
    let text = match text.strip_prefix('\u{FEFF}') {
        Some(rest) => rest.to_owned(),
        None => text,
    };
    check_marks(file, &text)?;
    Ok(text)
}

/// Refuses a second byte order mark, and UTF-16 that would pass for UTF-8 with NULs.
pub(crate) fn check_marks(file: &str, start: &str) -> Result<(), Diagnostic> {
    if start.starts_with('\u{FEFF}') {
        return Err(at(file, 1, 1, "encoding", "the file begins with two byte order marks").help("remove one of them"));
    }
    let head = start.as_bytes().get(..start.len().min(64)).unwrap_or_default();
    let nulls = head.iter().filter(|byte| **byte == 0).count();
    if nulls * 3 >= head.len() && nulls > 0 {
        let big = head.first() == Some(&0);
        let guess = if big { "utf-16be" } else { "utf-16le" };
        let message = "the file is full of NUL bytes: it looks like UTF-16 without a byte order mark";
        return Err(
            at(file, 1, 1, "encoding", message).help(format!("declare `encoding: {guess}`, or save the file as UTF-8"))
        );
    }
    Ok(())
}

fn exact(file: &str, bytes: &[u8], encoding: &'static Encoding) -> Result<String, Diagnostic> {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = String::new();
    let mut read = 0_usize;
    loop {
        let rest = bytes.get(read..).unwrap_or_default();
        text.reserve(
            decoder.max_utf8_buffer_length_without_replacement(rest.len()).unwrap_or(rest.len()).clamp(16, 1 << 20),
        );
        let (result, used) = decoder.decode_to_string_without_replacement(rest, &mut text, true);
        read += used;
        match result {
            DecoderResult::InputEmpty => break,
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(length, after) => {
                let wrong = usize::from(length) + usize::from(after);
                return Err(malformed(file, &text, read.saturating_sub(wrong), encoding));
            }
        }
    }
    unassigned(file, &text, encoding)?;
    Ok(text)
}

fn malformed(file: &str, before: &str, offset: usize, encoding: &'static Encoding) -> Diagnostic {
    let (line, column) = end_of(before);
    let message = format!("not {} at line {line}, byte offset {offset}", label(encoding));
    at(file, line, column, "encoding", message).help("declare the file's real `encoding`, or convert the file to UTF-8")
}

/// WHATWG decoders of the windows family give C1 controls for bytes that have no meaning: those bytes are no text.
fn unassigned(file: &str, text: &str, encoding: &'static Encoding) -> Result<(), Diagnostic> {
    if !encoding.name().starts_with("windows-") {
        return Ok(());
    }
    match text.char_indices().find(|(_, character)| ('\u{80}'..='\u{9F}').contains(character)) {
        None => Ok(()),
        Some((place, _)) => {
            let before = text.get(..place).unwrap_or_default();
            Err(malformed(file, before, before.chars().count(), encoding))
        }
    }
}

/// Line and column (from 1) behind the end of `text`.
fn end_of(text: &str) -> (u32, u32) {
    let line = count32(text.bytes().filter(|byte| *byte == b'\n').count() + 1);
    let last = text.rsplit('\n').next().unwrap_or_default();
    (line, count32(last.chars().count() + 1))
}

/// The error for bytes that are no UTF-8. `bytes[..valid]` are; `bytes` begins at `offset` of the file and on `line`.
pub(crate) fn not_utf8(file: &str, bytes: &[u8], valid: usize, offset: u64, line: u32) -> Diagnostic {
    let before = String::from_utf8_lossy(bytes.get(..valid).unwrap_or_default());
    let (lines, column) = end_of(&before);
    let line = line.saturating_add(lines - 1);
    let offset = offset.saturating_add(valid as u64);
    let byte = bytes.get(valid).copied().unwrap_or_default();
    let guess = label(guess(bytes, valid));
    let message = format!("not UTF-8 at line {line}, byte offset {offset} (byte 0x{byte:02X})");
    at(file, line, column, "encoding", message).help(format!(
        "the bytes look like {guess}: declare `encoding: {guess}` if that is what the file is, or convert the file to UTF-8"
    ))
}

fn guess(bytes: &[u8], valid: usize) -> &'static Encoding {
    let start = valid.saturating_sub(GUESS_BYTES / 2);
    let end = bytes.len().min(start + GUESS_BYTES);
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
    detector.feed(bytes.get(start..end).unwrap_or_default(), true);
    detector.guess(None, chardetng::Utf8Detection::Deny)
}

/// The encoding's name as it is written in a suite.
fn label(encoding: &'static Encoding) -> String {
    encoding.name().to_ascii_lowercase()
}

/// Reads a file that has to be held in memory.
pub(crate) fn read_whole(file: &super::DataFile) -> Result<Vec<u8>, Diagnostic> {
    let unreadable =
        |error: std::io::Error| Diagnostic::error("unreadable", format!("cannot read {}: {error}", file.shown));
    let length = std::fs::metadata(&file.path).map_err(unreadable)?.len();
    if length > budget::FILE_BYTES {
        return Err(Diagnostic::error(
            "too-large",
            format!(
                "{} has {}: more than the limit of {} for a file of this format (file bytes)",
                file.shown,
                budget::shown(length),
                budget::shown(budget::FILE_BYTES)
            ),
        )
        .help("convert it to JSONL in UTF-8, which is read line by line"));
    }
    std::fs::read(&file.path).map_err(unreadable)
}

/// True for the encodings that [`super::jsonl`] can stream.
pub(crate) fn is_utf8(declared: Option<&'static Encoding>) -> bool {
    declared.is_none_or(|encoding| encoding == UTF_8)
}

#[cfg(test)]
mod tests {
    use encoding_rs::{UTF_16BE, UTF_16LE};

    use super::*;

    #[test]
    fn a_declared_encoding_is_decoded_exactly() {
        let gbk = encoding_rs::GBK.encode("苹果，怎么说？\n").0.into_owned();
        assert_eq!(decode("f", gbk, Some(declared("gbk").unwrap())).unwrap(), "苹果，怎么说？\n");
        for encoding in [UTF_16LE, UTF_16BE] {
            let unit = |unit: u16| if encoding == UTF_16LE { unit.to_le_bytes() } else { unit.to_be_bytes() };
            let bytes: Vec<u8> = "\u{FEFF}a😀".encode_utf16().flat_map(unit).collect();
            assert_eq!(decode("f", bytes.clone(), None).unwrap(), "a😀");
            assert_eq!(decode("f", bytes, Some(encoding)).unwrap(), "a😀");
        }
    }

    #[test]
    fn bytes_that_do_not_fit_are_never_replaced() {
        let odd = decode("f", b"a\nb\x81\xFF".to_vec(), Some(encoding_rs::GBK)).unwrap_err();
        assert!(odd.message.contains("line 2") && odd.message.contains("byte offset 3"), "{}", odd.message);
        let windows = decode("f", b"a\n\x81".to_vec(), Some(encoding_rs::WINDOWS_1252)).unwrap_err();
        assert!(windows.message.contains("byte offset 2"), "{}", windows.message);
        let lone = decode("f", b"\xFF\xFE\x00\xD8".to_vec(), None).unwrap_err();
        assert!(lone.message.contains("utf-16le"), "{}", lone.message);
    }

    #[test]
    fn a_mark_that_contradicts_the_declaration_is_an_error() {
        let error = decode("f", b"\xEF\xBB\xBFid\n".to_vec(), Some(encoding_rs::GBK)).unwrap_err();
        assert!(error.help.unwrap().contains("utf-8"));
        assert!(decode("f", b"\xEF\xBB\xBF\xEF\xBB\xBFid".to_vec(), None).is_err());
        let error = decode("f", b"i\0d\0,\0a\0\n\0".to_vec(), None).unwrap_err();
        assert!(error.help.unwrap().contains("utf-16le"));
    }

    #[test]
    fn an_unknown_label_is_an_error() {
        assert!(declared("latin-17").is_err());
        assert!(declared("iso-2022-kr").is_err(), "a label without a decoder");
        assert_eq!(declared("Windows-1252").unwrap().name(), "windows-1252");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_decode_or_are_refused(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..64), which in 0..6_usize) {
            let label = ["utf-8", "utf-16le", "gbk", "shift_jis", "windows-1252", "big5"][which];
            let _ = decode("f", bytes.clone(), Some(declared(label).unwrap()));
            let _ = decode("f", bytes, None);
        }
    }
}
