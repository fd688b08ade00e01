//! Masks secrets in a stream that comes in pieces.

use std::io::{self, Write};

use super::Redactor;

/// A writer that masks secrets even where two writes cut them apart.
///
/// The end of what was written is held back, as much as a secret may take, until more comes or [`finish`](Self::finish) is called;
/// `flush` passes on what is certain. Dropped without `finish`, it writes the rest and ignores an error.
#[derive(Debug)]
pub struct RedactingWriter<W: Write> {
    /// `None` once finished.
    inner: Option<W>,
    redactor: Redactor,
    pending: Vec<u8>,
}

impl<W: Write> RedactingWriter<W> {
    pub fn new(inner: W, redactor: Redactor) -> Self {
        Self { inner: Some(inner), redactor, pending: Vec::new() }
    }

    /// Writes the rest and returns the writer behind.
    ///
    /// # Errors
    /// Of the writer behind.
    pub fn finish(mut self) -> io::Result<W> {
        self.release(0)?;
        let mut inner = self.inner.take().ok_or_else(|| io::Error::other("written to the end before"))?;
        inner.flush()?;
        Ok(inner)
    }

    /// Bytes held back.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Writes everything but the last `hold` bytes, and never half a secret.
    fn release(&mut self, hold: usize) -> io::Result<()> {
        let Some(inner) = &mut self.inner else { return Ok(()) };
        let mut cut = self.pending.len().saturating_sub(hold);
        if cut == 0 {
            return Ok(());
        }
        if hold > 0
            && let Some(around) =
                self.redactor.find(&self.pending).iter().find(|found| found.start < cut && cut < found.end)
        {
            // One that goes on and on is let go at its end.
            cut = if around.start == 0 { around.end } else { around.start };
        }
        let rest = self.pending.split_off(cut);
        let ready = std::mem::replace(&mut self.pending, rest);
        inner.write_all(&self.redactor.redact_bytes(&ready))
    }
}

impl<W: Write> Write for RedactingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        let reach = self.redactor.reach();
        // Searching again for every small write would be slow.
        if self.pending.len() > reach.saturating_mul(2).max(4096) || reach == 0 {
            self.release(reach)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.release(self.redactor.reach())?;
        self.inner.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl<W: Write> Drop for RedactingWriter<W> {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = self.release(0);
    }
}
