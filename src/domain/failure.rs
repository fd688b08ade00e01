//! Why there is no answer or no score. A failure is never a number.

use serde::{Deserialize, Serialize};

/// Which side broke. Only the system under test can make a change *regress* by breaking (statistics §13.1, §13.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The system under test.
    Target,
    /// Judge, provider, or our own machine.
    Infra,
}

/// The closed set of reasons, as they appear in every machine-readable report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// A deadline passed.
    Timeout,
    /// No connection, or it broke before a complete answer.
    Connection,
    /// The body ended early or was damaged.
    Truncated,
    /// 429 and its like, after all retries.
    RateLimited,
    /// The allowance is used up; waiting does not help.
    Quota,
    /// Key or permission refused.
    Auth,
    /// Address, model or deployment does not exist.
    NotFound,
    /// 5xx and its like, after all retries.
    Server,
    /// The server refused this request for good.
    BadRequest,
    /// The request is longer than the model, or the account, can take.
    TooLong,
    /// A redirect that the suite does not allow.
    Redirect,
    /// An address that may not be called.
    Forbidden,
    /// A complete answer without the expected shape.
    Malformed,
    /// A complete answer with nothing in it.
    Empty,
    /// A content filter stopped it.
    Filtered,
    /// The model declined.
    Declined,
    /// A judge reply that does not keep its contract.
    Unusable,
    /// A program could not be started, or ended with an error.
    Command,
    /// The suite needs something this case does not have (for instance a reference).
    Missing,
    /// An evaluator computed something that is no score (NaN, infinite, out of range).
    NotAScore,
    /// The budget is spent.
    Budget,
    /// The run was cancelled before this was measured.
    Cancelled,
    /// Its batch has not ended in time and goes on: a later run picks the answer up, which is paid for once.
    InBatch,
    /// The target failed, so there was nothing to score.
    NoAnswer,
    /// A mistake of this program.
    Internal,
    /// Read from a file that gives only words.
    Recorded,
    /// A replay was asked for a call that its cassette does not hold.
    NotRecorded,
}

impl FailureKind {
    /// The word used in JSON and text.
    pub fn word(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Connection => "connection",
            Self::Truncated => "truncated",
            Self::RateLimited => "rate_limited",
            Self::Quota => "quota",
            Self::Auth => "auth",
            Self::NotFound => "not_found",
            Self::Server => "server",
            Self::BadRequest => "bad_request",
            Self::TooLong => "too_long",
            Self::Redirect => "redirect",
            Self::Forbidden => "forbidden",
            Self::Malformed => "malformed",
            Self::Empty => "empty",
            Self::Filtered => "filtered",
            Self::Declined => "declined",
            Self::Unusable => "unusable",
            Self::Command => "command",
            Self::Missing => "missing",
            Self::NotAScore => "not_a_score",
            Self::Budget => "budget",
            Self::Cancelled => "cancelled",
            Self::InBatch => "in_batch",
            Self::NoAnswer => "no_answer",
            Self::Internal => "internal",
            Self::Recorded => "recorded",
            Self::NotRecorded => "not_recorded",
        }
    }
}

/// One failure, with all that a person needs to act on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub kind: FailureKind,
    pub side: Side,
    /// What happened, one or two sentences in lower case, with status, address and attempts where there are any. Untrusted parts
    /// are excerpts; sinks escape the whole.
    pub message: String,
    /// Requests sent before giving up.
    pub attempts: u32,
    /// The raw reply, where one came (a judge reply that could not be read is kept for the reports).
    pub raw: Option<String>,
}

impl Failure {
    /// A failure of the judge, the provider or this program.
    pub fn infra(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, side: Side::Infra, message: message.into(), attempts: 0, raw: None }
    }

    /// A failure of the system under test.
    pub fn target(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, side: Side::Target, message: message.into(), attempts: 0, raw: None }
    }

    /// The same, blamed on `side`.
    #[must_use]
    pub fn on(mut self, side: Side) -> Self {
        self.side = side;
        self
    }
}
