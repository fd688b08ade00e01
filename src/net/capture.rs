//! What is kept of a stream that may never end.

use tokio::io::{AsyncRead, AsyncReadExt};

/// The bytes of a stream, up to a limit.
pub(super) struct Capture {
    bytes: Vec<u8>,
    limit: usize,
    keep: Keep,
    overflowed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Head,
    Tail,
}

impl Capture {
    /// Keeps the beginning. A stream that is longer is left alone, so that its writer stops.
    pub(super) fn head(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit, keep: Keep::Head, overflowed: false }
    }

    /// Keeps the end, however long the stream is.
    pub(super) fn tail(limit: usize) -> Self {
        Self { keep: Keep::Tail, ..Self::head(limit) }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// True where there was more than the limit.
    pub(super) fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Reads to the end.
    pub(super) async fn read(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        let Some(mut stream) = stream else { return };
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = match stream.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(count) => count,
            };
            self.bytes.extend_from_slice(buffer.get(..count).unwrap_or_default());
            let surplus = self.bytes.len().saturating_sub(self.limit);
            if surplus > 0 {
                self.overflowed = true;
                match self.keep {
                    Keep::Head => return self.bytes.truncate(self.limit),
                    Keep::Tail => drop(self.bytes.drain(..surplus)),
                }
            }
        }
    }
}
