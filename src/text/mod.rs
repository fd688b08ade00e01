//! Pure text tools, each with a definition of its own: they take values and return values.

pub mod duration;
pub mod expression;
pub mod jsonpath;
pub mod suggest;
pub mod template;
