//! Integration tests: one binary, a module per room. `support` holds what they share.

mod action;

#[path = "support/chat_server.rs"]
mod chat_server;
#[path = "support/command.rs"]
mod command;
mod determinism;
mod documents;
mod examples;
mod exit_codes;
#[path = "support/fake_github.rs"]
mod fake_github;
mod github;
mod live;
mod quickstart;
#[path = "support/runner.rs"]
mod runner;
