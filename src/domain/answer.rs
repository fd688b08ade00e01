//! What a target said.

use std::time::Duration;

use super::{Usage, Usd};

/// One retrieved passage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    pub id: Option<String>,
    pub text: String,
    /// The retriever's own score, any scale.
    pub score: Option<f64>,
}

/// A complete answer for one case and trial. An error is never an `Answer`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub text: String,
    /// Best first, as the target returned them.
    pub contexts: Vec<Context>,
    /// From the request's start to its last byte, of the attempt that succeeded; `None` for recorded answers without it.
    pub latency: Option<Duration>,
    pub usage: Usage,
    /// Only the tokens that were read, or only those that were written, are known: `usage` is a part of what it took.
    pub half_counted: bool,
    pub cost: Option<Usd>,
    /// Requests sent for it in this invocation (0: recorded, or taken from the ledger).
    pub attempts: u32,
    /// Taken from the ledger: its latency was measured in an earlier invocation.
    pub cached: bool,
}
