//! Whose fault a failure is.

use crate::domain::{Failure, FailureKind, Side};

/// What the target's side answered, or failed to answer, is the target's; an address that may not be called, a spent budget, a
/// cancelled run, a batch that goes on, a cassette without the call and mistakes of this program are not.
pub(super) fn blame(failure: Failure) -> Failure {
    match failure.kind {
        FailureKind::Forbidden
        | FailureKind::Internal
        | FailureKind::Budget
        | FailureKind::Cancelled
        | FailureKind::InBatch
        | FailureKind::NotRecorded => failure.on(Side::Infra),
        FailureKind::Timeout
        | FailureKind::Connection
        | FailureKind::Truncated
        | FailureKind::RateLimited
        | FailureKind::Quota
        | FailureKind::Auth
        | FailureKind::NotFound
        | FailureKind::Server
        | FailureKind::BadRequest
        | FailureKind::TooLong
        | FailureKind::Redirect
        | FailureKind::Malformed
        | FailureKind::Empty
        | FailureKind::Filtered
        | FailureKind::Declined
        | FailureKind::Unusable
        | FailureKind::Command
        | FailureKind::Missing
        | FailureKind::NotAScore
        | FailureKind::NoAnswer
        | FailureKind::Recorded => failure,
    }
}
