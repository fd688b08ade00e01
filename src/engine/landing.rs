//! How an attempt ended, as the limits and the budget see it.

use super::budget::Reservation;
use super::limiter::Landing;
use crate::domain::{Complaint, FailureKind, RetryClass, Spent, Usage};
use crate::net::{Call, Rejection};

/// What a provider counts when it lets a request in: the prompt, and the reply as far as the request bounds it.
pub(super) fn tokens(call: &Call) -> u64 {
    call.expected.prompt_tokens.saturating_add(call.expected.completion_tokens.unwrap_or_default())
}

pub(super) fn used(spent: &Spent) -> Option<u64> {
    let Usage { prompt_tokens, completion_tokens } = spent.usage;
    (!spent.usage.is_empty()).then(|| prompt_tokens.saturating_add(completion_tokens))
}

pub(super) fn landing_of(rejection: &Rejection) -> Landing {
    match (rejection.hint.complaint, rejection.class, rejection.hint.retry_after) {
        (Some(complaint), ..) => Landing::Refused(complaint),
        // Whoever names a time to come back is at a limit, whatever it calls it.
        (None, RetryClass::Retry, Some(_)) => Landing::Refused(Complaint::Unclear),
        (None, ..) => Landing::Lost,
    }
}

/// An answer that cannot be used is paid for; a refusal is not; what was lost on the way may be.
pub(super) fn settle(reserved: Reservation<'_>, rejection: &Rejection) {
    match rejection.kind {
        FailureKind::Timeout | FailureKind::Connection | FailureKind::Truncated if rejection.spent.usage.is_empty() => {
        }
        _ if rejection.class == RetryClass::Unusable => reserved.settle(&rejection.spent),
        _ => reserved.give_back(),
    }
}
