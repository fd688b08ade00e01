//! Pure text tools with a definition of their own: no I/O, no clock, no randomness.

pub mod expression;
pub mod jsonpath;
