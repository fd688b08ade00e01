//! Tokens, money and counted calls.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Usd(pub f64);

/// Tokens of one or more model calls, as the provider counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
}

impl Usage {
    /// Of two counts that may not be known; `true` beside it: only one of them is.
    pub fn counted(prompt: Option<u64>, completion: Option<u64>) -> (Self, bool) {
        let usage =
            Self { prompt_tokens: prompt.unwrap_or_default(), completion_tokens: completion.unwrap_or_default() };
        (usage, prompt.is_some() != completion.is_some())
    }

    /// True where the provider reported nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(other.completion_tokens);
    }
}

/// What calls took together, as far as it was paid for now: an answer from the ledger takes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    pub usage: Usage,
    /// `None` where no price is known.
    pub cost: Option<Usd>,
}

impl AddAssign for Spent {
    fn add_assign(&mut self, more: Self) {
        self.usage += more.usage;
        if let Some(Usd(more)) = more.cost {
            self.cost = Some(Usd(self.cost.map_or(0.0, |Usd(sum)| sum) + more));
        }
    }
}

/// Requests of one invocation: what every report shows, so that no retry is silent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCounts {
    /// Requests sent (attempts), all kinds.
    pub requests: u64,
    /// Of these, attempts after the first of their call.
    pub retries: u64,
    /// Answered by the ledger without a request.
    pub cache_hits: u64,
    /// Judge replies that had to be asked again in the required form.
    pub repairs: u64,
    /// How often something was held back: the first call in an endpoint's queue by a limit, or a call before another try.
    #[serde(default)]
    pub waits: u64,
    /// What these waits took together, in whole milliseconds; several may pass at once. A declared time field.
    #[serde(default)]
    pub waited_ms: u64,
}

impl AddAssign for CallCounts {
    fn add_assign(&mut self, other: Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.retries = self.retries.saturating_add(other.retries);
        self.cache_hits = self.cache_hits.saturating_add(other.cache_hits);
        self.repairs = self.repairs.saturating_add(other.repairs);
        self.waits = self.waits.saturating_add(other.waits);
        self.waited_ms = self.waited_ms.saturating_add(other.waited_ms);
    }
}
