//! What the families' tests share.

pub(super) mod peps;
