//! Bytes → text: UTF-8, or UTF-16 with its byte order mark; one mark is taken off; line ends are `\n`.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Source, Span};

/// Bytes of a suite file at most.
pub(super) const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The text of a suite file.
///
/// # Errors
/// A byte that is no UTF-8, at its line and column.
pub(super) fn decode(path: &str, bytes: &[u8]) -> Result<String, Diagnostic> {
    let text = match encoding_rs::Encoding::for_bom(bytes) {
        Some((encoding, _)) => {
            let (text, _, broken) = encoding.decode(bytes);
            if broken && encoding != encoding_rs::UTF_8 {
                return Err(Diagnostic::error("bad-encoding", format!("`{path}` is not valid {}", encoding.name()))
                    .help("save the file as UTF-8"));
            }
            if broken { utf8(path, bytes)?.trim_start_matches('\u{feff}').to_owned() } else { text.into_owned() }
        }
        None => utf8(path, bytes)?.to_owned(),
    };
    Ok(if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text })
}

fn utf8<'b>(path: &str, bytes: &'b [u8]) -> Result<&'b str, Diagnostic> {
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let byte = bytes.get(error.valid_up_to()).copied().unwrap_or_default();
        let before = String::from_utf8_lossy(valid);
        let line = before.matches('\n').count().saturating_add(1);
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count().saturating_add(1);
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let source = Arc::new(Source::new(path, String::from_utf8_lossy(bytes)));
        Diagnostic::error("bad-encoding", format!("the byte 0x{byte:02X} is not UTF-8"))
            .at(&source, Span::new(number(line), number(column), 1))
            .help("save the file as UTF-8")
    })
}
