//! An answer as the ledger keeps it, and back.

use std::time::Duration;

use crate::domain::Spent;
use crate::net::{Call, Response};
use crate::store::{Bill, Kept};

/// What the ledger takes of an answer.
pub(super) fn keep(call: &Call, response: &Response, Spent { usage, cost }: Spent) -> Result<Kept, String> {
    Ok(Kept {
        status: response.status,
        headers: serde_json::to_string(&response.headers).map_err(|error| error.to_string())?,
        body: response.body.to_vec(),
        latency_us: i64::try_from(response.latency.as_micros()).unwrap_or(i64::MAX),
        bill: Bill { endpoint: call.endpoint.to_string(), usage, cost },
    })
}

/// `None` where the row is not one that this version writes: the call is made again.
pub(super) fn restore(kept: Kept) -> Option<Response> {
    Some(Response {
        status: kept.status,
        headers: serde_json::from_str(&kept.headers).ok()?,
        body: kept.body.into(),
        latency: Duration::from_micros(kept.latency_us.unsigned_abs()),
    })
}
