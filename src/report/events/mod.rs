//! What happens during a run, for programs: one JSON object a line (`--events`), described in `docs/events.md`.
//!
//! ```text
//! engine ─► Event ─► form (one object, masked) ─► stream (a bounded queue, a thread that writes)
//! ```
//!
//! Promise: whoever reads slowly, or no longer, never holds up a run or changes its verdict. Lines that find the queue full are left
//! out, and their number is told.

mod form;
mod stream;
#[cfg(test)]
mod tests;

pub use stream::{EventStream, Outlet};
