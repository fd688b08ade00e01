//! Evaluators of one's own: a program or a service that is given case and answer as JSON and answers with a score as JSON.
//!
//! `question` is what it is given, `said` what it may answer, `ask` carries one to the other through the [`Transport`](crate::net::Transport),
//! so that limits, deadlines, retries, the ledger and the ends of process groups are those of every call. `command` and `http` are the
//! two ways to reach one.
//!
//! Promise: only a number in the stated range is a score; a program that fails, is late or says something else is an error by name.

mod ask;
mod command;
mod http;
mod question;
mod said;

#[cfg(test)]
mod tests;

use super::Kind;

pub(super) const KINDS: &[Kind] = &[command::KIND, http::KIND];
