//! Pure text tools with a definition of their own: no I/O, no settings, any text in.
//!
//! Promise: total and deterministic; nothing depends on locale or platform.

pub mod distance;
pub mod normalize;
pub mod token;
