//! Integration tests: one binary, a module per room. `support` holds what they share.

mod action;
