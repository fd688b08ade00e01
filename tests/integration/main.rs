//! Integration tests: one binary, a module per room. `support` holds what they share.

mod action;

#[path = "support/command.rs"]
mod command;
mod determinism;
mod documents;
mod exit_codes;
mod quickstart;
