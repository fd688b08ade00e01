//! Many requests in one submission, answered within a day at a lower price: what the engine wants of a provider's batch interface.
//!
//! The provider's side ([`BatchApi`]) knows addresses and forms; when to submit, how long to wait and what to remember is the engine's.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::{Attempt, BoxFuture, Rejection, Response};
use crate::domain::FailureKind;

/// How a call gets to its server.
#[derive(Clone, Debug, Default)]
pub enum Route {
    /// At once, by itself.
    #[default]
    Direct,
    /// It may wait for a batch.
    Batch(Arc<dyn BatchApi>),
    /// About a batch as a whole; its answer may be as large as a batch.
    Control,
}

/// Name of the header, made by us and by no server, of a response that came in a batch; its value is the batch's id.
pub const BATCH_HEADER: &str = "scoregate-batch";

/// The bounds of one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    pub requests: usize,
    /// Of all requests as they are sent.
    pub bytes: usize,
}

/// How long to wait for a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// A call waits for its answer at most this long; the batch is left running then.
    pub max_wait: Duration,
    /// The longest pause between two looks at a batch.
    pub poll: Duration,
    /// A batch whose submission was not answered may show in the provider's list this much later.
    pub appears: Duration,
}

/// One request of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchItem {
    /// Unique in its batch: 64 hexadecimal digits.
    pub id: String,
    /// As it would be sent by itself.
    pub body: Bytes,
}

/// A submission whose answer was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sought {
    /// The tag it was submitted with.
    pub tag: String,
    /// When it was submitted at the earliest, in seconds since 1970.
    pub since: i64,
    pub requests: usize,
}

/// Why a submission has no id.
#[derive(Clone, Debug, PartialEq)]
pub enum NotSubmitted {
    /// No batch was made, and none will appear.
    Refused(Rejection),
    /// A batch may have been made: the answer was lost on its way, or does not say.
    Unknown(Rejection),
}

impl NotSubmitted {
    /// What the rejection of the request that makes a batch says about the batch: only a provider's plain no is one. A success status
    /// with an answer that cannot be read is none, and a server in trouble may have got further than it knows.
    pub fn of(rejection: Rejection) -> Self {
        match rejection.kind {
            FailureKind::RateLimited
            | FailureKind::Quota
            | FailureKind::Auth
            | FailureKind::NotFound
            | FailureKind::BadRequest
            | FailureKind::TooLong
            | FailureKind::Redirect
            | FailureKind::Filtered
            // It was not even sent.
            | FailureKind::Forbidden
            | FailureKind::Budget
            | FailureKind::Cancelled
            | FailureKind::Internal
            | FailureKind::NotRecorded => Self::Refused(rejection),
            FailureKind::Timeout
            | FailureKind::Connection
            | FailureKind::Truncated
            | FailureKind::Server
            | FailureKind::Malformed
            | FailureKind::Empty
            | FailureKind::Declined
            | FailureKind::Unusable
            | FailureKind::Command
            | FailureKind::Missing
            | FailureKind::NotAScore
            | FailureKind::InBatch
            | FailureKind::NoAnswer
            | FailureKind::Recorded => Self::Unknown(rejection),
        }
    }
}

/// Where a batch stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchStatus {
    /// `done`: requests that are finished, as far as the provider says.
    Running { done: u64 },
    /// Nothing more will come; `files` is where the results are.
    Ended { files: Vec<String> },
    /// It was not accepted as a whole: why.
    Refused(String),
}

/// What came of one request of a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemResult {
    /// An answer with a success status, as if it had come directly.
    Answer(Response),
    /// The provider answered with an error.
    Failed(Rejection),
    /// It was not carried out: why (`expired`).
    Skipped(String),
}

/// A provider's batch interface. Every request goes through the given [`Attempt`]; nothing is retried here.
pub trait BatchApi: fmt::Debug + Send + Sync {
    fn limits(&self) -> BatchLimits;

    fn patience(&self) -> Patience;

    /// Submits a batch; returns its id.
    ///
    /// # Errors
    /// [`NotSubmitted`]: whether there may be a batch all the same.
    fn submit<'a>(
        &'a self,
        outside: &'a dyn Attempt,
        tag: &'a str,
        items: &'a [BatchItem],
    ) -> BoxFuture<'a, Result<String, NotSubmitted>>;

    /// Ids of batches that may be the one sought, the likeliest first; only the ids in its results tell for sure.
    ///
    /// # Errors
    /// As any attempt.
    fn find<'a>(
        &'a self,
        outside: &'a dyn Attempt,
        sought: &'a Sought,
    ) -> BoxFuture<'a, Result<Vec<String>, Rejection>>;

    /// # Errors
    /// As any attempt; `NotFound` where the provider knows no such batch.
    fn status<'a>(&'a self, outside: &'a dyn Attempt, id: &'a str) -> BoxFuture<'a, Result<BatchStatus, Rejection>>;

    /// The results of an ended batch by [`BatchItem::id`]; `files` are those of [`BatchStatus::Ended`].
    ///
    /// # Errors
    /// As any attempt. A line that cannot be read is left out.
    fn results<'a>(
        &'a self,
        outside: &'a dyn Attempt,
        id: &'a str,
        files: &'a [String],
    ) -> BoxFuture<'a, Result<HashMap<String, ItemResult>, Rejection>>;
}
