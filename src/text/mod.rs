//! Pure text tools, each with a definition of its own: any text in, no I/O, no settings of users, no clock, no randomness.
//!
//! Promise: total and deterministic; nothing depends on locale or platform.

pub mod amount;
pub mod distance;
pub mod duration;
pub mod edit;
pub mod expression;
pub mod gram;
pub mod jaro;
pub mod jsonpath;
pub mod normalize;
pub mod number;
pub mod pointer;
pub mod size;
pub mod suggest;
pub mod template;
pub mod token;
pub mod xml;
