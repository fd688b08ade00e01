//! Whether to try again: a property of the error, decided in `net`, obeyed by `engine`.

use std::time::Duration;

/// What a refusal or breakdown means for the calls to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RetryClass {
    /// Try again after a back-off (or after what the server asked for).
    Retry,
    /// This call will never succeed; others may.
    Case,
    /// No call to this endpoint will succeed: stop sending.
    Endpoint,
    /// A complete, paid reply that cannot be used: never stored, never retried by the transport.
    Unusable,
}

/// What a server that refuses a call for its load complains about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Complaint {
    /// Too many requests or tokens in a period: a slower pace helps.
    TooFast,
    /// Too many calls at the same time, or an overload: fewer at once help.
    TooMany,
    /// One of them; it does not say which.
    Unclear,
}

/// What a server said about its limits. All waits are from the moment the answer arrived.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RateHint {
    /// Send nothing to this endpoint before this has passed (`Retry-After` in all its forms, RetryInfo).
    pub retry_after: Option<Duration>,
    pub requests: Option<Allowance>,
    pub tokens: Option<Allowance>,
    /// Set where the call was refused for the load.
    pub complaint: Option<Complaint>,
}

/// One limit as the server's headers tell it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allowance {
    pub limit: Option<u64>,
    pub remaining: Option<u64>,
    /// Until the allowance is whole again.
    pub reset: Option<Duration>,
}
