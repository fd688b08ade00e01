//! What tokens cost.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::{Usage, Usd};
use crate::net::{Expected, Response, Route};

/// What a request in a batch costs of what it costs directly, where nothing is said. **Source**: OpenAI's and Anthropic's price lists,
/// 2026-11.
const BATCH: f64 = 0.5;

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Price {
    /// For tokens that are sent.
    #[schemars(range(min = 0.0))]
    input: f64,
    /// For tokens that come back.
    #[schemars(range(min = 0.0))]
    output: f64,
    /// The part of these prices that is paid with `mode: batch` (default: 0.5).
    #[schemars(range(min = 0.0, max = 1.0))]
    batch: Option<f64>,
}

/// Which of a price's sides counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tariff {
    Direct,
    Batch,
}

/// How a response was paid for.
pub(super) fn tariff(response: &Response) -> Tariff {
    if response.batch().is_some() { Tariff::Batch } else { Tariff::Direct }
}

/// Bytes of a request that are taken for one token: for most languages a little more tokens than there are.
const BYTES_A_TOKEN: usize = 4;

/// What a request of `bytes` takes at most, as far as that can be known before; `most` is the bound that the suite sets to its reply.
pub(super) fn expected(bytes: usize, most: Option<u64>, price: Option<Price>, route: &Route) -> Expected {
    let prompt_tokens = bytes.div_ceil(BYTES_A_TOKEN) as u64;
    let usage = Usage { prompt_tokens, completion_tokens: most.unwrap_or(Expected::LONG_REPLY) };
    let tariff = match route {
        Route::Direct | Route::Control => Tariff::Direct,
        Route::Batch(_) => Tariff::Batch,
    };
    let cost = |usage: Usage| price.and_then(|price| price.of(usage, tariff));
    let least_cost = cost(Usage { completion_tokens: 1, ..usage });
    Expected { prompt_tokens, completion_tokens: most, cost: cost(usage), least_cost, least_prompt: 0 }
}

impl Price {
    /// Of what is sent alone.
    pub(super) fn of_input(input: f64) -> Self {
        Self { input, output: 0.0, batch: None }
    }

    /// `None` where the server counted no tokens.
    pub(super) fn of(self, usage: Usage, tariff: Tariff) -> Option<Usd> {
        let part = match tariff {
            Tariff::Direct => 1.0,
            Tariff::Batch => self.batch.unwrap_or(BATCH),
        };
        let million = 1e6;
        let whole = usage.prompt_tokens as f64 * self.input + usage.completion_tokens as f64 * self.output;
        (!usage.is_empty()).then_some(Usd(whole * part / million))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_costs_half_unless_the_suite_says_otherwise() {
        let usage = Usage { prompt_tokens: 1_000_000, completion_tokens: 500_000 };
        let price = Price { input: 2.0, output: 8.0, batch: None };
        assert_eq!(price.of(usage, Tariff::Direct), Some(Usd(6.0)));
        assert_eq!(price.of(usage, Tariff::Batch), Some(Usd(3.0)));
        assert_eq!(Price { batch: Some(0.25), ..price }.of(usage, Tariff::Batch), Some(Usd(1.5)));
        assert_eq!(price.of(Usage::default(), Tariff::Direct), None);
    }
}
