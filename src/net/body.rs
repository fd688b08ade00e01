//! The bytes of an answer: all of them, undamaged, within a limit; or the reason why not.
//!
//! Compression is undone here, strictly: a gzip body without its trailer or with a wrong checksum is no body, even where the
//! connection ended in order.

use std::io::Read;

use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;

use super::Rejection;
use super::broken::cause;
use crate::domain::{FailureKind, RetryClass};

/// The largest answer that is read, as sent and uncompressed.
pub const BODY_LIMIT: usize = 16 * 1024 * 1024;
/// The same for the results of a batch, which are the answers to all of its requests.
pub(super) const BATCH_BODY_LIMIT: usize = 256 * 1024 * 1024;

/// What arrived, and what is wrong with it.
pub(super) struct Body {
    pub(super) bytes: Bytes,
    pub(super) problem: Option<Rejection>,
}

/// Reads the whole answer, at most `limit` bytes. `address` is for messages.
pub(super) async fn read(mut response: reqwest::Response, address: &str, limit: usize) -> Body {
    let encoding =
        response.headers().get(http::header::CONTENT_ENCODING).map(|value| value.as_bytes().to_ascii_lowercase());
    let mut bytes: Vec<u8> = Vec::new();
    let mut problem = None;
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if bytes.len().saturating_add(chunk.len()) > limit => {
                problem = Some(too_large(address, limit));
                break;
            }
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => break,
            Err(error) => {
                problem = Some(truncated(format!("the answer of {address} ended early: {}", cause(&error))));
                break;
            }
        }
    }
    let decoded = match encoding.as_deref() {
        None | Some(b"" | b"identity") => Decoded { bytes, problem: None },
        Some(b"gzip" | b"x-gzip") => gunzip(&bytes, address, limit),
        Some(other) => {
            let other = super::excerpt::one_line(&String::from_utf8_lossy(other));
            let why = format!("{address} sent a body in the encoding `{other}`, which was not asked for");
            Decoded { bytes, problem: Some(Rejection::new(FailureKind::Malformed, RetryClass::Case, why)) }
        }
    };
    Body { bytes: decoded.bytes.into(), problem: problem.or(decoded.problem) }
}

struct Decoded {
    bytes: Vec<u8>,
    problem: Option<Rejection>,
}

fn gunzip(bytes: &[u8], address: &str, limit: usize) -> Decoded {
    let mut decoded = Vec::new();
    if bytes.is_empty() {
        return Decoded { bytes: decoded, problem: None };
    }
    let readable = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let result = MultiGzDecoder::new(bytes).take(readable).read_to_end(&mut decoded);
    let problem = match result {
        Err(error) => Some(truncated(format!("the compressed answer of {address} is cut off or damaged ({error})"))),
        Ok(_) if decoded.len() > limit => {
            decoded.truncate(limit);
            Some(too_large(address, limit))
        }
        Ok(_) => None,
    };
    Decoded { bytes: decoded, problem }
}

fn truncated(message: String) -> Rejection {
    Rejection::new(FailureKind::Truncated, RetryClass::Retry, message)
}

fn too_large(address: &str, limit: usize) -> Rejection {
    let limit = limit / (1024 * 1024);
    let why = format!("the answer of {address} is larger than {limit} MiB, the size limit of an answer");
    Rejection::new(FailureKind::Malformed, RetryClass::Case, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn every_missing_byte_of_a_gzip_body_is_noticed() {
        let whole = gzip(b"{\"choices\": [\"The refund window is 30 days.\"]}");
        assert!(gunzip(&whole, "x", BODY_LIMIT).problem.is_none());
        for length in 1..whole.len() {
            let problem = gunzip(&whole[..length], "x", BODY_LIMIT).problem.map(|problem| problem.kind);
            assert_eq!(problem, Some(FailureKind::Truncated), "{length}");
        }
        for index in whole.len() - 8..whole.len() {
            let mut damaged = whole.clone();
            damaged[index] ^= 1;
            assert!(gunzip(&damaged, "x", BODY_LIMIT).problem.is_some(), "{index}");
        }
    }

    #[test]
    fn a_compressed_bomb_stops_at_the_limit() {
        let bomb = gzip(&vec![b'0'; BODY_LIMIT + 1]);
        let found = gunzip(&bomb, "x", BODY_LIMIT);
        assert_eq!(found.bytes.len(), BODY_LIMIT);
        assert!(found.problem.is_some_and(|problem| problem.message.contains("16 MiB")));
    }
}
