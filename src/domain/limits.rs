//! What a suite says about the limits of an endpoint.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::Deserialize;

/// What the endpoint takes. Nothing said is nothing limited: what the server says and shows is followed all the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndpointLimits {
    /// Requests per minute.
    #[serde(rename = "rpm")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub requests_per_minute: Option<f64>,
    /// Tokens per minute, sent and received together.
    #[serde(rename = "tpm")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub tokens_per_minute: Option<f64>,
    /// Calls in flight at most (default: the run's `workers`).
    pub workers: Option<NonZeroUsize>,
}

impl EndpointLimits {
    /// The part of one of `shards` machines that share the endpoint; everyone keeps at least one call in flight.
    pub fn share(self, shards: usize) -> Self {
        let shards = NonZeroUsize::new(shards).unwrap_or(NonZeroUsize::MIN);
        #[expect(clippy::cast_precision_loss, reason = "a small count")]
        let part = |rate: f64| rate / shards.get() as f64;
        Self {
            requests_per_minute: self.requests_per_minute.map(part),
            tokens_per_minute: self.tokens_per_minute.map(part),
            workers: self.workers.map(|workers| share(workers, shards)),
        }
    }
}

/// How the endpoints of a run stand together, for progress.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LimiterState {
    /// Calls that were sent and are not answered.
    pub in_flight: usize,
    /// Calls that may be in flight now; 0: nobody was called yet.
    pub limit: usize,
    /// Requests a second, where a pace is held.
    pub rate: Option<f64>,
}

/// A machine's part of `workers`, at least one.
fn share(workers: NonZeroUsize, shards: NonZeroUsize) -> NonZeroUsize {
    NonZeroUsize::new(workers.get() / shards.get()).unwrap_or(NonZeroUsize::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_share_what_the_endpoint_takes() {
        let limits: EndpointLimits = serde_json::from_str(r#"{"rpm": 600, "workers": 3}"#).unwrap();
        let part = limits.share(4);
        assert_eq!((part.requests_per_minute, part.tokens_per_minute), (Some(150.0), None));
        assert_eq!(part.workers, NonZeroUsize::new(1));
        assert_eq!(limits.share(0), limits);
    }
}
