//! Cassettes: all that a run asked and was told, one line a call, for a replay without network and keys.
//!
//! ```text
//! {"type":"cassette","schema":1,"tool":"0.1.0","suite":"support-rag","recorded":"2026-11-30T09:00:00Z"}
//! {"type":"call","key":"5f…","target":"app","what":"answer to case q17","request":{"http":"POST http://…","body":"…"},
//!  "response":{"status":200,"headers":{"content-type":"application/json"},"body":"…"},"attempts":1,"latency_ns":812000000}
//! {"type":"end","calls":1,"counts":{"requests":1,"retries":0,"cache_hits":0,"repairs":0}}
//! ```
//!
//! A line says how a call ended: with a `response` that was accepted, with an `error` after all retries, or with both where a complete
//! reply was refused. `key` alone identifies the request; what `request` shows is for people and messages. Bodies that are not UTF-8 are
//! in `body_base64`. Lines may be deleted by hand; a recording that goes on adds more, and another `end`.
//!
//! Promise: lines are appended whole, so a kill costs the last one at most, and readers leave out a cut last line; any other line that
//! cannot be right is `Corrupt`. Nothing here masks secrets: who writes a line has done it.

mod line;
mod reader;
mod writer;

#[cfg(test)]
mod tests;

pub use line::{CallKey, CallLine, CassetteEnd, CassetteHeader, RequestLine, ResponseLine};
pub use reader::Cassette;
pub use writer::CassetteWriter;

/// Version of the format.
pub const CASSETTE_SCHEMA: u64 = 1;
/// What the first line says the file is.
pub(super) const KIND: &str = "cassette";
